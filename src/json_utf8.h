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

static inline bool utf8_continues(unsigned char c) {
  return (c & 0xC0) == 0x80;
}

/* Length of the valid sequence at `s` of more than one byte, 0 when it is none
** (also cut off, overlong, a surrogate, beyond U+10FFFF). */
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

/* Plain is what a JSON string may hold as it is: ASCII, but no control
** character, '"' or '\\'.  Of the eight bytes at `s`: 0 when all are plain,
*else
** the lowest bit set is the top bit of the first (in memory, on a little-endian
** machine) that is not. */
static inline uint64_t utf8_not_plain(const char *s) {
  uint64_t w, quote, slash;
  memcpy(&w, s, sizeof(w));
  quote = w ^ UTF8_EACH('"');
  slash = w ^ UTF8_EACH('\\');
  return (w | (w - UTF8_EACH(0x20)) | (quote - UTF8_EACH(1)) |
          (slash - UTF8_EACH(1))) &
         UTF8_EACH(0x80);
}

/* The first byte from `p` on that is not plain, or `end`. */
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

/* The first byte from `p` on that is '"', '\\', a control character or no valid
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

/* Copies the bytes from `p` to `upto`, of a text that goes on to `end`; `out`
** has room for UTF8_STRIDE more than that.  Runs between escapes are short. */
static inline void utf8_copy(char *out, const char *p, const char *upto,
                             const char *end) {
  if (upto - p <= UTF8_STRIDE && end - p >= UTF8_STRIDE)
    memcpy(out, p, UTF8_STRIDE);
  else memcpy(out, p, (size_t)(upto - p));
}

#endif
