/*
** write.h - JSON text of scalars, into a buffer.  No Lua; the walk over
** arrays and objects, their commas and brackets are the caller's.
**
** All return false, and write nothing, when the buffer cannot grow.
*/
#ifndef OPERATIONS_JSON_WRITE_H
#define OPERATIONS_JSON_WRITE_H

#include "base/buffer.h"
#include "json/number.h"

/* Writes `s` as a JSON string, escaping only what must be.  `*invalid` gets the
** offset of the first byte that is not UTF-8 (strict: no surrogates, nothing
** overlong), and the text then has no use; else it stays as it is. */
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
