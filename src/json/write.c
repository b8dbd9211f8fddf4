#include "json/write.h"

#include "json/utf8.h"

#define ESCAPE_ROOM 6

/* The letter of each byte's escape; 'u' for the hexadecimal form. */
static const char letters[128] = {"uuuuuuuubtnufruuuuuuuuuuuuuuuuuu\0\0\""};

/* Writes the escape of `c`, which must have one, to `out`; returns its
** length. */
static inline size_t write_escape(char *out, char c) {
  static const char hex[] = "0123456789abcdef";
  out[0] = '\\';
  out[1] = c == '\\' ? '\\' : letters[(unsigned char)c];
  if (out[1] != 'u') return 2;
  out[2] = out[3] = '0';
  out[4] = hex[c >> 4];
  out[5] = hex[c & 15];
  return 6;
}

/* Writes the rest of a string from `s` on; the first byte that needs an escape
** is at `p`. */
static bool write_escaped(buffer_Buffer *b, const char *s, const char *p,
                          const char *end, size_t *invalid) {
  const char *run = s;
  while (p < end) {
    size_t n = (size_t)(p - run);
    if ((unsigned char)*p >= 0x80) {
      *invalid = (size_t)(p - s);
      return true;
    }
    if (!buffer_reserve(b, n + UTF8_STRIDE + ESCAPE_ROOM)) return false;
    utf8_copy(b->data + b->len, run, p, end);
    b->len += n;
    b->len += write_escape(b->data + b->len, *p);
    run = p + 1;
    p = utf8_skip_text(run, end);
  }
  return buffer_add(b, run, (size_t)(end - run)) && buffer_add_char(b, '"');
}

bool json_write_string(buffer_Buffer *b, const char *s, size_t len,
                       size_t *invalid) {
  const char *end = s + len, *p = utf8_skip_text(s, end);
  size_t before = b->len;
  if (!buffer_reserve(b, len + 2)) return false;
  b->data[b->len++] = '"';
  if (p < end) {
    if (write_escaped(b, s, p, end, invalid)) return true;
    b->len = before;
    return false;
  }
  memcpy(b->data + b->len, s, len);
  b->len += len;
  b->data[b->len++] = '"';
  return true;
}
