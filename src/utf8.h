/*
** utf8.h - reading UTF-8 strictly (RFC 3629).  No Lua.
*/
#ifndef OPERATIONS_UTF8_H
#define OPERATIONS_UTF8_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Reads one code point from the `len` > 0 bytes at `s` into `c`; returns its
** length, or 0 when they do not start with well-formed UTF-8. */
static inline size_t utf8_read(const char *s, size_t len, uint32_t *c) {
  const unsigned char *p = (const unsigned char *)s;
  static const uint32_t least[5] = {0, 0, 0x80, 0x800, 0x10000};
  size_t i, n;
  if (p[0] < 0x80) {
    *c = p[0];
    return 1;
  }
  n = p[0] >= 0xF0 ? 4 : p[0] >= 0xE0 ? 3 : 2;
  if (p[0] < 0xC2 || p[0] > 0xF4 || n > len) return 0;
  *c = p[0] & (0x7Fu >> n);
  for (i = 1; i < n; i++) {
    if ((p[i] & 0xC0) != 0x80) return 0;
    *c = *c << 6 | (p[i] & 0x3Fu);
  }
  if (*c < least[n] || *c > 0x10FFFF || (*c >= 0xD800 && *c <= 0xDFFF)) {
    return 0;
  }
  return n;
}

/* Writes the code point `c` (no surrogate) to `out`, at most 4 bytes; returns
** how many. */
static inline size_t utf8_write(uint32_t c, char *out) {
  if (c < 0x80) {
    out[0] = (char)c;
    return 1;
  }
  if (c < 0x800) {
    out[0] = (char)(0xC0 | c >> 6);
    out[1] = (char)(0x80 | (c & 0x3F));
    return 2;
  }
  if (c < 0x10000) {
    out[0] = (char)(0xE0 | c >> 12);
    out[1] = (char)(0x80 | (c >> 6 & 0x3F));
    out[2] = (char)(0x80 | (c & 0x3F));
    return 3;
  }
  out[0] = (char)(0xF0 | c >> 18);
  out[1] = (char)(0x80 | (c >> 12 & 0x3F));
  out[2] = (char)(0x80 | (c >> 6 & 0x3F));
  out[3] = (char)(0x80 | (c & 0x3F));
  return 4;
}

/* Is all of it well-formed? */
static inline bool utf8_valid(const char *s, size_t len) {
  size_t i = 0;
  uint32_t c;
  while (i < len) {
    size_t n;
    if ((unsigned char)s[i] < 0x80) {
      i++;
      continue;
    }
    n = utf8_read(s + i, len - i, &c);
    if (n == 0) return false;
    i += n;
  }
  return true;
}

#endif
