#include "transfer/connect.h"

#include <errno.h>
#include <fcntl.h>
#include <strings.h>
#include <unistd.h>

/* TLS, by curl */

static ssize_t result(CURLcode code, const size_t *n) {
  if (code == CURLE_OK) return (ssize_t)*n;
  errno = code == CURLE_AGAIN ? EAGAIN : ECONNRESET;
  return -1;
}

static ssize_t receive(stream_Stream *s, char *bytes, size_t room) {
  CURL *easy = ((connect_Connection *)s)->easy->curl;
  size_t n;
  return result(curl_easy_recv(easy, bytes, room, &n), &n);
}

static ssize_t transmit(stream_Stream *s, const char *bytes, size_t length) {
  CURL *easy = ((connect_Connection *)s)->easy->curl;
  size_t n;
  return result(curl_easy_send(easy, bytes, length, &n), &n);
}

static void close_secure(stream_Stream *s) {
  connect_Connection *c = (connect_Connection *)s;
  http_close(s->op.reactor, c->pool, c->easy);
  c->easy = NULL;
}

static const stream_Layer tls = {receive, transmit, close_secure};

/* From transfer to stream */

/* curl treats a connection that made no request as idle and may close it at any
** time.  So we duplicate its descriptor.  With TLS, whose state is curl's, the
** first read marks the connection as in use. */
static int take_connection(connect_Connection *c) {
  http_Transfer *t = &c->as.transfer;
  reactor_Reactor *r = t->op.reactor;
  curl_socket_t fd = CURL_SOCKET_BAD;
  int own;
  curl_easy_getinfo(t->easy->curl, CURLINFO_ACTIVESOCKET, &fd);
  if (fd == CURL_SOCKET_BAD) return -1;
  if (c->secure) {
    c->pool = t->pool;
    c->easy = http_take(t);
    return fd;
  }
  own = fcntl(fd, F_DUPFD_CLOEXEC, 0);
  http_release(t);
  if (own != -1 && !reactor_opened(r, own)) {
    close(own);
    return -1;
  }
  return own;
}

static void on_connected(http_Transfer *t) {
  connect_Connection *c = (connect_Connection *)t;
  stream_Stream *s = &c->as.stream;
  int fd = take_connection(c);
  if (fd == -1) {
    http_lose(t, "the connection is gone");
    return;
  }
  http_free(t);
  memset((char *)s + sizeof(s->op), 0, sizeof(*s) - sizeof(s->op));
  c->connected = true;
  s->layer = c->secure ? &tls : NULL;
  s->window = c->window;
  s->queue = c->queue;
  reactor_say(&s->op, REACTOR_HEAD, false);
  stream_begin(s, fd);
}

bool connect_start(reactor_Reactor *r, connect_Connection *c,
                   const http_Request *request, size_t queue) {
  c->window = request->window;
  c->queue = queue;
  c->secure = strncasecmp(request->url, "https:", 6) == 0;
  c->as.transfer.on_connected = on_connected;
  return http_start(r, &c->as.transfer, request);
}
