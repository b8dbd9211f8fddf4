/*
** schema_cast.h - moves a value towards a schema, into a new value.
*/
#ifndef OPERATIONS_SCHEMA_CAST_H
#define OPERATIONS_SCHEMA_CAST_H

#include "schema_program.h"

/* Pushes the cast value and, when asked, the array of changes; says whether
** the result conforms. */
bool cast_value(lua_State *L, int schema, int v, int mode, bool changes);

#endif
