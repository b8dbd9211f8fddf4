/*
** regex.h - regular expressions of ECMA-262 (u-mode).  Our parser checks a
** pattern and translates it; PCRE2 compiles and matches it.  No Lua; the only
** state is the pattern's.
*/
#ifndef OPERATIONS_REGEX_H
#define OPERATIONS_REGEX_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/alloc.h"

/* A compiled pattern with its match data: owned by one Lua state; two threads
** must not match it at the same time. */
typedef struct regex_Regex regex_Regex;

/* Compiles `source`.  Returns NULL and writes a message with the byte offset,
** such as "nothing to repeat at offset 3", into `error`.  Accepts unambiguous
** syntax of Annex B: a lone brace or bracket, an escaped punctuation character.
** Refuses lookbehinds of variable length, which PCRE2 10.42 cannot do
** (regex_is_valid accepts them).  The cost of compiling is bounded: a pattern
** has at most 64 KiB, 250 nested groups, and 64 Ki code units once compiled,
** where a counted repeat of a group counts each time.  The caller owns the
** result. */
regex_Regex *regex_compile(const ops_Alloc *alloc, const char *source,
                           size_t len, char *error, size_t error_size);

/* Searches `subject` (unanchored): 1 for a match, 0 for none (also when
** `subject` is not UTF-8), -1 when the search costs too much: the answer is
** then unknown and must not be taken for either.  A match takes at most 2^19
** steps plus one for each byte of the subject (a step is about 10 ns: 64
** characters, or four choices), and 32 MiB; within these limits backtracking
** may be exponential.  Subtracts the steps taken from `*steps`, which may
** become negative; the caller limits their sum. */
int regex_match(const regex_Regex *regex, const char *subject, size_t len,
                int64_t *steps);

/* `regex` may be NULL. */
void regex_free(regex_Regex *regex);

/* Is `source`, of at most 64 KiB, a pattern by the grammar of ECMA-262 (without
** Annex B)? */
bool regex_is_valid(const char *source, size_t len);

#endif
