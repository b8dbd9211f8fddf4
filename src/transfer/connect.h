/*
** connect.h - connections made by libcurl (names, proxies, TLS) that become
** streams.  No Lua.
*/
#ifndef OPERATIONS_TRANSFER_CONNECT_H
#define OPERATIONS_TRANSFER_CONNECT_H

#include "reactor/stream.h"
#include "transfer/http.h"

/* Says HEAD when it is connected, then the events of a stream; or ERROR. */
typedef struct connect_Connection {
  union { /* first: a handle */
    reactor_Op op;
    http_Transfer transfer; /* until it is connected ... */
    stream_Stream stream;   /* ... and afterwards */
  } as;
  bool connected, secure;
  size_t window, queue; /* of the stream */
  http_Pool *pool;      /* with TLS: curl has its state */
  http_Easy *easy;
} connect_Connection;

/* Connects a zeroed connection.  Of the request it uses url ("http" or "https"
** with host and port), timeouts, TLS and proxy, and `window`.  Returns as
** http_start. */
bool connect_start(reactor_Reactor *r, connect_Connection *c,
                   const http_Request *request, size_t queue);

#endif
