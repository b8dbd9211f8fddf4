/*
** copy.c - deep copies of values.
*/
#include "value/core.h"

/* Pushes the copy of the value at `i`: the value itself, unless it is a table.
** The first time a table occurs, a new one is added to `known`, a table
** original -> copy that is also the queue of tables to fill. */
static void push_stand_in(lua_State *L, int i, int known, size_t *queued) {
  lua_pushvalue(L, i);
  if (lua_type(L, -1) != LUA_TTABLE) return;
  lua_pushvalue(L, -1);
  if (ops_rawget(L, known) == LUA_TNIL) {
    lua_pop(L, 1);
    lua_createtable(L, (int)ops_rawlen(L, i), 0);
    lua_pushvalue(L, -2);
    ops_rawseti(L, known, ++*queued);
    lua_pushvalue(L, -2);
    lua_pushvalue(L, -2);
    lua_rawset(L, known);
  }
  lua_remove(L, -2);
}

/* Gives the table on top the metatable of the one at `original`, mainly for
** marks; not one with a finalizer, which would run for the copy as well.  May
** leave values on the stack. */
static void copy_metatable(lua_State *L, int original) {
  if (!lua_getmetatable(L, original)) return;
  if (value_push_field(L, -1, "__gc") == LUA_TNIL) {
    lua_pop(L, 1);
    lua_setmetatable(L, -2);
  }
}

/* Copies the order of a schema's properties. */
static void copy_orders(lua_State *L, int known, size_t queued) {
  int order = lua_gettop(L) + 1;
  size_t at;
  core_push_property_order(L);
  lua_pushnil(L);
  if (lua_next(L, order)) { /* some table has an order */
    for (at = 1; at <= queued; at++) {
      lua_settop(L, order);
      ops_rawgeti(L, known, at);
      lua_pushvalue(L, order + 1);
      lua_rawget(L, known);
      lua_pushvalue(L, order + 1);
      if (ops_rawget(L, order) != LUA_TNIL) lua_rawset(L, order);
    }
  }
  lua_settop(L, order - 1);
}

void value_push_copy(lua_State *L, int i) {
  int known = lua_gettop(L) + 1, copy = known + 1, original = known + 2;
  size_t at, queued = 0;
  i = ops_absindex(L, i);
  luaL_checkstack(L, 12, "copy");
  lua_createtable(L, 8, 8);
  push_stand_in(L, i, known, &queued);
  for (at = 1; at <= queued; at++) {
    ops_rawgeti(L, known, at);
    push_stand_in(L, original, known,
                  &queued); /* the copy is at original + 1 */
    lua_pushnil(L);
    while (lua_next(L, original)) {
      lua_pushvalue(L, -2);
      push_stand_in(L, original + 3, known, &queued);
      lua_rawset(L, original + 1);
      lua_pop(L, 1);
    }
    copy_metatable(L, original);
    lua_settop(L, copy);
  }
  copy_orders(L, known, queued);
  lua_remove(L, known);
}
