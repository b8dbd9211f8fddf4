/*
** parse.h - parses ECMA-262 patterns: finds where a pattern is wrong, and
** translates it to PCRE2's syntax.  Users include regex/regex.h instead.
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
  bool lenient;       /* accept Annex B where it is unambiguous */
  size_t widest;      /* ranges beyond Latin-1 of the widest class (result) */
  size_t watch;       /* an offset in `out` ... */
  size_t watched;     /* ... and the source offset that it came from (result) */
} regex_Translation;

/* Numbers of the callouts that the translation contains wherever the cost
** of a match may grow.  The number says how much may be passed before the
** next one. */
#define REGEX_METER_LOOKBEHIND 1 /* as many characters as lookbehinds need */
#define REGEX_METER_SOME 2       /* number n: 2^n characters ... */
#define REGEX_METER_REST 31      /* ... up to here: all remaining characters */
#define REGEX_METER_GROUP 32     /* number n: the text of group n - 32 ... */
#define REGEX_METER_MAX 255      /* ... this number: of a later group */

#define REGEX_MAX_LENGTH (64u << 10) /* bytes of a pattern */

/* Parses `source`; false, with `problem` set, when it is not a pattern. */
bool regex_parse(const ops_Alloc *alloc, const char *source, size_t len,
                 regex_Translation *translation, regex_Problem *problem);

/* Writes the PCRE2 spelling of the inside of \p{...} to `out` (`size` bytes,
** terminated) and sets `negated` when it stands for the complement.  False when
** ECMA-262 does not have the property. */
bool regex_property(const char *name, size_t len, char *out, size_t size,
                    bool *negated);

/* Does PCRE2 have \p{name}? */
bool regex_knows_property(const char *name);

/* Does the code point `c` have the PCRE2 property `name`, such as
** "ID_Start"? */
bool regex_has_property(uint32_t c, const char *name);

#endif
