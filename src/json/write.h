/*
** write.h - writes scalars as JSON text into a buffer.  No Lua; the caller
** walks arrays and objects and writes commas and brackets.
**
** All return false, and write nothing, when the buffer cannot grow.
*/
#ifndef OPERATIONS_JSON_WRITE_H
#define OPERATIONS_JSON_WRITE_H

#include "base/buffer.h"
#include "json/number.h"

/* Writes `s` as a JSON string with the fewest escapes.  When `s` is invalid
** UTF-8 (strict: no surrogates, nothing overlong), `*invalid` is the offset
** of the first wrong byte and the written text is useless; else it is
** unchanged. */
bool json_write_string(buffer_Buffer *b, const char *s, size_t len,
                       size_t *invalid);

static inline bool json_write_integer(buffer_Buffer *b, int64_t value) {
  if (!buffer_reserve(b, JSON_NUMBER_ROOM)) return false;
  b->len += json_format_integer(b->data + b->len, value);
  return true;
}

/* The shortest text that reads back as `value`, which must be finite. */
static inline bool json_write_double(buffer_Buffer *b, double value) {
  if (!buffer_reserve(b, JSON_NUMBER_ROOM)) return false;
  b->len += json_format_double(b->data + b->len, value);
  return true;
}

#endif
