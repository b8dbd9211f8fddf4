/*
** server.h - parts of the module that luaopen_operations_http_server opens.
*/
#ifndef OPERATIONS_SERVER_H
#define OPERATIONS_SERVER_H

#include "lua/compat.h"

/* Each adds its functions to the module, the table on top of the stack. */
void server_open_request(lua_State *L);   /* server/request_lua.c */
void server_open_answer(lua_State *L);    /* server/answer_lua.c */
void server_open_target(lua_State *L);    /* server/target_lua.c */
void server_open_collector(lua_State *L); /* server/collector_lua.c */

#endif
