/*
** sse_lua.c - the event-stream parser for Lua.  Events go into a queue that
** lua/operations/base/sse.lua holds; C calls no handler.
*/
#include "streams/streams.h"
#include "value/json_lua.h"
#include "sse/sse.h"

#define SSE_TYPE "operations.base.sse"

/* Names and ids usually stay the same from one event to the next: the strings
** of the previous event are kept in the uservalue; `s` points into it. */
typedef struct Kept {
  const char *s; /* NULL before the first event */
  size_t len;
} Kept;

/* Places in the uservalue. */
enum { KEPT_TYPE = 1, KEPT_ID };

typedef struct Box {
  sse_Parser *parser; /* owned; NULL before it is made */
  size_t max_event;
  bool json;         /* the data is read as JSON ... */
  json_Texts *texts; /* ... by these, while feeding */
  Kept type, id;
  lua_State *L; /* NULL unless feeding, or after a feed that raised */
  size_t tail;  /* while feeding: the number of places filled in the queue */
} Box;

/* Stack indices of a feed. */
enum { ARG_PARSER = 1, ARG_BYTES, ARG_QUEUE, ARG_TAIL, STRINGS };

/* Appends the value on top of the stack to the queue. */
static void enqueue(Box *box) {
  ops_rawseti(box->L, ARG_QUEUE, ++box->tail);
}

static bool is_kept(const Kept *kept, const char *s, size_t len) {
  return kept->s != NULL && len == kept->len &&
         (len == 0 || memcmp(s, kept->s, len) == 0);
}

/* A long id may stay the same for many events: compares it only when it was
** set. */
static bool is_kept_id(const Kept *kept, const sse_Event *event) {
  return event->new_id ? is_kept(kept, event->id, event->id_len)
                       : kept->s != NULL;
}

/* Pushes a string; the kept one when it is the `same`. */
static void push_kept(Box *box, Kept *kept, int place, bool same, const char *s,
                      size_t len) {
  lua_State *L = box->L;
  if (!same) {
    lua_pushlstring(L, s, len);
    lua_pushvalue(L, -1);
    ops_rawseti(L, STRINGS, (size_t)place);
    kept->s = lua_tolstring(L, -1, &kept->len);
  } else {
    (void)ops_rawgeti(L, STRINGS, (size_t)place);
  }
}

/* Appends a note about the event that follows in the queue: the queue itself as
** a mark, then name, id, retry and the error at index `error` (false: none). */
static void enqueue_note(Box *box, const sse_Event *event, int error) {
  lua_State *L = box->L;
  lua_pushvalue(L, ARG_QUEUE);
  enqueue(box);
  push_kept(box, &box->type, KEPT_TYPE,
            is_kept(&box->type, event->type, event->type_len), event->type,
            event->type_len);
  enqueue(box);
  push_kept(box, &box->id, KEPT_ID, is_kept_id(&box->id, event), event->id,
            event->id_len);
  enqueue(box);
  if (event->retry < 0) lua_pushboolean(L, 0);
  else core_push_integer(L, event->retry);
  enqueue(box);
  if (error == 0) lua_pushboolean(L, 0);
  else lua_pushvalue(L, error);
  enqueue(box);
}

/* Pushes the event's data; returns the index of the error, 0 when there is
** none. */
static int push_data(Box *box, const sse_Event *event) {
  lua_State *L = box->L;
  bool valid;
  if (!box->json) {
    lua_pushlstring(L, event->data, event->data_len);
    return 0;
  }
  valid = json_texts_push(box->texts, event->data, event->data_len);
  if (valid) return 0;
  lua_remove(L, -2); /* removes the nil before the error */
  lua_pushlstring(L, event->data, event->data_len);
  return lua_gettop(L) - 1;
}

/* Appends an event: its data, after a note if its name or id differs from the
** previous event, a retry came, or the data could not be read. */
static void on_event(void *ud, const sse_Event *event) {
  Box *box = (Box *)ud;
  int error = push_data(box, event);
  if (event->retry >= 0 || error != 0 || !is_kept_id(&box->id, event) ||
      !is_kept(&box->type, event->type, event->type_len))
    enqueue_note(box, event, error);
  enqueue(box);
  if (error != 0) lua_pop(box->L, 1);
}

static Box *check_box(lua_State *L) {
  Box *box = (Box *)luaL_checkudata(L, 1, SSE_TYPE);
  luaL_argcheck(L, box->parser != NULL, 1, "the parser was collected");
  return box;
}

/* core.sse_parser(max_event, last_event_id?, json?) -> parser */
static int sse_create(lua_State *L) {
  lua_Number max_event = luaL_checknumber(L, 1);
  size_t id_len;
  const char *id = luaL_optlstring(L, 2, "", &id_len);
  ops_Alloc alloc = core_alloc(L);
  Box *box;
  luaL_argcheck(L, max_event >= 1 && max_event <= INT32_MAX, 1, "out of range");
  luaL_argcheck(L, id_len <= max_event, 2, "longer than max_event");
  lua_settop(L, 3);
  box = (Box *)lua_newuserdata(L, sizeof(*box));
  *box = (Box){.max_event = (size_t)max_event, .json = lua_toboolean(L, 3)};
  luaL_getmetatable(L, SSE_TYPE);
  lua_setmetatable(L, -2);
  lua_createtable(L, 2, 0);
  ops_setuservalue(L, -2);
  box->parser = sse_new(&alloc, box->max_event, on_event, box);
  if (box->parser == NULL || sse_set_last_id(box->parser, id, id_len) != SSE_OK)
    return luaL_error(L, "not enough memory");
  return 1;
}

/* parser:__gc() */
static int sse_gc(lua_State *L) {
  Box *box = (Box *)luaL_checkudata(L, 1, SSE_TYPE);
  sse_free(box->parser);
  box->parser = NULL;
  return 0;
}

static void push_too_large(lua_State *L, const Box *box) {
  const char *message = lua_pushfstring(
      L, "a server-sent event is larger than max_event (%d bytes)",
      (int)box->max_event);
  lua_createtable(L, 0, 2);
  lua_pushliteral(L, "size");
  lua_setfield(L, -2, "kind");
  core_push_integer(L, (int64_t)box->max_event);
  lua_setfield(L, -2, "limit");
  core_push_error(L, "EXECUTION_ERROR", message, -1);
  lua_replace(L, -3);
  lua_pop(L, 1);
}

static sse_Status feed(lua_State *L, Box *box, const char *bytes, size_t len) {
  json_Texts texts;
  sse_Status status;
  box->L = L;
  if (box->json) {
    json_texts_open(L, &texts);
    box->texts = &texts;
  }
  status = sse_feed(box->parser, bytes, len);
  lua_pushvalue(L, ARG_QUEUE);
  ops_rawseti(L, ARG_QUEUE, box->tail + 1);
  box->texts = NULL;
  box->L = NULL;
  return status;
}

/* parser:feed(bytes, queue, tail) -> tail | tail, err: appends to the queue
** after place `tail`, and puts the mark after the new tail */
static int sse_lua_feed(lua_State *L) {
  Box *box = check_box(L);
  size_t len;
  const char *bytes = luaL_checklstring(L, ARG_BYTES, &len);
  sse_Status status;
  luaL_checktype(L, ARG_QUEUE, LUA_TTABLE);
  if (box->L !=
      NULL) /* called by a finalizer while feeding, or after a failure */
    return luaL_error(L, "the parser is feeding, or has lost bytes");
  box->tail = (size_t)luaL_checknumber(L, ARG_TAIL);
  lua_settop(L, ARG_TAIL);
  ops_getuservalue(L, ARG_PARSER);
  status = feed(L, box, bytes, len);
  switch (status) {
  case SSE_OK: lua_pushnumber(L, (lua_Number)box->tail); return 1;
  case SSE_TOO_LARGE:
    lua_pushnumber(L, (lua_Number)box->tail);
    push_too_large(L, box);
    return 2;
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

void sse_open(lua_State *L) {
  core_new_type(L, SSE_TYPE, sse_methods, sse_gc);
  core_setfuncs(L, sse_functions);
}
