/*
** envelope.h - the response envelope { data, meta }: the only place that makes
** and detects it.
*/
#ifndef OPERATIONS_ENVELOPE_H
#define OPERATIONS_ENVELOPE_H

#include "value/core.h"

/* The strings of a local envelope.  Functions that make many have them as
** upvalues, which is cheaper than looking each of them up. */
enum {
  ENVELOPE_DATA,
  ENVELOPE_META,
  ENVELOPE_SOURCE,
  ENVELOPE_LOCAL,
  ENVELOPE_OPERATION_ID,
  ENVELOPE_TIMESTAMP,
  ENVELOPE_KEYS /* the number of strings */
};

/* Pushes the strings above, in order. */
void envelope_push_keys(lua_State *L);

/* Pushes raw meta of the table at `i`.  Here and below, `keys` is the upvalue
** index of the first string. */
static inline void envelope_push_meta(lua_State *L, int i, int keys) {
  lua_pushvalue(L, keys - ENVELOPE_META);
  lua_rawget(L, i);
}

/* Does the meta on top of the stack have the fields that its source
** requires? */
bool envelope_knows_meta(lua_State *L);

/* What the meta on top of the stack would need for the source that it names, in
** words; NULL when that is not one of ours. */
const char *envelope_needs(lua_State *L);

/* Is the value on top of the stack the meta of a response envelope? */
static inline bool envelope_is_meta(lua_State *L) {
  return lua_istable(L, -1) && envelope_knows_meta(L);
}

/* Pushes { data = value at `data`, meta = value at `meta` }; a nil data leaves
** the key out.  The indices are absolute. */
void envelope_push(lua_State *L, int data, int meta, int keys);

/* Pushes the local envelope of the value at `data` with the current time; `id`
** is the stack index of the operation's id. */
void envelope_push_local(lua_State *L, int data, int id, int keys);

/* Sets its functions in the module table on top of the stack. */
void envelope_open(lua_State *L);

#endif
