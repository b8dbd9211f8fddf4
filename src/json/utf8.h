/*
** utf8.h - finds bytes that need no escape, eight at a time;
** shared by reader and writer.
*/
#ifndef OPERATIONS_JSON_UTF8_H
#define OPERATIONS_JSON_UTF8_H

#include <string.h>

#include "base/utf8.h"

#define UTF8_EACH(byte) (UINT64_C(0x0101010101010101) * (byte))

/* Plain bytes are those that a JSON string may contain unescaped: ASCII except
** control characters, '"' and '\\'.  Of the eight bytes at `s`: 0 when all are
** plain; else the lowest bit set is the top bit of the first one that is not
** (in memory order, on a little-endian machine). */
static inline uint64_t utf8_not_plain(const char *s) {
  uint64_t w, quote, slash;
  memcpy(&w, s, sizeof(w));
  quote = w ^ UTF8_EACH('"');
  slash = w ^ UTF8_EACH('\\');
  return (w | (w - UTF8_EACH(0x20)) | (quote - UTF8_EACH(1)) |
          (slash - UTF8_EACH(1))) &
         UTF8_EACH(0x80);
}

/* The first byte from `p` that is not plain, or `end`. */
static inline const char *utf8_skip_plain(const char *p, const char *end) {
  for (; end - p >= 8; p += 8) {
    uint64_t found = utf8_not_plain(p);
    if (found == 0) continue;
#if defined(__GNUC__) && __BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__
    return p + __builtin_ctzll(found) / 8;
#else
    break;
#endif
  }
  while (p < end && (unsigned char)*p >= 0x20 && (unsigned char)*p < 0x80 &&
         *p != '"' && *p != '\\')
    p++;
  return p;
}

/* The first byte from `p` that is '"', '\\', a control character or invalid
** UTF-8, or `end`. */
static inline const char *utf8_skip_text(const char *p, const char *end) {
  for (;;) {
    int width = 0;
    p = utf8_skip_plain(p, end);
    while (p < end && (unsigned char)*p >= 0x80 &&
           (width = utf8_check(p, end)) > 0)
      p += width;
    if (width == 0 || p == end) return p;
  }
}

#define UTF8_STRIDE 8

/* Copies the bytes from `p` to `upto`, of a text that ends at `end`; `out` has
** room for UTF8_STRIDE more bytes.  Runs between escapes are short. */
static inline void utf8_copy(char *out, const char *p, const char *upto,
                             const char *end) {
  if (upto - p <= UTF8_STRIDE && end - p >= UTF8_STRIDE)
    memcpy(out, p, UTF8_STRIDE);
  else memcpy(out, p, (size_t)(upto - p));
}

#endif
