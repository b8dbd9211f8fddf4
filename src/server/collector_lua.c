/*
** collector_lua.c - collects the pieces of a body outside of Lua's heap, where
** they would count as memory in use and let the heap grow to twice their size.
*/
#include "base/buffer.h"
#include "server/server.h"

#define COLLECTOR_NAME "operations.http_server.collector"

static buffer_Buffer *check_self(lua_State *L) {
  return (buffer_Buffer *)luaL_checkudata(L, 1, COLLECTOR_NAME);
}

/* http_server.collector(max) -> collector of so many bytes */
static int collector_new(lua_State *L) {
  lua_Number max = luaL_checknumber(L, 1);
  buffer_Buffer *b;
  ops_Alloc alloc;
  luaL_argcheck(L, max >= 0 && max <= (lua_Number)(SIZE_MAX / 2), 1,
                "number of bytes expected");
  b = (buffer_Buffer *)lua_newuserdata(L, sizeof(*b));
  alloc.fn = lua_getallocf(L, &alloc.ud);
  buffer_init(b, alloc, (size_t)max);
  luaL_getmetatable(L, COLLECTOR_NAME);
  lua_setmetatable(L, -2);
  return 1;
}

/* collector:add(bytes) -> boolean: false, and nothing is added, beyond max */
static int collector_add(lua_State *L) {
  buffer_Buffer *b = check_self(L);
  size_t length;
  const char *bytes = luaL_checklstring(L, 2, &length);
  if (length > b->max - b->len) {
    lua_pushboolean(L, 0);
    return 1;
  }
  if (!buffer_add(b, bytes, length)) return luaL_error(L, "not enough memory");
  lua_pushboolean(L, 1);
  return 1;
}

/* collector:take() -> all of it; the collector is empty then */
static int collector_take(lua_State *L) {
  buffer_Buffer *b = check_self(L);
  lua_pushlstring(L, b->len > 0 ? b->data : "", b->len);
  buffer_free(b);
  return 1;
}

static int collector_free(lua_State *L) {
  buffer_free(check_self(L));
  return 0;
}

void server_open_collector(lua_State *L) {
  static const luaL_Reg methods[] = {{"add", collector_add},
                                     {"take", collector_take},
                                     {"__gc", collector_free},
                                     {NULL, NULL}};
  luaL_newmetatable(L, COLLECTOR_NAME);
  ops_setfuncs(L, methods, 0);
  lua_pushvalue(L, -1);
  lua_setfield(L, -2, "__index");
  lua_pop(L, 1);
  lua_pushcfunction(L, collector_new);
  lua_setfield(L, -2, "collector");
}
