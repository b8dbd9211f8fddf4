/*
** ahead.h - casts the items of long lists a few at a time, before the value
** that contains them is cast; that cast takes the finished items.  In between,
** the program's loop can run.
*/
#ifndef OPERATIONS_SCHEMA_AHEAD_H
#define OPERATIONS_SCHEMA_AHEAD_H

#include "schema/cast/cast.h"

#define AHEAD_LISTS 16 /* lists of one value; others are not cast ahead */

/* A list within the value.  The userdata's second slot has a table, in which
** list i is at 2 i + 1 and the table of its cast items at 2 i + 2; true at -n
** means that item n does not conform. */
typedef struct ahead_List {
  const void *table;
  int32_t node;        /* the node for its items */
  size_t length, done; /* all items; items that were cast */
  bool misfits;
} ahead_List;

/* A userdata, whose first slot has the schema. */
typedef struct ahead_Ahead {
  const schema_Schema *schema;
  int count;
  int64_t left, made; /* steps and values left, as of one check_Machine */
  ahead_List lists[AHEAD_LISTS];
} ahead_Ahead;

/* Pushes an ahead_Ahead for the value at `v`; NULL, and pushes nil, when it has
** no long list that can be cast ahead.  The indices are absolute. */
ahead_Ahead *ahead_push(lua_State *L, int schema, int v);

/* Casts items of the userdata at `i` for some milliseconds; false when all are
** done. */
bool ahead_step(lua_State *L, int i);

/* Pushes the table of the cast items of the list at `list`, whose items node
** `node` casts; returns NULL and pushes nothing when there are none.  `i` is
** the userdata. */
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
