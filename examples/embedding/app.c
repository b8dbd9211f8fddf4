/*
** app.c - a program with a loop of its own that runs Lua: it polls its own
** descriptor and the library's, and never waits anywhere else.
**
**   cc -o app app.c $(pkg-config --cflags --libs lua5.4)
**   ./app app.lua                  ends when its standard input ends
*/
#include <poll.h>
#include <stdio.h>
#include <unistd.h>

#include <lauxlib.h>
#include <lua.h>
#include <lualib.h>

/* The text of an error, which may be an object, on top of the stack. */
static const char *message(lua_State *L) {
  luaL_callmeta(L, -1, "__tostring");
  return lua_isstring(L, -1) ? lua_tostring(L, -1) : luaL_typename(L, -1);
}

/* Calls the function of that name in the program's table. */
static int call(lua_State *L, const char *name) {
  int result = 0;
  lua_getfield(L, 1, name);
  if (lua_pcall(L, 0, 1, 0) != 0) fprintf(stderr, "%s: %s\n", name, message(L));
  else
    result =
        lua_isboolean(L, -1) ? lua_toboolean(L, -1) : (int)lua_tointeger(L, -1);
  lua_settop(L, 1);
  return result;
}

int main(int argc, char **argv) {
  lua_State *L = luaL_newstate();
  struct pollfd fds[2] = {{0, POLLIN, 0}, {-1, POLLIN, 0}};
  if (L == NULL || argc < 2) return 2;
  luaL_openlibs(L);
  if (luaL_dofile(L, argv[1]) != 0 || !lua_istable(L, 1)) {
    fprintf(stderr, "%s\n", message(L));
    return 1;
  }
  fds[1].fd = call(L, "fd"); /* the library's descriptor */
  while (poll(fds, 2, -1) >= 0) {
    char byte;
    if (fds[1].revents != 0) call(L, "turn");
    if (fds[0].revents == 0) continue;
    if (read(0, &byte, 1) <= 0) break;
    call(L, "key"); /* what the program itself does */
  }
  lua_close(L);
  return 0;
}
