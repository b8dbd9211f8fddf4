/*
** local.h - outgoing connections to Unix sockets inside a reactor.  No Lua.
*/
#ifndef OPERATIONS_REACTOR_LOCAL_H
#define OPERATIONS_REACTOR_LOCAL_H

#include "reactor/stream.h"

/* Connects a zeroed stream, without waiting, to a process of the same user, so
** that the bytes do not reach other users' processes.  False with errno set:
** EPERM when the process is another user's, EAGAIN when its queue is full. */
bool local_connect(reactor_Reactor *r, stream_Stream *s, const char *path,
                   size_t window, size_t queue);

#endif
