/*
** ahead.h - casts the items of long lists a few at a time, before the value
** that has them is cast: that takes what is done already.  In between, the
** program's loop may turn.
*/
#ifndef OPERATIONS_SCHEMA_AHEAD_H
#define OPERATIONS_SCHEMA_AHEAD_H

#include "schema/cast/cast.h"

#define AHEAD_LISTS 16 /* of one value; what is more is not cast ahead */

/* A list within the value.  The userdata's second slot has a table, in which
** list i is at 2 i + 1 and its cast items, another table, at 2 i + 2; there
*true
** at -n says that item n does not conform. */
typedef struct ahead_List {
  const void *table;
  int32_t node;        /* that its items are cast by */
  size_t length, done; /* items, and how many of them were cast */
  bool misfits;
} ahead_List;

/* A userdata, whose first slot has the schema. */
typedef struct ahead_Ahead {
  const schema_Schema *schema;
  int count;
  int64_t left, made; /* steps and values, as of one check_Machine */
  ahead_List lists[AHEAD_LISTS];
} ahead_Ahead;

/* Pushes an ahead_Ahead for the value at `v`; NULL, and nil, where it has no
** long list that could be cast ahead. */
ahead_Ahead *ahead_push(lua_State *L, int schema, int v);

/* Casts items of the userdata at `i` for some milliseconds; false when all are
** done. */
bool ahead_step(lua_State *L, int i);

/* What is done of the list at `list`, whose items are cast by `node`: pushes
** the table of its cast items; NULL, and nothing, when nothing is.  `i` is the
** userdata. */
static inline const ahead_List *ahead_find(lua_State *L, int i, int list,
                                           int32_t node) {
  const ahead_Ahead *a = (const ahead_Ahead *)lua_touserdata(L, i);
  const void *table = lua_topointer(L, list);
  int k = 0;
  while (k < a->count &&
         (a->lists[k].table != table || a->lists[k].node != node))
    k++;
  if (k == a->count) return NULL;
  ops_getslot(L, i, 2);
  ops_rawgeti(L, -1, 2 * (size_t)k + 2);
  lua_remove(L, -2);
  return &a->lists[k];
}

#endif
