/*
** listener.h - listening sockets inside a reactor, of TCP and of files (Unix
** sockets): what accepts streams.  No Lua.
*/
#ifndef OPERATIONS_REACTOR_LISTENER_H
#define OPERATIONS_REACTOR_LISTENER_H

#include "reactor/stream.h"

/* Says DATA when listener_accept has somebody. */
typedef struct listener_Listener {
  reactor_Op op; /* first: a handle */
  int fd, port;  /* port: 0 for a Unix socket */
  char *path;    /* owned, of a Unix socket; else NULL */
  dev_t device;  /* of the file at `path`, which is removed at the end */
  ino_t inode;
} listener_Listener;

/* Listens at a numeric address; port 0: any free one.  False with errno set. */
bool listener_open(reactor_Reactor *r, listener_Listener *l, const char *host,
                   int port, int backlog);

/* Listens at a file, which gets `mode` (permission bits) before anybody can
** connect.  A socket file that no process listens at any more is replaced,
** anything else that is there fails with EADDRINUSE. */
bool listener_open_path(reactor_Reactor *r, listener_Listener *l,
                        const char *path, mode_t mode, int backlog);

/* Fills in a zeroed stream, connected.  False with errno set: EAGAIN when
** nobody is there, and DATA comes. */
bool listener_accept(listener_Listener *l, stream_Stream *s, size_t window,
                     size_t queue);

#endif
