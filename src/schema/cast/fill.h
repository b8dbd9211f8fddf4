/*
** fill.h - defaults for what a value lacks; nothing else is changed.
*/
#ifndef OPERATIONS_SCHEMA_FILL_H
#define OPERATIONS_SCHEMA_FILL_H

#include "schema/program/program.h"

/* Pushes the value, or a copy where defaults were filled in; true then. */
bool fill_value(lua_State *L, int schema, int v);

/* Pushes a deep copy of a default; tables get the marks of the original. */
void fill_push_default(lua_State *L, const schema_Schema *s, int constants,
                       int32_t constant);

/* Pushes a copy of the value at stack index `i` that shares no table with it.
 */
void fill_push_copy(lua_State *L, const core_State *core, int i);

#endif
