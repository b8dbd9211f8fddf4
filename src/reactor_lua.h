/*
** reactor_lua.h - the Lua face of the reactor: handles and how each kind of
** them is started and says what happened.
*/
#ifndef OPERATIONS_REACTOR_LUA_H
#define OPERATIONS_REACTOR_LUA_H

#include "compat.h"
#include "reactor.h"

#define REACTOR_NAME "operations.reactor"
#define REACTOR_HANDLE_NAME "operations.handle"

/* What the uservalue of a handle holds. */
enum { REACTOR_OWNER = 1, REACTOR_BODY = 2 };

/* The head of every handle's userdata; the kinds add to it. */
typedef struct reactor_Handle {
  reactor_Op op;
  /* Pushes what comes after the event's name; returns how many values.  May
  ** raise: nothing is lost when it does. */
  int (*push)(lua_State *L, struct reactor_Handle *h, reactor_Event event);
} reactor_Handle;

/* The open reactor at index 1; raises when it is closed, or another process's.
 */
reactor_Reactor *reactor_check(lua_State *L);

/* Pushes a new, complete, not yet started handle of `size` bytes, zeroed, with
** the value at `owner` (0: none) as its owner. */
void *reactor_new_handle(lua_State *L, size_t size, int owner);

#endif
