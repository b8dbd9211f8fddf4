/*
** streams.h - event streams and lines for Lua: parsers, and readers that make
** envelopes of the items.
*/
#ifndef OPERATIONS_STREAMS_H
#define OPERATIONS_STREAMS_H

#include "value/core.h"

/* Each sets its functions in the module table on top of the stack. */
void sse_open(lua_State *L);
void envelopes_open(lua_State *L);

#endif
