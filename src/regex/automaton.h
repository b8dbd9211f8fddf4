/*
** automaton.h - a regular pattern as a deterministic automaton: answers
** in one pass over the subject, and always.
*/
#ifndef OPERATIONS_REGEX_AUTOMATON_H
#define OPERATIONS_REGEX_AUTOMATON_H

#include <stdbool.h>
#include <stddef.h>

#include "base/alloc.h"

typedef struct automaton_Automaton automaton_Automaton;

/* Builds one of `pattern`, a translation (regex/parse.h).  NULL when it is not
** regular, would be too large, or memory is out.  The caller owns it. */
automaton_Automaton *automaton_build(const ops_Alloc *alloc,
                                     const char *pattern, size_t len);

/* Does the pattern match somewhere in `subject`?  False when that is no UTF-8.
 */
bool automaton_match(const automaton_Automaton *automaton, const char *subject,
                     size_t len);

/* `automaton` may be NULL. */
void automaton_free(const ops_Alloc *alloc, automaton_Automaton *automaton);

#endif
