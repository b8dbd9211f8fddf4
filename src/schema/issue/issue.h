/*
** issue.h - the machine that says what does not fit: it runs the instructions
** of schema/check/check.h, but continues after a misfit.
**
** Machine: issue.c union.c.
*/
#ifndef OPERATIONS_SCHEMA_ISSUE_H
#define OPERATIONS_SCHEMA_ISSUE_H

#include "schema/check/check.h"

#define ISSUE_LIMIT 100 /* reported per value, unless told otherwise */

typedef struct issue_List {
  check_Machine m;
  const schema_Step *at; /* the place in the value */
  int issues;            /* stack index of the array to fill */
  int count, limit;
} issue_List;

/* Adds the misfits at `v`, of Lua type `t`. */
void issue_collect(issue_List *list, int32_t node, int v, int t);

/* Adds the misfits of a value that does not conform to the whole schema; adds
** at least one issue. */
void issue_collect_all(issue_List *list, int v);

/* Adds an issue of `keyword` in `node`.  Its message, a string, and its params,
** a table or nil, are on top of the stack and are popped. */
void issue_add(issue_List *list, int32_t node, schema_KeywordId keyword);

/* Pushes message and params for an instruction that failed, above values that
** led to them. */
void issue_describe(issue_List *list, const schema_Op *op, int v);

/* Pushes "expected string or null, got integer" and its params. */
void issue_describe_type(issue_List *list, uint16_t types, int v);

/* Pushes a readable list of types: "string, null or array". */
void issue_push_types(lua_State *L, uint16_t types);

/* Pushes the value for messages: shortened, strings in quotes. */
void issue_push_value(lua_State *L, const core_State *core, int v);

/* Pushes `"a", "b" or "c"`: the names that an object declares. */
void issue_push_names(issue_List *list, const schema_Object *object);

/* Pushes " (did you mean x?)" with the declared name that differs from the
 *given
 ** one in case, punctuation or one or two letters, or begins with it; "": there
 ** is none. */
void issue_push_meant(issue_List *list, const schema_Object *object,
                      const char *name, size_t len);

/* Pushes the tags of a union as text, `"a", "b" or "c"`, and as an array. */
void issue_push_tags(issue_List *list, const schema_Union *u);

/* anyOf and oneOf: adds the issues of the closest branch. */
void issue_collect_union(issue_List *list, int32_t node, const schema_Op *op,
                         int v, uint16_t type);

#endif
