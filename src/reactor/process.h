/*
** process.h - child processes inside a reactor: their standard streams through
** bounded queues, and how they end.  No Lua, no signal handler: when other code
** of the program reaps a child, its end is "unknown", not an error.
*/
#ifndef OPERATIONS_REACTOR_PROCESS_H
#define OPERATIONS_REACTOR_PROCESS_H

#include "base/buffer.h"
#include "reactor/reactor.h"
#include "reactor/spawn.h"

typedef struct process_Options {
  spawn_Request spawn; /* borrowed while the process starts */
  size_t window;       /* unread bytes of stdout at which the process is held */
  size_t max_line;     /* bytes */
  size_t queue;        /* unsent bytes at which `process_send` refuses more */
} process_Options;

/* Bytes in, bytes out. */
typedef struct process_Queue {
  buffer_Buffer bytes;
  size_t start; /* the bytes before it were taken */
} process_Queue;

typedef enum process_End {
  PROCESS_RUNS,
  PROCESS_EXITED,
  PROCESS_KILLED,
  PROCESS_UNKNOWN /* other code of this program reaped it */
} process_End;

/* A process whose handle was dropped while it ran, until it is reaped. */
typedef struct process_Orphan {
  struct process_Orphan *next;
  pid_t pid;
  int exit; /* as spawn_Child's */
} process_Orphan;

/* Says DATA: stdout has more, or ended; LOG: stderr likewise; DRAIN: the queue
** to stdin has room again, or is not read any more; EXIT. */
typedef struct process_Process {
  reactor_Op op;     /* first: a handle */
  spawn_Child child; /* descriptors -1 once closed */
  process_Options options;
  process_Queue input, output;
  buffer_Buffer log; /* what stderr brought and was not yet pulled */
  size_t scanned;    /* unread bytes of output known to hold no line end */
  bool starved;      /* there was no memory to read more output */
  bool lines;        /* process_line waits for a whole line */
  bool refused;      /* `process_send` said FULL */
  bool closing;      /* close stdin once the queue is empty */
  bool masks;        /* mask SIGPIPE for each write (older kernels) */
  bool ending;       /* kill the rest of its group when it ends */
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
  PROCESS_CLOSED, /* stdin was closed, by us or by the process */
  PROCESS_MEMORY
} process_Sent;

/* Queues `bytes` and then `more`, both or nothing.  Small pieces are gathered
** while the reactor holds. */
process_Sent process_send(process_Process *p, const char *bytes, size_t length,
                          const char *more, size_t more_length);

/* Did the process close its stdin before us?  DRAIN tells of it. */
bool process_is_lost(const process_Process *p);

/* Closes stdin after the queued bytes are written. */
void process_close_input(process_Process *p);

typedef struct process_Text {
  const char *bytes; /* borrowed until process_take */
  size_t length;
  size_t whole; /* the size to give process_take */
} process_Text;

typedef enum process_Got {
  PROCESS_GOT,
  PROCESS_WAIT,     /* DATA comes */
  PROCESS_OVER,     /* stdout ended */
  PROCESS_TOO_LONG, /* a line is longer than max_line */
  PROCESS_STARVED   /* no memory to read more; nothing is lost */
} process_Got;

/* All unread bytes; the next line, without its end. */
process_Got process_chunk(process_Process *p, process_Text *text);
process_Got process_line(process_Process *p, process_Text *text);

/* Frees the `whole` bytes that were read. */
void process_take(process_Process *p, size_t whole);

/* The log was pulled. */
void process_log_pulled(process_Process *p);

/* Ends the process: sends a signal (0: none) to its group; kills the rest of
** the group once the process has ended. */
void process_end(process_Process *p, int signal);

#endif
