#include "regex/nfa.h"

#include <string.h>

#include "base/utf8.h"

#define MAX_RANGES 64 /* of one class */
#define LAST_CODE_POINT 0x10FFFF
#define ENDLESS (-1)

typedef struct Builder {
  nfa_Nfa *nfa;
  const char *p, *end;
  bool failed;
} Builder;

/* Nodes from `first` to `last`, a split that does not lead on yet. */
typedef struct Part {
  uint16_t first, last;
} Part;

typedef struct Range {
  uint32_t low, high;
} Range;

typedef struct Set {
  Range ranges[MAX_RANGES];
  int count;
} Set;

static Part parse_alternatives(Builder *b);
static Part parse_atom(Builder *b);

/* After a failure all goes to node 0, which is not looked at. */
static uint16_t add(Builder *b, nfa_Kind kind, uint16_t out, uint16_t other) {
  nfa_Node node = {(uint8_t)kind, 0, 0, out, other};
  if (b->nfa->count == NFA_MAX_NODES) b->failed = true;
  if (b->failed) return 0;
  b->nfa->nodes[b->nfa->count] = node;
  return (uint16_t)b->nfa->count++;
}

static Part fail(Builder *b) {
  Part none = {0, 0};
  b->failed = true;
  return none;
}

static Part single(Builder *b, nfa_Kind kind) {
  Part part;
  part.last = add(b, NFA_SPLIT, 0, 0);
  part.first = kind == NFA_SPLIT ? part.last : add(b, kind, part.last, 0);
  return part;
}

static void lead(Builder *b, uint16_t from, uint16_t to) {
  b->nfa->nodes[from].out = to;
}

static Part concat(Builder *b, Part a, Part c) {
  lead(b, a.last, c.first);
  a.last = c.last;
  return a;
}

static bool accept(Builder *b, const char *text) {
  size_t n = strlen(text);
  if ((size_t)(b->end - b->p) < n || memcmp(b->p, text, n) != 0) return false;
  b->p += n;
  return true;
}

/* ---- sets of characters ---- */

static void add_range(Builder *b, Set *set, uint32_t low, uint32_t high) {
  int i;
  if (set->count == MAX_RANGES) {
    b->failed = true;
    return;
  }
  for (i = set->count++; i > 0 && set->ranges[i - 1].low > low; i--)
    set->ranges[i] = set->ranges[i - 1];
  set->ranges[i].low = low;
  set->ranges[i].high = high;
}

static void complement(Builder *b, Set *set) {
  Set rest;
  uint32_t low = 0;
  int i;
  rest.count = 0;
  for (i = 0; i < set->count; i++) {
    if (set->ranges[i].low > low)
      add_range(b, &rest, low, set->ranges[i].low - 1);
    if (set->ranges[i].high >= low) low = set->ranges[i].high + 1;
  }
  if (low <= LAST_CODE_POINT) add_range(b, &rest, low, LAST_CODE_POINT);
  *set = rest;
}

/* \d, \w, \D, \W: of ASCII, and the complements. */
static void add_escaped_set(Builder *b, Set *set, char c) {
  Set own;
  int i;
  own.count = 0;
  add_range(b, &own, '0', '9');
  if (c == 'w' || c == 'W') {
    add_range(b, &own, 'A', 'Z');
    add_range(b, &own, '_', '_');
    add_range(b, &own, 'a', 'z');
  }
  if (c == 'D' || c == 'W') complement(b, &own);
  for (i = 0; i < own.count; i++)
    add_range(b, set, own.ranges[i].low, own.ranges[i].high);
}

/* The bytes of the characters from `low` to `high`, which differ in the last
** ones only: a choice beside `start`. */
static uint16_t add_bytes(Builder *b, uint32_t low, uint32_t high,
                          uint16_t start, uint16_t end) {
  char from[4] = {0}, to[4] = {0};
  size_t n = utf8_write(low, from);
  utf8_write(high, to);
  while (n-- > 0) {
    end = add(b, NFA_BYTE, end, 0);
    b->nfa->nodes[end].low = (uint8_t)from[n];
    b->nfa->nodes[end].high = (uint8_t)to[n];
  }
  return start == 0 ? end : add(b, NFA_SPLIT, end, start);
}

/* Where to end a run of characters that starts at `low`, so that all its bytes
** are ranges; `high` when it may end there. */
static uint32_t shorten(uint32_t low, uint32_t high) {
  static const uint32_t starts[] = {0x80, 0x800, 0xD800, 0xE000, 0x10000};
  uint32_t rest;
  size_t i;
  for (i = 0; i < sizeof(starts) / sizeof(starts[0]); i++) {
    if (low < starts[i] && high >= starts[i]) return starts[i] - 1;
  }
  if (high < 0x80) return high;
  for (rest = 0x3F; rest <= 0x3FFFF; rest = rest << 6 | 0x3F) {
    if ((low & ~rest) == (high & ~rest)) return high;
    if ((low & rest) != 0) return low | rest;
    if ((high & rest) != rest) return (high & ~rest) - 1;
  }
  return high;
}

static uint16_t add_characters(Builder *b, Range range, uint16_t start,
                               uint16_t end) {
  uint32_t low = range.low, high;
  while (low <= range.high && !b->failed) {
    uint32_t shorter = range.high;
    do {
      high = shorter;
      shorter = shorten(low, high);
    } while (shorter != high);
    if (low < 0xD800 || low > 0xDFFF) /* surrogates are not in UTF-8 */
      start = add_bytes(b, low, high, start, end);
    low = high + 1;
  }
  return start;
}

static Part set_part(Builder *b, const Set *set) {
  Part part = {0, add(b, NFA_SPLIT, 0, 0)};
  int i;
  for (i = 0; i < set->count; i++)
    part.first = add_characters(b, set->ranges[i], part.first, part.last);
  /* nothing matches: a node that leads nowhere */
  if (part.first == 0) part.first = add(b, NFA_SPLIT, 0, 0);
  return part;
}

static bool is_alphanumeric(char c) {
  return (c >= '0' && c <= '9') || (c >= 'A' && c <= 'Z') ||
         (c >= 'a' && c <= 'z');
}

static bool is_one_of(char c, const char *list) {
  return c != '\0' && strchr(list, c) != NULL;
}

static bool read_hex(Builder *b, uint32_t *c) {
  static const char digits[] = "0123456789abcdef";
  if (b->end - b->p < 2 || !is_one_of(b->p[0], digits) ||
      !is_one_of(b->p[1], digits))
    return false;
  *c = (uint32_t)((strchr(digits, b->p[0]) - digits) << 4 |
                  (strchr(digits, b->p[1]) - digits));
  b->p += 2;
  return true;
}

/* One character into `c`, or (false) a set such as \d into `set`. */
static bool read_character(Builder *b, Set *set, uint32_t *c) {
  size_t n;
  *c = 0;
  if (!accept(b, "\\")) {
    n = b->p == b->end ? 0 : utf8_read(b->p, (size_t)(b->end - b->p), c);
    if (n == 0) b->failed = true;
    b->p += n;
    return true;
  }
  if (b->p == b->end) {
    b->failed = true;
  } else if (is_one_of(*b->p, "dwDW")) {
    add_escaped_set(b, set, *b->p++);
    return false;
  } else if (accept(b, "x")) {
    if (!read_hex(b, c)) b->failed = true;
  } else if (is_alphanumeric(*b->p)) {
    b->failed = true;
  } else {
    *c = (unsigned char)*b->p++;
  }
  return true;
}

/* After "[". */
static Part parse_class(Builder *b) {
  bool negated = accept(b, "^");
  Set set;
  set.count = 0;
  while (!b->failed && !accept(b, "]")) {
    uint32_t low, high;
    if (!read_character(b, &set, &low)) continue;
    high = low;
    if (accept(b, "-") && !read_character(b, &set, &high)) b->failed = true;
    add_range(b, &set, low, high);
  }
  if (negated) complement(b, &set);
  return set_part(b, &set);
}

static Part parse_character(Builder *b) {
  Set set;
  uint32_t c;
  set.count = 0;
  if (is_one_of(*b->p, ".*+?{}|)]")) return fail(b);
  if (read_character(b, &set, &c)) add_range(b, &set, c, c);
  return set_part(b, &set);
}

/* ---- repeats ---- */

static bool read_count(Builder *b, int *n) {
  const char *start = b->p;
  for (*n = 0; b->p < b->end && *b->p >= '0' && *b->p <= '9'; b->p++)
    if (*n <= NFA_MAX_NODES) *n = *n * 10 + (*b->p - '0');
  return b->p > start;
}

/* What follows an atom; false when nothing does. */
static bool read_repeat(Builder *b, int *min, int *max) {
  *min = 0;
  *max = ENDLESS;
  if (accept(b, "+")) *min = 1;
  else if (accept(b, "?")) *max = 1;
  else if (accept(b, "{")) {
    if (!read_count(b, min)) b->failed = true;
    *max = *min;
    if (accept(b, ",") && !read_count(b, max)) *max = ENDLESS;
    if (!accept(b, "}")) b->failed = true;
  } else if (!accept(b, "*")) return false;
  accept(b, "?"); /* which match it is does not matter */
  return true;
}

/* Another one of the atom whose text starts at `atom`. */
static Part parse_again(Builder *b, const char *atom) {
  const char *here = b->p;
  Part part;
  b->p = atom;
  part = parse_atom(b);
  b->p = here;
  return part;
}

/* The first of the copies is `part`. */
static Part repeat(Builder *b, const char *atom, Part part, int min, int max) {
  Part whole = single(b, NFA_SPLIT);
  uint16_t end = add(b, NFA_SPLIT, 0, 0);
  int i;
  for (i = 0; (i < min || i < max || (i == 0 && max == ENDLESS)) && !b->failed;
       i++) {
    bool optional = i >= min;
    if (i > 0) part = parse_again(b, atom);
    if (optional) part.first = add(b, NFA_SPLIT, part.first, end);
    if (max == ENDLESS && i + 1 >= min) {
      lead(b, part.last, add(b, NFA_SPLIT, part.first, end));
      part.last = end;
    }
    whole = concat(b, whole, part);
  }
  if (whole.last != end) lead(b, whole.last, end);
  whole.last = end;
  return whole;
}

/* ---- the pattern ---- */

static Part parse_group(Builder *b) {
  Part part;
  if (!accept(b, "?:") && b->p < b->end && *b->p == '?') return fail(b);
  part = parse_alternatives(b);
  return accept(b, ")") ? part : fail(b);
}

static Part parse_atom(Builder *b) {
  if (b->failed) return fail(b);
  if (accept(b, "(")) return parse_group(b);
  if (accept(b, "[")) return parse_class(b);
  if (accept(b, "^")) return single(b, NFA_START);
  if (accept(b, "$")) return single(b, NFA_END);
  return parse_character(b);
}

static Part parse_alternative(Builder *b) {
  Part whole = single(b, NFA_SPLIT);
  while (b->p < b->end && *b->p != '|' && *b->p != ')' && !b->failed) {
    const char *atom = b->p;
    Part part = parse_atom(b);
    int min, max;
    if (read_repeat(b, &min, &max)) part = repeat(b, atom, part, min, max);
    whole = concat(b, whole, part);
  }
  return whole;
}

static Part parse_alternatives(Builder *b) {
  Part whole = parse_alternative(b);
  while (!b->failed && accept(b, "|")) {
    Part next = parse_alternative(b);
    uint16_t end = add(b, NFA_SPLIT, 0, 0);
    lead(b, whole.last, end);
    lead(b, next.last, end);
    whole.first = add(b, NFA_SPLIT, whole.first, next.first);
    whole.last = end;
  }
  return whole;
}

bool nfa_build(nfa_Nfa *nfa, const char *pattern, size_t len) {
  Builder b;
  Part whole;
  b.nfa = nfa;
  b.p = pattern;
  b.end = pattern + len;
  b.failed = false;
  nfa->count = 1;
  memset(&nfa->nodes[0], 0, sizeof(nfa->nodes[0]));
  whole = parse_alternatives(&b);
  nfa->first = whole.first;
  lead(&b, whole.last, add(&b, NFA_MATCH, 0, 0));
  return !b.failed && b.p == b.end;
}
