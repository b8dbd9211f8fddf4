/*
** operation.h - the two halves of the pipeline around a handler, for Lua.
*/
#ifndef OPERATIONS_OPERATION_H
#define OPERATIONS_OPERATION_H

#include "value/core.h"

/* Sets its functions in the module table on top of the stack. */
void operation_open(lua_State *L);

#endif
