/*
** access.h - may this identity call this operation?  Default deny.
*/
#ifndef OPERATIONS_ACCESS_H
#define OPERATIONS_ACCESS_H

#include "value/core.h"

/* Does the accessControl table at `i` require anything? */
bool access_requires_anything(lua_State *L, int i);

/* May the identity at `identity` (nil: none) call with the input at `input`
** under the accessControl table at `rules`?  If not, pushes a sentence that
** says why; if so, it may leave values on the stack.  `input` is 0 when the
** input is not known: then any resource of the type is enough.  Reads raw
** fields only. */
bool access_allows(lua_State *L, int rules, int identity, int input);

#endif
