/*
** regex.h - regular expressions of ECMA-262 (u-mode).  An own parser decides
** what is a pattern and translates it, PCRE2 compiles and matches it.  No Lua,
** no state beside a pattern's own.
*/
#ifndef OPERATIONS_REGEX_H
#define OPERATIONS_REGEX_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/alloc.h"

/* A compiled pattern with its match data: owned by one Lua state, not to be
** matched from two threads at once. */
typedef struct regex_Regex regex_Regex;

/* Compiles `source`.  Returns NULL and writes a message that names the byte
** offset, as in "nothing to repeat at offset 3", into `error`.  Syntax of
** Annex B that has one reading is taken: a lone brace or bracket, an escaped
** punctuation character.  Not possible with PCRE2 10.42 and so refused here
** (yet valid for regex_is_valid): a lookbehind of variable length.  What
** compiling takes is bounded: a pattern has at most 64 KiB, 250 groups within
** groups, and 64 Ki code units once compiled, in which a counted repeat of a
** group is written out.  The caller owns the result. */
regex_Regex *regex_compile(const ops_Alloc *alloc, const char *source,
                           size_t len, char *error, size_t error_size);

/* Searches `subject` (unanchored): 1 a match, 0 none (also when `subject` is
** not UTF-8), -1 when that is too costly: there is no answer then, and neither
** of the others may be taken for it.  A match takes at most 2^19 steps and one
** for each byte of the subject (a step is some 10 ns: passing 64 characters, or
** four choices), and 32 MiB; within that the pattern decides what it takes, for
** backtracking may be exponential.  Takes from `*steps` the steps taken, which
** may leave less than none; the caller looks to their sum. */
int regex_match(const regex_Regex *regex, const char *subject, size_t len,
                int64_t *steps);

/* `regex` may be NULL. */
void regex_free(regex_Regex *regex);

/* Is `source`, of 64 KiB at most, a pattern by the grammar of ECMA-262 (without
** Annex B)? */
bool regex_is_valid(const char *source, size_t len);

#endif
