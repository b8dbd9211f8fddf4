/*
** stream_lua.c - reactor:listen, reactor:accept, reactor:connect_path,
** reactor:stdin and reactor:stdout; events and methods of stream handles.
*/
#include "reactor/listener.h"
#include "reactor/local.h"
#include "reactor/reactor_lua.h"
#include "reactor/stdio.h"

#include <arpa/inet.h>
#include <errno.h>

#define PRIVATE 0600 /* who may connect to a Unix socket: its owner */

static int push_event(lua_State *L, reactor_Op *op, reactor_Event event) {
  if (event != REACTOR_ERROR) return 0;
  lua_pushliteral(L, "reset");
  lua_pushstring(L, ((const stream_Stream *)op)->reason);
  return 2;
}

static stream_Stream *stream_of(reactor_Op *op) {
  return (stream_Stream *)op;
}

static int push_nothing(lua_State *L, reactor_Op *op, reactor_Event event) {
  (void)L, (void)op, (void)event;
  return 0;
}

static const reactor_Face stream_face = {push_event, stream_of};
static const reactor_Face listener_face = {push_nothing, NULL};

static int push_failure(lua_State *L, int error) {
  lua_pushnil(L);
  lua_pushstring(L, error == EAGAIN ? "wait" : strerror(error));
  return 2;
}

/* reactor:listen(options, owner?) -> handle | nil, message
** options: host (a numeric address) and port (0: any), or path (of a Unix
** socket) and mode (of its file); backlog.  Says "data" when a connection
** waits for reactor:accept(). */
int reactor_lua_listen(lua_State *L) {
  reactor_Reactor *r = reactor_check(L);
  listener_Listener *l;
  const char *host, *path;
  int port, backlog;
  mode_t mode;
  luaL_checktype(L, 2, LUA_TTABLE);
  lua_settop(L, 3);
  l = (listener_Listener *)reactor_new_handle(L, sizeof(*l), &listener_face);
  host = reactor_text_option(L, "host");
  path = reactor_text_option(L, "path");
  port = (int)reactor_number_option(L, "port", 0);
  mode = (mode_t)reactor_number_option(L, "mode", PRIVATE);
  backlog = (int)reactor_number_option(L, "backlog", 128);
  if (host == NULL && path == NULL)
    return luaL_error(L, "bad options ('host' or 'path' expected)");
  if (path != NULL ? !listener_open_path(r, l, path, mode, backlog)
                   : !listener_open(r, l, host, port, backlog))
    return push_failure(L, errno);
  lua_settop(L, 4);
  return 1;
}

static listener_Listener *to_listener(lua_State *L, int index) {
  reactor_Op *op = (reactor_Op *)luaL_checkudata(L, index, REACTOR_HANDLE_NAME);
  if (op->face != &listener_face || op->reactor == NULL)
    luaL_argerror(L, 2, "no listener, or one that was cancelled");
  return (listener_Listener *)op;
}

/* reactor:accept(options, owner?) -> handle | nil, "wait" or message
** options: listener, window, queue.  The handle is one of a connected stream;
** after "wait", the listener says "data" when a connection waits. */
int reactor_lua_accept(lua_State *L) {
  stream_Stream *s;
  listener_Listener *l;
  size_t window, queue;
  reactor_check(L);
  luaL_checktype(L, 2, LUA_TTABLE);
  lua_settop(L, 3);
  s = (stream_Stream *)reactor_new_handle(L, sizeof(*s), &stream_face);
  window = reactor_size_option(L, "window");
  queue = reactor_size_option(L, "queue");
  lua_getfield(L, 2, "listener");
  l = to_listener(L, -1);
  if (!listener_accept(l, s, window, queue)) return push_failure(L, errno);
  lua_settop(L, 4);
  return 1;
}

/* reactor:connect_path(options, owner?) -> handle | nil, message
** options: path (of a Unix socket), window, queue.  The handle is one of a
** connected stream, to a process of the same user. */
int reactor_lua_connect_path(lua_State *L) {
  reactor_Reactor *r = reactor_check(L);
  stream_Stream *s;
  const char *path;
  luaL_checktype(L, 2, LUA_TTABLE);
  lua_settop(L, 3);
  s = (stream_Stream *)reactor_new_handle(L, sizeof(*s), &stream_face);
  path = reactor_text_option(L, "path");
  if (path == NULL) return luaL_error(L, "bad options ('path' expected)");
  if (!local_connect(r, s, path, reactor_size_option(L, "window"),
                     reactor_size_option(L, "queue"))) {
    lua_pushnil(L);
    lua_pushstring(L, strerror(errno));
    return 2;
  }
  lua_settop(L, 4);
  return 1;
}

/* reactor:stdin(options, owner?) -> handle | nil, message
** options: window.  From then on only the program may read it. */
int reactor_lua_stdin(lua_State *L) {
  reactor_Reactor *r = reactor_check(L);
  stdio_Stream *s;
  luaL_checktype(L, 2, LUA_TTABLE);
  lua_settop(L, 3);
  s = (stdio_Stream *)reactor_new_handle(L, sizeof(*s), &stream_face);
  s->stream.window = reactor_size_option(L, "window");
  if (!stdio_take_input(r, s)) return push_failure(L, errno);
  lua_settop(L, 4);
  return 1;
}

/* reactor:stdout(options, owner?) -> handle | nil, message
** options: queue.  What others write to stdout goes to stderr from then on. */
int reactor_lua_stdout(lua_State *L) {
  reactor_Reactor *r = reactor_check(L);
  stdio_Stream *s;
  luaL_checktype(L, 2, LUA_TTABLE);
  lua_settop(L, 3);
  s = (stdio_Stream *)reactor_new_handle(L, sizeof(*s), &stream_face);
  s->stream.queue = reactor_size_option(L, "queue");
  if (!stdio_take_output(r, s)) return push_failure(L, errno);
  lua_settop(L, 4);
  return 1;
}

static stream_Stream *check_stream(lua_State *L) {
  reactor_Op *op = reactor_check_handle(L);
  const reactor_Face *face = (const reactor_Face *)op->face;
  stream_Stream *s = face->stream != NULL ? face->stream(op) : NULL;
  if (s == NULL) luaL_argerror(L, 1, "not a stream that is connected");
  return s;
}

/* handle:receive() -> bytes | nil; what came so far */
static int stream_lua_receive(lua_State *L) {
  stream_Stream *s = check_stream(L);
  const char *bytes;
  size_t length = stream_unread(s, &bytes);
  if (length == 0) {
    lua_pushnil(L);
    return 1;
  }
  lua_pushlstring(L, bytes, length);
  stream_drained(s);
  return 1;
}

/* handle:transmit(bytes, urgent?) -> "sent"|"full"|"closed" */
static int stream_lua_transmit(lua_State *L) {
  static const char *const names[] = {"sent", "full", "closed"};
  stream_Stream *s = check_stream(L);
  size_t length;
  const char *bytes = luaL_checklstring(L, 2, &length);
  stream_Sent sent = stream_send(s, bytes, length, lua_toboolean(L, 3));
  if (sent == STREAM_MEMORY) return luaL_error(L, "not enough memory");
  lua_pushstring(L, names[sent]);
  return 1;
}

/* handle:finish_sending(): behind what is queued */
static int stream_lua_finish_sending(lua_State *L) {
  stream_finish(check_stream(L));
  return 0;
}

/* handle:unsent(flushing?) -> integer | nil; bytes that are queued, nil when it
** is closed; with `flushing`, "drain" comes when they are sent */
static int stream_lua_unsent(lua_State *L) {
  size_t bytes;
  if (stream_unsent(check_stream(L), lua_toboolean(L, 2), &bytes))
    lua_pushinteger(L, (lua_Integer)bytes);
  else lua_pushnil(L);
  return 1;
}

/* handle:peer() -> address, port | nil; "unix:" and nil for a Unix socket */
static int stream_lua_peer(lua_State *L) {
  char host[INET6_ADDRSTRLEN];
  int port;
  if (!stream_peer(check_stream(L), host, sizeof(host), &port)) {
    lua_pushnil(L);
    return 1;
  }
  lua_pushstring(L, host);
  if (port == 0) return 1;
  lua_pushinteger(L, port);
  return 2;
}

/* handle:port() -> integer; of a listener */
static int listener_lua_port(lua_State *L) {
  reactor_Op *op = reactor_check_handle(L);
  if (op->face != &listener_face) luaL_argerror(L, 1, "not a listener");
  lua_pushinteger(L, ((listener_Listener *)op)->port);
  return 1;
}

static const luaL_Reg stream_methods[] = {
    {"receive", stream_lua_receive},
    {"transmit", stream_lua_transmit},
    {"finish_sending", stream_lua_finish_sending},
    {"unsent", stream_lua_unsent},
    {"peer", stream_lua_peer},
    {"port", listener_lua_port},
    {NULL, NULL},
};

void reactor_stream_open(lua_State *L) {
  reactor_add_methods(L, REACTOR_HANDLE_NAME, stream_methods);
}
