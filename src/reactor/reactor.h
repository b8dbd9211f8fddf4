/*
** reactor.h - one poller, one timer heap, one queue of events.  Passive and
** single-threaded; never calls Lua and includes none of it.
**
** Machine: reactor.c timer.c.
*/
#ifndef OPERATIONS_REACTOR_H
#define OPERATIONS_REACTOR_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/alloc.h"
#include "platform/platform.h"

typedef struct reactor_Reactor reactor_Reactor;
typedef struct reactor_Op reactor_Op;

/* Nanoseconds of the monotonic clock; REACTOR_NEVER means no time at all. */
typedef uint64_t reactor_Time;
#define REACTOR_NEVER UINT64_MAX

/* The events of an op; bits, reported in this order. */
typedef enum reactor_Event {
  REACTOR_HEAD = 1,
  REACTOR_DATA = 2,
  REACTOR_DONE = 4,
  REACTOR_ERROR = 8,
  REACTOR_TIMER = 16,
  REACTOR_LOG = 32,   /* a process wrote to its stderr */
  REACTOR_DRAIN = 64, /* a process read its queued input, or never will */
  REACTOR_EXIT = 128,
  REACTOR_WANT = 256 /* the next piece of a body to send */
} reactor_Event;

typedef struct reactor_Timer {
  reactor_Time due;
  size_t slot; /* in the heap, counted from 1; 0 when not set */
  void (*on_due)(reactor_Op *op);
  reactor_Op *op;
} reactor_Timer;

/* An activity of the reactor: the first field of each handle.  The handle owns
** it; the reactor only links it. */
struct reactor_Op {
  reactor_Reactor *reactor; /* NULL when stopped or never started */
  reactor_Op *previous, *next;
  reactor_Op *ready_next;
  unsigned pending;             /* reactor_Event bits not yet pulled */
  bool ready;                   /* in the ready queue */
  bool active;                  /* more events may follow */
  void (*stop)(reactor_Op *op); /* releases its resources; see reactor_usable */
  reactor_Timer timer;
  reactor_Op *held_next;
  bool held; /* on_release is to be called */
  void (*on_release)(reactor_Op *op);
  const void *face; /* for the owner of the op; not used here */
};

/* Called when a descriptor is ready. */
typedef void (*reactor_OnReady)(reactor_Reactor *r, int fd, uint32_t events);

typedef struct reactor_Source {
  uint32_t want, have; /* POLLER_READ, POLLER_WRITE */
  uint32_t generation; /* of this descriptor number */
  bool dirty;
  bool ours; /* its owner tells us before it closes it */
  reactor_OnReady on_ready;
  reactor_Op *op; /* of on_ready; NULL: a library finds its own */
} reactor_Source;

/* A library with its own timers and descriptors that runs inside the reactor:
** curl. */
typedef struct reactor_Engine {
  reactor_Time (*due)(const reactor_Reactor *r);
  void (*run)(reactor_Reactor *r, reactor_Time now);
  void (*close)(reactor_Reactor *r);
} reactor_Engine;

struct reactor_Reactor {
  ops_Alloc alloc;
  pid_t pid;
  char *mine; /* nonzero in the process that opened it; NULL: compare pids */
  platform_Poller poller;
  reactor_Time armed;      /* the alarm of the poller */
  reactor_Source *sources; /* by descriptor */
  int *dirty;              /* descriptors whose `want` may differ from `have` */
  size_t source_count, dirty_count;
  reactor_Timer **heap;
  size_t timer_count, heap_capacity;
  reactor_Op *ops;
  reactor_Op *ready_first, *ready_last;
  reactor_Op *held;
  bool holding; /* between reactor_hold and reactor_release */
  size_t active_count;
  const reactor_Engine *engine; /* NULL until first needed */
  void *engine_data;
  void (*on_close)(reactor_Reactor *r, bool forked); /* or NULL */
  struct process_Orphan *orphans; /* processes whose handles were dropped */
};

/* Opens the poller.  False with errno set. */
bool reactor_init(reactor_Reactor *r, ops_Alloc alloc);

/* Stops every op, closes every descriptor.  May be called twice.  In a forked
** child it only closes the child's copies and forgets the ops: the rest belongs
** to the parent. */
void reactor_close(reactor_Reactor *r);

/* Is it open, in the process that opened it? */
bool reactor_usable(const reactor_Reactor *r);

/* Waits up to timeout_ms (-1: without limit) for events and collects them;
** returns early on a signal.  Does not wait while events are pending. */
void reactor_step(reactor_Reactor *r, int timeout_ms);

/* Makes `poller.fd` readable whenever a step has something to do (at once when
** `soon`).  Call it before another loop polls the descriptor.  False when out
** of descriptors. */
bool reactor_flush(reactor_Reactor *r, bool soon);

/* The next time at which the reactor has work without an event: a timer, or an
** idle connection to close. */
reactor_Time reactor_due(const reactor_Reactor *r);

/* Links a zeroed op that starts; unlinks one that is stopped. */
void reactor_start(reactor_Reactor *r, reactor_Op *op);
void reactor_stop(reactor_Op *op);

/* The op says `event`; it is the last one when `last`. */
void reactor_say(reactor_Op *op, reactor_Event event, bool last);

/* Says whether more events may follow; for ops that can become active again. */
void reactor_set_active(reactor_Op *op, bool active);

/* Until the next release, small writes are gathered: the on_release of each op
** that called reactor_hold_op is called then, and by every step and flush.
** reactor_hold_op returns false when nothing is gathered now: the op must write
** at once. */
void reactor_hold(reactor_Reactor *r);
bool reactor_hold_op(reactor_Op *op);
void reactor_release(reactor_Reactor *r);

/* The next op with an event, or NULL; it stays first in the queue. */
reactor_Op *reactor_ready(reactor_Reactor *r);

/* `event` of the first ready op was pulled. */
void reactor_pulled(reactor_Op *op, reactor_Event event);

/* Registers interest in a descriptor; the next step or flush applies it.  False
** when out of memory. */
bool reactor_watch(reactor_Reactor *r, int fd, uint32_t want,
                   reactor_OnReady on_ready);

/* We opened a descriptor; or are about to close one. */
bool reactor_opened(reactor_Reactor *r, int fd);
void reactor_closing(reactor_Reactor *r, int fd);

/* reactor/timer.c */

/* The monotonic clock, in nanoseconds. */
reactor_Time reactor_now(void);

/* `ms` from now, saturating; negative or NaN is now. */
reactor_Time reactor_after(double ms);

/* Sets a timer, or changes a set one; false when out of memory.  Unsetting a
** timer that is not set does nothing. */
bool reactor_timer_set(reactor_Reactor *r, reactor_Timer *timer,
                       reactor_Time due);
void reactor_timer_unset(reactor_Reactor *r, reactor_Timer *timer);

/* Calls on_due of every timer whose time has come. */
void reactor_timers_run(reactor_Reactor *r, reactor_Time now);

/* When the first timer is due. */
reactor_Time reactor_timers_due(const reactor_Reactor *r);

/* An op that says REACTOR_TIMER once. */
bool reactor_timer_start(reactor_Reactor *r, reactor_Op *op, double ms);

#endif
