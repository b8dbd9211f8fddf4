#include "regex_parse.h"

#include <string.h>

#include "utf8.h"

/* Also PCRE2's own default for nested parentheses. */
#define MAX_DEPTH 250
#define MAX_GROUPS 10000
#define MAX_NAMES (64 * 1024)
/* PCRE2's largest repeat count; larger ones are written in several pieces. */
#define MAX_REPEAT 65535
#define MAX_PIECES 64
#define INFINITE_REPEAT 0x7FFFFFFF /* where engines saturate */

/* What ends a line, and white space with its complement, as the inside of a
** class. */
#define LINE_ENDS "\n\r\xE2\x80\xA8\xE2\x80\xA9"
#define SPACES                                                                 \
  "\t-\r\\ \xC2\xA0\xE1\x9A\x80\xE2\x80\x80-\xE2\x80\x8A\xE2\x80\xA8"          \
  "\xE2\x80\xA9\xE2\x80\xAF\xE2\x81\x9F\xE3\x80\x80\xEF\xBB\xBF"
#define NOT_SPACES                                                             \
  "\\x01-\\x08\\x0e-\\x1f!-\xC2\x9F\xC2\xA1-\xE1\x99\xBF\xE1\x9A\x81-"         \
  "\xE1\xBF\xBF\xE2\x80\x8B-\xE2\x80\xA7\xE2\x80\xAA-\xE2\x80\xAE"             \
  "\xE2\x80\xB0-\xE2\x81\x9E\xE2\x81\xA0-\xE2\xBF\xBF\xE3\x80\x81-"            \
  "\xEF\xBB\xBE\xEF\xBC\x80-\xF4\x8F\xBF\xBF\\x00"

typedef struct Group {
  size_t name, name_len; /* in Parser.names */
  size_t number;
  bool active; /* a second group of this name would be a duplicate */
} Group;

typedef struct Parser {
  const char *s;
  size_t len, pos;
  regex_Translation *to;
  regex_Problem *problem;
  buffer_Buffer names;  /* of named groups, decoded, one after the other */
  buffer_Buffer groups; /* of Group: the named ones, in order */
  size_t captures;      /* all groups that capture */
  size_t opened;        /* named groups that the parser has passed */
  size_t term;          /* where the term being translated starts */
  int depth;
  bool multiline, dot_all, overflow;
} Parser;

typedef enum Atom {
  ATOM_WRONG,
  ATOM_ASSERTION, /* cannot be repeated */
  ATOM_LOOKAHEAD, /* can be repeated by Annex B */
  ATOM_GROUP,
  ATOM_SIMPLE /* one character: its text can be written twice */
} Atom;

static bool parse_disjunction(Parser *p);

static bool fail(Parser *p, const char *message, size_t offset) {
  p->problem->message = message;
  p->problem->offset = offset;
  return false;
}

static bool at_end(const Parser *p) {
  return p->pos >= p->len;
}

static int peek(const Parser *p, size_t ahead) {
  return ahead < p->len - p->pos ? (unsigned char)p->s[p->pos + ahead] : -1;
}

static bool accept(Parser *p, const char *text) {
  size_t n = strlen(text);
  if (p->len - p->pos < n || memcmp(p->s + p->pos, text, n) != 0) return false;
  p->pos += n;
  return true;
}

static bool is_digit(int c) {
  return c >= '0' && c <= '9';
}

static bool is_letter(int c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z');
}

static int hex_value(int c) {
  if (is_digit(c)) return c - '0';
  if (c >= 'a' && c <= 'f') return c - 'a' + 10;
  return c >= 'A' && c <= 'F' ? c - 'A' + 10 : -1;
}

/* ---- output ---- */

static void emit(Parser *p, const char *text, size_t n) {
  buffer_Buffer *out = p->to->out;
  if (out == NULL || p->overflow) return;
  if (out->len <= p->to->watch && p->to->watch < out->len + n) {
    p->to->watched = p->term;
  }
  if (!buffer_add(out, text, n)) p->overflow = true;
}

static void emit_text(Parser *p, const char *text) {
  emit(p, text, strlen(text));
}

/* A character that stands for itself, inside a class or outside. */
static void emit_char(Parser *p, uint32_t c) {
  char text[5];
  size_t n = 0;
  if (c < 0x80 && c > ' ' && !is_digit((int)c) && !is_letter((int)c)) {
    text[n++] = '\\';
  }
  n += utf8_write(c, text + n);
  emit(p, text, n);
}

static bool is_surrogate(uint32_t c) {
  return c >= 0xD800 && c <= 0xDFFF;
}

/* UTF-8 has no surrogates, so they are left out of ranges. */
static void emit_range(Parser *p, uint32_t low, uint32_t high) {
  if (is_surrogate(low) && is_surrogate(high)) return;
  if (low < 0xD800 && high > 0xDFFF) {
    emit_range(p, low, 0xD7FF);
    low = 0xE000;
  }
  if (is_surrogate(low)) low = 0xE000;
  if (is_surrogate(high)) high = 0xD7FF;
  emit_char(p, low);
  if (low == high) return;
  emit_text(p, "-");
  emit_char(p, high);
}

static void emit_number(Parser *p, size_t n) {
  char digits[24];
  size_t i = sizeof(digits);
  do {
    digits[--i] = (char)('0' + n % 10);
    n /= 10;
  } while (n > 0);
  emit(p, digits + i, sizeof(digits) - i);
}

/* ---- characters ---- */

static bool read_hex(Parser *p, int digits, uint32_t *c) {
  int i;
  *c = 0;
  for (i = 0; i < digits; i++) {
    int value = hex_value(peek(p, (size_t)i));
    if (value < 0) return false;
    *c = *c << 4 | (uint32_t)value;
  }
  p->pos += (size_t)digits;
  return true;
}

static bool read_braced_hex(Parser *p, uint32_t *c) {
  size_t start = p->pos;
  int value;
  *c = 0;
  while ((value = hex_value(peek(p, 0))) >= 0) {
    *c = *c << 4 | (uint32_t)value;
    if (*c > 0x10FFFF) return false;
    p->pos++;
  }
  return p->pos > start && accept(p, "}");
}

/* After "\u": XXXX, a pair of surrogates, or {X...}. */
static bool read_unicode_escape(Parser *p, uint32_t *c) {
  size_t after;
  uint32_t low;
  if (accept(p, "{")) return read_braced_hex(p, c);
  if (!read_hex(p, 4, c)) return false;
  if (*c < 0xD800 || *c > 0xDBFF) return true;
  after = p->pos;
  if (accept(p, "\\u") && read_hex(p, 4, &low) && low >= 0xDC00 &&
      low <= 0xDFFF) {
    *c = 0x10000 + ((*c - 0xD800) << 10) + (low - 0xDC00);
  } else {
    p->pos = after;
  }
  return true;
}

static bool read_literal(Parser *p, uint32_t *c) {
  size_t n = utf8_read(p->s + p->pos, p->len - p->pos, c);
  if (n == 0) return fail(p, "malformed UTF-8", p->pos);
  p->pos += n;
  return true;
}

static bool is_id_continue(uint32_t c) {
  if (c < 0x80) return is_digit((int)c) || is_letter((int)c) || c == '_';
  return c == 0x200C || c == 0x200D || regex_has_property(c, "ID_Continue");
}

static bool is_id_start(uint32_t c) {
  if (c < 0x80) return is_letter((int)c) || c == '_';
  return regex_has_property(c, "ID_Start");
}

static bool read_identity_escape(Parser *p, uint32_t *c) {
  size_t start = p->pos - 1;
  if (!read_literal(p, c)) return false;
  if (!is_id_continue(*c) || (*c == '_' && p->to->lenient)) return true;
  return fail(p, "unknown escape", start);
}

/* After a backslash: any escape that stands for one character. */
static bool read_character_escape(Parser *p, uint32_t *c) {
  size_t start = p->pos - 1;
  static const char names[] = "tnvfr", values[] = "\t\n\v\f\r";
  int next = peek(p, 0);
  const char *name = next > 0 ? strchr(names, next) : NULL;
  if (next < 0) return fail(p, "backslash at the end", start);
  if (name != NULL) {
    *c = (uint32_t)values[name - names];
    p->pos++;
    return true;
  }
  switch (next) {
  case 'c':
    if (!is_letter(peek(p, 1))) return fail(p, "\\c needs a letter", start);
    *c = (uint32_t)peek(p, 1) % 32;
    p->pos += 2;
    return true;
  case '0':
    if (is_digit(peek(p, 1))) return fail(p, "octal escape", start);
    p->pos++;
    *c = 0;
    return true;
  case 'x':
    p->pos++;
    return read_hex(p, 2, c) || fail(p, "\\x needs two hex digits", start);
  case 'u':
    p->pos++;
    return read_unicode_escape(p, c) ||
           fail(p, "\\u needs four hex digits or {...}", start);
  default: return read_identity_escape(p, c);
  }
}

/* ---- group names ---- */

static Group *group_at(const Parser *p, size_t i) {
  return (Group *)(void *)p->groups.data + i;
}

static size_t group_count(const Parser *p) {
  return p->groups.len / sizeof(Group);
}

/* After "<": appends the name to p->names and passes the ">". */
static bool read_name(Parser *p) {
  size_t start = p->pos;
  while (!accept(p, ">")) {
    uint32_t c;
    char text[4];
    bool first = p->pos == start;
    if (at_end(p)) return fail(p, "group name without >", start);
    if (accept(p, "\\u")) {
      if (!read_unicode_escape(p, &c) || is_surrogate(c)) {
        return fail(p, "malformed group name", start);
      }
    } else if (!read_literal(p, &c)) {
      return false;
    }
    if (c != '$' && !(first ? is_id_start(c) : is_id_continue(c))) {
      return fail(p, "malformed group name", start);
    }
    if (!buffer_add(&p->names, text, utf8_write(c, text))) p->overflow = true;
  }
  return p->pos > start + 1 || fail(p, "empty group name", start);
}

static bool same_name(const Parser *p, const Group *a, const Group *b) {
  return a->name_len == b->name_len &&
         (a->name_len == 0 ||
          memcmp(p->names.data + a->name, p->names.data + b->name,
                 a->name_len) == 0);
}

/* Counts the group that starts after the "(" before p->pos. */
static bool scan_group(Parser *p) {
  Group group = {0};
  if (peek(p, 0) == '?' &&
      (peek(p, 1) != '<' || peek(p, 2) == '=' || peek(p, 2) == '!')) {
    return true;
  }
  if (++p->captures > MAX_GROUPS) {
    return fail(p, "too many groups", p->pos - 1);
  }
  if (!accept(p, "?<")) return true;
  group.name = p->names.len;
  group.number = p->captures;
  if (!read_name(p)) return false;
  group.name_len = p->names.len - group.name;
  return buffer_add(&p->groups, &group, sizeof(group)) ||
         fail(p, "too many groups", p->pos);
}

/* References can point forward, so groups are counted before all else. */
static bool scan_groups(Parser *p) {
  bool in_class = false;
  while (!at_end(p)) {
    int c = (unsigned char)p->s[p->pos++];
    if (c == '\\') {
      if (!at_end(p)) p->pos++;
    } else if (c == '[' || c == ']') {
      in_class = c == '[';
    } else if (c == '(' && !in_class && !scan_group(p)) {
      return false;
    }
  }
  p->pos = 0;
  return true;
}

/* ---- escapes ---- */

/* After "\p" or "\P". */
static bool parse_property(Parser *p, bool negated) {
  size_t start = p->pos - 2, name, len;
  char text[64];
  bool complement = false;
  if (!accept(p, "{")) return fail(p, "\\p needs {...}", start);
  name = p->pos;
  while (!at_end(p) && peek(p, 0) != '}') p->pos++;
  len = p->pos - name;
  if (!accept(p, "}")) return fail(p, "\\p{ without }", start);
  if (!regex_property(p->s + name, len, text, sizeof(text), &complement)) {
    return fail(p, "unknown property", start);
  }
  emit_text(p, negated != complement ? "\\P{" : "\\p{");
  emit_text(p, text);
  emit_text(p, "}");
  return true;
}

/* After a backslash: a class such as \d.  Returns 1, 0 when there is none, -1
** when it is wrong. */
static int parse_class_escape(Parser *p, bool in_class) {
  int c = peek(p, 0);
  if (c < 0 || strchr("dDwWsSpP", c) == NULL) return 0;
  p->pos++;
  if (c == 'p' || c == 'P') return parse_property(p, c == 'P') ? 1 : -1;
  if (c != 's' && c != 'S') {
    char text[2] = {'\\', (char)c};
    emit(p, text, 2);
    return 1;
  }
  if (!in_class) {
    emit_text(p, c == 's' ? "[" SPACES "]" : "[^" SPACES "]");
  } else {
    emit_text(p, c == 's' ? SPACES : NOT_SPACES);
  }
  return 1;
}

/* After "\k". */
static bool parse_named_reference(Parser *p) {
  size_t start = p->pos - 2, i, found = 0;
  Group wanted = {0};
  wanted.name = p->names.len;
  if (!accept(p, "<")) return fail(p, "\\k needs <name>", start);
  if (!read_name(p)) return false;
  wanted.name_len = p->names.len - wanted.name;
  emit_text(p, "(?:");
  for (i = 0; i < group_count(p); i++) {
    if (!same_name(p, group_at(p, i), &wanted)) continue;
    found++;
    emit_text(p, "\\g{");
    emit_number(p, group_at(p, i)->number);
    emit_text(p, "}");
  }
  emit_text(p, ")");
  p->names.len = wanted.name;
  return found > 0 || fail(p, "no group of this name", start);
}

static bool parse_numbered_reference(Parser *p) {
  size_t start = p->pos - 1, number = 0;
  while (is_digit(peek(p, 0))) {
    if (number <= MAX_GROUPS) number = number * 10 + (size_t)(peek(p, 0) - '0');
    p->pos++;
  }
  if (number > p->captures) return fail(p, "no group of this number", start);
  emit_text(p, "\\g{");
  emit_number(p, number);
  emit_text(p, "}");
  return true;
}

/* At a backslash, outside a class. */
static Atom parse_escape(Parser *p) {
  uint32_t c;
  int next = peek(p, 1), set;
  p->pos++;
  if (next == 'b' || next == 'B') {
    emit(p, p->s + p->pos - 1, 2);
    p->pos++;
    return ATOM_ASSERTION;
  }
  set = parse_class_escape(p, false);
  if (set != 0) return set > 0 ? ATOM_SIMPLE : ATOM_WRONG;
  if (next == 'k') {
    p->pos++;
    return parse_named_reference(p) ? ATOM_GROUP : ATOM_WRONG;
  }
  if (is_digit(next) && next != '0') {
    return parse_numbered_reference(p) ? ATOM_GROUP : ATOM_WRONG;
  }
  if (!read_character_escape(p, &c)) return ATOM_WRONG;
  if (is_surrogate(c)) emit_text(p, "[]");
  else emit_char(p, c);
  return ATOM_SIMPLE;
}

/* ---- classes ---- */

/* One member of a class.  Returns 1 for a character (in `c`, not yet written),
** 2 for a set such as \d (written), -1 when it is wrong. */
static int parse_class_atom(Parser *p, uint32_t *c) {
  if (!accept(p, "\\")) return read_literal(p, c) ? 1 : -1;
  if (accept(p, "b")) {
    *c = '\b';
    return 1;
  }
  if (!at_end(p) && peek(p, 0) != '0') {
    int set = parse_class_escape(p, true);
    if (set != 0) return set > 0 ? 2 : -1;
  }
  return read_character_escape(p, c) ? 1 : -1;
}

/* After the "-" of what may be a range: `low_kind` as parse_class_atom. */
static bool parse_range(Parser *p, int low_kind, uint32_t low, size_t start) {
  uint32_t high = 0;
  int high_kind = parse_class_atom(p, &high);
  if (high_kind < 0) return false;
  if (low_kind == 1 && high_kind == 1) {
    if (low > high) return fail(p, "range out of order", start);
    emit_range(p, low, high);
    return true;
  }
  if (!p->to->lenient) return fail(p, "a set in a range", start);
  if (low_kind == 1) emit_range(p, low, low);
  emit_text(p, "\\-");
  if (high_kind == 1) emit_range(p, high, high);
  return true;
}

/* At "[". */
static bool parse_class(Parser *p) {
  size_t open = p->pos;
  p->pos++;
  emit_text(p, accept(p, "^") ? "[^" : "[");
  while (!accept(p, "]")) {
    size_t start = p->pos;
    uint32_t c = 0;
    int kind;
    if (at_end(p)) return fail(p, "[ without ]", open);
    kind = parse_class_atom(p, &c);
    if (kind < 0) return false;
    if (peek(p, 0) == '-' && peek(p, 1) >= 0 && peek(p, 1) != ']') {
      p->pos++;
      if (!parse_range(p, kind, c, start)) return false;
    } else if (kind == 1) {
      emit_range(p, c, c);
    }
  }
  emit_text(p, "]");
  return true;
}

/* ---- groups ---- */

/* The named group that starts here: refused when its name is taken in the same
** alternative. */
static bool open_named_group(Parser *p) {
  size_t start = p->pos, i;
  Group *group = group_at(p, p->opened);
  if (p->opened >= group_count(p)) return fail(p, "malformed group", start);
  for (i = 0; i < p->opened; i++) {
    const Group *other = group_at(p, i);
    if (other->active && same_name(p, other, group)) {
      return fail(p, "duplicate group name", start);
    }
  }
  group->active = true;
  p->opened++;
  while (!accept(p, ">")) p->pos++;
  return true;
}

static void set_active(Parser *p, size_t from, bool active) {
  size_t i;
  for (i = from; i < p->opened; i++) group_at(p, i)->active = active;
}

/* After "(?": flags as in (?i-s:...); passes the colon. */
static bool parse_modifiers(Parser *p) {
  size_t start = p->pos;
  static const char flags[] = "ims";
  bool seen[3] = {false, false, false}, add = true;
  int ignore_case = 0;
  for (; peek(p, 0) != ':'; p->pos++) {
    int c = peek(p, 0);
    const char *flag = c > 0 ? strchr(flags, c) : NULL;
    if (c == '-' && add) {
      add = false;
      continue;
    }
    if (flag == NULL || seen[flag - flags]) {
      return fail(p, "unknown kind of group", start - 2);
    }
    seen[flag - flags] = true;
    if (c == 'i') ignore_case = add ? 1 : -1;
    if (c == 'm') p->multiline = add;
    if (c == 's') p->dot_all = add;
  }
  if (p->pos == start || (p->pos == start + 1 && !add)) {
    return fail(p, "unknown kind of group", start - 2);
  }
  p->pos++;
  emit_text(p, ignore_case > 0 ? "(?i:" : ignore_case < 0 ? "(?-i:" : "(?:");
  return true;
}

/* After "(": what kind of group it is. */
static Atom open_group(Parser *p) {
  if (!accept(p, "?")) {
    emit_text(p, "(");
    return ATOM_GROUP;
  }
  if (accept(p, ":")) {
    emit_text(p, "(?:");
    return ATOM_GROUP;
  }
  if (peek(p, 0) == '=' || peek(p, 0) == '!') {
    emit_text(p, accept(p, "=") ? "(?=" : (p->pos++, "(?!"));
    return ATOM_LOOKAHEAD;
  }
  if (accept(p, "<=") || accept(p, "<!")) {
    emit_text(p, p->s[p->pos - 1] == '=' ? "(?<=" : "(?<!");
    return ATOM_ASSERTION;
  }
  if (accept(p, "<")) {
    emit_text(p, "(");
    return open_named_group(p) ? ATOM_GROUP : ATOM_WRONG;
  }
  return parse_modifiers(p) ? ATOM_GROUP : ATOM_WRONG;
}

/* At "(". */
static Atom parse_group(Parser *p) {
  size_t open = p->pos;
  bool multiline = p->multiline, dot_all = p->dot_all;
  Atom kind;
  p->pos++;
  kind = open_group(p);
  if (kind == ATOM_WRONG) return kind;
  if (++p->depth > MAX_DEPTH) {
    fail(p, "groups nested too deeply", open);
    return ATOM_WRONG;
  }
  if (!parse_disjunction(p)) return ATOM_WRONG;
  p->depth--;
  p->multiline = multiline;
  p->dot_all = dot_all;
  if (!accept(p, ")")) {
    fail(p, "( without )", open);
    return ATOM_WRONG;
  }
  emit_text(p, ")");
  return kind;
}

/* ---- repeats ---- */

typedef struct Repeat {
  size_t min, max;
  const char *text; /* "*", "+", "?", or NULL for {min,max} */
} Repeat;

static bool read_count(Parser *p, size_t *n) {
  if (!is_digit(peek(p, 0))) return false;
  *n = 0;
  for (; is_digit(peek(p, 0)); p->pos++) {
    *n = *n * 10 + (size_t)(peek(p, 0) - '0');
    if (*n > INFINITE_REPEAT) *n = INFINITE_REPEAT;
  }
  return true;
}

/* Reads {n}, {n,} or {n,m}; stays where it was when there is none. */
static bool read_braces(Parser *p, Repeat *r) {
  size_t start = p->pos;
  r->text = NULL;
  if (accept(p, "{") && read_count(p, &r->min)) {
    r->max = r->min;
    if (accept(p, ",") && !read_count(p, &r->max)) r->max = INFINITE_REPEAT;
    if (accept(p, "}")) return true;
  }
  p->pos = start;
  return false;
}

static bool read_repeat(Parser *p, Repeat *r) {
  if (accept(p, "*")) r->text = "*";
  else if (accept(p, "+")) r->text = "+";
  else if (accept(p, "?")) r->text = "?";
  else return read_braces(p, r);
  return true;
}

static void emit_piece(Parser *p, size_t min, size_t max, const char *lazy) {
  emit_text(p, "{");
  emit_number(p, min);
  if (max != min) emit_text(p, ",");
  if (max != min && max != INFINITE_REPEAT) emit_number(p, max);
  emit_text(p, "}");
  emit_text(p, lazy);
}

/* Writes the text of the atom, which starts at `atom` in the output, again. */
static void emit_again(Parser *p, size_t atom, size_t atom_len) {
  buffer_Buffer *out = p->to->out;
  if (out == NULL || p->overflow) return;
  if (!buffer_reserve(out, atom_len)) p->overflow = true;
  else emit(p, out->data + atom, atom_len);
}

/* A repeat beyond what PCRE2 counts to, as X{65535}X{0,34465}. */
static void emit_pieces(Parser *p, Repeat r, const char *lazy, size_t atom) {
  size_t atom_len = p->to->out == NULL ? 0 : p->to->out->len - atom;
  bool endless = r.max == INFINITE_REPEAT;
  while (r.min > MAX_REPEAT) {
    emit_piece(p, MAX_REPEAT, MAX_REPEAT, lazy);
    emit_again(p, atom, atom_len);
    r.min -= MAX_REPEAT;
    r.max -= MAX_REPEAT;
  }
  if (endless) {
    emit_piece(p, r.min, INFINITE_REPEAT, lazy);
    return;
  }
  for (;;) {
    size_t max = r.max > MAX_REPEAT ? MAX_REPEAT : r.max;
    emit_piece(p, r.min, max, lazy);
    r.max -= max;
    if (r.max == 0) return;
    r.min = 0;
    emit_again(p, atom, atom_len);
  }
}

static bool fits(const Repeat *r) {
  return r->min <= MAX_REPEAT &&
         (r->max <= MAX_REPEAT || r->max == INFINITE_REPEAT);
}

/* Checks alone do not ask for what PCRE2 cannot do. */
static bool too_large(const Parser *p, const Repeat *r, Atom kind) {
  size_t largest = r->max == INFINITE_REPEAT ? r->min : r->max;
  if (p->to->out == NULL || fits(r)) return false;
  return kind != ATOM_SIMPLE || largest > (size_t)MAX_REPEAT * MAX_PIECES;
}

static bool parse_repeat(Parser *p, Atom kind, size_t atom) {
  size_t start = p->pos;
  Repeat r = {0, 0, NULL};
  const char *lazy;
  if (!read_repeat(p, &r)) return true;
  if (kind == ATOM_ASSERTION || (kind == ATOM_LOOKAHEAD && !p->to->lenient)) {
    return fail(p, "nothing to repeat", start);
  }
  lazy = accept(p, "?") ? "?" : "";
  if (r.text != NULL) {
    emit_text(p, r.text);
    emit_text(p, lazy);
    return true;
  }
  if (r.min > r.max) return fail(p, "repeat counts out of order", start);
  if (too_large(p, &r, kind)) return fail(p, "repeat count too large", start);
  if (p->to->out == NULL) return true;
  if (fits(&r)) emit_piece(p, r.min, r.max, lazy);
  else emit_pieces(p, r, lazy, atom);
  return true;
}

/* ---- the pattern ---- */

/* A character that means itself, or one that should have been escaped. */
static Atom parse_literal(Parser *p) {
  size_t start = p->pos;
  int c = peek(p, 0);
  uint32_t code;
  Repeat r;
  if (c == '*' || c == '+' || c == '?' || (c == '{' && read_braces(p, &r))) {
    fail(p, "nothing to repeat", start);
    return ATOM_WRONG;
  }
  if ((c == '{' || c == '}' || c == ']') && !p->to->lenient) {
    fail(p, c == ']' ? "lone bracket" : "lone brace", start);
    return ATOM_WRONG;
  }
  if (!read_literal(p, &code)) return ATOM_WRONG;
  emit_char(p, code);
  return ATOM_SIMPLE;
}

static Atom parse_atom(Parser *p) {
  switch (peek(p, 0)) {
  case '^':
    p->pos++;
    emit_text(p, p->multiline ? "(?<![^" LINE_ENDS "])" : "^");
    return ATOM_ASSERTION;
  case '$':
    p->pos++;
    emit_text(p, p->multiline ? "(?![^" LINE_ENDS "])" : "$");
    return ATOM_ASSERTION;
  case '.':
    p->pos++;
    emit_text(p, p->dot_all ? "[^]" : "[^" LINE_ENDS "]");
    return ATOM_SIMPLE;
  case '(': return parse_group(p);
  case '[': return parse_class(p) ? ATOM_SIMPLE : ATOM_WRONG;
  case '\\': return parse_escape(p);
  default: return parse_literal(p);
  }
}

static bool parse_alternative(Parser *p) {
  while (!at_end(p) && peek(p, 0) != '|' && peek(p, 0) != ')') {
    size_t atom = p->to->out == NULL ? 0 : p->to->out->len;
    Atom kind;
    p->term = p->pos;
    kind = parse_atom(p);
    if (kind == ATOM_WRONG || !parse_repeat(p, kind, atom)) return false;
  }
  return true;
}

static bool parse_disjunction(Parser *p) {
  size_t names = p->opened;
  for (;;) {
    if (!parse_alternative(p)) return false;
    if (!accept(p, "|")) break;
    emit_text(p, "|");
    set_active(p, names, false);
  }
  set_active(p, names, true);
  return true;
}

static bool parse_pattern(Parser *p) {
  if (!scan_groups(p) || !parse_disjunction(p)) return false;
  if (!at_end(p)) return fail(p, ") without (", p->pos);
  return !p->overflow || fail(p, "pattern too large", p->len);
}

bool regex_parse(const ops_Alloc *alloc, const char *source, size_t len,
                 regex_Translation *translation, regex_Problem *problem) {
  Parser p;
  bool ok;
  memset(&p, 0, sizeof(p));
  p.s = source;
  p.len = len;
  p.to = translation;
  p.problem = problem;
  buffer_init(&p.names, *alloc, MAX_NAMES);
  buffer_init(&p.groups, *alloc, MAX_GROUPS * sizeof(Group));
  ok = parse_pattern(&p);
  buffer_free(&p.names);
  buffer_free(&p.groups);
  return ok;
}
