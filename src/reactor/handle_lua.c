/*
** handle_lua.c - checks the arguments of functions that start handles: the
** reactor and the options of a handle.
*/
#include "reactor/reactor_lua.h"

reactor_Reactor *reactor_check(lua_State *L) {
  reactor_Reactor *r = (reactor_Reactor *)ops_self(L, REACTOR_NAME);
  if (!reactor_usable(r))
    luaL_argerror(L, 1, "the reactor is closed, or of another process");
  return r;
}

reactor_Op *reactor_check_handle(lua_State *L) {
  return (reactor_Op *)ops_self(L, REACTOR_HANDLE_NAME);
}

/* From now on the handle on top of the stack is found by its address. */
static void enter_handle(lua_State *L, reactor_Op *op) {
  ops_getslot(L, 1, REACTOR_HANDLES);
  lua_pushvalue(L, -2);
  ops_rawsetp(L, -2, op);
  lua_pop(L, 1);
}

static void set_owner(lua_State *L) {
  lua_pushvalue(L, 3);
  ops_setslot(L, -2, REACTOR_OWNER);
}

void *reactor_new_handle(lua_State *L, size_t size, const reactor_Face *face) {
  reactor_Op *op = (reactor_Op *)ops_newuserdata(L, size, REACTOR_SLOTS);
  memset(op, 0, size);
  op->face = face;
  luaL_getmetatable(L, REACTOR_HANDLE_NAME);
  lua_setmetatable(L, -2);
  set_owner(L);
  enter_handle(L, op);
  return op;
}

void *reactor_used_handle(lua_State *L, size_t size, const reactor_Face *face) {
  reactor_Op *op;
  lua_getfield(L, 2, "handle");
  if (lua_isnil(L, -1)) {
    lua_pop(L, 1);
    return reactor_new_handle(L, size, face);
  }
  op = (reactor_Op *)ops_testudata(L, -1, REACTOR_HANDLE_NAME);
  if (op == NULL || op->face != face || op->active) {
    luaL_error(L, "bad option 'handle' (none of this kind that is over)");
    return NULL; /* unreachable: the analyzer does not know that it raised */
  }
  if (op->reactor != (reactor_Reactor *)lua_touserdata(L, 1))
    enter_handle(L, op);
  reactor_stop(op);
  memset(op, 0, size);
  op->face = face;
  set_owner(L);
  return op;
}

void reactor_add_methods(lua_State *L, const char *type,
                         const luaL_Reg *methods) {
  luaL_getmetatable(L, type);
  lua_getfield(L, -1, "__index");
  lua_pushvalue(L, -2); /* upvalue: the metatable, not looked up by name */
  ops_setfuncs(L, methods, 1);
  lua_pop(L, 2);
}
