/*
** stream.h - byte streams inside a reactor: connected sockets.  No protocol;
** other files connect and accept.  No Lua.
*/
#ifndef OPERATIONS_REACTOR_STREAM_H
#define OPERATIONS_REACTOR_STREAM_H

#include "base/buffer.h"
#include "reactor/reactor.h"

typedef struct stream_Stream stream_Stream;

/* A filter of the bytes of a stream, such as TLS. */
typedef struct stream_Layer {
  /* As recv and send: how many bytes, 0 at the end, -1 with errno set.  It may
  ** hold bytes that no descriptor tells of. */
  ssize_t (*receive)(stream_Stream *s, char *bytes, size_t room);
  ssize_t (*transmit)(stream_Stream *s, const char *bytes, size_t length);
  void (*close)(stream_Stream *s); /* the descriptor too */
} stream_Layer;

/* Says DATA: stream_unread has more; DRAIN: stream_send may be tried again;
** DONE: the other side sends no more; ERROR: it was lost. */
struct stream_Stream {
  reactor_Op op;             /* first: a handle */
  int fd;                    /* -1 after it is closed */
  const stream_Layer *layer; /* NULL: none */
  buffer_Buffer in, out;
  size_t taken;       /* of `out`, by the socket */
  size_t window;      /* unread bytes at which the sender is held back */
  size_t queue;       /* unsent bytes at which stream_send refuses more */
  const char *reason; /* of its loss */
  bool refused;       /* stream_send said FULL */
  bool flushing;      /* DRAIN is to be said when all is sent */
  bool closing;       /* our side, once all is sent */
  bool over;          /* the other side ended */
};

/* Makes a stream of a connected socket, which is registered with the reactor.
** Its op is started; `layer`, `window` and `queue` are set, the rest is zero.
*/
void stream_begin(stream_Stream *s, int fd);

/* The bytes received so far: borrowed until stream_drained. */
size_t stream_unread(const stream_Stream *s, const char **bytes);

/* The bytes of stream_unread were taken. */
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

/* How many bytes are queued; `flushing`: DRAIN comes when they are sent.  False
** when it is closed. */
bool stream_unsent(stream_Stream *s, bool flushing, size_t *bytes);

/* The address of the peer: numeric, and its port; "unix:" and 0 for a Unix
** socket.  False when the connection is gone. */
bool stream_peer(const stream_Stream *s, char *host, size_t room, int *port);

/* Ends our side behind what is queued. */
void stream_finish(stream_Stream *s);

#endif
