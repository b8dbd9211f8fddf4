/*
** envelope.h - the response envelope { data, meta }: made and detected here and
** nowhere else.
*/
#ifndef OPERATIONS_ENVELOPE_H
#define OPERATIONS_ENVELOPE_H

#include "core.h"

/* Is the value at `i` a response envelope: a table whose meta names one of the
** known sources and carries that source's own fields?  Raw reads only. */
bool envelope_is(lua_State *L, int i);

/* Pushes { data = value at `data`, meta = value at `meta` }; a nil data leaves
** the key out. */
void envelope_push(lua_State *L, int data, int meta);

/* Pushes the meta of a local envelope, stamped with the time of now; `id` is
** the index of the operation's id. */
void envelope_push_local_meta(lua_State *L, int id);

#endif
