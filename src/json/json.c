#include "json/json.h"

#include <math.h>
#include <stdio.h>

#include "json/number.h"
#include "json/utf8.h"

/* The tokens that the grammar allows next. */
enum {
  EXPECT_START, /* the value, or a byte order mark before it */
  EXPECT_VALUE,
  EXPECT_FIRST_ITEM,   /* a value or ']' */
  EXPECT_FIRST_MEMBER, /* a key or '}' */
  EXPECT_KEY,
  EXPECT_COLON,
  EXPECT_ITEM_END,   /* ',' or ']' */
  EXPECT_MEMBER_END, /* ',' or '}' */
  EXPECT_END
};

static const char *const expected[] = {
    "a value", "a value",    "a value or ']'", "a string or '}'", "a string",
    "':'",     "',' or ']'", "',' or '}'",     "the end"};

/* Kinds of tokens that the end of a piece can cut. */
enum { TOKEN_NONE, TOKEN_STRING, TOKEN_NUMBER, TOKEN_WORD, TOKEN_MARK };

#define BYTE_ORDER_MARK "\xEF\xBB\xBF"

void json_restart(json_Reader *r) {
  r->depth = r->seen = 0;
  r->expect = EXPECT_START;
  r->after_value = EXPECT_END;
  r->final = r->escape = false;
  r->status = JSON_OK;
  r->chunk = NULL;
  r->base = 0;
  r->line = r->column = 1;
  r->token = TOKEN_NONE;
}

void json_init(json_Reader *r, ops_Alloc alloc, size_t max_depth,
               size_t max_size, const json_Handlers *on, void *ud) {
  r->huge_as_text = false;
  r->on = on;
  r->ud = ud;
  r->max_depth = max_depth;
  r->max_size = max_size;
  /* The limits bound these: no token is longer than the text, no escape is
  ** shorter than its value. */
  buffer_init(&r->raw, alloc, BUFFER_UNLIMITED);
  buffer_init(&r->text, alloc, BUFFER_UNLIMITED);
  buffer_init(&r->nest, alloc, BUFFER_UNLIMITED);
  json_restart(r);
}

void json_free(json_Reader *r) {
  buffer_free(&r->raw);
  buffer_free(&r->text);
  buffer_free(&r->nest);
}

/* --- where we are, and failing there ------------------------------------ */

/* Advances the position of `chunk` to `p`. */
static void advance(json_Reader *r, const char *p) {
  const char *s = r->chunk, *newline;
  while (s < p && (newline = memchr(s, '\n', (size_t)(p - s))) != NULL) {
    r->line++;
    r->column = 1;
    s = newline + 1;
  }
  for (; s < p; s++) r->column += ((unsigned char)*s & 0xC0) != 0x80;
  r->base += (size_t)(p - r->chunk);
  r->chunk = p;
}

/* Every failure ends here; returns NULL, which the caller returns. */
static const char *end_at(json_Reader *r, const char *p, json_Status status,
                          const char *message) {
  advance(r, p);
  r->status = status;
  snprintf(r->error.message, JSON_MAX_MESSAGE, "%s", message);
  r->error.offset = r->base;
  r->error.line = r->line;
  r->error.column = r->column;
  return NULL;
}

static const char *fail(json_Reader *r, const char *p, const char *message) {
  return end_at(r, p, JSON_INVALID, message);
}

static const char *out_of_memory(json_Reader *r, const char *p) {
  return end_at(r, p, JSON_MEMORY, "not enough memory");
}

static const char *stopped(json_Reader *r, const char *p) {
  return end_at(r, p, JSON_STOPPED, "stopped");
}

static const char *fail_expected(json_Reader *r, const char *p,
                                 const char *end) {
  char got[24], message[JSON_MAX_MESSAGE];
  if (p == end) snprintf(got, sizeof(got), "the end of the text");
  else if (*p > 0x20 && *p < 0x7F) snprintf(got, sizeof(got), "'%c'", *p);
  else snprintf(got, sizeof(got), "byte 0x%02X", (unsigned char)*p);
  snprintf(message, sizeof(message), "expected %s, got %s", expected[r->expect],
           got);
  return fail(r, p, message);
}

/* --- tokens cut by the end of a piece ------------------------------------ */

/* The end of the token that `p` is inside of; NULL when it has not come yet. */
static const char *token_end(json_Reader *r, const char *p, const char *end) {
  switch (r->token) {
  case TOKEN_STRING:
    for (; p < end; p++) {
      if (r->escape) r->escape = false;
      else if (*p == '\\') r->escape = true;
      else if (*p == '"') return p + 1;
    }
    return NULL;
  case TOKEN_NUMBER:
    while (p < end && ((*p >= '0' && *p <= '9') || *p == '.' || *p == '-' ||
                       *p == '+' || *p == 'e' || *p == 'E'))
      p++;
    return p < end ? p : NULL;
  case TOKEN_WORD:
    while (p < end && *p >= 'a' && *p <= 'z') p++;
    return p < end ? p : NULL;
  default: {
    size_t missing = sizeof(BYTE_ORDER_MARK) - 1 - r->raw.len;
    return (size_t)(end - p) < missing ? NULL : p + missing;
  }
  }
}

/* The token at `p` may continue in the next piece: keeps its bytes so far. */
static const char *keep(json_Reader *r, const char *p, const char *end,
                        int token) {
  advance(r, p);
  r->token = token;
  r->raw.len = 0;
  if (token == TOKEN_STRING) token_end(r, p + 1, end);
  if (!buffer_add(&r->raw, p, (size_t)(end - p))) return out_of_memory(r, p);
  return end;
}

/* --- scalars ------------------------------------------------------------- */

static const char *read_word(json_Reader *r, const char *p, const char *end) {
  const char *word = *p == 'n' ? "null" : *p == 't' ? "true" : "false";
  size_t len = *p == 'f' ? 5 : 4, n = (size_t)(end - p);
  bool more;
  if (n < len && !r->final && memcmp(p, word, n) == 0)
    return keep(r, p, end, TOKEN_WORD);
  if (n < len || memcmp(p, word, len) != 0)
    return fail(r, p, "expected a value, got a bare word");
  more = *p == 'n' ? r->on->null(r->ud) : r->on->boolean(r->ud, *p == 't');
  r->expect = r->after_value;
  return more ? p + len : stopped(r, p);
}

static inline bool is_digit(const char *p, const char *end) {
  return p < end && (unsigned char)(*p - '0') < 10;
}

/* A number's text as it is scanned. */
typedef struct Number {
  uint64_t mantissa; /* of the first JSON_MANTISSA_DIGITS significant digits */
  int digits;        /* how many of those there are */
  int64_t exponent;  /* value = mantissa * 10^exponent */
  bool exact;        /* all digits after the mantissa are zeros */
} Number;

static void add_dropped_digit(Number *n, char digit, bool fraction) {
  if (digit != '0') n->exact = false;
  if (!fraction) n->exponent++;
}

static inline const char *scan_digits(Number *n, const char *p, const char *end,
                                      bool fraction) {
  for (; is_digit(p, end); p++) {
    if (n->digits < JSON_MANTISSA_DIGITS) {
      n->mantissa = n->mantissa * 10 + (uint64_t)(*p - '0');
      n->digits += n->mantissa != 0;
      n->exponent -= fraction;
    } else add_dropped_digit(n, *p, fraction);
  }
  return p;
}

/* Scans the exponent after 'e'; it saturates beyond any double's. */
static const char *scan_exponent(Number *n, const char *p, const char *end) {
  bool negative = p < end && *p == '-';
  int exponent = 0;
  if (p < end && (*p == '-' || *p == '+')) p++;
  if (!is_digit(p, end)) return NULL;
  for (; is_digit(p, end); p++)
    if (exponent < 100000000) exponent = exponent * 10 + (*p - '0');
  n->exponent += negative ? -exponent : exponent;
  return p;
}

static const char *emit_integer(json_Reader *r, const Number *n, const char *p,
                                const char *end) {
  bool negative = *p == '-', more;
  if (n->exponent > 0 || n->mantissa > (uint64_t)INT64_MAX + negative)
    more = r->on->big_integer(r->ud, p, (size_t)(end - p));
  else if (!negative) more = r->on->integer(r->ud, (int64_t)n->mantissa);
  else if (n->mantissa == 0) more = r->on->number(r->ud, -0.0);
  else more = r->on->integer(r->ud, -(int64_t)(n->mantissa - 1) - 1);
  return more ? end : stopped(r, p);
}

static const char *emit_number(json_Reader *r, const Number *n, const char *p,
                               const char *end) {
  double value = json_parse_double(n->mantissa, n->exponent, n->exact, p,
                                   (size_t)(end - p));
  bool more;
  if (!isinf(value)) more = r->on->number(r->ud, *p == '-' ? -value : value);
  else if (r->huge_as_text)
    more = r->on->big_integer(r->ud, p, (size_t)(end - p));
  else return fail(r, p, "number out of range");
  return more ? end : stopped(r, p);
}

static const char *fail_number(json_Reader *r, const char *p, const char *s,
                               const char *end) {
  if (s >= end && !r->final) return keep(r, p, end, TOKEN_NUMBER);
  return fail(r, s, "expected a digit in a number");
}

static const char *read_number(json_Reader *r, const char *p, const char *end) {
  Number n = {0, 0, 0, true};
  const char *s = p + (*p == '-'), *first = s;
  bool integer = true;
  s = scan_digits(&n, s, end, false);
  if (s == first) return fail_number(r, p, s, end);
  if (*first == '0' && s > first + 1)
    return fail(r, first, "a number must not start with 0");
  if (s < end && *s == '.') {
    const char *fraction = ++s;
    integer = false;
    s = scan_digits(&n, s, end, true);
    if (s == fraction) return fail_number(r, p, s, end);
  }
  if (s < end && (*s == 'e' || *s == 'E')) {
    const char *digits = scan_exponent(&n, s + 1, end);
    integer = false;
    if (digits == NULL) {
      s++;
      if (s < end && (*s == '-' || *s == '+')) s++;
      return fail_number(r, p, s, end);
    }
    s = digits;
  }
  if (s == end && !r->final) return keep(r, p, end, TOKEN_NUMBER);
  r->expect = r->after_value;
  return integer ? emit_integer(r, &n, p, s) : emit_number(r, &n, p, s);
}

/* --- strings ------------------------------------------------------------- */

/* The value of a hexadecimal digit, or more than 15. */
static inline unsigned hex_digit(char c) {
  unsigned digit = (unsigned char)c - (unsigned)'0';
  if (digit < 10) return digit;
  digit = ((unsigned char)c | 32) - (unsigned)'a';
  return digit < 6 ? digit + 10 : 16;
}

/* Results of a step within a string, beside the position to continue at. */
static const char cut[] = "";

/* Reads the four digits after "\u" at `p` into `*unit`.  Returns `cut` when the
** text ends within them. */
static inline const char *read_unit(json_Reader *r, const char *p,
                                    const char *end, int32_t *unit) {
  const char *s;
  *unit = 0;
  for (s = p + 2; s < p + 6; s++) {
    unsigned digit;
    if (s == end) return cut;
    digit = hex_digit(*s);
    if (digit > 15) return fail(r, s, "expected a hexadecimal digit in \\u");
    *unit = *unit << 4 | (int32_t)digit;
  }
  return s;
}

static const char *read_unicode(json_Reader *r, const char *p,
                                const char *end) {
  int32_t c, low;
  const char *s = read_unit(r, p, end, &c);
  if (s == NULL || s == cut) return s;
  if (c >= 0xD800 && c <= 0xDFFF) {
    if (c > 0xDBFF) return fail(r, p, "low surrogate without a high one");
    if (end - s < 2 && (s == end || *s == '\\')) return cut;
    if (s[0] != '\\' || s[1] != 'u')
      return fail(r, p, "high surrogate without a low one");
    s = read_unit(r, s, end, &low);
    if (s == NULL || s == cut) return s;
    if (low < 0xDC00 || low > 0xDFFF)
      return fail(r, p, "high surrogate without a low one");
    c = 0x10000 + ((c - 0xD800) << 10) + (low - 0xDC00);
  }
  r->text.len += utf8_write((uint32_t)c, r->text.data + r->text.len);
  return s;
}

/* The character of an escape, by the byte after its backslash. */
static const char escapes[256] = {
    ['"'] = '"',  ['\\'] = '\\', ['/'] = '/',  ['b'] = '\b',
    ['f'] = '\f', ['n'] = '\n',  ['r'] = '\r', ['t'] = '\t'};

/* Decodes the escape at `p` into r->text, which has room for it. */
static inline const char *read_escape(json_Reader *r, const char *p,
                                      const char *end) {
  char c;
  if (end - p < 2) return cut;
  c = escapes[(unsigned char)p[1]];
  if (c == '\0')
    return p[1] == 'u' ? read_unicode(r, p, end)
                       : fail(r, p + 1, "unknown escape");
  r->text.data[r->text.len++] = c;
  return p + 2;
}

#define ESCAPE_ROOM 4 /* of one code point */

/* Adds the bytes from `run` to `p`, with room for one escape after them. */
static inline bool add_run(json_Reader *r, const char *run, const char *p,
                           const char *end) {
  size_t n = (size_t)(p - run);
  if (!buffer_reserve(&r->text, n + UTF8_STRIDE + ESCAPE_ROOM)) return false;
  utf8_copy(r->text.data + r->text.len, run, p, end);
  r->text.len += n;
  return true;
}

/* The string that starts at `p` stops at `q`, where there is no '"'. */
static const char *broken_string(json_Reader *r, const char *p, const char *q,
                                 const char *end) {
  bool is_cut = q == cut || q == end || utf8_width((unsigned char)*q) > end - q;
  if (is_cut && !r->final) return keep(r, p, end, TOKEN_STRING);
  if (q == cut || q == end)
    return fail(r, end, "expected '\"', got the end of the text");
  if ((unsigned char)*q < 0x20)
    return fail(r, q, "control character in a string");
  return fail(r, q, "invalid UTF-8 in a string");
}

/* Reads the string at `p` into `*s`; its first backslash is at `q`. */
static const char *read_escaped(json_Reader *r, const char *p, const char *q,
                                const char *end, const char **s, size_t *len) {
  const char *run = p + 1;
  r->text.len = 0;
  while (q < end && *q == '\\') {
    if (!add_run(r, run, q, end)) return out_of_memory(r, p);
    run = read_escape(r, q, end);
    if (run == NULL) return NULL;
    if (run == cut) return broken_string(r, p, cut, end);
    q = utf8_skip_text(run, end);
  }
  if (q == end || *q != '"') return broken_string(r, p, q, end);
  if (!add_run(r, run, q, end)) return out_of_memory(r, p);
  *s = r->text.data;
  *len = r->text.len;
  return q + 1;
}

/* Reads the string at `p` into `*s`, which stays NULL when the string is broken
** or cut. */
static inline const char *read_string(json_Reader *r, const char *p,
                                      const char *end, const char **s,
                                      size_t *len) {
  const char *q = utf8_skip_text(p + 1, end);
  if (q < end && *q == '\\') return read_escaped(r, p, q, end, s, len);
  if (q == end || *q != '"') return broken_string(r, p, q, end);
  *s = p + 1;
  *len = (size_t)(q - p - 1);
  return q + 1;
}

/* --- containers ---------------------------------------------------------- */

/* The byte with the bit that says whether a level is an object. */
static unsigned char *level_byte(json_Reader *r, size_t level) {
  if (level < JSON_INLINE_DEPTH) return &r->kinds[level / 8];
  return (unsigned char *)r->nest.data + (level - JSON_INLINE_DEPTH) / 8;
}

static const char *open_level(json_Reader *r, const char *p, bool object) {
  size_t level = r->depth;
  unsigned char bit = (unsigned char)(1u << level % 8);
  if (level >= r->max_depth) {
    char message[JSON_MAX_MESSAGE];
    snprintf(message, sizeof(message), "nested deeper than %zu levels",
             r->max_depth);
    return fail(r, p, message);
  }
  if (level >= JSON_INLINE_DEPTH &&
      r->nest.len <= (level - JSON_INLINE_DEPTH) / 8 &&
      !buffer_add_char(&r->nest, 0))
    return out_of_memory(r, p);
  if (object) *level_byte(r, level) |= bit;
  else *level_byte(r, level) &= (unsigned char)~bit;
  if (!(object ? r->on->begin_object : r->on->begin_array)(r->ud))
    return stopped(r, p);
  r->depth++;
  r->expect = object ? EXPECT_FIRST_MEMBER : EXPECT_FIRST_ITEM;
  r->after_value = object ? EXPECT_MEMBER_END : EXPECT_ITEM_END;
  return p + 1;
}

static const char *close_level(json_Reader *r, const char *p) {
  if (!(*p == '}' ? r->on->end_object : r->on->end_array)(r->ud))
    return stopped(r, p);
  r->depth--;
  if (r->depth == 0) r->after_value = EXPECT_END;
  else if (*level_byte(r, r->depth - 1) >> (r->depth - 1) % 8 & 1)
    r->after_value = EXPECT_MEMBER_END;
  else r->after_value = EXPECT_ITEM_END;
  r->expect = r->after_value;
  return p + 1;
}

/* --- the grammar --------------------------------------------------------- */

static const char *read_text(json_Reader *r, const char *p, const char *end) {
  const char *s = NULL;
  size_t len;
  const char *next = read_string(r, p, end, &s, &len);
  if (s == NULL) return next; /* it failed, or the token was cut */
  r->expect = r->after_value;
  return r->on->string(r->ud, s, len) ? next : stopped(r, p);
}

static const char *read_key(json_Reader *r, const char *p, const char *end) {
  const char *s = NULL, *next;
  size_t len;
  if (*p != '"') return fail_expected(r, p, end);
  next = read_string(r, p, end, &s, &len);
  if (s == NULL) return next;
  if (!r->on->key(r->ud, s, len)) return stopped(r, p);
  r->expect = EXPECT_COLON;
  if (next < end && *next == ':') {
    r->expect = EXPECT_VALUE;
    next++;
  }
  return next;
}

static const char *read_value(json_Reader *r, const char *p, const char *end) {
  switch (*p) {
  case '"': return read_text(r, p, end);
  case '{': return open_level(r, p, true);
  case '[': return open_level(r, p, false);
  case 't':
  case 'f':
  case 'n': return read_word(r, p, end);
  default:
    if (*p == '-' || is_digit(p, end)) return read_number(r, p, end);
    return fail_expected(r, p, end);
  }
}

static const char *read_start(json_Reader *r, const char *p, const char *end) {
  static const char mark[] = BYTE_ORDER_MARK;
  size_t n = (size_t)(end - p), len = sizeof(mark) - 1;
  r->expect = EXPECT_VALUE;
  if (*p != mark[0] || r->base + (size_t)(p - r->chunk) != 0)
    return read_value(r, p, end);
  if (n < len && !r->final) {
    r->expect = EXPECT_START;
    return keep(r, p, end, TOKEN_MARK);
  }
  if (n < len || memcmp(p, mark, len) != 0) return fail_expected(r, p, end);
  return p + len;
}

/* Skips the comma that follows most values directly. */
static inline void pass_comma(json_Reader *r, const char **p) {
  if (r->expect == EXPECT_MEMBER_END) r->expect = EXPECT_KEY;
  else if (r->expect == EXPECT_ITEM_END) r->expect = EXPECT_VALUE;
  else return;
  (*p)++;
}

/* One token of punctuation. */
static const char *read_mark(json_Reader *r, const char *p, const char *end) {
  const char *s = p;
  if (*p == ',') pass_comma(r, &s);
  if (s > p) return s;
  if ((r->expect == EXPECT_ITEM_END && *p == ']') ||
      (r->expect == EXPECT_MEMBER_END && *p == '}'))
    return close_level(r, p);
  if (r->expect != EXPECT_COLON || *p != ':') return fail_expected(r, p, end);
  r->expect = EXPECT_VALUE;
  return p + 1;
}

static inline const char *skip_space(const char *p, const char *end) {
  while (p < end && (*p == ' ' || *p == '\n' || *p == '\r' || *p == '\t')) p++;
  return p;
}

/* Reads all bytes of the piece; false when that failed. */
static bool run(json_Reader *r, const char *p, const char *end) {
  r->chunk = p;
  while ((p = skip_space(p, end)) < end) {
    switch (r->expect) {
    case EXPECT_START: p = read_start(r, p, end); break;
    case EXPECT_FIRST_ITEM:
      p = *p == ']' ? close_level(r, p) : read_value(r, p, end);
      break;
    case EXPECT_VALUE: p = read_value(r, p, end); break;
    case EXPECT_FIRST_MEMBER:
      p = *p == '}' ? close_level(r, p) : read_key(r, p, end);
      break;
    case EXPECT_KEY: p = read_key(r, p, end); break;
    default: p = read_mark(r, p, end);
    }
    if (p == NULL) return false;
    if (p < end && *p == ',') pass_comma(r, &p);
  }
  return true;
}

/* --- feeding ------------------------------------------------------------- */

/* Reads the token in `raw`, which is now complete. */
static bool run_kept(json_Reader *r) {
  bool final = r->final, ok;
  r->token = TOKEN_NONE;
  r->final = true;
  ok = run(r, r->raw.data, r->raw.data + r->raw.len);
  r->final = final;
  if (ok) advance(r, r->raw.data + r->raw.len);
  return ok;
}

static bool feed(json_Reader *r, const char *p, const char *end) {
  if (r->token != TOKEN_NONE) {
    const char *stop = token_end(r, p, end);
    const char *upto = stop != NULL ? stop : end;
    r->chunk = r->raw.data;
    if (!buffer_add(&r->raw, p, (size_t)(upto - p)))
      return out_of_memory(r, r->chunk) != NULL;
    if (stop == NULL) return true;
    if (!run_kept(r)) return false;
    p = stop;
  }
  if (!run(r, p, end)) return false;
  if (r->token == TOKEN_NONE) advance(r, end);
  return true;
}

static json_Status fail_size(json_Reader *r, const char *p) {
  char message[JSON_MAX_MESSAGE];
  snprintf(message, sizeof(message), "longer than %zu bytes", r->max_size);
  fail(r, p, message);
  return r->status;
}

json_Status json_feed(json_Reader *r, const char *p, size_t n) {
  size_t room = r->max_size - r->seen, fits = n < room ? n : room;
  if (r->status != JSON_OK || p == NULL) return r->status;
  r->seen += fits;
  if (!feed(r, p, p + fits) || fits == n) return r->status;
  if (r->token == TOKEN_NONE) return fail_size(r, r->chunk);
  r->chunk = r->raw.data;
  return fail_size(r, r->raw.data + r->raw.len);
}

static json_Status end_text(json_Reader *r, const char *end) {
  if (r->expect != EXPECT_END) fail_expected(r, end, end);
  return r->status;
}

json_Status json_finish(json_Reader *r) {
  if (r->status != JSON_OK) return r->status;
  if (r->token != TOKEN_NONE && !run_kept(r)) return r->status;
  r->final = true;
  return end_text(r, r->chunk);
}

json_Status json_read(json_Reader *r, const char *p, size_t n) {
  r->chunk = p;
  if (n > r->max_size) return fail_size(r, p + r->max_size);
  r->final = true;
  if (!run(r, p, p + n)) return r->status;
  return end_text(r, p + n);
}
