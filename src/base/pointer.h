/*
** pointer.h - tokens of JSON Pointers (RFC 6901).
*/
#ifndef OPERATIONS_BASE_POINTER_H
#define OPERATIONS_BASE_POINTER_H

#include <stdbool.h>
#include <stddef.h>

#define POINTER_MAX_DIGITS 9

/* Is a token the index of an item: digits without a leading zero?  Sets it. */
static inline bool pointer_is_index(const char *token, size_t len,
                                    size_t *index) {
  size_t i;
  if (len == 0 || len > POINTER_MAX_DIGITS || (*token == '0' && len > 1))
    return false;
  *index = 0;
  for (i = 0; i < len; i++) {
    if (token[i] < '0' || token[i] > '9') return false;
    *index = *index * 10 + (size_t)(token[i] - '0');
  }
  return true;
}

#endif
