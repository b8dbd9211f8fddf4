#include "reactor/reactor.h"

#define MIN_HEAP 16
#define NS_PER_MS 1e6

reactor_Time reactor_now(void) {
  return platform_monotonic();
}

reactor_Time reactor_after(double ms) {
  reactor_Time now = reactor_now();
  if (!(ms > 0)) return now; /* NaN too */
  /* Half of the range leaves room for `now`, which may begin anywhere. */
  if (ms >= (double)(INT64_MAX / 2) / NS_PER_MS) return REACTOR_NEVER - 1;
  return now + (reactor_Time)(ms * NS_PER_MS);
}

/* The timers are a binary heap.  A timer knows its slot (from 1; 0: not set).
** So stopping one needs no search. */

static void place(reactor_Reactor *r, reactor_Timer *timer, size_t slot) {
  r->heap[slot - 1] = timer;
  timer->slot = slot;
}

static void sift_up(reactor_Reactor *r, reactor_Timer *timer, size_t slot) {
  while (slot > 1 && r->heap[slot / 2 - 1]->due > timer->due) {
    place(r, r->heap[slot / 2 - 1], slot);
    slot /= 2;
  }
  place(r, timer, slot);
}

static void sift_down(reactor_Reactor *r, reactor_Timer *timer, size_t slot) {
  size_t child;
  while ((child = slot * 2) <= r->timer_count) {
    if (child < r->timer_count && r->heap[child]->due < r->heap[child - 1]->due)
      child++;
    if (r->heap[child - 1]->due >= timer->due) break;
    place(r, r->heap[child - 1], slot);
    slot = child;
  }
  place(r, timer, slot);
}

static bool reserve(reactor_Reactor *r) {
  size_t capacity = r->heap_capacity > 0 ? r->heap_capacity * 2 : MIN_HEAP;
  void *heap;
  if (r->timer_count < r->heap_capacity) return true;
  heap = ops_realloc(&r->alloc, r->heap, r->heap_capacity * sizeof(void *),
                     capacity * sizeof(void *));
  if (heap == NULL) return false;
  r->heap = heap;
  r->heap_capacity = capacity;
  return true;
}

bool reactor_timer_set(reactor_Reactor *r, reactor_Timer *timer,
                       reactor_Time due) {
  reactor_timer_unset(r, timer);
  if (!reserve(r)) return false;
  timer->due = due;
  sift_up(r, timer, ++r->timer_count);
  return true;
}

void reactor_timer_unset(reactor_Reactor *r, reactor_Timer *timer) {
  size_t slot = timer->slot;
  reactor_Timer *moved;
  if (slot == 0) return;
  timer->slot = 0;
  moved = r->heap[--r->timer_count];
  if (moved == timer) return;
  /* The last timer is of another branch: it may belong above the slot. */
  if (slot > 1 && r->heap[slot / 2 - 1]->due > moved->due)
    sift_up(r, moved, slot);
  else sift_down(r, moved, slot);
}

reactor_Time reactor_timers_due(const reactor_Reactor *r) {
  return r->timer_count > 0 ? r->heap[0]->due : REACTOR_NEVER;
}

/* Compares with one `now`: a timer that is set again meanwhile waits for the
** next step, so that timers without delay cannot keep the loop here. */
void reactor_timers_run(reactor_Reactor *r, reactor_Time now) {
  while (r->timer_count > 0 && r->heap[0]->due <= now) {
    reactor_Timer *timer = r->heap[0];
    reactor_timer_unset(r, timer); /* first: the function may set it again */
    timer->on_due(timer->op);
  }
}

static void say_timer(reactor_Op *op) {
  reactor_say(op, REACTOR_TIMER, true);
}

static void stop_timer(reactor_Op *op) {
  reactor_timer_unset(op->reactor, &op->timer);
}

bool reactor_timer_start(reactor_Reactor *r, reactor_Op *op, double ms) {
  op->stop = stop_timer;
  op->timer.op = op;
  op->timer.on_due = say_timer;
  if (!reactor_timer_set(r, &op->timer, reactor_after(ms))) return false;
  reactor_start(r, op);
  return true;
}
