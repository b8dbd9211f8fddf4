/*
** transfer_lua.h - transfers in Lua: methods added to the types of the reactor
** and its handles.
*/
#ifndef OPERATIONS_TRANSFER_LUA_H
#define OPERATIONS_TRANSFER_LUA_H

#include "reactor/reactor_lua.h"
#include "transfer/http.h"

/* transfer/http_lua.c */
void transfer_http_open(lua_State *L);

/* The options of http_Request, except `headers` and `body`. */
extern const reactor_Option transfer_options[];

/* transfer/connect_lua.c */
void transfer_connect_open(lua_State *L);

#endif
