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

/* The fields are private except `rest`: the bytes after the last separator. */
typedef struct lines_Splitter {
  buffer_Buffer rest;
  char separator;
} lines_Splitter;

typedef enum lines_Status {
  LINES_OK,
  LINES_TOO_LARGE, /* one item is larger than `max` */
  LINES_NO_MEMORY
} lines_Status;

/* Gets an item without its separator, borrowed during the call.  Must not feed
** or free the splitter.  May not return (a Lua error): then bytes are lost. */
typedef void (*lines_OnItem)(void *ud, const char *item, size_t len);

/* `max` is the maximum size of an item in bytes. */
void lines_init(lines_Splitter *s, ops_Alloc alloc, size_t max, char separator);

/* Frees its memory; `rest` is lost. */
void lines_free(lines_Splitter *s);

/* Takes the next piece; `bytes` is not kept.  After any status but LINES_OK the
** splitter is unusable; the items before the failure were handed out. */
lines_Status lines_feed(lines_Splitter *s, const char *bytes, size_t len,
                        lines_OnItem on_item, void *ud);

/* A queue of lines: each ends with '\n' or "\r\n", the last may end with the
** stream.  Of a line that is too long only its two ends are kept. */
#define LINES_ENDS 256

/* Fields are private. */
typedef struct lines_Queue {
  buffer_Buffer bytes;
  size_t start, scanned; /* bytes taken; bytes searched for a '\n' */
  size_t max;
  bool over;
  size_t dropped; /* bytes so far of a line that is too long; or 0 */
  size_t first_len, last_len;
  char first[LINES_ENDS], last[LINES_ENDS];
} lines_Queue;

/* Borrowed until the next call. */
typedef struct lines_Line {
  const char *bytes; /* of a line that is too long: its beginning */
  size_t len;
  const char *last; /* its end when it is too long, of `size` bytes */
  size_t last_len, size;
} lines_Line;

typedef enum lines_Found { LINES_NONE, LINES_LINE, LINES_DROPPED } lines_Found;

/* `max` is the maximum size of a line in bytes, at least 1. */
void lines_queue_init(lines_Queue *q, ops_Alloc alloc, size_t max);

/* Frees its memory. */
void lines_queue_free(lines_Queue *q);

/* Takes the next piece; all lines before it must have been taken.  False, with
** nothing changed, when out of memory. */
bool lines_queue_add(lines_Queue *q, const char *bytes, size_t len);

/* The stream has ended: the remaining bytes are the last line. */
void lines_queue_end(lines_Queue *q);

/* The next line that holds more than white space. */
lines_Found lines_queue_next(lines_Queue *q, lines_Line *line);

#endif
