/*
** reactor_stream.h - byte streams inside a reactor: connections that libcurl
** makes (names, proxies, TLS), and those that a listener accepts.  No protocol.
*/
#ifndef OPERATIONS_REACTOR_STREAM_H
#define OPERATIONS_REACTOR_STREAM_H

#include "reactor_http.h"

/* Says HEAD: it is connected; DATA: stream_read has more; DRAIN: stream_send
** may be tried again; DONE: the other side sends no more; ERROR. */
typedef struct stream_Stream {
  /* First: a handle.  Makes the connection; then `body` is what came and
  ** `upload` what goes, from `taken` on. */
  http_Transfer http;
  int fd; /* -1 before it is connected, and after it is closed */
  bool secure;
  size_t queue; /* unsent bytes at which stream_send refuses more */
  bool refused; /* stream_send said FULL */
  bool closing; /* our side, once all is sent */
  bool over;    /* the other side ended */
} stream_Stream;

/* Starts to connect a zeroed stream; of the request, url ("http" or "https"
** with host and port), timeouts, TLS and proxy count, and `window`: unread
** bytes at which the sender is held back.  As http_start. */
bool stream_connect(reactor_Reactor *r, stream_Stream *s,
                    const http_Request *request, size_t queue);

/* What came so far: borrowed until stream_drained. */
size_t stream_unread(const stream_Stream *s, const char **bytes);

/* It was read. */
void stream_drained(stream_Stream *s);

typedef enum stream_Sent {
  STREAM_SENT,
  STREAM_FULL, /* nothing was taken: DRAIN comes */
  STREAM_CLOSED,
  STREAM_MEMORY
} stream_Sent;

/* Queues all of it or nothing; `urgent`: a full queue is no reason. */
stream_Sent stream_send(stream_Stream *s, const char *bytes, size_t length,
                        bool urgent);

/* Ends our side behind what is queued. */
void stream_finish(stream_Stream *s);

/* Says DATA when stream_accept has somebody. */
typedef struct stream_Listener {
  reactor_Op op; /* first: a handle */
  int fd, port;
} stream_Listener;

/* Listens at a numeric address; port 0: any free one.  False with errno set. */
bool stream_listen(reactor_Reactor *r, stream_Listener *l, const char *host,
                   int port, int backlog);

/* Fills in a zeroed stream, connected.  False with errno set: EAGAIN when
** nobody is there, and DATA comes. */
bool stream_accept(stream_Listener *l, stream_Stream *s, size_t window,
                   size_t queue);

#endif
