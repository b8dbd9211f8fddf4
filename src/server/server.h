/*
** server.h - parts of the module that luaopen_operations_http_server opens.
*/
#ifndef OPERATIONS_SERVER_H
#define OPERATIONS_SERVER_H

#include <stdbool.h>

#include "http/request.h"
#include "lua/compat.h"

/* Each adds its functions to the module, the table on top of the stack. */
void server_open_request(lua_State *L);   /* server/request_lua.c */
void server_open_answer(lua_State *L);    /* server/answer_lua.c */
void server_open_target(lua_State *L);    /* server/target_lua.c */
void server_open_collector(lua_State *L); /* server/collector_lua.c */

/* Pushes the decoded text; false when it is malformed: then another value may
** be pushed. */
bool server_push_decoded(lua_State *L, const char *text, size_t length,
                         bool plus); /* server/target_lua.c */

/* Where the request is a plain call, pushes its route and its input.  `calls`
** is the index of { paths, host, object_mt }; paths: path -> { route, kinds },
** kinds: name of a member -> 1 (string), 2 (number), 3 (boolean). */
bool server_push_direct(lua_State *L, int calls,
                        const request_Head *head); /* server/direct_lua.c */

#endif
