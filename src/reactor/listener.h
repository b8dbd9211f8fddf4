/*
** listener.h - listening sockets inside a reactor, TCP and Unix; they accept
** streams.  No Lua.
*/
#ifndef OPERATIONS_REACTOR_LISTENER_H
#define OPERATIONS_REACTOR_LISTENER_H

#include "reactor/stream.h"

/* Says DATA when listener_accept has a connection. */
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

/* Listens at a file, which gets `mode` (permission bits) before clients can
** connect.  Replaces a socket file that no process listens at any more; any
** other file fails with EADDRINUSE. */
bool listener_open_path(reactor_Reactor *r, listener_Listener *l,
                        const char *path, mode_t mode, int backlog);

/* Fills in a zeroed stream with the next connection.  False with errno set:
** EAGAIN when no client waits; DATA is said when one does. */
bool listener_accept(listener_Listener *l, stream_Stream *s, size_t window,
                     size_t queue);

#endif
