#include "json_number.h"

#include <locale.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define MAX_EXACT UINT64_C(9007199254740992) /* 2^53 */

static const double powers[] = {1e0,  1e1,  1e2,  1e3,  1e4,  1e5,  1e6,  1e7,
                                1e8,  1e9,  1e10, 1e11, 1e12, 1e13, 1e14, 1e15,
                                1e16, 1e17, 1e18, 1e19, 1e20, 1e21, 1e22};

/* strtod wants the locale's decimal point. */
static double locale_strtod(const char *p, size_t n) {
  char room[128], *text = room;
  const char *point = localeconv()->decimal_point;
  const char *dot = memchr(p, '.', n);
  size_t size = n + strlen(point) + 1, before = dot ? (size_t)(dot - p) : n;
  double value;
  if (size > sizeof(room) && (text = malloc(size)) == NULL) return NAN;
  memcpy(text, p, before);
  text[before] = '\0';
  if (dot != NULL) {
    size_t len = strlen(point);
    memcpy(text + before, point, len);
    memcpy(text + before + len, dot + 1, n - before - 1);
    text[n - 1 + len] = '\0';
  }
  value = strtod(text, NULL);
  if (text != room) free(text);
  return value;
}

double json_parse_double(uint64_t mantissa, int exponent, int exact,
                         const char *p, size_t n) {
  if (exact && mantissa <= MAX_EXACT && exponent >= -22 && exponent <= 22) {
    double d = (double)mantissa;
    return exponent < 0 ? d / powers[-exponent] : d * powers[exponent];
  }
  return locale_strtod(*p == '-' ? p + 1 : p, *p == '-' ? n - 1 : n);
}

static const char pairs[] = "00010203040506070809"
                            "10111213141516171819"
                            "20212223242526272829"
                            "30313233343536373839"
                            "40414243444546474849"
                            "50515253545556575859"
                            "60616263646566676869"
                            "70717273747576777879"
                            "80818283848586878889"
                            "90919293949596979899";

static size_t format_unsigned(char *out, uint64_t n) {
  char room[20], *p = room + sizeof(room);
  size_t len;
  for (; n >= 100; n /= 100) {
    p -= 2;
    memcpy(p, pairs + n % 100 * 2, 2);
  }
  if (n >= 10) {
    p -= 2;
    memcpy(p, pairs + n * 2, 2);
  } else {
    *--p = (char)('0' + n);
  }
  len = (size_t)(room + sizeof(room) - p);
  memcpy(out, p, len);
  return len;
}

size_t json_format_integer(char *out, int64_t value) {
  if (value >= 0) return format_unsigned(out, (uint64_t)value);
  out[0] = '-';
  return 1 + format_unsigned(out + 1, 0 - (uint64_t)value);
}

size_t json_format_double(char *out, double value) {
  int precision;
  char *comma;
  if (value == floor(value) && fabs(value) <= 9007199254740992.0 &&
      !(value == 0 && signbit(value)))
    return json_format_integer(out, (int64_t)value);
  for (precision = 15; precision <= 17; precision++) {
    snprintf(out, JSON_NUMBER_ROOM, "%.*g", precision, value);
    if (strtod(out, NULL) == value) break;
  }
  if ((comma = strchr(out, ',')) != NULL) *comma = '.';
  return strlen(out);
}
