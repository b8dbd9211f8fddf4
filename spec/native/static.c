/*
** static.c - a program that is linked with liboperations.a, has functions with
** names that occur in it too, and runs a Lua program: static PROGRAM.lua
*/
#include <stdio.h>

#include <lauxlib.h>
#include <lua.h>
#include <lualib.h>

#define OPEN(name) int luaopen_operations_##name(lua_State *L)

OPEN(core);
OPEN(reactor);
OPEN(transfer);
OPEN(system);
OPEN(http_server);

/* The program's own: the library calls none of them. */
int json_free(void);
int http_start(void);
int buffer_init(void);

static int called;

int json_free(void) {
  return called = 1;
}
int http_start(void) {
  return called = 1;
}
int buffer_init(void) {
  return called = 1;
}

static void preload(lua_State *L, const char *name, lua_CFunction open) {
  lua_getglobal(L, "package");
  lua_getfield(L, -1, "preload");
  lua_pushcfunction(L, open);
  lua_setfield(L, -2, name);
  lua_pop(L, 2);
}

int main(int argc, char **argv) {
  lua_State *L = luaL_newstate();
  int failed;
  if (L == NULL || argc < 2) return 2;
  luaL_openlibs(L);
  preload(L, "operations.core", luaopen_operations_core);
  preload(L, "operations.reactor", luaopen_operations_reactor);
  preload(L, "operations.transfer", luaopen_operations_transfer);
  preload(L, "operations.system", luaopen_operations_system);
  preload(L, "operations.http_server", luaopen_operations_http_server);
  failed = luaL_dofile(L, argv[1]);
  if (failed) fprintf(stderr, "%s\n", lua_tostring(L, -1));
  lua_close(L);
  return failed || called;
}
