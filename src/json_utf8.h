/*
** json_utf8.h - strict UTF-8 (RFC 3629) and eight bytes at a time, shared by
** reader and writer.
*/
#ifndef OPERATIONS_JSON_UTF8_H
#define OPERATIONS_JSON_UTF8_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

/* How many bytes the sequence that starts with `lead` has; 0 for a byte that
** starts none. */
static inline int utf8_width(unsigned char lead) {
  if (lead < 0x80) return 1;
  if (lead < 0xC2) return 0;
  if (lead < 0xE0) return 2;
  if (lead < 0xF0) return 3;
  return lead < 0xF5 ? 4 : 0;
}

/* Length of the valid sequence at `s`, 0 when it is none (also cut off,
** overlong, a surrogate, beyond U+10FFFF). */
static inline int utf8_check(const char *s, const char *end) {
  const unsigned char *p = (const unsigned char *)s;
  int width = utf8_width(p[0]), i;
  if (width == 0 || end - s < width) return 0;
  for (i = 1; i < width; i++) {
    if ((p[i] & 0xC0) != 0x80) return 0;
  }
  if (width == 3) {
    if (p[0] == 0xE0 && p[1] < 0xA0) return 0;
    if (p[0] == 0xED && p[1] > 0x9F) return 0;
  } else if (width == 4) {
    if (p[0] == 0xF0 && p[1] < 0x90) return 0;
    if (p[0] == 0xF4 && p[1] > 0x8F) return 0;
  }
  return width;
}

/* Writes code point `c` (no surrogate) to `out`, which has room for four bytes;
** returns how many it took. */
static inline size_t utf8_encode(char *out, int32_t c) {
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

#define UTF8_EACH(byte) (UINT64_C(0x0101010101010101) * (byte))

/* Are the eight bytes at `s` all plain: ASCII, no control character, neither
** '"' nor '\\'?  (Each term's top bits tell, when no byte is above 0x7F.) */
static inline bool utf8_eight_plain(const char *s) {
  uint64_t w, quote, slash;
  memcpy(&w, s, sizeof(w));
  quote = w ^ UTF8_EACH('"');
  slash = w ^ UTF8_EACH('\\');
  return ((w | (w - UTF8_EACH(0x20)) | (quote - UTF8_EACH(1)) |
           (slash - UTF8_EACH(1))) &
          UTF8_EACH(0x80)) == 0;
}

/* The first byte from `p` on that is not plain, or `end`. */
static inline const char *utf8_skip_plain(const char *p, const char *end) {
  while (end - p >= 8 && utf8_eight_plain(p)) p += 8;
  while (p < end && (unsigned char)*p >= 0x20 && (unsigned char)*p < 0x80 &&
         *p != '"' && *p != '\\')
    p++;
  return p;
}

#endif
