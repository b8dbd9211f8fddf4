/*
** coverage.h - included into every file for `make coverage`: the macro of
** lauxlib.h branches on what luaL_argerror returns, which never returns.
*/
#ifndef NATIVE_COVERAGE_H
#define NATIVE_COVERAGE_H

#include <lua.h>

#include <lauxlib.h>

#undef luaL_argcheck
#define luaL_argcheck(L, condition, position, message)                         \
  do {                                                                         \
    if (!(condition)) (void)luaL_argerror(L, position, message);               \
  } while (0)

#endif
