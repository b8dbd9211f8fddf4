/*
** websocket_lua.c - luaopen_operations_websocket: framing for Lua.
*/
#include "lua/build.h"
#include "base/sha1.h"
#include "websocket/websocket.h"

#define CODEC_NAME "operations.websocket"

static websocket_Codec *check_codec(lua_State *L) {
  websocket_Codec *c = (websocket_Codec *)luaL_checkudata(L, 1, CODEC_NAME);
  luaL_argcheck(L, c->wslay != NULL, 1, "the codec is closed");
  return c;
}

/* websocket.codec(server, max_message) -> codec */
static int codec_create(lua_State *L) {
  bool server = lua_toboolean(L, 1);
  lua_Number max = luaL_checknumber(L, 2);
  websocket_Codec *c;
  ops_Alloc alloc;
  luaL_argcheck(L, max >= 1 && max < 1e15, 2, "bytes expected");
  c = (websocket_Codec *)lua_newuserdata(L, sizeof(*c));
  memset(c, 0, sizeof(*c));
  luaL_getmetatable(L, CODEC_NAME);
  lua_setmetatable(L, -2);
  alloc.fn = lua_getallocf(L, &alloc.ud);
  if (!websocket_open(c, alloc, server, (size_t)max))
    return luaL_error(L, "not enough memory");
  return 1;
}

static const char *kind_name(websocket_Kind kind) {
  switch (kind) {
  case WEBSOCKET_TEXT: return "text";
  case WEBSOCKET_BINARY: return "binary";
  case WEBSOCKET_CLOSE: return "close";
  case WEBSOCKET_PING: return "ping";
  default: return "pong";
  }
}

/* codec:feed(bytes) -> open, messages, unfinished
** messages: an array of kind, payload, kind, ...; the payload of "close" is
** "<code> <reason>"; unfinished: bytes of a message that has not ended */
static int codec_feed(lua_State *L) {
  websocket_Codec *c = check_codec(L);
  websocket_Message message;
  size_t length, position = 0, n = 0;
  const char *bytes = luaL_checklstring(L, 2, &length);
  bool open = websocket_feed(c, bytes, length);
  if (c->starved) return luaL_error(L, "not enough memory");
  lua_pushboolean(L, open);
  lua_newtable(L);
  while (websocket_next(c, &position, &message)) {
    lua_pushstring(L, kind_name(message.kind));
    ops_rawseti(L, -2, ++n);
    if (message.kind == WEBSOCKET_CLOSE) {
      lua_pushfstring(L, "%d ", (int)message.code);
      lua_pushlstring(L, message.bytes, message.length);
      lua_concat(L, 2);
    } else {
      lua_pushlstring(L, message.bytes, message.length);
    }
    ops_rawseti(L, -2, ++n);
  }
  lua_pushinteger(L, (lua_Integer)c->part.len);
  return 3;
}

/* Pushes the bytes to send; nil when there are none. */
static int push_output(lua_State *L, websocket_Codec *c) {
  if (c->out.len == 0) {
    lua_pushnil(L);
  } else {
    lua_pushlstring(L, c->out.data, c->out.len);
    c->out.len = 0;
    if (c->out.capacity > 65536) buffer_free(&c->out);
  }
  return 1;
}

/* codec:output() -> bytes | nil; the pongs and close frames caused by a feed */
static int codec_output(lua_State *L) {
  return push_output(L, check_codec(L));
}

static int send(lua_State *L, websocket_Kind kind, uint16_t code, int index) {
  websocket_Codec *c = check_codec(L);
  websocket_Message message;
  message.kind = kind;
  message.code = code;
  message.bytes = luaL_optlstring(L, index, "", &message.length);
  if (websocket_send(c, &message)) return push_output(L, c);
  if (c->starved) return luaL_error(L, "not enough memory");
  lua_pushnil(L);
  return 1;
}

/* codec:text(message) -> bytes to send | nil when it is closed */
static int codec_text(lua_State *L) {
  luaL_checkstring(L, 2);
  return send(L, WEBSOCKET_TEXT, 0, 2);
}

/* codec:ping(payload?) -> bytes | nil */
static int codec_ping(lua_State *L) {
  return send(L, WEBSOCKET_PING, 0, 2);
}

/* codec:close(code, reason?) -> bytes | nil */
static int codec_close(lua_State *L) {
  lua_Integer code = luaL_checkinteger(L, 2);
  luaL_argcheck(L, code >= 1000 && code < 5000, 2, "close code expected");
  return send(L, WEBSOCKET_CLOSE, (uint16_t)code, 3);
}

static int codec_gc(lua_State *L) {
  websocket_close((websocket_Codec *)luaL_checkudata(L, 1, CODEC_NAME));
  return 0;
}

/* websocket.sha1(bytes) -> digest, 20 bytes */
static int websocket_sha1(lua_State *L) {
  unsigned char digest[SHA1_SIZE];
  size_t length;
  const char *bytes = luaL_checklstring(L, 1, &length);
  sha1(bytes, length, digest);
  lua_pushlstring(L, (const char *)digest, sizeof(digest));
  return 1;
}

static const luaL_Reg codec_methods[] = {
    {"feed", codec_feed}, {"output", codec_output}, {"text", codec_text},
    {"ping", codec_ping}, {"close", codec_close},   {NULL, NULL},
};

static const luaL_Reg functions[] = {
    {"codec", codec_create},
    {"sha1", websocket_sha1},
    {NULL, NULL},
};

BUILD_SHOWN int luaopen_operations_websocket(lua_State *L);

int luaopen_operations_websocket(lua_State *L) {
  build_check(L, "operations.websocket");
  ops_new_type(L, CODEC_NAME, codec_methods, codec_gc);
  lua_newtable(L);
  ops_setfuncs(L, functions, 0);
  return 1;
}
