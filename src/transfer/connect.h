/*
** connect.h - connections that libcurl makes (names, proxies, TLS),
** which become streams.  No Lua.
*/
#ifndef OPERATIONS_TRANSFER_CONNECT_H
#define OPERATIONS_TRANSFER_CONNECT_H

#include "reactor/stream.h"
#include "transfer/http.h"

/* Says HEAD when it is connected, and then what a stream does; ERROR. */
typedef struct connect_Connection {
  union { /* first: a handle */
    reactor_Op op;
    http_Transfer transfer; /* until it is connected ... */
    stream_Stream stream;   /* ... and from then on */
  } as;
  bool connected, secure;
  size_t window, queue; /* of the stream */
  http_Pool *pool;      /* with TLS, whose state is curl's */
  http_Easy *easy;
} connect_Connection;

/* Starts to connect a zeroed connection; of the request, url ("http" or "https"
** with host and port), timeouts, TLS and proxy count, and `window`.  As
** http_start. */
bool connect_start(reactor_Reactor *r, connect_Connection *c,
                   const http_Request *request, size_t queue);

#endif
