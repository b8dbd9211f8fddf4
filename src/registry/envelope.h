/*
** envelope.h - the response envelope { data, meta }: made and detected here and
** nowhere else.
*/
#ifndef OPERATIONS_ENVELOPE_H
#define OPERATIONS_ENVELOPE_H

#include "value/core.h"

/* The strings of a local envelope. Who makes many holds them as upvalues: that
** is cheaper than to look each of them up again. */
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

/* Is the value at `i` a response envelope: a table whose meta names one of the
** known sources and carries that source's own fields?  Raw reads only. `keys`
** is the index of the first upvalue of the strings, here and below. */
bool envelope_is(lua_State *L, int i, int keys);

/* Pushes { data = value at `data`, meta = value at `meta` }; a nil data leaves
** the key out. */
void envelope_push(lua_State *L, int data, int meta, int keys);

/* Pushes the meta of a local envelope, stamped with the time of now; `id` is
** the index of the operation's id. */
void envelope_push_local_meta(lua_State *L, int id, int keys);

/* Sets its functions in the module table on top of the stack. */
void envelope_open(lua_State *L);

#endif
