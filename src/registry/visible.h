/*
** visible.h - decides if an identity may see an operation, by its spec.
*/
#ifndef OPERATIONS_VISIBLE_H
#define OPERATIONS_VISIBLE_H

#include "value/core.h"

/* May others see the spec at `spec`: is its _meta.exposed not false? */
bool visible_exposed(lua_State *L, int spec);

/* Does the spec at `spec` have the namespace, type and tag that the table at
** `filter` names?  True when `filter` is not a table. */
bool visible_matches(lua_State *L, int spec, int filter);

/* "yes", "denied" (the identity at `identity` may not call it) or "hidden". May
** leave values on the stack. */
const char *visible_to(lua_State *L, int spec, int identity, int filter);

#endif
