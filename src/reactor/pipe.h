/*
** pipe.h - writing to pipes that may have no reader, without SIGPIPE.  No Lua.
*/
#ifndef OPERATIONS_REACTOR_PIPE_H
#define OPERATIONS_REACTOR_PIPE_H

#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

/* As write, but no signal comes: the kernel keeps it to itself or, once
** `*masks` is set, which this does when it must, we do with three calls in
*place
** of one. */
ssize_t pipe_write(int fd, const char *bytes, size_t length, bool *masks);

#endif
