/*
** open.c - luaopen_operations_http_server: the bytes of HTTP requests and
** answers for Lua.
*/
#include "server/server.h"
#include "lua/build.h"

BUILD_SHOWN int luaopen_operations_http_server(lua_State *L);

int luaopen_operations_http_server(lua_State *L) {
  build_check(L, "operations.http_server");
  lua_newtable(L);
  server_open_request(L);
  server_open_answer(L);
  server_open_target(L);
  server_open_collector(L);
  return 1;
}
