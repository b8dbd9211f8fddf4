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

static bool is_digit(char c) {
  return c >= '0' && c <= '9';
}

static bool is_of_host(char c) {
  char lower = (char)(c | 0x20);
  return (lower >= 'a' && lower <= 'z') || is_digit(c) || c == '.' || c == '-';
}

static bool begins(const char *p, const char *end, const char *with) {
  size_t length = strlen(with);
  return (size_t)(end - p) > length && memcmp(p, with, length) == 0;
}

bool target_is_plain_url(const char *url, size_t length) {
  const char *p = url, *end = url + length, *host;
  if (begins(p, end, "http://")) p += 7;
  else if (begins(p, end, "https://")) p += 8;
  else return false;
  for (host = p; p < end && is_of_host(*p);) p++;
  if (p == host) return false;
  if (p < end && *p == ':')
    for (p++; p < end && is_digit(*p);) p++;
  if (p == end || *p != '/') return false;
  for (; p < end; p++) {
    unsigned char c = (unsigned char)*p;
    if (c <= ' ' || c >= 127 || c == '#') return false;
  }
  return true;
}
