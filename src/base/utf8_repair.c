#include "base/utf8_repair.h"

#include <stdint.h>
#include <string.h>

#define HIGH_BITS UINT64_C(0x8080808080808080)

static uint64_t word_at(const char *s) {
  uint64_t word;
  memcpy(&word, s, sizeof(word));
  return word;
}

bool utf8_is_ascii(const char *s, size_t n) {
  uint64_t a = 0, b = 0, c = 0, d = 0;
  for (; n >= 32; s += 32, n -= 32) {
    a |= word_at(s);
    b |= word_at(s + 8);
    c |= word_at(s + 16);
    d |= word_at(s + 24);
  }
  for (; n >= 8; s += 8, n -= 8) a |= word_at(s);
  for (; n > 0; s++, n--) b |= (unsigned char)*s;
  return ((a | b | c | d) & HIGH_BITS) == 0;
}

/* The number of bytes that may follow a lead byte, and the range of the first
** one (the others are 80..BF); 0 when it is not a lead byte. */
static size_t followers(unsigned char lead, unsigned char *low,
                        unsigned char *high) {
  *low = lead == 0xE0 ? 0xA0 : lead == 0xF0 ? 0x90 : 0x80;
  *high = lead == 0xED ? 0x9F : lead == 0xF4 ? 0x8F : 0xBF;
  if (lead < 0xC2 || lead > 0xF4) return 0;
  return lead < 0xE0 ? 1 : lead < 0xF0 ? 2 : 3;
}

/* The length of the sequence at `s`, n > 0, s[0] >= 0x80.  *whole: true for a
** character, false for a maximal subpart of an ill-formed sequence. */
static size_t sequence(const unsigned char *s, size_t n, bool *whole) {
  unsigned char low, high;
  size_t need = followers(s[0], &low, &high);
  size_t got = 0;
  while (got < need && got + 1 < n && s[got + 1] >= low && s[got + 1] <= high) {
    got++;
    low = 0x80;
    high = 0xBF;
  }
  *whole = need > 0 && got == need;
  return got + 1;
}

size_t utf8_repaired_size(const char *s, size_t n) {
  const unsigned char *u = (const unsigned char *)s;
  size_t size = 0, i = 0;
  while (i < n) {
    bool whole = true;
    size_t length = u[i] < 0x80 ? 1 : sequence(u + i, n - i, &whole);
    size += whole ? length : 3;
    i += length;
  }
  return size;
}

void utf8_repair(const char *s, size_t n, char *out) {
  const unsigned char *u = (const unsigned char *)s;
  size_t i = 0;
  while (i < n) {
    bool whole = true;
    size_t length = u[i] < 0x80 ? 1 : sequence(u + i, n - i, &whole);
    memcpy(out, whole ? s + i : "\xEF\xBF\xBD", whole ? length : 3);
    out += whole ? length : 3;
    i += length;
  }
}
