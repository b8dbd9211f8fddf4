/*
** parser.h - shared by the two halves of the pattern parser: its state, reading
** characters and names (regex/read.c), writing the translation. Users include
** regex/regex.h instead.
**
** Machine: parse.c property.c read.c regex.c.
*/
#ifndef OPERATIONS_REGEX_PARSER_H
#define OPERATIONS_REGEX_PARSER_H

#include "regex/parse.h"

#define REGEX_MAX_GROUPS 10000
#define REGEX_MAX_NAMES (64 * 1024) /* bytes of all names */

typedef struct regex_Group {
  size_t name, name_len; /* in regex_Parser.names */
  size_t number;
  bool active; /* in the current alternative: a second one is an error */
} regex_Group;

typedef struct regex_Parser {
  const char *s;
  size_t len, pos;
  regex_Translation *to;
  regex_Problem *problem;
  buffer_Buffer names;  /* of named groups, decoded, one after the other */
  buffer_Buffer groups; /* of regex_Group: the named ones, in order */
  size_t captures;      /* the number of capturing groups */
  size_t opened;        /* named groups parsed so far */
  size_t term;          /* start of the term being translated */
  size_t terms;         /* terms parsed so far */
  size_t metered;       /* end of the last meter in the output, or 0 */
  int depth;
  size_t folded; /* code points in case-insensitive classes */
  bool multiline, dot_all, ignore_case, overflow;
  bool refers; /* a reference uses the text of a group */
} regex_Parser;

static inline bool regex_at_end(const regex_Parser *p) {
  return p->pos >= p->len;
}

/* The byte `ahead` bytes from here, or -1 beyond the end. */
static inline int regex_peek(const regex_Parser *p, size_t ahead) {
  return ahead < p->len - p->pos ? (unsigned char)p->s[p->pos + ahead] : -1;
}

static inline bool regex_is_digit(int c) {
  return c >= '0' && c <= '9';
}

static inline bool regex_is_surrogate(uint32_t c) {
  return c >= 0xD800 && c <= 0xDFFF;
}

/* Records the problem; always returns false. */
bool regex_fail(regex_Parser *p, const char *message, size_t offset);

/* Skips `text` when it comes next. */
bool regex_accept(regex_Parser *p, const char *text);

/* The regex_emit functions write to the translation, if there is one.  When its
** buffer cannot grow they set p->overflow, and the pattern is refused. */
void regex_emit(regex_Parser *p, const char *text, size_t n);
void regex_emit_text(regex_Parser *p, const char *text);
void regex_emit_number(regex_Parser *p, size_t n);

/* Writes a meter, a callout that counts the cost of a match (regex.c); `kind`
** is its number.  Leaves out a plain meter that directly follows another. */
void regex_emit_meter(regex_Parser *p, size_t kind);

/* Writes a literal character, inside or outside a class. */
void regex_emit_char(regex_Parser *p, uint32_t c);

/* Adds the number of members of a class.  For case-insensitive patterns PCRE2
** visits each one while compiling, so the sum is limited. */
void regex_note_members(regex_Parser *p, size_t n);

/* Writes members of a class, without surrogates, which UTF-8 lacks. */
void regex_emit_range(regex_Parser *p, uint32_t low, uint32_t high);

/* Reads one unescaped character. */
bool regex_read_literal(regex_Parser *p, uint32_t *c);

/* Reads, after a backslash, any escape of a single character. */
bool regex_read_character_escape(regex_Parser *p, uint32_t *c);

/* Reads a name after "<" into p->names and skips the ">". */
bool regex_read_name(regex_Parser *p);

/* Counts all groups and records the named ones; does not move. */
bool regex_scan_groups(regex_Parser *p);

/* A named group, in order of appearance. */
regex_Group *regex_group_at(const regex_Parser *p, size_t i);
size_t regex_group_count(const regex_Parser *p);
bool regex_same_name(const regex_Parser *p, const regex_Group *a,
                     const regex_Group *b);

#endif
