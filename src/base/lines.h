/*
** lines.h - splits a stream of bytes at a separator: bytes in, items out.  No
** I/O, no Lua.
**
** Takes the stream in pieces cut anywhere.  Time is linear in the bytes fed,
** however they are cut.
*/
#ifndef OPERATIONS_LINES_H
#define OPERATIONS_LINES_H

#include "base/buffer.h"

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

/* Gives back what it holds; `rest` is lost. */
void lines_free(lines_Splitter *s);

/* Takes the next piece; `bytes` is not kept.  After anything but LINES_OK the
** splitter is of no more use; the items before the failure were handed out. */
lines_Status lines_feed(lines_Splitter *s, const char *bytes, size_t len,
                        lines_OnItem on_item, void *ud);

/* Lines that are pulled: each ends with '\n' or "\r\n", the last one may end
** with the stream.  Of a line that is too long only its two ends are kept. */
#define LINES_ENDS 256

/* Fields are private. */
typedef struct lines_Queue {
  buffer_Buffer bytes;
  size_t start, scanned; /* what was pulled; what has no '\n' behind that */
  size_t max;
  bool over;
  size_t dropped; /* bytes of a line that is too long, so far; 0: of none */
  size_t first_len, last_len;
  char first[LINES_ENDS], last[LINES_ENDS];
} lines_Queue;

/* Borrowed until the next call. */
typedef struct lines_Line {
  const char *bytes; /* of one that is too long: its beginning */
  size_t len;
  const char *last; /* its end, when it is too long; it has `size` bytes */
  size_t last_len, size;
} lines_Line;

typedef enum lines_Found { LINES_NONE, LINES_LINE, LINES_DROPPED } lines_Found;

/* `max` is the ceiling of one line in bytes, at least 1. */
void lines_queue_init(lines_Queue *q, ops_Alloc alloc, size_t max);

/* Gives back what it holds. */
void lines_queue_free(lines_Queue *q);

/* Takes the next piece; all lines before it are to be pulled.  False, and
** nothing changes, when memory is out. */
bool lines_queue_add(lines_Queue *q, const char *bytes, size_t len);

/* The stream is over: what is left is the last line. */
void lines_queue_end(lines_Queue *q);

/* The next line that holds more than white space. */
lines_Found lines_queue_next(lines_Queue *q, lines_Line *line);

#endif
