/*
** fill.h - defaults for what a value lacks; nothing else is changed.
*/
#ifndef OPERATIONS_SCHEMA_FILL_H
#define OPERATIONS_SCHEMA_FILL_H

#include "schema/check/check.h"

#define FILL_VALUES                                                            \
  100000 /* that defaults and force may make, and CHECK_VALUE_STEPS            \
            more for each value within the outermost one */

/* Pushes the value, or a copy where defaults were filled in; false, and an
** array with one issue pushed in its place, when a limit was reached. */
bool fill_value(lua_State *L, int schema, int v);

/* Pushes a deep copy of a default, or of a scalar itself; tables get the marks
** of the original.  False, and nothing pushed, when defaults made too much. */
bool fill_push_default(check_Machine *m, int32_t constant);

/* Defaults or force made `n` values; false when that is too many. */
bool fill_count(check_Machine *m, int64_t n);

typedef enum fill_Reason {
  FILL_MANY,
  FILL_FORCED, /* the same, with what force made */
  FILL_DEEP,
  FILL_LONG,
  FILL_COSTLY
} fill_Reason;

/* Defaults stop at `at`, by `node`: notes it in slot m->problem, as an array
** with one issue, unless another is there already.  A limit was reached. */
bool fill_stop(check_Machine *m, const schema_Step *at, int32_t node,
               fill_Reason reason);

#endif
