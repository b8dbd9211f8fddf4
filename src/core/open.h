/*
** open.h - the parts of operations.core that have no room of their own.
*/
#ifndef OPERATIONS_OPEN_H
#define OPERATIONS_OPEN_H

#include "value/core.h"

/* Sets its functions in the module table on top of the stack. */
void fields_open(lua_State *L);

#endif
