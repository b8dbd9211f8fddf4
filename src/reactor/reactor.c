#include "reactor/reactor.h"

#include <limits.h>
#include <string.h>
#include <unistd.h>

#define MIN_SOURCES 64

bool reactor_init(reactor_Reactor *r, ops_Alloc alloc) {
  *r = (reactor_Reactor){
      .alloc = alloc, .pid = getpid(), .armed = REACTOR_NEVER};
  if (!platform_poller_open(&r->poller)) return false;
  r->mine = (char *)platform_fork_page();
  if (r->mine != NULL) *r->mine = 1;
  return true;
}

/* After a fork the child has copies of all descriptors, but the poller and what
** it watches still belong to the parent. */
static bool is_mine(const reactor_Reactor *r) {
  return r->mine != NULL ? *r->mine != 0 : r->pid == getpid();
}

bool reactor_usable(const reactor_Reactor *r) {
  return r->poller.fd != -1 && is_mine(r);
}

void reactor_close(reactor_Reactor *r) {
  bool forked = !is_mine(r);
  reactor_Op *op;
  if (r->poller.fd == -1) return;
  while ((op = r->ops) != NULL) reactor_stop(op);
  if (r->engine != NULL && !forked) r->engine->close(r);
  if (r->on_close != NULL) r->on_close(r, forked);
  platform_poller_close(&r->poller, forked);
  platform_fork_page_free(r->mine);
  r->mine = NULL;
  ops_free(&r->alloc, r->sources, r->source_count * sizeof(*r->sources));
  ops_free(&r->alloc, r->dirty, r->source_count * sizeof(*r->dirty));
  ops_free(&r->alloc, r->heap, r->heap_capacity * sizeof(void *));
}

/* Ops and their events */

void reactor_set_active(reactor_Op *op, bool active) {
  if (op->active && !active) op->reactor->active_count--;
  if (!op->active && active) op->reactor->active_count++;
  op->active = active;
}

void reactor_start(reactor_Reactor *r, reactor_Op *op) {
  op->reactor = r;
  op->next = r->ops;
  if (r->ops != NULL) r->ops->previous = op;
  r->ops = op;
  reactor_set_active(op, true);
}

/* The op that leaves the queue is nearly always its first. */
static void unlink_ready(reactor_Reactor *r, reactor_Op *op) {
  reactor_Op **link = &r->ready_first, *before = NULL;
  if (!op->ready) return;
  while (*link != op) {
    before = *link;
    link = &before->ready_next;
  }
  *link = op->ready_next;
  if (r->ready_last == op) r->ready_last = before;
  op->ready = false;
}

static void unlink_held(reactor_Reactor *r, reactor_Op *op) {
  reactor_Op **link = &r->held;
  if (!op->held) return;
  while (*link != op) link = &(*link)->held_next;
  *link = op->held_next;
}

void reactor_stop(reactor_Op *op) {
  reactor_Reactor *r = op->reactor;
  if (r == NULL) return;
  if (op->stop != NULL) op->stop(op);
  reactor_set_active(op, false);
  unlink_held(r, op);
  unlink_ready(r, op);
  if (op->previous != NULL) op->previous->next = op->next;
  else r->ops = op->next;
  if (op->next != NULL) op->next->previous = op->previous;
  op->reactor = NULL;
}

static void queue_ready(reactor_Reactor *r, reactor_Op *op) {
  op->ready = true;
  op->ready_next = NULL;
  if (r->ready_last != NULL) r->ready_last->ready_next = op;
  else r->ready_first = op;
  r->ready_last = op;
}

void reactor_say(reactor_Op *op, reactor_Event event, bool last) {
  op->pending |= event;
  if (!op->ready) queue_ready(op->reactor, op);
  if (last) reactor_set_active(op, false);
}

reactor_Op *reactor_ready(reactor_Reactor *r) {
  return r->ready_first;
}

void reactor_pulled(reactor_Op *op, reactor_Event event) {
  op->pending &= ~(unsigned)event;
  unlink_ready(op->reactor, op);
  if (op->pending != 0) queue_ready(op->reactor, op); /* behind the others */
}

/* Gathering */

void reactor_hold(reactor_Reactor *r) {
  r->holding = true;
}

bool reactor_hold_op(reactor_Op *op) {
  reactor_Reactor *r = op->reactor;
  if (!r->holding) return false;
  if (op->held) return true;
  op->held = true;
  op->held_next = r->held;
  r->held = op;
  return true;
}

static void release_held(reactor_Reactor *r) {
  reactor_Op *op;
  while ((op = r->held) != NULL) {
    r->held = op->held_next; /* first: the function may stop the op */
    op->held = false;
    op->on_release(op);
  }
}

void reactor_release(reactor_Reactor *r) {
  r->holding = false;
  release_held(r);
}

/* Descriptors */

/* `dirty` has room for every descriptor, so that adding one cannot fail. */
static bool reserve_sources(reactor_Reactor *r, int fd) {
  size_t old = r->source_count, count = old > 0 ? old : MIN_SOURCES;
  void *sources, *dirty;
  if ((size_t)fd < old) return true;
  while (count <= (size_t)fd) count *= 2;
  dirty = ops_alloc(&r->alloc, count * sizeof(*r->dirty));
  if (dirty == NULL) return false;
  sources = ops_realloc(&r->alloc, r->sources, old * sizeof(*r->sources),
                        count * sizeof(*r->sources));
  if (sources == NULL) {
    ops_free(&r->alloc, dirty, count * sizeof(*r->dirty));
    return false;
  }
  r->sources = sources;
  memset(r->sources + old, 0, (count - old) * sizeof(*r->sources));
  if (r->dirty_count > 0)
    memcpy(dirty, r->dirty, r->dirty_count * sizeof(*r->dirty));
  ops_free(&r->alloc, r->dirty, old * sizeof(*r->dirty));
  r->dirty = dirty;
  r->source_count = count;
  return true;
}

/* The generation distinguishes events of a closed descriptor from those of the
** next descriptor with the same number. */
static void apply(reactor_Reactor *r, int fd) {
  reactor_Source *source = &r->sources[fd];
  if (source->want == source->have) return;
  platform_poller_set(&r->poller, fd, source->generation, source->have,
                      source->want);
  source->have = source->want;
}

static void apply_all(reactor_Reactor *r) {
  size_t i;
  for (i = 0; i < r->dirty_count; i++) {
    r->sources[r->dirty[i]].dirty = false;
    apply(r, r->dirty[i]);
  }
  r->dirty_count = 0;
}

/* Only records the interest: curl drops and renews it with every request on a
** kept connection, and most of it cancels out before the next wait. */
bool reactor_watch(reactor_Reactor *r, int fd, uint32_t want,
                   reactor_OnReady on_ready) {
  reactor_Source *source;
  if (!reserve_sources(r, fd)) return false;
  source = &r->sources[fd];
  source->want = want;
  source->on_ready = on_ready;
  if (want == 0 && !source->ours) {
    apply(r, fd); /* the library may close it without telling us */
    source->generation++;
  } else if (!source->dirty) {
    source->dirty = true;
    r->dirty[r->dirty_count++] = fd;
  }
  return true;
}

bool reactor_opened(reactor_Reactor *r, int fd) {
  if (!reserve_sources(r, fd)) return false;
  r->sources[fd].ours = true;
  return true;
}

void reactor_closing(reactor_Reactor *r, int fd) {
  reactor_Source *source;
  if ((size_t)fd >= r->source_count) return;
  source = &r->sources[fd];
  source->want = 0;
  apply(r, fd);
  source->ours = false;
  source->op = NULL;
  source->generation++;
}

/* Waiting */

reactor_Time reactor_due(const reactor_Reactor *r) {
  reactor_Time timers = reactor_timers_due(r);
  reactor_Time engine = r->engine ? r->engine->due(r) : REACTOR_NEVER;
  return timers < engine ? timers : engine;
}

static void run_due(reactor_Reactor *r) {
  reactor_Time now = reactor_now();
  reactor_timers_run(r, now);
  if (r->engine != NULL) r->engine->run(r, now);
}

/* The poller's timeout: until the next timer, rounded up to milliseconds. */
static int wait_ms(const reactor_Reactor *r, int timeout_ms) {
  reactor_Time due = reactor_due(r), now, ms;
  if (r->ready_first != NULL) return 0;
  if (due == REACTOR_NEVER || timeout_ms == 0) return timeout_ms;
  now = reactor_now();
  ms = due > now ? (due - now + 999999) / 1000000 : 0;
  if (timeout_ms >= 0 && (reactor_Time)timeout_ms < ms) return timeout_ms;
  return ms > INT_MAX ? INT_MAX : (int)ms;
}

static void take(reactor_Reactor *r, const platform_Ready *ready) {
  int fd = ready->fd;
  const reactor_Source *source;
  if (fd == POLLER_ALARM) {
    r->armed = REACTOR_NEVER;
    return;
  }
  source = &r->sources[fd];
  /* The event was fetched in one batch with another whose handler closed this
  ** descriptor. */
  if (source->generation != ready->generation || source->want == 0) return;
  source->on_ready(r, fd, ready->events);
}

/* Runs timers before the wait, whose length depends on those that remain and on
** what they start, and after it, for those that became due meanwhile. */
void reactor_step(reactor_Reactor *r, int timeout_ms) {
  platform_Ready ready[POLLER_BATCH];
  int i, n;
  release_held(r);
  run_due(r);
  apply_all(r);
  n = platform_poller_wait(&r->poller, ready, wait_ms(r, timeout_ms));
  for (i = 0; i < n; i++) take(r, &ready[i]);
  run_due(r);
}

bool reactor_flush(reactor_Reactor *r, bool soon) {
  reactor_Time due;
  release_held(r);
  due = soon || r->ready_first != NULL ? 1 : reactor_due(r);
  apply_all(r);
  if (due >= r->armed) return true; /* an early alarm costs one empty step */
  if (!platform_poller_alarm(&r->poller, due)) return false;
  r->armed = due;
  return true;
}
