#include "reactor_stream.h"

#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <netdb.h>
#include <netinet/tcp.h>
#include <stdio.h>
#include <strings.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <unistd.h>

#define CHUNK 65536
#define GATHERED 4096         /* bytes that wait for more */
#define ACCEPT_PAUSE_MS 100.0 /* when descriptors or memory have run out */

static void on_ready(reactor_Reactor *r, int fd, uint32_t events);

static size_t unsent(const stream_Stream *s) {
  return s->http.upload.len - s->http.taken;
}

static void watch(stream_Stream *s) {
  reactor_Reactor *r = s->http.op.reactor;
  uint32_t want = 0;
  if (s->fd < 0) return;
  if (!s->over && s->http.body.len < s->http.window) want |= EPOLLIN;
  if (unsent(s) > 0) want |= EPOLLOUT;
  r->sources[s->fd].op = &s->http.op;
  (void)reactor_watch(r, s->fd, want, on_ready); /* has its place */
}

static void drop(stream_Stream *s) {
  reactor_Reactor *r = s->http.op.reactor;
  int fd = s->fd;
  s->fd = -1;
  s->over = true;
  if (fd < 0) return;
  if (s->http.easy != NULL) {
    /* curl closes it; till then nobody watches it. */
    r->sources[fd].op = NULL;
    http_release(&s->http);
    return;
  }
  if (reactor_usable(r)) reactor_closing(r, fd);
  close(fd);
}

static void lose(stream_Stream *s, const char *reason) {
  s->http.kind = "reset";
  s->http.reason = reason;
  drop(s);
  reactor_say(&s->http.op, REACTOR_ERROR, true);
}

/* As recv: how many bytes, 0 at the end, -1 with errno set. */
static ssize_t receive(stream_Stream *s, char *bytes, size_t room) {
  size_t n = 0;
  CURLcode code;
  if (!s->secure) return recv(s->fd, bytes, room, 0);
  code = curl_easy_recv(s->http.easy->curl, bytes, room, &n);
  if (code == CURLE_OK) return (ssize_t)n;
  errno = code == CURLE_AGAIN ? EAGAIN : ECONNRESET;
  return -1;
}

static ssize_t transmit(stream_Stream *s, const char *bytes, size_t length) {
  size_t n = 0;
  CURLcode code;
  if (!s->secure) return send(s->fd, bytes, length, MSG_NOSIGNAL);
  code = curl_easy_send(s->http.easy->curl, bytes, length, &n);
  if (code == CURLE_OK) return (ssize_t)n;
  errno = code == CURLE_AGAIN ? EAGAIN : ECONNRESET;
  return -1;
}

/* Reads once; true when there may be more at once.  TLS may hold bytes that no
** descriptor tells of: it is read until it has none. */
static bool read_once(stream_Stream *s) {
  buffer_Buffer *body = &s->http.body;
  ssize_t n;
  if (!buffer_reserve(body, CHUNK)) {
    lose(s, "not enough memory for what came");
    return false;
  }
  do n = receive(s, body->data + body->len, CHUNK);
  while (n < 0 && errno == EINTR);
  if (n > 0) {
    body->len += (size_t)n;
    return s->secure || n == CHUNK;
  }
  if (n == 0) {
    s->over = true;
    reactor_say(&s->http.op, REACTOR_DONE, unsent(s) == 0);
  } else if (errno != EAGAIN) {
    lose(s, strerror(errno));
  }
  return false;
}

static void fill(stream_Stream *s) {
  size_t before = s->http.body.len;
  while (!s->over && s->http.body.len < s->http.window && read_once(s)) {
  }
  if (s->http.body.len > before)
    reactor_say(&s->http.op, REACTOR_DATA, s->over && unsent(s) == 0);
}

static void flush(stream_Stream *s) {
  buffer_Buffer *out = &s->http.upload;
  ssize_t n = 0;
  while (unsent(s) > 0 && n >= 0) {
    n = transmit(s, out->data + s->http.taken, unsent(s));
    if (n > 0) s->http.taken += (size_t)n;
    else if (errno == EINTR) n = 0;
  }
  if (unsent(s) == 0) {
    out->len = s->http.taken = 0;
    if (out->capacity > CHUNK) buffer_free(out);
    if (s->closing && s->fd >= 0) (void)shutdown(s->fd, SHUT_WR);
  } else if (n < 0 && errno != EAGAIN) {
    lose(s, strerror(errno));
  }
}

static void tell_drained(stream_Stream *s) {
  if (!s->refused || unsent(s) >= s->queue) return;
  s->refused = false;
  reactor_say(&s->http.op, REACTOR_DRAIN, false);
}

static void on_ready(reactor_Reactor *r, int fd, uint32_t events) {
  stream_Stream *s = (stream_Stream *)r->sources[fd].op;
  if (events & EPOLLOUT) flush(s);
  if (s->fd >= 0 && events & (EPOLLIN | EPOLLHUP | EPOLLERR)) fill(s);
  tell_drained(s);
  watch(s);
}

static void on_release(reactor_Op *op) {
  stream_Stream *s = (stream_Stream *)op;
  flush(s);
  tell_drained(s);
  watch(s);
}

size_t stream_unread(const stream_Stream *s, const char **bytes) {
  *bytes = s->http.body.len > 0 ? s->http.body.data : "";
  return s->http.body.len;
}

void stream_drained(stream_Stream *s) {
  bool held = s->http.body.len >= s->http.window;
  s->http.body.len = 0;
  if (s->http.body.capacity > 2 * CHUNK) buffer_free(&s->http.body);
  if (s->fd < 0 || !held) return;
  fill(s);
  watch(s);
}

stream_Sent stream_send(stream_Stream *s, const char *bytes, size_t length,
                        bool urgent) {
  if (s->fd < 0 || s->closing) return STREAM_CLOSED;
  if (!urgent && unsent(s) >= s->queue) {
    s->refused = true;
    return STREAM_FULL;
  }
  if (s->http.taken > 0 && s->http.taken >= unsent(s)) {
    memmove(s->http.upload.data, s->http.upload.data + s->http.taken,
            unsent(s));
    s->http.upload.len -= s->http.taken;
    s->http.taken = 0;
  }
  if (!buffer_add(&s->http.upload, bytes, length)) return STREAM_MEMORY;
  if (unsent(s) < GATHERED && reactor_hold_op(&s->http.op)) return STREAM_SENT;
  flush(s);
  watch(s);
  return s->fd >= 0 ? STREAM_SENT : STREAM_CLOSED;
}

void stream_finish(stream_Stream *s) {
  if (s->fd < 0 || s->closing) return;
  s->closing = true;
  flush(s);
  watch(s);
}

/* Connecting */

static void stop(reactor_Op *op) {
  stream_Stream *s = (stream_Stream *)op;
  if (op->held && s->fd >= 0 && reactor_usable(op->reactor))
    (void)transmit(s, s->http.upload.data + s->http.taken, unsent(s));
  drop(s);
  if (s->http.easy != NULL) http_release(&s->http);
  buffer_free(&s->http.head);
  buffer_free(&s->http.body);
  buffer_free(&s->http.upload);
}

static void no_delay(int fd) {
  int on = 1;
  (void)setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof(on));
}

/* curl takes a connection that asked for nothing for an idle one, and closes it
** when it likes.  So we keep a descriptor of our own; with TLS, whose state is
** curl's, the first read makes the connection one that is in use. */
static int take_connection(stream_Stream *s) {
  curl_socket_t fd = CURL_SOCKET_BAD;
  int own;
  curl_easy_getinfo(s->http.easy->curl, CURLINFO_ACTIVESOCKET, &fd);
  if (fd == CURL_SOCKET_BAD || s->secure) return fd;
  own = fcntl(fd, F_DUPFD_CLOEXEC, 0);
  http_release(&s->http);
  if (own >= 0 && !reactor_opened(s->http.op.reactor, own)) {
    close(own);
    return -1;
  }
  return own;
}

static void on_connected(http_Transfer *t) {
  stream_Stream *s = (stream_Stream *)t;
  s->fd = take_connection(s);
  if (s->fd < 0) {
    lose(s, "the connection is gone");
    return;
  }
  no_delay(s->fd);
  reactor_say(&t->op, REACTOR_HEAD, false);
  fill(s);
  watch(s);
}

bool stream_connect(reactor_Reactor *r, stream_Stream *s,
                    const http_Request *request, size_t queue) {
  s->fd = -1;
  s->queue = queue;
  s->secure = strncasecmp(request->url, "https:", 6) == 0;
  s->http.on_connected = on_connected;
  if (!http_start(r, &s->http, request)) return false;
  s->http.op.stop = stop;
  s->http.op.on_release = on_release;
  return true;
}

/* Listening */

static void on_somebody(reactor_Reactor *r, int fd, uint32_t events) {
  stream_Listener *l = (stream_Listener *)r->sources[fd].op;
  (void)events;
  (void)reactor_watch(r, fd, 0, on_somebody); /* till nobody is left */
  reactor_say(&l->op, REACTOR_DATA, false);
}

static void listen_on(reactor_Op *op) {
  stream_Listener *l = (stream_Listener *)op;
  op->reactor->sources[l->fd].op = op;
  (void)reactor_watch(op->reactor, l->fd, EPOLLIN, on_somebody);
}

static void stop_listening(reactor_Op *op) {
  stream_Listener *l = (stream_Listener *)op;
  reactor_timer_unset(op->reactor, &op->timer);
  if (reactor_usable(op->reactor)) reactor_closing(op->reactor, l->fd);
  close(l->fd);
  l->fd = -1;
}

static struct addrinfo *numeric(const char *host, int port) {
  struct addrinfo hints, *found = NULL;
  char service[16];
  memset(&hints, 0, sizeof(hints));
  hints.ai_socktype = SOCK_STREAM;
  hints.ai_flags = AI_NUMERICHOST | AI_NUMERICSERV | AI_PASSIVE;
  snprintf(service, sizeof(service), "%d", port);
  if (getaddrinfo(host, service, &hints, &found) == 0) return found;
  errno = EINVAL;
  return NULL;
}

static int port_of(int fd) {
  union {
    struct sockaddr any;
    struct sockaddr_in v4;
    struct sockaddr_in6 v6;
  } address = {0};
  socklen_t length = sizeof(address);
  if (getsockname(fd, &address.any, &length) != 0) return 0;
  return ntohs(address.any.sa_family == AF_INET6 ? address.v6.sin6_port
                                                 : address.v4.sin_port);
}

static int open_listener(const struct addrinfo *address, int backlog) {
  int on = 1, error,
      fd = socket(address->ai_family,
                  SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
  if (fd < 0) return -1;
  (void)setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &on, sizeof(on));
  if (bind(fd, address->ai_addr, address->ai_addrlen) == 0 &&
      listen(fd, backlog) == 0)
    return fd;
  error = errno;
  close(fd);
  errno = error;
  return -1;
}

bool stream_listen(reactor_Reactor *r, stream_Listener *l, const char *host,
                   int port, int backlog) {
  struct addrinfo *address = numeric(host, port);
  if (address == NULL) return false;
  l->fd = open_listener(address, backlog);
  freeaddrinfo(address);
  if (l->fd < 0) return false;
  if (!reactor_opened(r, l->fd)) {
    close(l->fd);
    errno = ENOMEM;
    return false;
  }
  l->port = port_of(l->fd);
  l->op.stop = stop_listening;
  l->op.timer.op = &l->op;
  l->op.timer.on_due = listen_on;
  reactor_start(r, &l->op);
  listen_on(&l->op);
  return true;
}

static bool adopt(reactor_Reactor *r, stream_Stream *s, int fd) {
  if (!reactor_opened(r, fd)) {
    close(fd);
    errno = ENOMEM;
    return false;
  }
  buffer_init(&s->http.head, r->alloc, 0);
  buffer_init(&s->http.body, r->alloc, SIZE_MAX / 2);
  buffer_init(&s->http.upload, r->alloc, SIZE_MAX / 2);
  s->fd = fd;
  s->http.op.stop = stop;
  s->http.op.on_release = on_release;
  s->http.op.timer.op = &s->http.op;
  reactor_start(r, &s->http.op);
  no_delay(fd);
  watch(s);
  return true;
}

bool stream_accept(stream_Listener *l, stream_Stream *s, size_t window,
                   size_t queue) {
  reactor_Reactor *r = l->op.reactor;
  int fd;
  s->fd = -1;
  s->http.window = window;
  s->queue = queue;
  do fd = accept4(l->fd, NULL, NULL, SOCK_CLOEXEC | SOCK_NONBLOCK);
  while (fd < 0 && (errno == EINTR || errno == ECONNABORTED));
  if (fd >= 0) return adopt(r, s, fd);
  if (errno == EAGAIN) {
    listen_on(&l->op);
  } else {
    int error = errno;
    (void)reactor_timer_set(r, &l->op.timer, reactor_after(ACCEPT_PAUSE_MS));
    errno = error;
  }
  return false;
}
