/*
** sse_lua.c - the event-stream parser for Lua.  Events go into a queue that
** lua/operations/sse.lua holds; who handles them is Lua's business.
*/
#include <math.h>

#include "core.h"
#include "sse.h"

#define SSE_TYPE "operations.sse"
#define DEFAULT_MAX_EVENT 1048576

/* Fields of one event in the queue: data, type, id, retry (false when none). */
#define EVENT_FIELDS 4

/* Names and ids mostly repeat: their last strings are kept in the uservalue,
** where `s` points into. */
typedef struct Cached {
  const char *s;
  size_t len;
} Cached;

enum { CACHED_TYPE = 1, CACHED_ID = 2 };

typedef struct Box {
  sse_Parser *parser; /* owned; NULL before it is made */
  size_t max_event;
  Cached type, id;
  lua_State *L; /* while feeding only, as is what follows */
  size_t tail;
} Box;

/* Stack of a feed. */
enum { ARG_PARSER = 1, ARG_BYTES, ARG_QUEUE, ARG_TAIL, STRINGS, TYPE, ID };

static void push_cached(Box *box, Cached *cached, int slot, int key,
                        const char *s, size_t len) {
  lua_State *L = box->L;
  if (cached->s == NULL || len != cached->len ||
      memcmp(s, cached->s, len) != 0) {
    lua_pushlstring(L, s, len);
    lua_pushvalue(L, -1);
    ops_rawseti(L, STRINGS, (size_t)key);
    lua_replace(L, slot);
    cached->s = lua_tolstring(L, slot, &cached->len);
  }
  lua_pushvalue(L, slot);
}

static void on_event(void *ud, const sse_Event *event) {
  Box *box = (Box *)ud;
  lua_State *L = box->L;
  size_t at = box->tail;
  lua_pushlstring(L, event->data, event->data_len);
  ops_rawseti(L, ARG_QUEUE, at + 1);
  push_cached(box, &box->type, TYPE, CACHED_TYPE, event->type, event->type_len);
  ops_rawseti(L, ARG_QUEUE, at + 2);
  push_cached(box, &box->id, ID, CACHED_ID, event->id, event->id_len);
  ops_rawseti(L, ARG_QUEUE, at + 3);
  if (event->retry < 0) lua_pushboolean(L, 0);
  else core_push_integer(L, event->retry);
  ops_rawseti(L, ARG_QUEUE, at + 4);
  box->tail = at + EVENT_FIELDS;
}

static Box *check_box(lua_State *L) {
  return (Box *)luaL_checkudata(L, 1, SSE_TYPE);
}

static size_t check_max_event(lua_State *L, int i) {
  lua_Number n = luaL_optnumber(L, i, DEFAULT_MAX_EVENT);
  luaL_argcheck(L, n >= 1 && n <= 2147483647.0 && n == floor(n), i,
                "max_event must be an integer from 1 to 2147483647 (bytes)");
  return (size_t)n;
}

/* core.sse_parser(max_event?, last_event_id?) -> parser */
static int sse_create(lua_State *L) {
  size_t id_len, max_event = check_max_event(L, 1);
  const char *id = luaL_optlstring(L, 2, "", &id_len);
  ops_Alloc alloc = core_alloc(L);
  Box *box = (Box *)lua_newuserdata(L, sizeof(*box));
  memset(box, 0, sizeof(*box));
  box->max_event = max_event;
  luaL_getmetatable(L, SSE_TYPE);
  lua_setmetatable(L, -2);
  lua_createtable(L, 2, 0);
  ops_setuservalue(L, -2);
  box->parser = sse_new(&alloc, max_event, on_event, box);
  if (box->parser == NULL) return luaL_error(L, "not enough memory");
  luaL_argcheck(L, id_len <= max_event, 2, "longer than max_event");
  if (sse_set_last_id(box->parser, id, id_len) != SSE_OK)
    return luaL_error(L, "not enough memory");
  return 1;
}

/* parser:__gc() */
static int sse_gc(lua_State *L) {
  Box *box = check_box(L);
  sse_free(box->parser);
  box->parser = NULL;
  return 0;
}

static void push_too_large(lua_State *L, const Box *box) {
  const char *message;
  lua_createtable(L, 0, 2);
  lua_pushliteral(L, "size");
  lua_setfield(L, -2, "kind");
  core_push_integer(L, (int64_t)box->max_event);
  lua_setfield(L, -2, "limit");
  message = lua_pushfstring(
      L, "a server-sent event is larger than max_event (%d bytes)",
      (int)box->max_event);
  core_push_error(L, "EXECUTION_ERROR", message, -2);
}

/* parser:feed(bytes, queue, tail) -> tail | tail, err */
static int sse_lua_feed(lua_State *L) {
  Box *box = check_box(L);
  size_t len;
  const char *bytes = luaL_checklstring(L, ARG_BYTES, &len);
  sse_Status status;
  luaL_checktype(L, ARG_QUEUE, LUA_TTABLE);
  box->tail = (size_t)luaL_checknumber(L, ARG_TAIL);
  lua_settop(L, ARG_TAIL);
  ops_getuservalue(L, ARG_PARSER);
  ops_rawgeti(L, STRINGS, CACHED_TYPE);
  ops_rawgeti(L, STRINGS, CACHED_ID);
  luaL_checkstack(L, 4, NULL);
  box->L = L;
  status = sse_feed(box->parser, bytes, len);
  lua_pushnumber(L, (lua_Number)box->tail);
  switch (status) {
  case SSE_OK: return 1;
  case SSE_TOO_LARGE: push_too_large(L, box); return 2;
  case SSE_FINISHED: return luaL_error(L, "attempt to feed a finished parser");
  case SSE_NO_MEMORY:
  case SSE_BUSY: break;
  }
  return luaL_error(L, "not enough memory");
}

/* parser:finish() */
static int sse_lua_finish(lua_State *L) {
  sse_finish(check_box(L)->parser);
  return 0;
}

/* parser:last_event_id() -> string */
static int sse_lua_last_event_id(lua_State *L) {
  size_t len;
  const char *id = sse_last_id(check_box(L)->parser, &len);
  lua_pushlstring(L, id, len);
  return 1;
}

/* parser:retry() -> integer ms | nil */
static int sse_lua_retry(lua_State *L) {
  int64_t retry = sse_retry(check_box(L)->parser);
  if (retry < 0) lua_pushnil(L);
  else core_push_integer(L, retry);
  return 1;
}

static const luaL_Reg sse_functions[] = {
    {"sse_parser", sse_create},
    {NULL, NULL},
};

static const luaL_Reg sse_methods[] = {
    {"feed", sse_lua_feed},
    {"finish", sse_lua_finish},
    {"last_event_id", sse_lua_last_event_id},
    {"retry", sse_lua_retry},
    {NULL, NULL},
};

static const luaL_Reg sse_meta[] = {
    {"__gc", sse_gc},
    {NULL, NULL},
};

void sse_open(lua_State *L) {
  core_newtype(L, SSE_TYPE, sse_methods, sse_meta);
  core_setfuncs(L, sse_functions);
}
