/*
** transfer_lua.h - the Lua face of transfers: methods of the reactor and of its
** handles, added to those types.
*/
#ifndef OPERATIONS_TRANSFER_LUA_H
#define OPERATIONS_TRANSFER_LUA_H

#include "reactor/reactor_lua.h"
#include "transfer/http.h"

/* transfer/http_lua.c */
void transfer_http_open(lua_State *L);

/* http_Request's options, all but `headers` and `body`. */
extern const reactor_Option transfer_options[];

/* transfer/connect_lua.c */
void transfer_connect_open(lua_State *L);

#endif
