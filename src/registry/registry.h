/*
** registry.h - registries, and preparing and finishing calls, for Lua.
*/
#ifndef OPERATIONS_REGISTRY_H
#define OPERATIONS_REGISTRY_H

#include "value/core.h"

/* Sets its functions in the module table on top of the stack. */
void registry_open(lua_State *L);

#endif
