#include "base/buffer.h"

#define BUFFER_MIN_CAPACITY 64

void buffer_init(buffer_Buffer *b, ops_Alloc alloc, size_t max) {
  *b = (buffer_Buffer){.alloc = alloc, .max = max};
}

void buffer_free(buffer_Buffer *b) {
  ops_free(&b->alloc, b->data, b->capacity);
  b->data = NULL;
  b->len = b->capacity = 0;
}

bool buffer_grow(buffer_Buffer *b, size_t extra) {
  size_t capacity =
      b->capacity < BUFFER_MIN_CAPACITY ? BUFFER_MIN_CAPACITY : b->capacity;
  char *data;
  if (extra > b->max || b->len > b->max - extra) return false;
  while (capacity < b->len + extra) {
    capacity = capacity > b->max / 2 ? b->max : capacity * 2;
  }
  if (capacity > b->max) capacity = b->max;
  data = ops_realloc(&b->alloc, b->data, b->capacity, capacity);
  if (data == NULL) return false;
  b->data = data;
  b->capacity = capacity;
  return true;
}
