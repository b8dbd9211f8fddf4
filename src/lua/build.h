/*
** build.h - refuses the Lua that loads a module when it is another one than the
** module was built for: it would crash.  First in every luaopen_ function.
**
** BUILD_SHOWN marks that function: it is all that a module shows to the program
** that loads it, -fvisibility=hidden keeps the rest inside.
*/
#ifndef OPERATIONS_BUILD_H
#define OPERATIONS_BUILD_H

#include <stdbool.h>

#include "lua/compat.h"

#define BUILD_SHOWN __attribute__((visibility("default")))

#if LUA_VERSION_NUM == 501

/* Lua 5.1 has all functions that a build for LuaJIT calls. */
static inline void build_check(lua_State *L, const char *module) {
  int top = lua_gettop(L);
  bool fits = false;
  lua_getfield(L, LUA_REGISTRYINDEX, "_LOADED");
  lua_getfield(L, -1, "jit");
  if (lua_istable(L, -1)) {
    lua_getfield(L, -1, "version_num");
    fits = lua_tonumber(L, -1) >= 20100;
    lua_getfield(L, -2, "version");
  } else {
    lua_getglobal(L, "_VERSION");
  }
  if (!fits)
    luaL_error(L, "%s is built for LuaJIT 2.1 and this is %s", module,
               lua_tostring(L, -1));
  lua_settop(L, top);
}

#else

#if defined(ltests_h)
#define BUILD_TESTS_LUA true
#else
#define BUILD_TESTS_LUA false
#endif

static const char *const build_names[] = {
    "a release of " LUA_VERSION, "a debug build of " LUA_VERSION " (ltests.h)"};

static inline int build_no_library(lua_State *L) {
  lua_pushnil(L);
  return 1;
}

/* Is it Lua with its own tests (ltests.h), as its repository builds it?  That
** has another LUAI_MAXSTACK, on which the pseudo-indices depend: uses none. */
static inline bool build_tests_lua(lua_State *L) {
  int top = lua_gettop(L);
  bool tests = false;
  luaL_requiref(L, LUA_GNAME, build_no_library, 0);
  if (lua_istable(L, -1)) {
    lua_pushliteral(L, "T");
    if (lua_rawget(L, -2) == LUA_TTABLE)
      tests = lua_getfield(L, -1, "testC") == LUA_TFUNCTION;
  }
  lua_settop(L, top);
  return tests;
}

static inline void build_check(lua_State *L, const char *module) {
  int version = (int)lua_version(L);
  if (version > 500 && version < 600 && version != LUA_VERSION_NUM)
    luaL_error(L, "%s is built for " LUA_VERSION " and this is Lua %d.%d",
               module, version / 100, version % 100);
  luaL_checkversion(L); /* the sizes of numbers, too */
  if (build_tests_lua(L) != BUILD_TESTS_LUA)
    luaL_error(L, "%s is built for %s and this is %s", module,
               build_names[BUILD_TESTS_LUA], build_names[!BUILD_TESTS_LUA]);
}

#endif
#endif
