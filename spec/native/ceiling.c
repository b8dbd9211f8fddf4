/*
** ceiling.c - runs a Lua file in a state whose allocator has a ceiling:
** ceiling(n) refuses what exceeds what is in use by n bytes, ceiling() nothing.
** Exits with 1 if the file raises, with 2 if memory remains after lua_close.
*/
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

#include <lauxlib.h>
#include <lua.h>
#include <lualib.h>

#include "lua/compat.h"

static size_t used, most = SIZE_MAX;

static void *allocate(void *ud, void *block, size_t old, size_t size) {
  void *moved;
  (void)ud;
  if (block == NULL) old = 0; /* a kind of object */
  if (size > old && (size - old > most || used > most - (size - old)))
    return NULL;
  if (size == 0) {
    free(block);
    moved = NULL;
  } else if ((moved = realloc(block, size)) == NULL) {
    return NULL;
  }
  used += size - old;
  return moved;
}

static int set_ceiling(lua_State *L) {
  most = lua_isnoneornil(L, 1) ? SIZE_MAX : used + (size_t)lua_tointeger(L, 1);
  return 0;
}

int main(int argc, char **argv) {
  int failed;
  lua_State *L = ops_newstate(allocate, NULL);
  if (L == NULL || argc < 2) return 3;
  luaL_openlibs(L);
  lua_register(L, "ceiling", set_ceiling);
  failed = luaL_dofile(L, argv[1]);
  if (failed) fprintf(stderr, "%s\n", lua_tostring(L, -1));
  lua_close(L);
  return failed ? 1 : used == 0 ? 0 : 2;
}
