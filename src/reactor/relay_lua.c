/*
** relay_lua.c - the relay as Lua sees it.
*/
#include "reactor/reactor_lua.h"
#include "reactor/relay.h"

#include <errno.h>
#include <string.h>

#define RELAY_NAME "operations.relay"

static reactor_Relay *check_relay(lua_State *L) {
  return (reactor_Relay *)luaL_checkudata(L, 1, RELAY_NAME);
}

static int push_failure(lua_State *L, const char *what) {
  lua_pushnil(L);
  lua_pushfstring(L, "%s: %s", what, strerror(errno));
  return 2;
}

/* reactor:relay() -> relay, path | nil, message; connect to the path, then
** accept */
int reactor_lua_relay(lua_State *L) {
  reactor_Reactor *r = reactor_check(L);
  reactor_Relay *relay = (reactor_Relay *)lua_newuserdata(L, sizeof(*relay));
  reactor_relay_init(relay);
  luaL_getmetatable(L, RELAY_NAME);
  lua_setmetatable(L, -2);
  if (!reactor_relay_listen(relay, r->epoll)) {
    int listened = push_failure(L, "relay");
    reactor_relay_close(relay);
    return listened;
  }
  lua_pushstring(L, relay->path);
  return 2;
}

/* relay:accept() -> true | nil, message */
static int relay_accept(lua_State *L) {
  if (!reactor_relay_accept(check_relay(L))) return push_failure(L, "accept");
  lua_pushboolean(L, 1);
  return 1;
}

/* relay:acknowledge(): the byte was taken in, another may come */
static int relay_acknowledge(lua_State *L) {
  reactor_relay_acknowledge(check_relay(L));
  return 0;
}

/* relay:close(): closing twice does nothing */
static int relay_close(lua_State *L) {
  reactor_relay_close(check_relay(L));
  return 0;
}

static const luaL_Reg methods[] = {
    {"accept", relay_accept},
    {"acknowledge", relay_acknowledge},
    {"close", relay_close},
    {NULL, NULL},
};

void reactor_relay_open(lua_State *L) {
  ops_new_type(L, RELAY_NAME, methods, relay_close);
}
