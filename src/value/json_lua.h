/*
** json_lua.h - JSON text and Lua values, for the C parts of operations.core.
*/
#ifndef OPERATIONS_JSON_LUA_H
#define OPERATIONS_JSON_LUA_H

#include "value/build.h"
#include "value/shape.h"

#define JSON_DEFAULT_DEPTH 512

/* What reads text after text within one C call, and lives no longer. */
typedef struct json_Texts {
  build_Builder builder;
  json_Reader reader;
  shape_Shape *shape; /* of the texts before */
  shape_Maker maker;
} json_Texts;

/* Pushes what json_texts_push needs at its place.  The shape lives on in the
** caller's hands, and its keys in the table at stack index `table`, above place
** `place`. */
void json_texts_open(lua_State *L, json_Texts *texts, shape_Shape *shape,
                     int table, size_t place);

/* Pushes the value of the text and returns true, or pushes nil and an error
** object and returns false.  Raises only when out of memory.  Default limits.
*/
bool json_texts_push(json_Texts *texts, const char *text, size_t len);

/* Sets its functions in the module table on top of the stack. */
void json_open(lua_State *L);

#endif
