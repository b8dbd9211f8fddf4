/*
** connect_lua.c - reactor:connect and the events of its handles.
*/
#include "transfer/connect.h"
#include "transfer/transfer_lua.h"

static int push_event(lua_State *L, reactor_Op *op, reactor_Event event) {
  const connect_Connection *c = (const connect_Connection *)op;
  if (event != REACTOR_ERROR) return 0;
  if (c->connected) {
    lua_pushliteral(L, "reset");
    lua_pushstring(L, c->as.stream.reason);
    return 2;
  }
  lua_pushstring(L, c->as.transfer.kind);
  lua_pushstring(L, http_reason(&c->as.transfer));
  lua_pushstring(L, c->as.transfer.phase);
  return 3;
}

static stream_Stream *stream_of(reactor_Op *op) {
  connect_Connection *c = (connect_Connection *)op;
  return c->connected ? &c->as.stream : NULL;
}

static const reactor_Face connect_face = {push_event, stream_of};

/* reactor:connect(options, owner?) -> handle | nil, kind, message
** options: url ("http" or "https", host and port), connect_timeout (ms),
** ca_file, cert_file, key_file, key_password, proxy, public_only, window, queue
** (bytes).  Events: "head": connected; "data": handle:receive() has more;
** "drain": handle:transmit() may be tried again; "done": the other side sends
** no more; "error", kind, message, phase. */
static int transfer_lua_connect(lua_State *L) {
  reactor_Reactor *r = reactor_check(L);
  http_Request q = {.method = "GET",
                    .connect_only = true,
                    .max_headers = OPTION_UNLIMITED,
                    .window = OPTION_UNLIMITED};
  connect_Connection *c;
  luaL_checktype(L, 2, LUA_TTABLE);
  lua_settop(L, 3);
  c = (connect_Connection *)reactor_new_handle(L, sizeof(*c), &connect_face);
  reactor_options(L, 2, transfer_options, &q);
  if (q.url == NULL) return luaL_error(L, "bad options ('url' expected)");
  if (connect_start(r, c, &q, reactor_size_option(L, "queue"))) {
    lua_settop(L, 4);
    return 1;
  }
  lua_pushnil(L);
  lua_pushstring(L, c->as.transfer.kind);
  lua_pushstring(L, http_reason(&c->as.transfer));
  return 3;
}

static const luaL_Reg methods[] = {{"connect", transfer_lua_connect},
                                   {NULL, NULL}};

void transfer_connect_open(lua_State *L) {
  reactor_add_methods(L, REACTOR_NAME, methods);
}
