/*
** json_lua.h - JSON text and Lua values, for the C parts of operations.core.
*/
#ifndef OPERATIONS_JSON_LUA_H
#define OPERATIONS_JSON_LUA_H

#include "value/build.h"

#define JSON_DEFAULT_DEPTH 512

/* A reader of several texts within one C call; it must not outlive the call. */
typedef struct json_Texts {
  build_Builder builder;
  json_Reader reader;
} json_Texts;

/* Pushes the values that json_texts_push needs; they must stay in place. */
void json_texts_open(lua_State *L, json_Texts *texts);

/* Pushes the value of the text and returns true, or pushes nil and an error
** object and returns false.  Raises only when out of memory.  Default limits.
*/
bool json_texts_push(json_Texts *texts, const char *text, size_t len);

/* Sets its functions in the module table on top of the stack. */
void json_open(lua_State *L);

#endif
