#include "http/target.h"

#include <string.h>

#include "base/utf8.h"

static int hex_digit(char c) {
  if (c >= '0' && c <= '9') return c - '0';
  c = (char)(c | 0x20);
  return c >= 'a' && c <= 'f' ? c - 'a' + 10 : -1;
}

static bool is_utf8(const char *s, size_t length) {
  uint32_t c;
  size_t n, i;
  for (i = 0; i < length; i += n) {
    n = utf8_read(s + i, length - i, &c);
    if (n == 0) return false;
  }
  return true;
}

size_t target_decode(const char *text, size_t length, bool plus, char *out) {
  size_t i, n = 0;
  for (i = 0; i < length; i++) {
    char c = text[i];
    if (c == '%') {
      int high = i + 2 < length ? hex_digit(text[i + 1]) : -1;
      int low = high >= 0 ? hex_digit(text[i + 2]) : -1;
      if (low < 0) return TARGET_MALFORMED;
      c = (char)(high << 4 | low);
      i += 2;
    } else if (plus && c == '+') {
      c = ' ';
    }
    out[n++] = c;
  }
  return is_utf8(out, n) ? n : TARGET_MALFORMED;
}

size_t target_span(const char *text, size_t length, char end) {
  const char *found = length > 0 ? memchr(text, end, length) : NULL;
  return found != NULL ? (size_t)(found - text) : length;
}
