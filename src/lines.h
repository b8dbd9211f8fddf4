/*
** lines.h - splits a stream of bytes at a separator: bytes in, items out.  No
** I/O, no Lua.
**
** Takes the stream in pieces cut anywhere.  Time is linear in the bytes fed,
** however they are cut.
*/
#ifndef OPERATIONS_LINES_H
#define OPERATIONS_LINES_H

#include "buffer.h"

/* Fields are private, but for `rest`: the bytes behind the last separator. */
typedef struct lines_Splitter {
  buffer_Buffer rest;
  char separator;
} lines_Splitter;

typedef enum lines_Status {
  LINES_OK,
  LINES_TOO_LARGE, /* one item passed the ceiling */
  LINES_NO_MEMORY
} lines_Status;

/* Gets an item without its separator, borrowed during the call.  Must not feed
** or free the splitter; may not return (a Lua error): then bytes are lost. */
typedef void (*lines_OnItem)(void *ud, const char *item, size_t len);

/* `max` is the ceiling of one item in bytes. */
void lines_init(lines_Splitter *s, ops_Alloc alloc, size_t max, char separator);

void lines_free(lines_Splitter *s);

/* Takes the next piece; `bytes` is not kept.  After anything but LINES_OK the
** splitter is of no more use; the items before the failure were handed out. */
lines_Status lines_feed(lines_Splitter *s, const char *bytes, size_t len,
                        lines_OnItem on_item, void *ud);

#endif
