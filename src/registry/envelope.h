/*
** envelope.h - the response envelope { data, meta }: made and detected here and
** nowhere else.
*/
#ifndef OPERATIONS_ENVELOPE_H
#define OPERATIONS_ENVELOPE_H

#include "value/core.h"

/* The strings of a local envelope. Functions that make many hold them as
** upvalues: cheaper than to look each of them up again. */
enum {
  ENVELOPE_DATA,
  ENVELOPE_META,
  ENVELOPE_SOURCE,
  ENVELOPE_LOCAL,
  ENVELOPE_OPERATION_ID,
  ENVELOPE_TIMESTAMP,
  ENVELOPE_KEYS /* how many */
};

/* Pushes the strings above, in their order. */
void envelope_push_keys(lua_State *L);

/* Pushes raw meta of the table at `i`.  The strings begin at upvalue `keys`,
** here and below. */
static inline void envelope_push_meta(lua_State *L, int i, int keys) {
  lua_pushvalue(L, keys - ENVELOPE_META);
  lua_rawget(L, i);
}

/* Does the table on top of the stack carry what its source promises? */
bool envelope_knows_meta(lua_State *L);

/* Is the value on top of the stack the meta of a response envelope? */
static inline bool envelope_is_meta(lua_State *L) {
  return lua_istable(L, -1) && envelope_knows_meta(L);
}

/* Pushes { data = value at `data`, meta = value at `meta` }; a nil data leaves
** the key out. */
void envelope_push(lua_State *L, int data, int meta, int keys);

/* Pushes the local envelope of the value at `data`, stamped with the time of
** now; `id` is the index of the operation's id. */
void envelope_push_local(lua_State *L, int data, int id, int keys);

/* Sets its functions in the module table on top of the stack. */
void envelope_open(lua_State *L);

#endif
