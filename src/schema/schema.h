/*
** schema.h - compiled JSON Schemas for the rest of the core.  All functions
** require the core state as upvalue 1 of the running C function, take absolute
** stack indices, and raise only when out of memory.
*/
#ifndef OPERATIONS_SCHEMA_H
#define OPERATIONS_SCHEMA_H

#include "schema/program/types.h"
#include "value/core.h"

/* NULL when the value at `i` is not a compiled schema. */
schema_Schema *schema_to(lua_State *L, int i);

/* Does the value conform?  Pushes nothing, allocates nothing in Lua. */
bool schema_valid(lua_State *L, int schema, int value);

/* Pushes an array of issues { path, schemaPath, keyword, message, params },
** empty when the value conforms. */
void schema_push_issues(lua_State *L, int schema, int value);

/* Pushes the value itself, or a copy with defaults filled in: all, or only
** those of required members.  Never converts.  False, with an array of one
** issue pushed instead, when a limit was reached. */
bool schema_fill(lua_State *L, int schema, int value, bool only_required);

/* Pushes the value moved towards the schema (SCHEMA_OFF: itself); an array of
** changes { path, kind, old, new }, or nil without `changes`; and nil, or an
** array with the issue that says why defaults are missing.  Says whether the
** result conforms.  `ahead` is 0 or the index of the value that
** schema_push_ahead pushed. */
bool schema_cast(lua_State *L, int schema, int value, int mode, bool changes,
                 int ahead);

/* Pushes an object that casts long lists of the value ahead (SCHEMA_CAST), or
** nil when there are none.  Its method `step` casts for some milliseconds and
** returns true when there is more to do. */
void schema_push_ahead(lua_State *L, int schema, int value);

/* Does the schema accept every object, without defaults or other effects?  Then
** an absent input can be taken as {}. */
bool schema_accepts_every_object(lua_State *L, int schema);

/* Sets its functions in the module table on top of the stack. */
void schema_open(lua_State *L);

#endif
