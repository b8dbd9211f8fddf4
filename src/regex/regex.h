/*
** regex.h - regular expressions of ECMA-262 (u-mode).  An own parser decides
** what is a pattern and translates it.  What is regular then and small is run
** by an automaton, the rest by PCRE2; no Lua.
*/
#ifndef OPERATIONS_REGEX_H
#define OPERATIONS_REGEX_H

#include <stdbool.h>
#include <stddef.h>

#include "base/alloc.h"

/* A compiled pattern with its match data: owned by one Lua state, not to be
** matched from two threads at once. */
typedef struct regex_Regex regex_Regex;

/* Compiles `source`.  Returns NULL and writes a message that names the byte
** offset, as in "nothing to repeat at offset 3", into `error`.  Syntax of
** Annex B that has one reading is taken: a lone brace or bracket, an escaped
** punctuation character.  Not possible with PCRE2 10.42 and so refused here
** (yet valid for regex_is_valid): a lookbehind of variable length.  The caller
** owns the result. */
regex_Regex *regex_compile(const ops_Alloc *alloc, const char *source,
                           size_t len, char *error, size_t error_size);

/* Searches `subject` (unanchored): 1 a match, 0 none (also when `subject` is
** not UTF-8), -1 when the match limit or memory ran out before the answer. */
int regex_match(const regex_Regex *regex, const char *subject, size_t len);

/* `regex` may be NULL. */
void regex_free(regex_Regex *regex);

/* Is `source` a pattern by the grammar of ECMA-262 (without Annex B)? */
bool regex_is_valid(const char *source, size_t len);

#endif
