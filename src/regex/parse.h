/*
** parse.h - ECMA-262 patterns: a parser that says whether and where a
** pattern is wrong, and writes it in the syntax of PCRE2.  Not for users of
** regex/regex.h.
*/
#ifndef OPERATIONS_REGEX_PARSE_H
#define OPERATIONS_REGEX_PARSE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/alloc.h"
#include "base/buffer.h"

typedef struct regex_Problem {
  const char *message; /* static */
  size_t offset;       /* bytes into the source */
} regex_Problem;

typedef struct regex_Translation {
  buffer_Buffer *out; /* receives the PCRE2 pattern; NULL: only check */
  bool lenient;       /* take Annex B where it has one reading */
  size_t widest;      /* ranges beyond Latin-1 in the largest class (set) */
  size_t watch;       /* an offset into `out` ... */
  size_t watched;     /* ... and the source offset that it came from (set) */
} regex_Translation;

/* Numbers of the callouts that the translation has wherever the cost of a match
** may grow: they tell what comes before the next one. */
#define REGEX_METER_LOOKBEHIND 1 /* as many characters as lookbehinds need */
#define REGEX_METER_SOME 2       /* 2^n characters with the number n ... */
#define REGEX_METER_REST 31      /* ... up to here, where it is all the rest */
#define REGEX_METER_GROUP 32     /* with n, what group n - 32 captured ... */
#define REGEX_METER_MAX 255      /* ... or, from this number on, a later one */

#define REGEX_MAX_LENGTH (64u << 10) /* bytes of a pattern */

/* Parses `source`; false and `problem` when it is not a pattern. */
bool regex_parse(const ops_Alloc *alloc, const char *source, size_t len,
                 regex_Translation *translation, regex_Problem *problem);

/* The PCRE2 spelling of the inside of \p{...}: writes it to `out` (`size`
** bytes, terminated) and sets `negated` when it stands for the complement.
** False when ECMA-262 does not know it. */
bool regex_property(const char *name, size_t len, char *out, size_t size,
                    bool *negated);

/* Does PCRE2 know \p{name}? */
bool regex_knows_property(const char *name);

/* Does the code point `c` have the PCRE2 property `name`, as "ID_Start"? */
bool regex_has_property(uint32_t c, const char *name);

#endif
