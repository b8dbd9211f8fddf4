/*
** stdio.h - the program's own stdin and stdout as streams.  Nothing else in the
** program reads or writes them from then on.  No Lua.
*/
#ifndef OPERATIONS_REACTOR_STDIO_H
#define OPERATIONS_REACTOR_STDIO_H

#include "reactor/stream.h"

typedef struct stdio_Stream {
  stream_Stream stream; /* first: a handle */
  int fd;
  bool is_socket, masks;
} stdio_Stream;

/* Takes stdin over; descriptor 0 is /dev/null from then on, also for children.
** `window` of the stream is set.  False with errno set. */
bool stdio_take_input(reactor_Reactor *r, stdio_Stream *s);

/* Takes stdout over; descriptor 1 is stderr from then on, also for children.
** `queue` of the stream is set; its only events are DRAIN and ERROR. */
bool stdio_take_output(reactor_Reactor *r, stdio_Stream *s);

#endif
