/*
** parser.h - shared by the two halves of the pattern parser: its state,
** reading characters and names (regex/read.c), writing the translation.  Not
** for users of regex/regex.h.
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
  bool active; /* a second group of this name would be a duplicate */
} regex_Group;

typedef struct regex_Parser {
  const char *s;
  size_t len, pos;
  regex_Translation *to;
  regex_Problem *problem;
  buffer_Buffer names;  /* of named groups, decoded, one after the other */
  buffer_Buffer groups; /* of regex_Group: the named ones, in order */
  size_t captures;      /* all groups that capture */
  size_t opened;        /* named groups that the parser has passed */
  size_t term;          /* where the term being translated starts */
  size_t terms;         /* terms passed so far */
  size_t metered_terms; /* of them, before the last alternative with a meter */
  size_t metered;       /* end of the last meter in the output, 0 for none */
  int depth;
  size_t folded; /* code points in classes without case */
  bool multiline, dot_all, ignore_case, overflow;
  bool refers; /* some reference looks at what a group captured */
} regex_Parser;

static inline bool regex_at_end(const regex_Parser *p) {
  return p->pos >= p->len;
}

/* The byte `ahead` bytes further on, or -1 behind the end. */
static inline int regex_peek(const regex_Parser *p, size_t ahead) {
  return ahead < p->len - p->pos ? (unsigned char)p->s[p->pos + ahead] : -1;
}

static inline bool regex_is_digit(int c) {
  return c >= '0' && c <= '9';
}

static inline bool regex_is_surrogate(uint32_t c) {
  return c >= 0xD800 && c <= 0xDFFF;
}

/* Notes the problem; always false. */
bool regex_fail(regex_Parser *p, const char *message, size_t offset);

/* Passes `text` when it comes next. */
bool regex_accept(regex_Parser *p, const char *text);

/* The regex_emit functions write to the translation, when there is one.  When
** its buffer cannot grow they set p->overflow, and the pattern is refused. */
void regex_emit(regex_Parser *p, const char *text, size_t n);
void regex_emit_text(regex_Parser *p, const char *text);
void regex_emit_number(regex_Parser *p, size_t n);

/* Writes a meter, a callout that counts what a match costs (regex.c); `kind` is
** its number.  A plain one that follows a meter is left out. */
void regex_emit_meter(regex_Parser *p, size_t kind);

/* A character that stands for itself, inside a class or outside. */
void regex_emit_char(regex_Parser *p, uint32_t c);

/* Notes that a class has so many members.  Where case is ignored, compiling
** looks at every one, so their sum is limited. */
void regex_note_members(regex_Parser *p, size_t n);

/* Members of a class, without surrogates: UTF-8 has none. */
void regex_emit_range(regex_Parser *p, uint32_t low, uint32_t high);

/* One character as it stands in the pattern. */
bool regex_read_literal(regex_Parser *p, uint32_t *c);

/* After a backslash: any escape that stands for one character. */
bool regex_read_character_escape(regex_Parser *p, uint32_t *c);

/* After "<": appends the name to p->names and passes the ">". */
bool regex_read_name(regex_Parser *p);

/* Counts all groups and notes the named ones; stays at the start. */
bool regex_scan_groups(regex_Parser *p);

/* The named groups, in order. */
regex_Group *regex_group_at(const regex_Parser *p, size_t i);
size_t regex_group_count(const regex_Parser *p);
bool regex_same_name(const regex_Parser *p, const regex_Group *a,
                     const regex_Group *b);

#endif
