#include <stdint.h>
#include <string.h>

#include "format/kinds.h"
#include "base/utf8.h"

/* A label has at most 63 octets as an A-label, a name at most 253. */
#define MAX_LABEL 63
#define MAX_NAME 253

/* The property of a code point in host names; 0 is DISALLOWED. */
enum {
  IDN_VALID = 1 << 0,   /* PVALID */
  IDN_CONTEXT = 1 << 1, /* CONTEXTJ or CONTEXTO */
  IDN_MARK = 1 << 2,
  IDN_VIRAMA = 1 << 3,
  BIDI_L = 0 << 4,
  BIDI_R = 1 << 4, /* R or AL */
  BIDI_AN = 2 << 4,
  BIDI_EN = 3 << 4,
  BIDI_NSM = 4 << 4,
  BIDI_NEUTRAL = 5 << 4, /* ES, CS, ET, ON or BN */
  BIDI_MASK = 7 << 4,
  JOIN_LEFT = 1 << 7,  /* joining type L or D */
  JOIN_RIGHT = 1 << 8, /* joining type R or D */
  JOIN_TRANSPARENT = 1 << 9,
  IDN_GREEK = 1 << 10,
  IDN_HEBREW = 1 << 11,
  IDN_KANA_HAN = 1 << 12, /* Hiragana, Katakana or Han */
  IDN_EVEN = 1 << 13,     /* of the run, only code points that are even ... */
  IDN_ODD = 1 << 14       /* ... or odd; the others are DISALLOWED */
};

#include "format/idn_table.h"

typedef struct Label {
  uint32_t c[MAX_LABEL];
  unsigned class[MAX_LABEL];
  size_t len;
} Label;

static unsigned class_of(uint32_t c) {
  size_t low = 0, high = sizeof(idn_runs) / sizeof(idn_runs[0]);
  unsigned class;
  while (high - low > 1) {
    size_t middle = low + (high - low) / 2;
    if (idn_runs[middle] >> 8 <= c) low = middle;
    else high = middle;
  }
  class = idn_classes[idn_runs[low] & 0xFF];
  if (class & (c % 2 == 0 ? IDN_ODD : IDN_EVEN)) return 0;
  return class;
}

/* ---- Punycode (RFC 3492) ---- */

enum { BASE = 36, T_MIN = 1, T_MAX = 26, SKEW = 38, DAMP = 700, BIAS = 72 };

static uint32_t adapt(uint32_t delta, uint32_t points, bool first) {
  uint32_t k = 0;
  delta = first ? delta / DAMP : delta / 2;
  delta += delta / points;
  for (; delta > (BASE - T_MIN) * T_MAX / 2; k += BASE) delta /= BASE - T_MIN;
  return k + (BASE - T_MIN + 1) * delta / (delta + SKEW);
}

static uint32_t threshold(uint32_t k, uint32_t bias) {
  if (k <= bias) return T_MIN;
  return k - bias >= T_MAX ? T_MAX : k - bias;
}

static uint32_t digit_value(char c) {
  if (format_is_digit(c)) return (uint32_t)(c - '0') + 26;
  return format_is_alpha(c) ? (uint32_t)((c | 0x20) - 'a') : BASE;
}

/* Reads one variable-length integer at `*s` into `*value`.  No digit but the
** last is 0: the sum exceeds 32 bits before the weight exceeds 64. */
static bool read_delta(const char **s, const char *end, uint32_t bias,
                       uint32_t *value) {
  uint64_t weight = 1, sum = 0;
  uint32_t k;
  for (k = BASE;; k += BASE) {
    uint32_t digit = *s < end ? digit_value(*(*s)++) : BASE;
    uint32_t t = threshold(k, bias);
    sum += digit * weight;
    if (digit >= BASE || sum > UINT32_MAX) return false;
    *value = (uint32_t)sum;
    if (digit < t) return true;
    weight *= BASE - t;
  }
}

static void insert(Label *label, size_t at, uint32_t c) {
  memmove(label->c + at + 1, label->c + at,
          (label->len - at) * sizeof(label->c[0]));
  label->c[at] = c;
  label->len++;
}

/* `s` is what follows "xn--": shorter than a label, and no code point takes
** less than a byte of it. */
static bool punycode_decode(const char *s, size_t len, Label *label) {
  const char *end = s + len;
  uint32_t n = 0x80, bias = BIAS;
  uint64_t at = 0;
  size_t basic = len;
  while (basic > 0 && s[basic - 1] != '-') basic--;
  label->len = 0;
  for (; label->len + 1 < basic; label->len++) {
    char c = s[label->len];
    label->c[label->len] = (uint32_t)(c >= 'A' && c <= 'Z' ? c - 'A' + 'a' : c);
  }
  s += basic;
  while (s < end) {
    uint32_t delta, points = (uint32_t)label->len + 1;
    if (!read_delta(&s, end, bias, &delta)) return false;
    bias = adapt(delta, points, at == 0); /* after an insertion it is more */
    at += delta;
    if (at / points > 0x10FFFF - n) return false;
    n += (uint32_t)(at / points);
    at %= points;
    insert(label, (size_t)at++, n);
  }
  return true;
}

/* The number of digits that encode a delta. */
static size_t delta_size(uint32_t delta, uint32_t bias) {
  size_t size = 1;
  uint32_t k = BASE;
  for (;; k += BASE, size++) {
    uint32_t t = threshold(k, bias);
    if (delta < t) return size;
    delta = (delta - t) / (BASE - t);
  }
}

static uint32_t next_point(const Label *label, uint32_t least) {
  uint32_t next = UINT32_MAX;
  size_t i;
  for (i = 0; i < label->len; i++) {
    if (label->c[i] >= least && label->c[i] < next) next = label->c[i];
  }
  return next;
}

/* The length of the label as an A-label, with its "xn--". */
static size_t a_label_size(const Label *label) {
  uint32_t n = 0x80, delta = 0, bias = BIAS;
  size_t size = 4, basic = 0, done, i;
  for (i = 0; i < label->len; i++) basic += label->c[i] < 0x80;
  size += basic + (basic > 0 ? 1 : 0);
  for (done = basic; done < label->len; n++, delta++) {
    uint32_t next = next_point(label, n);
    /* At most 63 points below 0x110000: no overflow. */
    delta += (next - n) * (uint32_t)(done + 1);
    n = next;
    for (i = 0; i < label->len; i++) {
      if (label->c[i] < n) delta++;
      if (label->c[i] != n) continue;
      size += delta_size(delta, bias);
      bias = adapt(delta, (uint32_t)done + 1, done == basic);
      delta = 0;
      done++;
    }
  }
  return size;
}

/* ---- RFC 5892, appendix A: contextual rules ---- */

static bool joins_around(const Label *label, size_t i) {
  size_t before = i, after = i + 1;
  while (before > 0 && (label->class[before - 1] & JOIN_TRANSPARENT)) before--;
  while (after < label->len && (label->class[after] & JOIN_TRANSPARENT)) {
    after++;
  }
  return before > 0 && after < label->len &&
         (label->class[before - 1] & JOIN_LEFT) &&
         (label->class[after] & JOIN_RIGHT);
}

static bool has_kana_or_han(const Label *label) {
  size_t i;
  for (i = 0; i < label->len; i++) {
    if (label->c[i] != 0x30FB && (label->class[i] & IDN_KANA_HAN)) return true;
  }
  return false;
}

static bool fits_context(const Label *label, size_t i) {
  uint32_t c = label->c[i];
  unsigned before = i > 0 ? label->class[i - 1] : 0;
  unsigned after = i + 1 < label->len ? label->class[i + 1] : 0;
  switch (c) {
  case 0x200C: return (before & IDN_VIRAMA) || joins_around(label, i);
  case 0x200D: return before & IDN_VIRAMA;
  case 0xB7:
    return i > 0 && i + 1 < label->len && label->c[i - 1] == 'l' &&
           label->c[i + 1] == 'l';
  case 0x375: return after & IDN_GREEK;
  case 0x5F3:
  case 0x5F4: return before & IDN_HEBREW;
  case 0x30FB: return has_kana_or_han(label);
  default: return true; /* Arabic digits: the Bidi rule refuses both kinds */
  }
}

/* RFC 5891, section 4.2.3; for labels that are not ASCII */
static bool is_u_label(Label *label) {
  size_t i;
  if (label->len == 0 || label->c[0] == '-' ||
      label->c[label->len - 1] == '-' ||
      (label->len >= 4 && label->c[2] == '-' && label->c[3] == '-')) {
    return false;
  }
  for (i = 0; i < label->len; i++) label->class[i] = class_of(label->c[i]);
  if (label->class[0] & IDN_MARK) return false;
  for (i = 0; i < label->len; i++) {
    if (label->class[i] & IDN_VALID) continue;
    if (!(label->class[i] & IDN_CONTEXT) || !fits_context(label, i)) {
      return false;
    }
  }
  return true;
}

/* ---- RFC 5893, section 2: the Bidi rule ---- */

static bool is_right_to_left(const Label *label) {
  size_t i;
  for (i = 0; i < label->len; i++) {
    unsigned bidi = label->class[i] & BIDI_MASK;
    if (bidi == BIDI_R || bidi == BIDI_AN) return true;
  }
  return false;
}

static bool follows_bidi_rule(const Label *label) {
  bool right = (label->class[0] & BIDI_MASK) == BIDI_R, an = false, en = false;
  unsigned last = BIDI_NSM;
  size_t i;
  if (!right && (label->class[0] & BIDI_MASK) != BIDI_L) return false;
  for (i = 0; i < label->len; i++) {
    unsigned bidi = label->class[i] & BIDI_MASK;
    if (right ? bidi == BIDI_L : bidi == BIDI_R || bidi == BIDI_AN) {
      return false;
    }
    an = an || bidi == BIDI_AN;
    en = en || bidi == BIDI_EN;
    if (bidi != BIDI_NSM) last = bidi;
  }
  if (an && en) return false;
  return last == BIDI_EN || last == BIDI_AN || last == BIDI_R || last == BIDI_L;
}

/* ---- labels and names ---- */

static bool is_ascii(const Label *label) {
  size_t i;
  for (i = 0; i < label->len; i++) {
    if (label->c[i] >= 0x80) return false;
  }
  return true;
}

/* Decodes "xn--..." and checks it as a U-label. */
static bool read_a_label(const char *s, size_t len, Label *label) {
  return len <= MAX_LABEL && punycode_decode(s + 4, len - 4, label) &&
         !is_ascii(label) && a_label_size(label) == len && is_u_label(label);
}

bool format_is_a_label(const char *s, size_t len) {
  Label label;
  return read_a_label(s, len, &label) &&
         (!is_right_to_left(&label) || follows_bidi_rule(&label));
}

static bool read_code_points(const char *s, size_t len, Label *label) {
  size_t i = 0;
  label->len = 0;
  while (i < len) {
    size_t n = utf8_read(s + i, len - i, &label->c[label->len]);
    if (n == 0 || ++label->len >= MAX_LABEL + (i + n == len)) return false;
    i += n;
  }
  return true;
}

/* Reads a label in either form; sets `size` to its length as an A-label. */
static bool read_label(const char *s, size_t len, Label *label, size_t *size) {
  size_t i;
  *size = len;
  if (format_is_xn(s, len)) return read_a_label(s, len, label);
  if (!read_code_points(s, len, label)) return false;
  if (!is_ascii(label)) {
    *size = a_label_size(label);
    return *size <= MAX_LABEL && is_u_label(label);
  }
  for (i = 0; i < label->len; i++) {
    if (!format_is_alnum(s[i]) && s[i] != '-') return false;
    label->class[i] = class_of(label->c[i] | 0x20);
  }
  return len > 0 && s[0] != '-' && s[len - 1] != '-';
}

/* The length of the label separator at `s` (RFC 3490, section 3.1), or 0. */
static size_t separator_length(const char *s, size_t len) {
  uint32_t c;
  size_t n = utf8_read(s, len, &c);
  if (n == 1) return c == '.';
  return n == 3 && (c == 0x3002 || c == 0xFF0E || c == 0xFF61) ? 3 : 0;
}

bool format_idn_hostname(const char *s, size_t len) {
  size_t i = 0, start = 0, total = 0;
  bool right_to_left = false, bidi = true;
  for (;;) {
    Label label;
    size_t size, separator = i < len ? separator_length(s + i, len - i) : 0;
    if (i < len && separator == 0) {
      i++;
      continue;
    }
    if (!read_label(s + start, i - start, &label, &size)) return false;
    right_to_left = right_to_left || is_right_to_left(&label);
    bidi = bidi && follows_bidi_rule(&label);
    total += size + (start > 0);
    if (i >= len) break;
    i += separator;
    start = i;
  }
  return total <= MAX_NAME && (!right_to_left || bidi);
}
