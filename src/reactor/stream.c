#include "reactor/stream.h"

#include <arpa/inet.h>
#include <errno.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#define CHUNK 65536
#define GATHERED 4096 /* bytes that wait for more */

static void on_ready(reactor_Reactor *r, int fd, uint32_t events);

static size_t unsent(const stream_Stream *s) {
  return s->out.len - s->taken;
}

/* Reading stops at `window` untaken bytes, which holds the sender back. */
static void watch(stream_Stream *s) {
  reactor_Reactor *r = s->op.reactor;
  uint32_t want = 0;
  if (s->fd == -1) return;
  if (!s->over && s->in.len < s->window) want |= POLLER_READ;
  if (unsent(s) > 0) want |= POLLER_WRITE;
  if (s->over) reactor_set_active(&s->op, unsent(s) > 0);
  r->sources[s->fd].op = &s->op;
  (void)reactor_watch(r, s->fd, want, on_ready); /* has its place */
}

static void drop(stream_Stream *s) {
  reactor_Reactor *r = s->op.reactor;
  int fd = s->fd;
  s->fd = -1;
  s->over = true;
  if (fd == -1) return;
  if (s->layer != NULL && reactor_usable(r)) {
    r->sources[fd].op = NULL; /* not watched until it is closed */
    s->layer->close(s);
    return;
  }
  if (reactor_usable(r)) reactor_closing(r, fd);
  close(fd);
}

/* Is it open, in the process that opened it? */
static bool is_open(const stream_Stream *s) {
  return s->fd != -1 && reactor_usable(s->op.reactor);
}

static void lose(stream_Stream *s, const char *reason) {
  s->reason = reason;
  drop(s);
  reactor_say(&s->op, REACTOR_ERROR, true);
}

static ssize_t receive(stream_Stream *s, char *bytes, size_t room) {
  if (s->layer != NULL) return s->layer->receive(s, bytes, room);
  return recv(s->fd, bytes, room, 0);
}

static ssize_t transmit(stream_Stream *s, const char *bytes, size_t length) {
  if (s->layer != NULL) return s->layer->transmit(s, bytes, length);
  return platform_send(s->fd, bytes, length, 0);
}

/* Reads once; true when there may be more at once: a layer is read until it has
** none. */
static bool read_once(stream_Stream *s) {
  buffer_Buffer *body = &s->in;
  ssize_t n;
  if (!buffer_reserve(body, CHUNK)) {
    lose(s, "not enough memory for what came");
    return false;
  }
  do n = receive(s, body->data + body->len, CHUNK);
  while (n < 0 && errno == EINTR);
  if (n > 0) {
    body->len += (size_t)n;
    return s->layer != NULL || n == CHUNK; /* less: the socket is empty */
  }
  if (n == 0) {
    s->over = true;
    reactor_say(&s->op, REACTOR_DONE, false); /* active until all is sent */
  } else if (errno != EAGAIN) {
    lose(s, strerror(errno));
  }
  return false;
}

static void fill(stream_Stream *s) {
  size_t before = s->in.len;
  while (!s->over && s->in.len < s->window && read_once(s)) {
  }
  if (s->in.len > before) reactor_say(&s->op, REACTOR_DATA, false);
}

static void flush(stream_Stream *s) {
  buffer_Buffer *out = &s->out;
  ssize_t n = 0;
  while (unsent(s) > 0 && n >= 0) {
    n = transmit(s, out->data + s->taken, unsent(s));
    if (n > 0) s->taken += (size_t)n;
    else if (errno == EINTR) n = 0;
  }
  if (unsent(s) == 0) {
    out->len = s->taken = 0;
    if (out->capacity > CHUNK) buffer_free(out); /* of one large write */
    if (s->closing) (void)shutdown(s->fd, SHUT_WR);
  } else if (n < 0 && errno != EAGAIN) {
    lose(s, strerror(errno));
  }
}

static void tell_drained(stream_Stream *s) {
  bool room = s->refused && unsent(s) < s->queue;
  bool empty = s->flushing && unsent(s) == 0;
  if (!room && !empty) return;
  if (room) s->refused = false;
  if (empty) s->flushing = false;
  reactor_say(&s->op, REACTOR_DRAIN, false);
}

static void on_ready(reactor_Reactor *r, int fd, uint32_t events) {
  stream_Stream *s = (stream_Stream *)r->sources[fd].op;
  if (events & POLLER_WRITE) flush(s);
  /* Reading finds the end and the error, behind the bytes that came before. */
  if (events & (POLLER_READ | POLLER_HANGUP | POLLER_ERROR)) fill(s);
  tell_drained(s);
  watch(s);
}

static void on_release(reactor_Op *op) {
  stream_Stream *s = (stream_Stream *)op;
  if (s->fd == -1) return; /* lost meanwhile */
  flush(s);
  tell_drained(s);
  watch(s);
}

size_t stream_unread(const stream_Stream *s, const char **bytes) {
  *bytes = s->in.data;
  return s->in.len;
}

void stream_drained(stream_Stream *s) {
  bool held = s->in.len >= s->window;
  s->in.len = 0;
  if (s->in.capacity > 2 * CHUNK) buffer_free(&s->in);
  if (!held || !is_open(s)) return;
  fill(s);
  watch(s);
}

stream_Sent stream_send(stream_Stream *s, const char *bytes, size_t length,
                        bool urgent) {
  if (s->closing || !is_open(s)) return STREAM_CLOSED;
  if (!urgent && unsent(s) >= s->queue) {
    s->refused = true;
    return STREAM_FULL;
  }
  /* Fewer bytes are moved than were sent since the last time, so that a slow
  ** receiver does not make sending quadratic. */
  if (s->taken > unsent(s)) {
    memmove(s->out.data, s->out.data + s->taken, unsent(s));
    s->out.len -= s->taken;
    s->taken = 0;
  }
  if (!buffer_add(&s->out, bytes, length)) return STREAM_MEMORY;
  reactor_set_active(&s->op, true);
  if (unsent(s) < GATHERED && reactor_hold_op(&s->op)) return STREAM_SENT;
  flush(s);
  watch(s);
  return s->fd != -1 ? STREAM_SENT : STREAM_CLOSED;
}

bool stream_unsent(stream_Stream *s, bool flushing, size_t *bytes) {
  if (!is_open(s)) return false;
  *bytes = unsent(s);
  s->flushing = flushing && *bytes > 0;
  return true;
}

bool stream_peer(const stream_Stream *s, char *host, size_t room, int *port) {
  union {
    struct sockaddr any;
    struct sockaddr_in v4;
    struct sockaddr_in6 v6;
  } address = {0};
  socklen_t length = sizeof(address);
  const void *bytes = &address.v4.sin_addr;
  int family;
  if (!is_open(s) || getpeername(s->fd, &address.any, &length) != 0)
    return false;
  family = address.any.sa_family;
  if (family == AF_UNIX) {
    snprintf(host, room, "unix:");
    *port = 0;
    return true;
  }
  *port = ntohs(address.v4.sin_port); /* in the same place as that of v6 */
  if (family == AF_INET6 && IN6_IS_ADDR_V4MAPPED(&address.v6.sin6_addr)) {
    family = AF_INET;
    bytes = &address.v6.sin6_addr.s6_addr[12];
  } else if (family == AF_INET6) {
    bytes = &address.v6.sin6_addr;
  }
  return inet_ntop(family, bytes, host, (socklen_t)room) != NULL;
}

void stream_finish(stream_Stream *s) {
  if (!is_open(s)) return;
  s->closing = true;
  flush(s);
  watch(s);
}

/* Beginning and end */

static void stop(reactor_Op *op) {
  stream_Stream *s = (stream_Stream *)op;
  /* What was held back to be gathered is sent as far as the socket takes it. */
  if (op->held && is_open(s))
    (void)transmit(s, s->out.data + s->taken, unsent(s));
  drop(s);
  buffer_free(&s->in);
  buffer_free(&s->out);
}

void stream_begin(stream_Stream *s, int fd) {
  ops_Alloc alloc = s->op.reactor->alloc;
  int on = 1;
  buffer_init(&s->in, alloc, BUFFER_UNLIMITED);
  buffer_init(&s->out, alloc, BUFFER_UNLIMITED);
  s->fd = fd;
  s->op.stop = stop;
  s->op.on_release = on_release;
  (void)setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof(on));
  if (s->layer != NULL) fill(s); /* it may have read ahead */
  watch(s);
}
