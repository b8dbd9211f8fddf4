/*
** utf8.h - reads UTF-8 strictly (RFC 3629).  No Lua.
*/
#ifndef OPERATIONS_UTF8_H
#define OPERATIONS_UTF8_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

/* The length of the sequence that starts with `lead`; 0 for a byte that starts
** none. */
static inline int utf8_width(unsigned char lead) {
  if (lead < 0x80) return 1;
  if (lead < 0xC2) return 0;
  if (lead < 0xE0) return 2;
  if (lead < 0xF0) return 3;
  return lead < 0xF5 ? 4 : 0;
}

/* Is it a continuation byte? */
static inline bool utf8_continues(unsigned char c) {
  return (c & 0xC0) == 0x80;
}

/* Length of the valid sequence of more than one byte at `s`; 0 when it is
** invalid (cut off, overlong, a surrogate, beyond U+10FFFF). */
static inline int utf8_check(const char *s, const char *end) {
  const unsigned char *p = (const unsigned char *)s;
  ptrdiff_t n = end - s;
  if (p[0] < 0xE0)
    return p[0] >= 0xC2 && n >= 2 && utf8_continues(p[1]) ? 2 : 0;
  if (n < 3 || !utf8_continues(p[1]) || !utf8_continues(p[2])) return 0;
  if (p[0] < 0xF0) {
    int32_t c = (p[0] & 15) << 12 | (p[1] & 63) << 6;
    return c >= 0x800 && (c < 0xD800 || c > 0xDFFF) ? 3 : 0;
  }
  if (n < 4 || !utf8_continues(p[3])) return 0;
  if (p[0] == 0xF0) return p[1] >= 0x90 ? 4 : 0;
  if (p[0] == 0xF4) return p[1] <= 0x8F ? 4 : 0;
  return p[0] < 0xF4 ? 4 : 0;
}

/* Reads one code point from the `len` > 0 bytes at `s` into `c`; returns its
** length, or 0 when the bytes are not well-formed UTF-8. */
static inline size_t utf8_read(const char *s, size_t len, uint32_t *c) {
  const unsigned char *p = (const unsigned char *)s;
  int i, n = p[0] < 0x80 ? 1 : utf8_check(s, s + len);
  *c = n == 1 ? p[0] : p[0] & (0x7Fu >> n);
  for (i = 1; i < n; i++) *c = *c << 6 | (p[i] & 0x3Fu);
  return (size_t)n;
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

/* Is the text well-formed? */
static inline bool utf8_valid(const char *s, size_t len) {
  const char *end = s + len;
  while (s < end) {
    uint64_t bytes;
    int n;
    if (end - s >= 8) {
      memcpy(&bytes, s, 8);
      if ((bytes & UINT64_C(0x8080808080808080)) == 0) { /* all ASCII */
        s += 8;
        continue;
      }
    }
    n = (unsigned char)*s < 0x80 ? 1 : utf8_check(s, end);
    if (n == 0) return false;
    s += n;
  }
  return true;
}

#endif
