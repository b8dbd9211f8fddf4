/*
** json_lua.h - JSON text and Lua values, for the C parts of operations.core.
*/
#ifndef OPERATIONS_JSON_LUA_H
#define OPERATIONS_JSON_LUA_H

#include "core.h"

#define JSON_DEFAULT_DEPTH 512

/* Pushes the value of the text and returns true, or pushes nil and an error
** object and returns false.  Raises only when out of memory. Default limits. */
bool json_push_value(lua_State *L, const char *text, size_t len);

/* Pushes the value at `i` as JSON text and returns true, or pushes nil and an
** error object and returns false.  Raises only when out of memory. */
bool json_push_text(lua_State *L, int i);

#endif
