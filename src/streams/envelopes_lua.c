/*
** envelopes_lua.c - turns the body of a streamed HTTP answer into envelopes:
** bytes in, a queue of envelopes out, filled by the call that brings the bytes.
**
** The queue is a Lua table: [1] is the place that was taken last, the envelopes
** follow, and false comes after the last one.  The consumer increments [1].
** `objects` is true when the data of all envelopes is an unmarked table without
** [1], so that consumers need not check each one.
*/
#include "streams/streams.h"
#include "value/json_lua.h"
#include "base/lines.h"
#include "sse/sse.h"

#define READER_TYPE "operations.envelope_reader"

typedef enum Kind { KIND_EVENTS, KIND_LINES, KIND_SEQUENCE } Kind;

static const char *const kind_names[] = {"events", "lines", "sequence", NULL};

#define RECORD_SEPARATOR '\x1E' /* RFC 7464 */

/* Places in the uservalue.  BASE is the meta of the answer, META that of the
** previous item, whose name and id are KEPT_TYPE and KEPT_ID. */
enum { QUEUE = 1, BASE, META, KEPT_TYPE, KEPT_ID, DONE };

/* A string of the previous item, kept in the uservalue; NULL before the
** first. */
typedef struct Kept {
  const char *s;
  size_t len;
} Kept;

/* A JSON text without a known end is parsed at each line feed, until the bytes
** parsed are this many times its length (plus READ_FREELY). */
#define READ_AGAIN 16
#define READ_FREELY 65536

typedef struct Reader {
  Kind kind;
  sse_Parser *events; /* owned; NULL for other kinds, or not yet made */
  lines_Splitter lines;
  size_t max_event;
  bool json;         /* data is read as JSON, else it is text ... */
  json_Texts *texts; /* ... by these, while feeding */
  Kept type, id, done;
  bool objects;
  size_t
      read; /* bytes of the current record that were parsed, repeats included */
  bool over; /* the item that ends the stream has come */
  bool finished;
  lua_State *L; /* NULL unless feeding, or after a feed that raised */
  size_t tail;  /* while feeding: the number of places filled in the queue */
} Reader;

/* Stack indices of a feed. */
enum {
  ARG_READER = 1,
  ARG_BYTES,
  AT_VALUES,
  AT_QUEUE,
  AT_BASE,
  AT_META,
  AT_DATA_KEY,
  AT_META_KEY
};

static bool is_kept(const Kept *kept, const char *s, size_t len) {
  return kept->s != NULL && len == kept->len &&
         (len == 0 || memcmp(s, kept->s, len) == 0);
}

/* A long id may stay the same for many events: compares it only when it was
** set. */
static bool is_kept_id(const Reader *r, const sse_Event *event) {
  return event->new_id ? is_kept(&r->id, event->id, event->id_len)
                       : r->id.s != NULL;
}

/* Pushes a string and keeps it; pushes the kept one when it is the `same`. */
static void push_kept(Reader *r, Kept *kept, size_t place, bool same,
                      const char *s, size_t len) {
  lua_State *L = r->L;
  if (same) {
    (void)ops_rawgeti(L, AT_VALUES, place);
    return;
  }
  lua_pushlstring(L, s, len);
  lua_pushvalue(L, -1);
  ops_rawseti(L, AT_VALUES, place);
  kept->s = lua_tolstring(L, -1, &kept->len);
}

/* Pushes a copy of the answer's meta with the fields of the event. */
static void push_meta(Reader *r, const sse_Event *event) {
  lua_State *L = r->L;
  lua_createtable(L, 0, 8);
  for (lua_pushnil(L); lua_next(L, AT_BASE);) {
    lua_pushvalue(L, -2);
    lua_insert(L, -2);
    lua_rawset(L, -4);
  }
  push_kept(r, &r->type, KEPT_TYPE, false, event->type, event->type_len);
  lua_setfield(L, -2, "event");
  push_kept(r, &r->id, KEPT_ID, is_kept_id(r, event), event->id, event->id_len);
  lua_setfield(L, -2, "lastEventId");
  if (event->retry < 0) return;
  core_push_integer(L, event->retry);
  lua_setfield(L, -2, "retry");
}

/* Pushes the meta of an event.  Consecutive events with the same name and id
** and without a retry share one. */
static void push_meta_of(Reader *r, const sse_Event *event) {
  lua_State *L = r->L;
  if (event == NULL || (event->retry < 0 && is_kept_id(r, event) &&
                        is_kept(&r->type, event->type, event->type_len))) {
    lua_pushvalue(L, AT_META);
    return;
  }
  push_meta(r, event);
  if (event->retry >= 0) { /* for this event only */
    r->type.s = NULL;
    return;
  }
  lua_pushvalue(L, -1);
  ops_rawseti(L, AT_VALUES, META);
  lua_pushvalue(L, -1);
  lua_replace(L, AT_META);
}

/* Pushes the value of a text; invalid JSON stays text. */
static void push_data(Reader *r, const char *text, size_t len) {
  if (r->json && json_texts_push(r->texts, text, len)) {
    if (*text != '{') r->objects = false;
    return;
  }
  if (r->json) lua_pop(r->L, 2); /* drops nil and the error */
  lua_pushlstring(r->L, text, len);
  r->objects = false;
}

/* Appends the envelope of an item to the queue. */
static void enqueue(Reader *r, const char *text, size_t len,
                    const sse_Event *event) {
  lua_State *L = r->L;
  if (r->over) return;
  if (is_kept(&r->done, text, len)) {
    r->over = true;
    return;
  }
  lua_createtable(L, 0, 2);
  lua_pushvalue(L, AT_DATA_KEY);
  push_data(r, text, len);
  lua_rawset(L, -3);
  lua_pushvalue(L, AT_META_KEY);
  push_meta_of(r, event);
  lua_rawset(L, -3);
  ops_rawseti(L, AT_QUEUE, ++r->tail);
}

static void on_event(void *ud, const sse_Event *event) {
  enqueue((Reader *)ud, event->data, event->data_len, event);
}

static bool is_blank(const char *s, size_t len) {
  size_t i = 0;
  while (i < len && (s[i] == ' ' || (s[i] >= '\t' && s[i] <= '\r'))) i++;
  return i == len;
}

static void on_item(void *ud, const char *item, size_t len) {
  ((Reader *)ud)->read = 0;
  if (len > 0 && item[len - 1] == '\r') len--;
  if (!is_blank(item, len)) enqueue((Reader *)ud, item, len, NULL);
}

/* RFC 7464: a text ends with a line feed, even when the next record has not
** begun.  A text that is not yet complete JSON may continue. */
static void take_whole_record(Reader *r) {
  buffer_Buffer *rest = &r->lines.rest;
  bool whole;
  if (!r->json || rest->len == 0 || rest->data[rest->len - 1] != '\n') return;
  /* Keeps the time linear: a text in many pieces waits for the record's end. */
  if (r->read > READ_AGAIN * rest->len + READ_FREELY) return;
  r->read += rest->len;
  whole = json_texts_push(r->texts, rest->data, rest->len);
  lua_pop(r->L, whole ? 1 : 2);
  if (!whole) return;
  on_item(r, rest->data, rest->len);
  rest->len = 0;
}

static Reader *check_reader(lua_State *L) {
  Reader *r = (Reader *)luaL_checkudata(L, 1, READER_TYPE);
  luaL_argcheck(L, r->max_event > 0, 1, "the reader was collected");
  return r;
}

/* Pushes nil and the error of an item larger than max_event. */
static int push_too_large(lua_State *L, const Reader *r) {
  const char *message = lua_pushfstring(
      L, "an item of the stream is larger than max_event (%d bytes)",
      (int)r->max_event);
  lua_pushnil(L);
  lua_createtable(L, 0, 2);
  lua_pushliteral(L, "size");
  lua_setfield(L, -2, "kind");
  core_push_integer(L, (int64_t)r->max_event);
  lua_setfield(L, -2, "limit");
  core_push_error(L, "EXECUTION_ERROR", message, -1);
  lua_remove(L, -2);
  return 2;
}

/* Sets up the stack of a feed, above its arguments. */
static void begin(lua_State *L, Reader *r, json_Texts *texts) {
  static const int values[] = {QUEUE, BASE, META};
  size_t i;
  if (r->L !=
      NULL) /* called by a finalizer while feeding, or after a failure */
    luaL_error(L, "the reader is feeding, or has lost bytes");
  ops_getuservalue(L, ARG_READER);
  for (i = 0; i < sizeof(values) / sizeof(*values); i++)
    (void)ops_rawgeti(L, AT_VALUES, (size_t)values[i]);
  lua_pushliteral(L, "data");
  lua_pushliteral(L, "meta");
  (void)ops_rawgeti(L, AT_QUEUE, 1);
  if ((size_t)lua_tonumber(L, -1) == r->tail) { /* the consumer took all */
    lua_pushinteger(L, 1);
    ops_rawseti(L, AT_QUEUE, 1);
    r->tail = 1;
    r->objects = true;
  }
  lua_pop(L, 1);
  r->L = L;
  if (!r->json) return;
  json_texts_open(L, texts);
  r->texts = texts;
}

static void end(lua_State *L, Reader *r) {
  lua_pushboolean(L, 0);
  ops_rawseti(L, AT_QUEUE, r->tail + 1);
  lua_pushboolean(L, r->objects);
  lua_setfield(L, AT_QUEUE, "objects");
  r->texts = NULL;
  r->L = NULL;
}

typedef enum Status { FED, TOO_LARGE, FAILED } Status;

static Status feed(Reader *r, const char *bytes, size_t len) {
  if (r->kind == KIND_EVENTS) {
    sse_Status status = sse_feed(r->events, bytes, len);
    if (status == SSE_OK) return FED;
    return status == SSE_TOO_LARGE ? TOO_LARGE : FAILED;
  } else {
    lines_Status status = lines_feed(&r->lines, bytes, len, on_item, r);
    if (status == LINES_OK && r->kind == KIND_SEQUENCE) take_whole_record(r);
    if (status == LINES_OK) return FED;
    return status == LINES_TOO_LARGE ? TOO_LARGE : FAILED;
  }
}

/* The bytes at ARG_BYTES: a string, or an address followed by a length. */
static const char *check_bytes(lua_State *L, size_t *len) {
  lua_Number size;
  if (!lua_islightuserdata(L, ARG_BYTES))
    return luaL_checklstring(L, ARG_BYTES, len);
  size = luaL_checknumber(L, ARG_BYTES + 1);
  luaL_argcheck(L, size >= 0 && size <= INT32_MAX, 3, "out of range");
  *len = (size_t)size;
  return (const char *)lua_touserdata(L, ARG_BYTES);
}

/* reader:feed(bytes | address, size?) -> more | nil, err: puts the
** envelopes of all complete items into the queue; `more` is false when the
** stream has ended */
static int reader_feed(lua_State *L) {
  Reader *r = check_reader(L);
  json_Texts texts;
  size_t len;
  const char *bytes = check_bytes(L, &len);
  Status status;
  lua_settop(L, ARG_BYTES);
  if (r->finished) return luaL_error(L, "attempt to feed a finished reader");
  begin(L, r, &texts);
  status = feed(r, bytes, len);
  end(L, r);
  if (status == TOO_LARGE) return push_too_large(L, r);
  if (status == FAILED) return luaL_error(L, "not enough memory");
  lua_pushboolean(L, !r->over);
  return 1;
}

/* reader:finish(): the body has ended; remaining bytes are the last line */
static int reader_finish(lua_State *L) {
  Reader *r = check_reader(L);
  buffer_Buffer *rest = &r->lines.rest;
  json_Texts texts;
  lua_settop(L, ARG_BYTES);
  begin(L, r, &texts);
  r->finished = true;
  if (r->kind == KIND_EVENTS) sse_finish(r->events);
  else if (rest->len > 0) on_item(r, rest->data, rest->len);
  rest->len = 0;
  end(L, r);
  return 0;
}

/* reader:queue() -> the queue, always the same table */
static int reader_queue(lua_State *L) {
  check_reader(L);
  ops_getuservalue(L, 1);
  (void)ops_rawgeti(L, -1, QUEUE);
  return 1;
}

/* reader:last_event_id() -> string | nil */
static int reader_last_event_id(lua_State *L) {
  Reader *r = check_reader(L);
  size_t len;
  const char *id;
  if (r->kind != KIND_EVENTS) return 0;
  id = sse_last_id(r->events, &len);
  lua_pushlstring(L, id, len);
  return 1;
}

/* reader:retry() -> integer ms | nil */
static int reader_retry(lua_State *L) {
  Reader *r = check_reader(L);
  int64_t retry = r->kind == KIND_EVENTS ? sse_retry(r->events) : -1;
  if (retry < 0) return 0;
  core_push_integer(L, retry);
  return 1;
}

/* reader:__gc() */
static int reader_gc(lua_State *L) {
  Reader *r = (Reader *)luaL_checkudata(L, 1, READER_TYPE);
  sse_free(r->events);
  lines_free(&r->lines);
  r->events = NULL;
  r->max_event = 0;
  return 0;
}

/* Pushes the values that the reader keeps, from reader_create's arguments. */
static void push_values(lua_State *L, Reader *r) {
  lua_createtable(L, DONE, 0);
  lua_createtable(L, 2, 1);
  lua_pushinteger(L, 1);
  ops_rawseti(L, -2, 1);
  lua_pushboolean(L, 0);
  ops_rawseti(L, -2, 2);
  ops_rawseti(L, -2, QUEUE);
  lua_pushvalue(L, 2);
  ops_rawseti(L, -2, BASE);
  lua_pushvalue(L, 2);
  ops_rawseti(L, -2, META);
  if (!lua_isnoneornil(L, 5)) {
    lua_pushvalue(L, 5);
    ops_rawseti(L, -2, DONE);
    r->done.s = luaL_checklstring(L, 5, &r->done.len);
  }
}

static void open_events(lua_State *L, Reader *r, const char *id, size_t len) {
  ops_Alloc alloc = core_alloc(L);
  r->events = sse_new(&alloc, r->max_event, on_event, r);
  if (r->events == NULL || sse_set_last_id(r->events, id, len) != SSE_OK)
    luaL_error(L, "not enough memory");
}

/* core.envelope_reader(kind, meta, max_event, json, done?, last_event_id?)
** -> reader
** kind: "events" (server-sent), "lines" or "sequence" (JSON text sequences);
** meta: of the HTTP envelope of every item; max_event: bytes of one item; json:
** reads data as JSON, where invalid JSON stays text; done: the text of the item
** that ends the stream and is not an item itself. */
static int reader_create(lua_State *L) {
  int kind = luaL_checkoption(L, 1, NULL, kind_names);
  lua_Number max_event = luaL_checknumber(L, 3);
  size_t id_len;
  const char *id = luaL_optlstring(L, 6, "", &id_len);
  Reader *r;
  luaL_checktype(L, 2, LUA_TTABLE);
  luaL_argcheck(L, max_event >= 1 && max_event <= INT32_MAX, 3, "out of range");
  luaL_argcheck(L, id_len <= max_event, 6, "longer than max_event");
  lua_settop(L, 6);
  r = (Reader *)lua_newuserdata(L, sizeof(*r));
  *r = (Reader){.kind = (Kind)kind,
                .max_event = (size_t)max_event,
                .json = lua_toboolean(L, 4),
                .tail = 1,
                .objects = true};
  lines_init(&r->lines, core_alloc(L), r->max_event,
             kind == KIND_SEQUENCE ? RECORD_SEPARATOR : '\n');
  luaL_getmetatable(L, READER_TYPE);
  lua_setmetatable(L, -2);
  push_values(L, r);
  ops_setuservalue(L, -2);
  if (kind == KIND_EVENTS) open_events(L, r, id, id_len);
  return 1;
}

static const luaL_Reg reader_functions[] = {
    {"envelope_reader", reader_create},
    {NULL, NULL},
};

static const luaL_Reg reader_methods[] = {
    {"feed", reader_feed},   {"finish", reader_finish},
    {"queue", reader_queue}, {"last_event_id", reader_last_event_id},
    {"retry", reader_retry}, {NULL, NULL},
};

void envelopes_open(lua_State *L) {
  core_new_type(L, READER_TYPE, reader_methods, reader_gc);
  core_setfuncs(L, reader_functions);
}
