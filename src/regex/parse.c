#include "regex/parse.h"

#include <string.h>

#include "regex/parser.h"

/* Also PCRE2's own default for nested parentheses. */
#define MAX_DEPTH 250
/* PCRE2's largest repeat count; larger ones are split into several. */
#define MAX_REPEAT 65535
#define MAX_PIECES 64
#define INFINITE_REPEAT 0x7FFFFFFF /* engines saturate here */
#define LAST_CODE_POINT 0x10FFFF
#define METER_TERMS 32 /* at most so many terms without a meter */

/* Line terminators, and white space with its complement, as the inside of a
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

/* A class that never matches; PCRE2 cannot repeat its own, []. */
#define NOTHING "^\\x00-\xF4\x8F\xBF\xBF"

typedef enum Atom {
  ATOM_WRONG,
  ATOM_ASSERTION, /* cannot be repeated */
  ATOM_LOOKAHEAD, /* can be repeated by Annex B */
  ATOM_GROUP,
  ATOM_SIMPLE /* a character: its text can be repeated */
} Atom;

static bool parse_disjunction(regex_Parser *p);

static size_t written(const regex_Parser *p) {
  return p->to->out == NULL ? 0 : p->to->out->len;
}

static void emit_nothing(regex_Parser *p) {
  regex_note_members(p, LAST_CODE_POINT);
  regex_emit_text(p, NOTHING);
}

/* ---- escapes ---- */

/* Parses what follows "\p" or "\P". */
static bool parse_property(regex_Parser *p, bool negated) {
  size_t start = p->pos - 2, name, len;
  char text[64];
  bool complement;
  if (!regex_accept(p, "{")) return regex_fail(p, "\\p needs {...}", start);
  name = p->pos;
  while (!regex_at_end(p) && regex_peek(p, 0) != '}') p->pos++;
  len = p->pos - name;
  if (!regex_accept(p, "}")) return regex_fail(p, "\\p{ without }", start);
  if (!regex_property(p->s + name, len, text, sizeof(text), &complement)) {
    return regex_fail(p, "unknown property", start);
  }
  regex_emit_text(p, negated != complement ? "\\P{" : "\\p{");
  regex_emit_text(p, text);
  regex_emit_text(p, "}");
  return true;
}

/* Parses a class escape such as \d.  Returns 1, 0 when there is none, -1 when
** it is wrong. */
static int parse_class_escape(regex_Parser *p, bool in_class) {
  int c = regex_peek(p, 0);
  if (c <= 0 || strchr("dDwWsSpP", c) == NULL) return 0;
  p->pos++;
  if (c == 'p' || c == 'P') return parse_property(p, c == 'P') ? 1 : -1;
  if (c != 's' && c != 'S') {
    char text[2] = {'\\', (char)c};
    regex_emit(p, text, 2);
    return 1;
  }
  if (!in_class) {
    regex_emit_text(p, c == 's' ? "[" SPACES "]" : "[^" SPACES "]");
  } else {
    regex_emit_text(p, c == 's' ? SPACES : NOT_SPACES);
    if (c == 'S') regex_note_members(p, LAST_CODE_POINT);
  }
  return 1;
}

/* A reference that is repeated must be in a group: the compiled code of PCRE2
** 10.42 finds no match where the group of a bare one did not match. */
static void emit_reference(regex_Parser *p, size_t group) {
  size_t kind = REGEX_METER_GROUP + group;
  regex_emit_meter(p, kind < REGEX_METER_MAX ? kind : REGEX_METER_MAX);
  regex_emit_text(p, "\\g{");
  regex_emit_number(p, group);
  regex_emit_text(p, "}");
}

/* Parses what follows "\k". */
static bool parse_named_reference(regex_Parser *p) {
  size_t start = p->pos - 2, i, found = 0;
  regex_Group wanted = {.name = p->names.len};
  if (!regex_accept(p, "<")) return regex_fail(p, "\\k needs <name>", start);
  if (!regex_read_name(p)) return false;
  wanted.name_len = p->names.len - wanted.name;
  regex_emit_text(p, "(?:");
  for (i = 0; i < regex_group_count(p); i++) {
    if (!regex_same_name(p, regex_group_at(p, i), &wanted)) continue;
    found++;
    emit_reference(p, regex_group_at(p, i)->number);
  }
  regex_emit_text(p, ")");
  return found > 0 || regex_fail(p, "no group has this name", start);
}

static bool parse_numbered_reference(regex_Parser *p) {
  size_t start = p->pos - 1, number = 0;
  while (regex_is_digit(regex_peek(p, 0))) {
    if (number <= REGEX_MAX_GROUPS)
      number = number * 10 + (size_t)(regex_peek(p, 0) - '0');
    p->pos++;
  }
  if (number > p->captures)
    return regex_fail(p, "no group has this number", start);
  regex_emit_text(p, "(?:");
  emit_reference(p, number);
  regex_emit_text(p, ")");
  return true;
}

/* Parses an escape outside a class, from its backslash on. */
static Atom parse_escape(regex_Parser *p) {
  uint32_t c;
  int next = regex_peek(p, 1), set;
  p->pos++;
  if (next == 'b' || next == 'B') {
    regex_emit(p, p->s + p->pos - 1, 2);
    p->pos++;
    return ATOM_ASSERTION;
  }
  set = parse_class_escape(p, false);
  if (set != 0) return set > 0 ? ATOM_SIMPLE : ATOM_WRONG;
  if (next == 'k') {
    p->pos++;
    return parse_named_reference(p) ? ATOM_GROUP : ATOM_WRONG;
  }
  if (regex_is_digit(next) && next != '0') {
    return parse_numbered_reference(p) ? ATOM_GROUP : ATOM_WRONG;
  }
  if (!regex_read_character_escape(p, &c)) return ATOM_WRONG;
  if (!regex_is_surrogate(c)) {
    regex_emit_char(p, c);
  } else {
    regex_emit_text(p, "[");
    emit_nothing(p);
    regex_emit_text(p, "]");
  }
  return ATOM_SIMPLE;
}

/* ---- classes ---- */

/* Parses one member of a class.  Returns 1 for a character (in `c`, not yet
** written), 2 for a set such as \d (written), -1 when it is wrong. */
static int parse_class_atom(regex_Parser *p, uint32_t *c) {
  int set;
  if (!regex_accept(p, "\\")) return regex_read_literal(p, c) ? 1 : -1;
  if (regex_accept(p, "b")) {
    *c = '\b';
    return 1;
  }
  set = parse_class_escape(p, true);
  if (set != 0) return set > 0 ? 2 : -1;
  return regex_read_character_escape(p, c) ? 1 : -1;
}

/* Parses what follows the "-" of a possible range; `low_kind` as
** parse_class_atom returns it. */
static bool parse_range(regex_Parser *p, int low_kind, uint32_t low,
                        size_t start) {
  uint32_t high;
  int high_kind = parse_class_atom(p, &high);
  if (high_kind < 0) return false;
  if (low_kind == 1 && high_kind == 1) {
    if (low > high) return regex_fail(p, "range out of order", start);
    regex_emit_range(p, low, high);
    return true;
  }
  if (!p->to->lenient) return regex_fail(p, "a set in a range", start);
  if (low_kind == 1) regex_emit_range(p, low, low);
  regex_emit_text(p, "\\-");
  if (high_kind == 1) regex_emit_range(p, high, high);
  return true;
}

/* Ends a class whose members start at `members` in the output. */
static void close_class(regex_Parser *p, size_t members, bool negated) {
  if (written(p) == members && !negated) emit_nothing(p);
  regex_emit_text(p, "]");
}

/* Parses a class from its "[" on. */
static bool parse_class(regex_Parser *p) {
  size_t open = p->pos, members, wide = 0;
  bool negated;
  p->pos++;
  negated = regex_accept(p, "^");
  regex_emit_text(p, negated ? "[^" : "[");
  members = written(p);
  while (!regex_accept(p, "]")) {
    size_t start = p->pos;
    uint32_t c;
    int kind;
    if (regex_at_end(p)) return regex_fail(p, "[ without ]", open);
    kind = parse_class_atom(p, &c);
    if (kind < 0) return false;
    if (p->to->widest < ++wide) p->to->widest = wide;
    if (regex_peek(p, 0) == '-' && regex_peek(p, 1) >= 0 &&
        regex_peek(p, 1) != ']') {
      p->pos++;
      if (!parse_range(p, kind, c, start)) return false;
    } else if (kind == 1) {
      regex_emit_range(p, c, c);
    }
  }
  close_class(p, members, negated);
  return true;
}

/* ---- groups ---- */

/* Opens the named group that starts here; fails when the same alternative has a
** group of this name. */
static bool open_named_group(regex_Parser *p) {
  size_t start = p->pos, i;
  regex_Group *group = regex_group_at(p, p->opened);
  if (p->opened >= regex_group_count(p))
    return regex_fail(p, "malformed group", start);
  for (i = 0; i < p->opened; i++) {
    const regex_Group *other = regex_group_at(p, i);
    if (other->active && regex_same_name(p, other, group)) {
      return regex_fail(p, "duplicate group name", start);
    }
  }
  group->active = true;
  p->opened++;
  while (!regex_accept(p, ">")) p->pos++;
  return true;
}

static void set_active(regex_Parser *p, size_t from, bool active) {
  size_t i;
  for (i = from; i < p->opened; i++) regex_group_at(p, i)->active = active;
}

/* Parses flags after "(?" as in (?i-s:...), and skips the colon. */
static bool parse_modifiers(regex_Parser *p) {
  size_t start = p->pos;
  static const char flags[] = "ims";
  bool seen[3] = {false, false, false}, add = true;
  int folding = 0;
  for (; regex_peek(p, 0) != ':'; p->pos++) {
    int c = regex_peek(p, 0);
    const char *flag = c > 0 ? strchr(flags, c) : NULL;
    if (c == '-' && add) {
      add = false;
      continue;
    }
    if (flag == NULL || seen[flag - flags]) {
      return regex_fail(p, "unknown kind of group", start - 2);
    }
    seen[flag - flags] = true;
    if (c == 'i') folding = add ? 1 : -1;
    if (c == 'i') p->ignore_case = add;
    if (c == 'm') p->multiline = add;
    if (c == 's') p->dot_all = add;
  }
  if (p->pos == start || (p->pos == start + 1 && !add)) {
    return regex_fail(p, "unknown kind of group", start - 2);
  }
  p->pos++;
  regex_emit_text(p, folding > 0 ? "(?i:" : folding < 0 ? "(?-i:" : "(?:");
  return true;
}

/* Parses what follows "(" and returns the kind of group. */
static Atom open_group(regex_Parser *p) {
  const char *capture = p->refers ? "(" : "(?:";
  if (!regex_accept(p, "?")) {
    regex_emit_text(p, capture);
    return ATOM_GROUP;
  }
  if (regex_accept(p, ":")) {
    regex_emit_text(p, "(?:");
    return ATOM_GROUP;
  }
  if (regex_peek(p, 0) == '=' || regex_peek(p, 0) == '!') {
    regex_emit_text(p, regex_accept(p, "=") ? "(?=" : (p->pos++, "(?!"));
    return ATOM_LOOKAHEAD;
  }
  if (regex_accept(p, "<=") || regex_accept(p, "<!")) {
    regex_emit_meter(p, REGEX_METER_LOOKBEHIND);
    regex_emit_text(p, p->s[p->pos - 1] == '=' ? "(?<=" : "(?<!");
    return ATOM_ASSERTION;
  }
  if (regex_accept(p, "<")) {
    regex_emit_text(p, capture);
    return open_named_group(p) ? ATOM_GROUP : ATOM_WRONG;
  }
  return parse_modifiers(p) ? ATOM_GROUP : ATOM_WRONG;
}

/* Parses a group from its "(" on. */
static Atom parse_group(regex_Parser *p) {
  size_t open = p->pos;
  bool multiline = p->multiline, dot_all = p->dot_all;
  bool ignore_case = p->ignore_case;
  Atom kind;
  p->pos++;
  kind = open_group(p);
  if (kind == ATOM_WRONG) return kind;
  if (++p->depth > MAX_DEPTH) {
    regex_fail(p, "groups nested too deeply", open);
    return ATOM_WRONG;
  }
  if (!parse_disjunction(p)) return ATOM_WRONG;
  p->depth--;
  p->multiline = multiline;
  p->dot_all = dot_all;
  p->ignore_case = ignore_case;
  if (!regex_accept(p, ")")) {
    regex_fail(p, "( without )", open);
    return ATOM_WRONG;
  }
  regex_emit_text(p, ")");
  return kind;
}

/* ---- repeats ---- */

typedef struct Repeat {
  size_t min, max;
  const char *text; /* "*", "+", "?", or NULL for {min,max} */
} Repeat;

static bool read_count(regex_Parser *p, size_t *n) {
  if (!regex_is_digit(regex_peek(p, 0))) return false;
  *n = 0;
  for (; regex_is_digit(regex_peek(p, 0)); p->pos++) {
    *n = *n * 10 + (size_t)(regex_peek(p, 0) - '0');
    if (*n > INFINITE_REPEAT) *n = INFINITE_REPEAT;
  }
  return true;
}

/* Reads {n}, {n,} or {n,m}; does not move when there is none. */
static bool read_braces(regex_Parser *p, Repeat *r) {
  size_t start = p->pos;
  r->text = NULL;
  if (regex_accept(p, "{") && read_count(p, &r->min)) {
    r->max = r->min;
    if (regex_accept(p, ",") && !read_count(p, &r->max))
      r->max = INFINITE_REPEAT;
    if (regex_accept(p, "}")) return true;
  }
  p->pos = start;
  return false;
}

static bool read_repeat(regex_Parser *p, Repeat *r) {
  if (regex_accept(p, "*")) r->text = "*";
  else if (regex_accept(p, "+")) r->text = "+";
  else if (regex_accept(p, "?")) r->text = "?";
  else return read_braces(p, r);
  return true;
}

static void emit_piece(regex_Parser *p, size_t min, size_t max,
                       const char *lazy) {
  regex_emit_text(p, "{");
  regex_emit_number(p, min);
  if (max != min) regex_emit_text(p, ",");
  if (max != min && max != INFINITE_REPEAT) regex_emit_number(p, max);
  regex_emit_text(p, "}");
  regex_emit_text(p, lazy);
}

/* Repeats the text of the atom, which starts at `atom` in the output. */
static void emit_again(regex_Parser *p, size_t atom, size_t atom_len) {
  buffer_Buffer *out = p->to->out;
  if (!buffer_reserve(out, atom_len)) p->overflow = true;
  else regex_emit(p, out->data + atom, atom_len);
}

/* Writes a repeat larger than PCRE2's limit as X{65535}X{0,34465}. */
static void emit_pieces(regex_Parser *p, Repeat r, const char *lazy,
                        size_t atom) {
  size_t atom_len = written(p) - atom;
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

/* Is the repeat beyond what PCRE2 can do?  Irrelevant when the pattern is only
** checked. */
static bool too_large(const regex_Parser *p, const Repeat *r, Atom kind) {
  size_t largest = r->max == INFINITE_REPEAT ? r->min : r->max;
  if (p->to->out == NULL || fits(r)) return false;
  return kind != ATOM_SIMPLE || largest > (size_t)MAX_REPEAT * MAX_PIECES;
}

/* Inserts a meter before the atom at `atom`, which must match at least `least`
** times; returns the atom's new position. */
static size_t insert_meter(regex_Parser *p, size_t least, size_t atom) {
  buffer_Buffer *out = p->to->out;
  size_t kind = REGEX_METER_SOME, end = out->len, n;
  char meter[8];
  if (least < METER_TERMS) return atom;
  while (kind < REGEX_METER_REST && (size_t)1 << kind < least) kind++;
  regex_emit_meter(p, kind);
  n = out->len - end;
  if (p->overflow) return atom;
  memcpy(meter, out->data + end, n);
  memmove(out->data + atom + n, out->data + atom, end - atom);
  memcpy(out->data + atom, meter, n);
  return atom + n;
}

static void emit_counted(regex_Parser *p, Repeat r, const char *lazy, Atom kind,
                         size_t atom) {
  if (p->to->out == NULL) return;
  if (kind == ATOM_SIMPLE) atom = insert_meter(p, r.min, atom);
  if (fits(&r)) emit_piece(p, r.min, r.max, lazy);
  else emit_pieces(p, r, lazy, atom);
  if (r.min != r.max) regex_emit_meter(p, REGEX_METER_SOME);
}

static bool parse_repeat(regex_Parser *p, Atom kind, size_t atom) {
  size_t start = p->pos;
  Repeat r;
  const char *lazy;
  if (!read_repeat(p, &r)) return true;
  if (kind == ATOM_ASSERTION || (kind == ATOM_LOOKAHEAD && !p->to->lenient)) {
    return regex_fail(p, "nothing to repeat", start);
  }
  lazy = regex_accept(p, "?") ? "?" : "";
  if (r.text != NULL) {
    regex_emit_text(p, r.text);
    regex_emit_text(p, lazy);
    regex_emit_meter(p, REGEX_METER_SOME);
    return true;
  }
  if (r.min > r.max) return regex_fail(p, "repeat counts out of order", start);
  if (too_large(p, &r, kind))
    return regex_fail(p, "repeat count too large", start);
  emit_counted(p, r, lazy, kind, atom);
  return true;
}

/* ---- the pattern ---- */

/* Parses a literal character, or one that should have been escaped. */
static Atom parse_literal(regex_Parser *p) {
  size_t start = p->pos;
  int c = regex_peek(p, 0);
  uint32_t code;
  Repeat r;
  if (c == '*' || c == '+' || c == '?' || (c == '{' && read_braces(p, &r))) {
    regex_fail(p, "nothing to repeat", start);
    return ATOM_WRONG;
  }
  if ((c == '{' || c == '}' || c == ']') && !p->to->lenient) {
    regex_fail(p, c == ']' ? "lone bracket" : "lone brace", start);
    return ATOM_WRONG;
  }
  if (!regex_read_literal(p, &code)) return ATOM_WRONG;
  regex_emit_char(p, code);
  return ATOM_SIMPLE;
}

static Atom parse_atom(regex_Parser *p) {
  switch (regex_peek(p, 0)) {
  case '^':
    p->pos++;
    regex_emit_text(p, p->multiline ? "(?<![^" LINE_ENDS "])" : "^");
    return ATOM_ASSERTION;
  case '$':
    p->pos++;
    regex_emit_text(p, p->multiline ? "(?![^" LINE_ENDS "])" : "$");
    return ATOM_ASSERTION;
  case '.':
    p->pos++;
    regex_emit_text(p, p->dot_all ? "[^]" : "[^" LINE_ENDS "]");
    return ATOM_SIMPLE;
  case '(': return parse_group(p);
  case '[': return parse_class(p) ? ATOM_SIMPLE : ATOM_WRONG;
  case '\\': return parse_escape(p);
  default: return parse_literal(p);
  }
}

static bool parse_alternative(regex_Parser *p) {
  while (!regex_at_end(p) && regex_peek(p, 0) != '|' &&
         regex_peek(p, 0) != ')') {
    size_t atom;
    Atom kind;
    p->term = p->pos;
    if (++p->terms % METER_TERMS == 0) regex_emit_meter(p, REGEX_METER_SOME);
    atom = written(p);
    kind = parse_atom(p);
    if (kind == ATOM_WRONG || !parse_repeat(p, kind, atom)) return false;
    if (kind == ATOM_LOOKAHEAD) regex_emit_meter(p, REGEX_METER_SOME);
  }
  return true;
}

static bool parse_disjunction(regex_Parser *p) {
  size_t names = p->opened;
  for (;;) {
    size_t before = p->metered;
    bool moved;
    if (!parse_alternative(p)) return false;
    moved = p->metered != before;
    if (p->depth > 0) regex_emit_meter(p, REGEX_METER_SOME);
    if (!regex_accept(p, "|")) break;
    regex_emit_text(p, "|");
    set_active(p, names, false);
    if (moved) regex_emit_meter(p, REGEX_METER_SOME);
  }
  set_active(p, names, true);
  return true;
}

static bool parse_pattern(regex_Parser *p) {
  if (p->len > REGEX_MAX_LENGTH)
    return regex_fail(p, "pattern too long", REGEX_MAX_LENGTH);
  if (!regex_scan_groups(p) || !parse_disjunction(p)) return false;
  if (!regex_at_end(p)) return regex_fail(p, ") without (", p->pos);
  return !p->overflow ||
         regex_fail(p, "pattern too large, or out of memory", p->len);
}

bool regex_parse(const ops_Alloc *alloc, const char *source, size_t len,
                 regex_Translation *translation, regex_Problem *problem) {
  regex_Parser p = {
      .s = source, .len = len, .to = translation, .problem = problem};
  bool ok;
  buffer_init(&p.names, *alloc, REGEX_MAX_NAMES);
  buffer_init(&p.groups, *alloc, REGEX_MAX_GROUPS * sizeof(regex_Group));
  ok = parse_pattern(&p);
  buffer_free(&p.names);
  buffer_free(&p.groups);
  return ok;
}
