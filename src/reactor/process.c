#include "reactor/process.h"

#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#define CHUNK 65536   /* the capacity of a pipe */
#define GATHERED 1024 /* small writes are gathered up to this size */
#define MAX_LOG CHUNK
#define KEPT_CAPACITY CHUNK /* an empty queue keeps this much memory */
#define POLL_MS 20.0        /* between polls for the end of a process */
#define LAST_WAIT_MS 1000   /* for killed processes, when the reactor closes */

/* Queues */

static size_t unread(const process_Queue *q) {
  return q->bytes.len - q->start;
}

/* Makes room for `extra` more bytes at the end.  Moves the unread bytes to the
** start of the block when they are fewer than the read ones before them. */
static bool queue_reserve(process_Queue *q, size_t extra) {
  if (q->start > unread(q)) {
    memmove(q->bytes.data, q->bytes.data + q->start, unread(q));
    q->bytes.len -= q->start;
    q->start = 0;
  }
  return buffer_reserve(&q->bytes, extra);
}

static void queue_take(process_Queue *q, size_t n) {
  q->start += n;
  if (unread(q) > 0) return;
  q->start = q->bytes.len = 0;
  if (q->bytes.capacity > KEPT_CAPACITY) buffer_free(&q->bytes);
}

static void queue_free(process_Queue *q) {
  buffer_free(&q->bytes);
  q->start = 0;
}

/* Descriptors */

static process_Process *process_of(reactor_Reactor *r, int fd) {
  return (process_Process *)r->sources[fd].op;
}

static void watch(process_Process *p, int fd, uint32_t want,
                  reactor_OnReady on_ready) {
  if (fd == -1) return;
  p->op.reactor->sources[fd].op = &p->op;
  (void)reactor_watch(p->op.reactor, fd, want, on_ready); /* has its place */
}

static void drop(reactor_Reactor *r, int *fd) {
  if (*fd == -1) return;
  /* A forked child shares the poller and must not change it. */
  if (reactor_usable(r)) reactor_closing(r, *fd);
  close(*fd);
  *fd = -1;
}

static void drop_exit(reactor_Reactor *r, int *fd) {
  if (*fd == -1) return;
  if (reactor_usable(r)) reactor_closing(r, *fd);
  platform_close(*fd, !reactor_usable(r));
  *fd = -1;
}

/* Has the process nothing more to say?  Another process that has its stdin may
** still read what was sent. */
static bool is_over(const process_Process *p) {
  return p->end != PROCESS_RUNS && p->child.out == -1 && p->child.err == -1 &&
         unread(&p->input) == 0;
}

/* Was the process started by this process, not by the parent of a fork? */
static bool is_ours(const process_Process *p) {
  return p->op.reactor != NULL && reactor_usable(p->op.reactor);
}

static void say(process_Process *p, reactor_Event event) {
  reactor_say(&p->op, event, is_over(p));
}

/* The end of a process */

/* Asks for the state of a process: 1 it has ended, 0 it runs, -1 other code of
** this program has reaped it. */
static int ask(pid_t pid, siginfo_t *info, int flags) {
  memset(info, 0, sizeof(*info));
  if (waitid(P_PID, (id_t)pid, info, WEXITED | WNOHANG | flags) != 0) return -1;
  return info->si_pid != 0;
}

/* Signals the process group; the process itself when it has left its group. */
static void signal_group(pid_t pid, int number) {
  if (kill(-pid, number) != 0) (void)kill(pid, number);
}

static void note_end(process_Process *p, const siginfo_t *info, int state) {
  if (state < 0) {
    p->end = PROCESS_UNKNOWN;
  } else {
    p->end = info->si_code == CLD_EXITED ? PROCESS_EXITED : PROCESS_KILLED;
    p->status = info->si_status;
  }
}

static bool read_log(process_Process *p);
static void release_input(process_Process *p);

/* Records the end of the process, if it came.  The process number is ours until
** it is reaped, so the rest of its group is killed before that. */
static void observe(process_Process *p) {
  siginfo_t info;
  int state;
  if (p->end != PROCESS_RUNS) return;
  state = ask(p->child.pid, &info, WNOWAIT);
  if (state == 0) return;
  if (state > 0 && p->ending) (void)kill(-p->child.pid, SIGKILL);
  if (state > 0) state = ask(p->child.pid, &info, 0);
  note_end(p, &info, state);
  while (p->child.err != -1 && p->log.len < MAX_LOG && read_log(p)) {
  } /* reads its last output before its end is reported */
  release_input(p);
  drop_exit(p->op.reactor, &p->child.exit);
  reactor_timer_unset(p->op.reactor, &p->op.timer);
  say(p, REACTOR_EXIT);
}

static void on_exit_ready(reactor_Reactor *r, int fd, uint32_t events) {
  (void)events;
  observe(process_of(r, fd));
}

/* Polls where the system does not report the end of a process. */
static void ask_later(process_Process *p) {
  observe(p);
  if (p->end != PROCESS_RUNS || p->child.exit != -1) return;
  (void)reactor_timer_set(p->op.reactor, &p->op.timer, reactor_after(POLL_MS));
}

static void on_due(reactor_Op *op) {
  ask_later((process_Process *)op);
}

void process_end(process_Process *p, int number) {
  siginfo_t info;
  if (!is_ours(p) || p->end != PROCESS_RUNS) return;
  p->ending = true;
  if (number != 0 && ask(p->child.pid, &info, WNOWAIT) >= 0)
    signal_group(p->child.pid, number);
}

/* stdin */

static void finish_input(process_Process *p) {
  drop(p->op.reactor, &p->child.in);
  queue_free(&p->input);
}

/* Frees the input when no process will read it: the handle may live long after
** its process ended. */
static void release_input(process_Process *p) {
  struct pollfd reader = {.fd = p->child.in};
  if (p->child.in == -1 || unread(&p->input) > 0) return;
  if (poll(&reader, 1, 0) == 1 && reader.revents & (POLLERR | POLLHUP))
    finish_input(p);
}

static void on_input(reactor_Reactor *r, int fd, uint32_t events);

/* Writes what the pipe takes; says DRAIN when the queue has room again, or the
** process reads no more. */
static void flush(process_Process *p) {
  bool had = p->child.in != -1;
  ssize_t n = 0;
  while (unread(&p->input) > 0 && n >= 0) {
    n = platform_pipe_write(p->child.in, p->input.bytes.data + p->input.start,
                            unread(&p->input), &p->masks);
    if (n > 0) queue_take(&p->input, (size_t)n);
  }
  if (n < 0 && errno != EAGAIN) finish_input(p);
  else if (unread(&p->input) == 0 && p->closing) finish_input(p);
  watch(p, p->child.in, unread(&p->input) > 0 ? POLLER_WRITE : 0, on_input);
  if ((p->refused && unread(&p->input) < p->options.queue) ||
      (had && process_is_lost(p))) {
    p->refused = false;
    say(p, REACTOR_DRAIN);
  }
  if (is_over(p)) reactor_set_active(&p->op, false);
}

bool process_is_lost(const process_Process *p) {
  return p->child.in == -1 && !p->closing;
}

static void on_input(reactor_Reactor *r, int fd, uint32_t events) {
  (void)events;
  flush(process_of(r, fd));
}

static void on_release(reactor_Op *op) {
  flush((process_Process *)op);
}

process_Sent process_send(process_Process *p, const char *bytes, size_t length,
                          const char *more, size_t more_length) {
  if (p->child.in == -1 || p->closing || !is_ours(p)) return PROCESS_CLOSED;
  if (unread(&p->input) >= p->options.queue) {
    p->refused = true;
    return PROCESS_FULL;
  }
  if (!queue_reserve(&p->input, length + more_length)) return PROCESS_MEMORY;
  buffer_add(&p->input.bytes, bytes, length);
  buffer_add(&p->input.bytes, more, more_length);
  reactor_set_active(&p->op, true);
  if (unread(&p->input) < GATHERED && reactor_hold_op(&p->op))
    return PROCESS_SENT;
  flush(p);
  return p->child.in != -1 ? PROCESS_SENT : PROCESS_CLOSED;
}

void process_close_input(process_Process *p) {
  if (p->child.in == -1) return;
  p->closing = true;
  if (is_ours(p)) flush(p);
  else finish_input(p); /* our copy of it */
}

/* stdout */

static bool wants_output(const process_Process *p) {
  size_t n = unread(&p->output);
  if (p->starved) return false;
  if (n < p->options.window) return true;
  return p->lines && p->scanned == n && n <= p->options.max_line;
}

/* Reads once, as much as there is room for.  Returns the number of bytes; -1 at
** the end. */
static ssize_t fill(process_Queue *q, int fd) {
  ssize_t n;
  do n = read(fd, q->bytes.data + q->bytes.len, CHUNK);
  while (n < 0 && errno == EINTR);
  if (n < 0) return errno == EAGAIN ? 0 : -1;
  if (n == 0) return -1;
  q->bytes.len += (size_t)n;
  return n;
}

static void on_output(reactor_Reactor *r, int fd, uint32_t events);

static void watch_output(process_Process *p) {
  watch(p, p->child.out, wants_output(p) ? POLLER_READ : 0, on_output);
}

static void on_output(reactor_Reactor *r, int fd, uint32_t events) {
  process_Process *p = process_of(r, fd);
  ssize_t n = 0;
  (void)events;
  p->starved = !queue_reserve(&p->output, CHUNK);
  if (!p->starved) n = fill(&p->output, fd);
  if (n == 0 && !p->starved) return;
  if (n < 0) {
    drop(r, &p->child.out);
    if (unread(&p->output) == 0) queue_free(&p->output);
    ask_later(p);
  }
  watch_output(p);
  say(p, REACTOR_DATA);
}

/* The reader of the output calls this again once there is memory. */
static bool feed(process_Process *p) {
  if (!p->starved || !is_ours(p)) return true;
  p->starved = !queue_reserve(&p->output, CHUNK);
  watch_output(p);
  return !p->starved;
}

process_Got process_chunk(process_Process *p, process_Text *text) {
  text->length = text->whole = unread(&p->output);
  p->lines = false;
  if (text->whole > 0) {
    text->bytes = p->output.bytes.data + p->output.start;
    return PROCESS_GOT;
  }
  if (!feed(p)) return PROCESS_STARVED;
  return p->child.out == -1 || !is_ours(p) ? PROCESS_OVER : PROCESS_WAIT;
}

static bool ends_with_return(const process_Text *text) {
  return text->length > 0 && text->bytes[text->length - 1] == '\r';
}

process_Got process_line(process_Process *p, process_Text *text) {
  process_Got got = process_chunk(p, text);
  const char *end;
  if (got != PROCESS_GOT) return got;
  end = memchr(text->bytes + p->scanned, '\n', text->whole - p->scanned);
  if (end != NULL) {
    text->length = (size_t)(end - text->bytes);
    text->whole = text->length + 1;
  }
  if (text->length > p->options.max_line) return PROCESS_TOO_LONG;
  if (end == NULL && p->child.out != -1 && is_ours(p)) {
    p->scanned = text->whole;
    p->lines = true;
    if (!feed(p)) return PROCESS_STARVED;
    watch_output(p);
    return PROCESS_WAIT;
  }
  if (end != NULL && ends_with_return(text)) text->length--;
  return PROCESS_GOT;
}

void process_take(process_Process *p, size_t whole) {
  queue_take(&p->output, whole);
  p->scanned = 0;
  if (p->child.out == -1 && unread(&p->output) == 0) queue_free(&p->output);
  if (is_ours(p)) watch_output(p);
}

/* stderr */

static void on_log(reactor_Reactor *r, int fd, uint32_t events);

static void watch_log(process_Process *p) {
  watch(p, p->child.err, p->log.len < MAX_LOG ? POLLER_READ : 0, on_log);
}

/* Reads once; false when there is no more for now. */
static bool read_log(process_Process *p) {
  char bytes[4096];
  ssize_t n;
  do n = read(p->child.err, bytes, sizeof(bytes));
  while (n < 0 && errno == EINTR);
  if (n < 0 && errno == EAGAIN) return false;
  if (n <= 0) drop(p->op.reactor, &p->child.err);
  else (void)buffer_add(&p->log, bytes, (size_t)n); /* no memory: a gap */
  watch_log(p);
  say(p, REACTOR_LOG);
  return n > 0;
}

static void on_log(reactor_Reactor *r, int fd, uint32_t events) {
  process_Process *p = process_of(r, fd);
  (void)events;
  (void)read_log(p);
  if (p->child.err == -1) ask_later(p);
}

void process_log_pulled(process_Process *p) {
  p->log.len = 0;
  if (p->child.err == -1) buffer_free(&p->log);
  if (is_ours(p)) watch_log(p);
}

/* Dropped processes */

/* The time to wait for the orphans, in ms; short where the system does not
** report their end. */
static int wait_for(const process_Orphan *orphan, reactor_Time until) {
  reactor_Time now = reactor_now();
  double left = until > now ? (double)(until - now) / 1e6 : 0;
  return (int)(orphan->exit == -1 && left > POLL_MS ? POLL_MS : left);
}

static void forget(reactor_Reactor *r, process_Orphan *orphan) {
  drop_exit(r, &orphan->exit);
  ops_free(&r->alloc, orphan, sizeof(*orphan));
}

/* Reaps the orphans that have ended; waits up to `ms` in all for the others. */
static void reap(reactor_Reactor *r, int ms) {
  reactor_Time until = ms > 0 ? reactor_after(ms) : 0;
  process_Orphan **link = &r->orphans, *orphan;
  while ((orphan = *link) != NULL) {
    struct pollfd waited = {.fd = orphan->exit, .events = POLLIN};
    siginfo_t info;
    if (ms > 0) (void)poll(&waited, 1, wait_for(orphan, until));
    if (ask(orphan->pid, &info, 0) == 0 && ms == 0) {
      link = &orphan->next;
      continue;
    }
    *link = orphan->next;
    forget(r, orphan);
  }
}

static void on_orphan(reactor_Reactor *r, int fd, uint32_t events) {
  (void)fd, (void)events;
  reap(r, 0);
}

static void on_close(reactor_Reactor *r, bool forked) {
  process_Orphan *orphan;
  if (!forked) reap(r, LAST_WAIT_MS);
  while ((orphan = r->orphans) != NULL) {
    r->orphans = orphan->next;
    forget(r, orphan);
  }
}

static void abandon(process_Process *p) {
  reactor_Reactor *r = p->op.reactor;
  process_Orphan *orphan = p->orphan;
  p->orphan = NULL;
  process_end(p, SIGKILL);
  orphan->pid = p->child.pid;
  orphan->exit = p->child.exit;
  orphan->next = r->orphans;
  r->orphans = orphan;
  p->child.exit = -1;
  if (orphan->exit != -1)
    (void)reactor_watch(r, orphan->exit, POLLER_READ, on_orphan);
  reap(r, 0);
}

/* Start and stop */

static void stop(reactor_Op *op) {
  process_Process *p = (process_Process *)op;
  reactor_Reactor *r = op->reactor;
  reactor_timer_unset(r, &op->timer);
  drop(r, &p->child.in);
  drop(r, &p->child.out);
  drop(r, &p->child.err);
  if (p->end == PROCESS_RUNS && reactor_usable(r)) abandon(p);
  drop_exit(r, &p->child.exit);
  queue_free(&p->input);
  queue_free(&p->output);
  buffer_free(&p->log);
  ops_free(&r->alloc, p->orphan, sizeof(*p->orphan));
}

static bool fail(process_Process *p, const char *step, int error) {
  p->failure.step = step;
  p->failure.error = error;
  return false;
}

static bool adopt_all(reactor_Reactor *r, const spawn_Child *child) {
  return reactor_opened(r, child->in) && reactor_opened(r, child->out) &&
         reactor_opened(r, child->err) &&
         (child->exit == -1 || reactor_opened(r, child->exit));
}

bool process_start(reactor_Reactor *r, process_Process *p,
                   const process_Options *options) {
  r->on_close = on_close;
  reap(r, 0);
  p->options = *options;
  p->orphan = ops_alloc(&r->alloc, sizeof(*p->orphan));
  if (p->orphan == NULL) return fail(p, "memory", ENOMEM);
  buffer_init(&p->input.bytes, r->alloc, BUFFER_UNLIMITED);
  buffer_init(&p->output.bytes, r->alloc, BUFFER_UNLIMITED);
  buffer_init(&p->log, r->alloc, BUFFER_UNLIMITED);
  if (!spawn_start(&options->spawn, &p->child, &p->failure)) {
    ops_free(&r->alloc, p->orphan, sizeof(*p->orphan));
    return false;
  }
  p->op.stop = stop;
  p->op.on_release = on_release;
  p->op.timer.op = &p->op;
  p->op.timer.on_due = on_due;
  reactor_start(r, &p->op);
  if (!adopt_all(r, &p->child)) {
    reactor_stop(&p->op);
    return fail(p, "memory", ENOMEM);
  }
  watch_output(p);
  watch_log(p);
  watch(p, p->child.exit, POLLER_READ, on_exit_ready);
  if (p->child.exit == -1) ask_later(p);
  return true;
}
