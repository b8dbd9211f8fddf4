/*
** fill.h - fills in missing defaults; changes nothing else.
*/
#ifndef OPERATIONS_SCHEMA_FILL_H
#define OPERATIONS_SCHEMA_FILL_H

#include "schema/check/check.h"

#define FILL_VALUES                                                            \
  100000 /* that defaults and force may make, and CHECK_VALUE_STEPS            \
            more for each value within the outermost one */

/* Pushes the value, or a copy with defaults filled in: all, or only those of
** required members.  False, with an array of one issue pushed instead, when a
** limit was reached. */
bool fill_value(lua_State *L, int schema, int v, bool only_required);

/* Called once for a compiled schema: marks the defaults that do not fit the
** schema of their member.  They are not filled in, so that no value is refused
** for one; a cast may convert them. */
void fill_find_unfit(lua_State *L, int schema);

/* Pushes a deep copy of a default; tables get the marks of the original. False,
** with nothing pushed, when defaults made too many values. */
bool fill_push_default(check_Machine *m, int32_t constant);

/* Counts `n` values made by defaults or force; false when there are too
** many. */
bool fill_count(check_Machine *m, int64_t n);

typedef enum fill_Reason {
  FILL_MANY,
  FILL_FORCED, /* too many values, made by force */
  FILL_DEEP,
  FILL_LONG,
  FILL_COSTLY
} fill_Reason;

/* Stops filling in at `at`, by `node`: stores an array with one issue in
** slot m->problem, unless it has one already.  Sets the machine's limit as
** reached. */
bool fill_stop(check_Machine *m, const schema_Step *at, int32_t node,
               fill_Reason reason);

#endif
