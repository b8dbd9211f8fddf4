/*
** json.h - JSON reader (RFC 8259, strict): bytes in, events out.  No I/O, no
** Lua.  Builds no tree; the caller can build one from the events.
**
** The text may be fed in pieces of any size; the events are the same.
*/
#ifndef OPERATIONS_JSON_H
#define OPERATIONS_JSON_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/alloc.h"
#include "base/buffer.h"

/* The events of a text, in order.  Strings are UTF-8, borrowed during the call.
** A handler that returns false stops the reader.  It may also not return at all
** (a Lua error): the reader can then only be freed. */
typedef struct json_Handlers {
  bool (*null)(void *ud);
  bool (*boolean)(void *ud, bool value);
  bool (*integer)(void *ud, int64_t value);
  /* An integer literal outside int64_t, as its digits; with `huge_as_text` also
  ** a number outside double. */
  bool (*big_integer)(void *ud, const char *digits, size_t len);
  bool (*number)(void *ud, double value);
  bool (*string)(void *ud, const char *s, size_t len);
  bool (*key)(void *ud, const char *s, size_t len);
  bool (*begin_array)(void *ud);
  bool (*end_array)(void *ud);
  bool (*begin_object)(void *ud);
  bool (*end_object)(void *ud);
} json_Handlers;

typedef enum json_Status {
  JSON_OK,
  JSON_INVALID, /* not JSON, too deep, or too long */
  JSON_MEMORY,  /* the allocator returned NULL */
  JSON_STOPPED  /* a handler returned false */
} json_Status;

#define JSON_MAX_MESSAGE 96
#define JSON_INLINE_DEPTH 512

/* Where and why reading ended; line and column count from 1, columns in code
** points. */
typedef struct json_Error {
  char message[JSON_MAX_MESSAGE]; /* "expected ',' or '}', got 'x'" */
  size_t offset;                  /* bytes before the wrong one */
  size_t line, column;
} json_Error;

/* All fields but the first two are private; the struct is public so that it can
** be embedded in another. */
typedef struct json_Reader {
  bool huge_as_text; /* 1e400 is not an error; false after json_init */
  const json_Handlers *on;
  void *ud;
  size_t max_depth, max_size;
  size_t depth, seen;
  int expect, after_value; /* grammar states, see json/json.c */
  bool final;              /* no piece follows this one */
  json_Status status;
  const char *chunk;         /* the current piece starts here ... */
  size_t base, line, column; /* ... at this place of the text */
  int token;                 /* kind of the cut token in `raw`, or none */
  bool escape;               /* its last byte is an open backslash */
  buffer_Buffer raw;         /* a token that the end of a piece cut */
  buffer_Buffer text;        /* a string whose escapes are resolved */
  buffer_Buffer nest;        /* kinds of the levels beyond those in `kinds` */
  unsigned char kinds[JSON_INLINE_DEPTH / 8]; /* bit: level is an object */
  json_Error error;
} json_Reader;

/* `on` must outlive the reader; depth and size (bytes) are limits. */
void json_init(json_Reader *r, ops_Alloc alloc, size_t max_depth,
               size_t max_size, const json_Handlers *on, void *ud);

/* Resets the reader for another text; it keeps its memory. */
void json_restart(json_Reader *r);

/* Frees all memory. */
void json_free(json_Reader *r);

/* Reads one more piece.  After any status but JSON_OK, further calls return the
** same status; r->error says why. */
json_Status json_feed(json_Reader *r, const char *p, size_t n);

/* The text has ended: JSON_OK when it was one complete value. */
json_Status json_finish(json_Reader *r);

/* The whole text at once, on a fresh reader; faster than feed and finish. */
json_Status json_read(json_Reader *r, const char *p, size_t n);

#endif
