/*
** buffer.h - a growing byte string with a maximum size.  No Lua.
*/
#ifndef OPERATIONS_BUFFER_H
#define OPERATIONS_BUFFER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include "base/alloc.h"

#define BUFFER_UNLIMITED (SIZE_MAX / 2) /* a maximum that no buffer reaches */

typedef struct buffer_Buffer {
  ops_Alloc alloc;
  char *data; /* owned; NULL until the first byte */
  size_t len, capacity;
  size_t max; /* bytes; growth beyond it fails */
} buffer_Buffer;

/* Initializes an empty buffer without allocating.  `max` in bytes. */
void buffer_init(buffer_Buffer *b, ops_Alloc alloc, size_t max);

/* Frees all memory; the buffer can be used again. */
void buffer_free(buffer_Buffer *b);

/* Makes room for `extra` more bytes.  False, with nothing changed, beyond the
** maximum size or out of memory. */
bool buffer_grow(buffer_Buffer *b, size_t extra);

/* As buffer_grow; fast when there is room already. */
static inline bool buffer_reserve(buffer_Buffer *b, size_t extra) {
  return b->capacity - b->len >= extra || buffer_grow(b, extra);
}

/* Appends a copy of `n` bytes; fails as buffer_grow does. */
static inline bool buffer_add(buffer_Buffer *b, const void *p, size_t n) {
  if (!buffer_reserve(b, n)) return false;
  if (n > 0) memcpy(b->data + b->len, p, n);
  b->len += n;
  return true;
}

static inline bool buffer_add_char(buffer_Buffer *b, char c) {
  if (!buffer_reserve(b, 1)) return false;
  b->data[b->len++] = c;
  return true;
}

#endif
