#include "regex/parser.h"

#include <string.h>

#include "base/utf8.h"

#define MAX_FOLDED 0x2000000 /* about 100 ms in PCRE2 */

bool regex_fail(regex_Parser *p, const char *message, size_t offset) {
  p->problem->message = message;
  p->problem->offset = offset;
  return false;
}

bool regex_accept(regex_Parser *p, const char *text) {
  size_t n = strlen(text);
  if (p->len - p->pos < n || memcmp(p->s + p->pos, text, n) != 0) return false;
  p->pos += n;
  return true;
}

static bool is_letter(int c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z');
}

static int hex_value(int c) {
  if (regex_is_digit(c)) return c - '0';
  if (c >= 'a' && c <= 'f') return c - 'a' + 10;
  return c >= 'A' && c <= 'F' ? c - 'A' + 10 : -1;
}

/* ---- output ---- */

void regex_emit(regex_Parser *p, const char *text, size_t n) {
  buffer_Buffer *out = p->to->out;
  if (out == NULL || p->overflow) return;
  if (out->len <= p->to->watch && p->to->watch < out->len + n) {
    p->to->watched = p->term;
  }
  if (!buffer_add(out, text, n)) p->overflow = true;
}

void regex_emit_text(regex_Parser *p, const char *text) {
  regex_emit(p, text, strlen(text));
}

void regex_emit_char(regex_Parser *p, uint32_t c) {
  char text[5];
  size_t n = 0;
  if (c < 0x80 && !regex_is_digit((int)c) && !is_letter((int)c)) {
    text[n++] = '\\';
  }
  n += utf8_write(c, text + n);
  regex_emit(p, text, n);
}

void regex_note_members(regex_Parser *p, size_t n) {
  if (!p->ignore_case || p->to->out == NULL) return;
  p->folded += n;
  if (p->folded > MAX_FOLDED) p->overflow = true;
}

void regex_emit_range(regex_Parser *p, uint32_t low, uint32_t high) {
  if (regex_is_surrogate(low) && regex_is_surrogate(high)) return;
  if (low < 0xD800 && high > 0xDFFF) {
    regex_emit_range(p, low, 0xD7FF);
    low = 0xE000;
  }
  regex_note_members(p, high - low);
  if (regex_is_surrogate(low)) low = 0xE000;
  if (regex_is_surrogate(high)) high = 0xD7FF;
  regex_emit_char(p, low);
  if (low == high) return;
  regex_emit_text(p, "-");
  regex_emit_char(p, high);
}

void regex_emit_number(regex_Parser *p, size_t n) {
  char digits[24];
  size_t i = sizeof(digits);
  do {
    digits[--i] = (char)('0' + n % 10);
    n /= 10;
  } while (n > 0);
  regex_emit(p, digits + i, sizeof(digits) - i);
}

void regex_emit_meter(regex_Parser *p, size_t kind) {
  if (p->to->out == NULL || p->overflow) return;
  if (kind == REGEX_METER_SOME && p->metered == p->to->out->len) return;
  regex_emit_text(p, "(?C");
  regex_emit_number(p, kind);
  regex_emit_text(p, ")");
  p->metered = p->to->out->len;
}

/* ---- characters ---- */

static bool read_hex(regex_Parser *p, int digits, uint32_t *c) {
  int i;
  *c = 0;
  for (i = 0; i < digits; i++) {
    int value = hex_value(regex_peek(p, (size_t)i));
    if (value < 0) return false;
    *c = *c << 4 | (uint32_t)value;
  }
  p->pos += (size_t)digits;
  return true;
}

static bool read_braced_hex(regex_Parser *p, uint32_t *c) {
  size_t start = p->pos;
  int value;
  *c = 0;
  while ((value = hex_value(regex_peek(p, 0))) >= 0) {
    *c = *c << 4 | (uint32_t)value;
    if (*c > 0x10FFFF) return false;
    p->pos++;
  }
  return p->pos > start && regex_accept(p, "}");
}

/* Reads what follows "\u": XXXX, a pair of surrogates, or {X...}. */
static bool read_unicode_escape(regex_Parser *p, uint32_t *c) {
  size_t after;
  uint32_t low;
  if (regex_accept(p, "{")) return read_braced_hex(p, c);
  if (!read_hex(p, 4, c)) return false;
  if (*c < 0xD800 || *c > 0xDBFF) return true;
  after = p->pos;
  if (regex_accept(p, "\\u") && read_hex(p, 4, &low) && low >= 0xDC00 &&
      low <= 0xDFFF) {
    *c = 0x10000 + ((*c - 0xD800) << 10) + (low - 0xDC00);
  } else {
    p->pos = after;
  }
  return true;
}

bool regex_read_literal(regex_Parser *p, uint32_t *c) {
  size_t n = utf8_read(p->s + p->pos, p->len - p->pos, c);
  if (n == 0) return regex_fail(p, "malformed UTF-8", p->pos);
  p->pos += n;
  return true;
}

static bool is_id_continue(uint32_t c) {
  if (c < 0x80) return regex_is_digit((int)c) || is_letter((int)c) || c == '_';
  return c == 0x200C || c == 0x200D || regex_has_property(c, "ID_Continue");
}

static bool is_id_start(uint32_t c) {
  if (c < 0x80) return is_letter((int)c) || c == '_';
  return regex_has_property(c, "ID_Start");
}

static bool read_identity_escape(regex_Parser *p, uint32_t *c) {
  size_t start = p->pos - 1;
  if (!regex_read_literal(p, c)) return false;
  if (!is_id_continue(*c) || (*c == '_' && p->to->lenient)) return true;
  return regex_fail(p, "unknown escape", start);
}

bool regex_read_character_escape(regex_Parser *p, uint32_t *c) {
  size_t start = p->pos - 1;
  static const char names[] = "tnvfr", values[] = "\t\n\v\f\r";
  int next = regex_peek(p, 0);
  const char *name = next > 0 ? strchr(names, next) : NULL;
  if (next < 0) return regex_fail(p, "backslash at the end", start);
  if (name != NULL) {
    *c = (uint32_t)values[name - names];
    p->pos++;
    return true;
  }
  switch (next) {
  case 'c':
    if (!is_letter(regex_peek(p, 1)))
      return regex_fail(p, "\\c needs a letter", start);
    *c = (uint32_t)regex_peek(p, 1) % 32;
    p->pos += 2;
    return true;
  case '0':
    if (regex_is_digit(regex_peek(p, 1)))
      return regex_fail(p, "octal escape", start);
    p->pos++;
    *c = 0;
    return true;
  case 'x':
    p->pos++;
    return read_hex(p, 2, c) ||
           regex_fail(p, "\\x needs two hex digits", start);
  case 'u':
    p->pos++;
    return read_unicode_escape(p, c) ||
           regex_fail(p, "\\u needs four hex digits or {...}", start);
  default: return read_identity_escape(p, c);
  }
}

/* ---- group names ---- */

regex_Group *regex_group_at(const regex_Parser *p, size_t i) {
  return (regex_Group *)(void *)p->groups.data + i;
}

size_t regex_group_count(const regex_Parser *p) {
  return p->groups.len / sizeof(regex_Group);
}

bool regex_read_name(regex_Parser *p) {
  size_t start = p->pos;
  while (!regex_accept(p, ">")) {
    uint32_t c;
    char text[4];
    bool first = p->pos == start;
    if (regex_at_end(p)) return regex_fail(p, "group name without >", start);
    if (regex_accept(p, "\\u")) {
      if (!read_unicode_escape(p, &c) || regex_is_surrogate(c)) {
        return regex_fail(p, "malformed group name", start);
      }
    } else if (!regex_read_literal(p, &c)) {
      return false;
    }
    if (c != '$' && !(first ? is_id_start(c) : is_id_continue(c))) {
      return regex_fail(p, "malformed group name", start);
    }
    if (!buffer_add(&p->names, text, utf8_write(c, text))) p->overflow = true;
  }
  return p->pos > start + 1 || regex_fail(p, "empty group name", start);
}

bool regex_same_name(const regex_Parser *p, const regex_Group *a,
                     const regex_Group *b) {
  return a->name_len == b->name_len &&
         (a->name_len == 0 ||
          memcmp(p->names.data + a->name, p->names.data + b->name,
                 a->name_len) == 0);
}

/* Counts the group that starts after the "(" before p->pos. */
static bool scan_group(regex_Parser *p) {
  regex_Group group = {.name = p->names.len};
  if (regex_peek(p, 0) == '?' &&
      (regex_peek(p, 1) != '<' || regex_peek(p, 2) == '=' ||
       regex_peek(p, 2) == '!')) {
    return true;
  }
  if (++p->captures > REGEX_MAX_GROUPS) {
    return regex_fail(p, "too many groups", p->pos - 1);
  }
  if (!regex_accept(p, "?<")) return true;
  group.number = p->captures;
  if (!regex_read_name(p)) return false;
  group.name_len = p->names.len - group.name;
  return buffer_add(&p->groups, &group, sizeof(group)) ||
         regex_fail(p, "too many groups", p->pos);
}

/* References can point forward, so all groups are counted first. */
bool regex_scan_groups(regex_Parser *p) {
  bool in_class = false;
  while (!regex_at_end(p)) {
    int c = (unsigned char)p->s[p->pos++];
    if (c == '\\') {
      c = regex_peek(p, 0);
      if (c == 'k' || (c >= '1' && c <= '9')) p->refers = true;
      if (!regex_at_end(p)) p->pos++;
    } else if (c == '[' || c == ']') {
      in_class = c == '[';
    } else if (c == '(' && !in_class && !scan_group(p)) {
      return false;
    }
  }
  p->pos = 0;
  return true;
}
