/*
** other_lua.c - a Lua module that takes the Lua that loads it for another one.
*/
#include <lua.h>

#define lua_version(L) (LUA_VERSION_NUM == 505 ? 504 : 505)

#include "lua/build.h"

int luaopen_other_lua(lua_State *L);

int luaopen_other_lua(lua_State *L) {
  build_check(L, "operations.core");
  return 0;
}
