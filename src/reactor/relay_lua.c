/*
** relay_lua.c - the relay for Lua.
*/
#include "reactor/reactor_lua.h"
#include "reactor/relay.h"

#include <errno.h>
#include <string.h>

#define RELAY_NAME "operations.relay"

static reactor_Relay *check_relay(lua_State *L) {
  return (reactor_Relay *)luaL_checkudata(L, 1, RELAY_NAME);
}

/* reactor:relay() -> relay, port, token | nil, message
** The program connects to 127.0.0.1 and sends the token first. */
int reactor_lua_relay(lua_State *L) {
  reactor_Reactor *r = reactor_check(L);
  reactor_Relay *relay = (reactor_Relay *)lua_newuserdata(L, sizeof(*relay));
  reactor_relay_init(relay);
  luaL_getmetatable(L, RELAY_NAME);
  lua_setmetatable(L, -2);
  if (!reactor_relay_start(relay, r->poller.fd)) {
    int error = errno;
    reactor_relay_close(relay);
    lua_pushnil(L);
    lua_pushfstring(L, "relay: %s", strerror(error));
    return 2;
  }
  lua_pushinteger(L, relay->port);
  lua_pushlstring(L, relay->token, sizeof(relay->token));
  return 3;
}

/* relay:acknowledge(): the byte was read, another may come */
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
    {"acknowledge", relay_acknowledge},
    {"close", relay_close},
    {NULL, NULL},
};

void reactor_relay_open(lua_State *L) {
  ops_new_type(L, RELAY_NAME, methods, relay_close);
}
