/*
** walk.h - writes Lua values as JSON text.
*/
#ifndef OPERATIONS_JSON_WALK_H
#define OPERATIONS_JSON_WALK_H

#include "value/core.h"

typedef struct walk_Options {
  int max_depth;
  int indent; /* spaces per level; 0: all on one line */
  bool sort_keys;
  bool keep_order; /* known orders first, then sorted */
} walk_Options;

/* Called once when the module opens: makes the type that owns the growing
** text. */
void walk_open(lua_State *L);

/* Pushes the value at `i` as JSON text and returns true; or pushes nil and an
** error object and returns false.  Raises only when out of memory. */
bool walk_encode(lua_State *L, int i, const walk_Options *options);

/* As walk_encode, on one line, for an object whose members are the pairs at
** `first`, first + 1 up to `last`, in this order, without those whose value is
** nil. */
bool walk_members(lua_State *L, int first, int last,
                  const walk_Options *options);

#endif
