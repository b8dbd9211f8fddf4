#include "json_write.h"

#include "json_utf8.h"

/* The escape of `c`, which must have one, into `out`; its length. */
static size_t write_escape(char *out, unsigned char c) {
  static const char hex[] = "0123456789abcdef";
  static const char from[] = "\"\\\b\f\n\r\t", to[] = "\"\\bfnrt";
  const char *found = c == '\0' ? NULL : strchr(from, c);
  out[0] = '\\';
  if (found != NULL) {
    out[1] = to[found - from];
    return 2;
  }
  out[1] = 'u';
  out[2] = out[3] = '0';
  out[4] = hex[c >> 4];
  out[5] = hex[c & 15];
  return 6;
}

/* From the first byte `p` that is not plain on.  `run` starts what is not
** written yet. */
static bool write_special(buffer_Buffer *b, const char *run, const char *p,
                          const char *end, size_t *invalid) {
  const char *start = run;
  while (p < end) {
    int width = utf8_check(p, end);
    if (width > 1) {
      p += width;
    } else if (width == 0) {
      *invalid = (size_t)(p - start);
      return true;
    } else {
      if (!buffer_reserve(b, (size_t)(p - run) + 6)) return false;
      memcpy(b->data + b->len, run, (size_t)(p - run));
      b->len += (size_t)(p - run);
      b->len += write_escape(b->data + b->len, (unsigned char)*p);
      run = ++p;
    }
    p = utf8_skip_plain(p, end);
  }
  return buffer_add(b, run, (size_t)(end - run)) && buffer_add_char(b, '"');
}

bool json_write_string(buffer_Buffer *b, const char *s, size_t len,
                       size_t *invalid) {
  const char *end = s + len, *p = utf8_skip_plain(s, end);
  size_t before = b->len;
  if (!buffer_reserve(b, len + 2)) return false;
  b->data[b->len++] = '"';
  if (p < end) {
    if (write_special(b, s, p, end, invalid)) return true;
    b->len = before;
    return false;
  }
  memcpy(b->data + b->len, s, len);
  b->len += len;
  b->data[b->len++] = '"';
  return true;
}
