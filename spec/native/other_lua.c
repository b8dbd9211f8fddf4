/*
** other_lua.c - a Lua module that takes the Lua that loads it for Lua 5.5.
*/
#include <lua.h>

#define lua_version(L) 505

#include "lua/build.h"

int luaopen_other_lua(lua_State *L);

int luaopen_other_lua(lua_State *L) {
  build_check(L, "operations.core");
  return 0;
}
