/*
** process.h - child processes inside a reactor: their standard streams
** through bounded queues, and how they end.  No Lua, no signal handler: whoever
** else reaps our children makes an end "unknown", not an error.
*/
#ifndef OPERATIONS_REACTOR_PROCESS_H
#define OPERATIONS_REACTOR_PROCESS_H

#include "base/buffer.h"
#include "reactor/reactor.h"
#include "reactor/spawn.h"

typedef struct process_Options {
  spawn_Request spawn;
  size_t window;   /* unread bytes of stdout at which the process is held */
  size_t max_line; /* bytes */
  size_t queue;    /* unsent bytes at which `process_send` refuses more */
} process_Options;

/* Bytes in, bytes out. */
typedef struct process_Queue {
  buffer_Buffer bytes;
  size_t start; /* what lies before it is gone */
} process_Queue;

typedef enum process_End {
  PROCESS_RUNS,
  PROCESS_EXITED,
  PROCESS_KILLED,
  PROCESS_UNKNOWN /* somebody else reaped it */
} process_End;

/* Where a process waits to be reaped that was dropped while it ran. */
typedef struct process_Orphan {
  struct process_Orphan *next;
  pid_t pid;
  int exit; /* as spawn_Child's */
} process_Orphan;

/* Says DATA: stdout has more, or ended; LOG: stderr likewise; DRAIN: the queue
** to stdin has room again, or nobody reads it any more; EXIT. */
typedef struct process_Process {
  reactor_Op op;     /* first: a handle */
  spawn_Child child; /* descriptors -1 once closed */
  process_Options options;
  process_Queue input, output;
  buffer_Buffer log; /* of stderr, not yet pulled */
  size_t scanned;    /* unread bytes of output known to hold no line's end */
  bool starved;      /* no memory to read more of output */
  bool lines;        /* somebody waits for a whole line */
  bool refused;      /* `process_send` said FULL */
  bool closing;      /* stdin, once the queue is empty */
  bool masks;        /* SIGPIPE for each write: the kernel is an older one */
  bool ending;       /* the rest of its group ends with it */
  process_End end;
  int status; /* exit code, or signal */
  spawn_Failure failure;
  process_Orphan *orphan;
} process_Process;

/* Starts a zeroed process.  False with p->failure filled in ("memory" beside
** the steps of spawn_start). */
bool process_start(reactor_Reactor *r, process_Process *p,
                   const process_Options *options);

typedef enum process_Sent {
  PROCESS_SENT,
  PROCESS_FULL,   /* nothing was taken: DRAIN comes */
  PROCESS_CLOSED, /* by us, or by the process */
  PROCESS_MEMORY
} process_Sent;

/* Queues all of it, `bytes` and `more` behind them, or nothing.  Small pieces
** are gathered while the reactor holds. */
process_Sent process_send(process_Process *p, const char *bytes, size_t length,
                          const char *more, size_t more_length);

/* Did the process close its stdin before us?  DRAIN is said when it shows. */
bool process_is_lost(const process_Process *p);

/* Closes stdin behind what is queued. */
void process_close_input(process_Process *p);

typedef struct process_Text {
  const char *bytes; /* borrowed until process_take */
  size_t length;
  size_t whole; /* what process_take is to be given */
} process_Text;

typedef enum process_Got {
  PROCESS_GOT,
  PROCESS_WAIT,     /* DATA comes */
  PROCESS_OVER,     /* stdout ended */
  PROCESS_TOO_LONG, /* a line without end */
  PROCESS_STARVED   /* no memory to read more; nothing is lost */
} process_Got;

/* All that is unread; the next line, without its end. */
process_Got process_chunk(process_Process *p, process_Text *text);
process_Got process_line(process_Process *p, process_Text *text);

/* `whole` bytes were read: they make room for more. */
void process_take(process_Process *p, size_t whole);

/* The log was pulled. */
void process_log_pulled(process_Process *p);

/* The process is to end: sends a signal (0: none) to its group, and kills what
** is left of the group when it has ended. */
void process_end(process_Process *p, int signal);

#endif
