#include "value/json_lua.h"

#include <stdio.h>

#include "value/build.h"
#include "value/walk.h"
#include "base/lines.h"

/* LuaJIT's stack may not be large enough beyond this depth. */
#define MAX_DEPTH 2000
#define MAX_INDENT 16
/* The limit for a text that comes in pieces; one in memory has none. */
#define DEFAULT_SIZE ((size_t)16 << 20)
#define MAX_SIZE ((size_t)OPS_MAX_SAFE_INTEGER)

#define DECODER_TYPE "operations.json_decoder"
#define LINES_TYPE "operations.json_lines"

/* --- options ------------------------------------------------------------- */

/* The integer `name` of the options at `i` (a table or nothing).  Like the
** functions below, leaves the option on the stack. */
static size_t option_integer(lua_State *L, int i, const char *name,
                             size_t missing, size_t min, size_t max) {
  lua_Number n;
  if (lua_isnoneornil(L, i)) return missing;
  lua_getfield(L, i, name);
  if (lua_isnil(L, -1)) return missing;
  n = lua_type(L, -1) == LUA_TNUMBER ? lua_tonumber(L, -1) : -1;
  if (!(n >= (lua_Number)min && n <= (lua_Number)max &&
        n == (lua_Number)(size_t)n)) {
    char message[96];
    snprintf(message, sizeof(message),
             "%s: expected an integer from %zu to %zu", name, min, max);
    luaL_argerror(L, i, message);
  }
  return (size_t)n;
}

static bool option_boolean(lua_State *L, int i, const char *name) {
  if (lua_isnoneornil(L, i)) return false;
  lua_getfield(L, i, name);
  if (!lua_isnil(L, -1) && !lua_isboolean(L, -1)) {
    lua_pushfstring(L, "%s: expected a boolean, got %s", name,
                    luaL_typename(L, -1));
    luaL_argerror(L, i, lua_tostring(L, -1));
  }
  return lua_toboolean(L, -1);
}

/* Is the option `name` of the table at `i` "text"?  Otherwise it must be
** `normal` or absent. */
static bool option_text(lua_State *L, int i, const char *name,
                        const char *normal) {
  const char *value;
  bool is_text;
  if (lua_isnoneornil(L, i)) return false;
  lua_getfield(L, i, name);
  value = lua_type(L, -1) == LUA_TSTRING ? lua_tostring(L, -1) : "";
  is_text = strcmp(value, "text") == 0;
  if (!is_text && !lua_isnil(L, -1) && strcmp(value, normal) != 0) {
    lua_pushfstring(L, "%s: expected \"%s\" or \"text\"", name, normal);
    luaL_argerror(L, i, lua_tostring(L, -1));
  }
  return is_text;
}

static bool is_among(const char *name, const char *const *names) {
  while (*names != NULL && strcmp(*names, name) != 0) names++;
  return *names != NULL;
}

/* Checks that the options are absent, or a table with only the keys `names`. */
static void check_options(lua_State *L, int i, const char *const *names) {
  if (lua_isnoneornil(L, i)) return;
  luaL_checktype(L, i, LUA_TTABLE);
  for (lua_pushnil(L); lua_next(L, i); lua_pop(L, 1)) {
    const char *name =
        lua_type(L, -2) == LUA_TSTRING ? lua_tostring(L, -2) : NULL;
    if (name != NULL && is_among(name, names)) continue;
    lua_pushfstring(L, "%s: unknown option",
                    name != NULL ? name : luaL_typename(L, -2));
    luaL_argerror(L, i, lua_tostring(L, -1));
  }
}

static const char *const read_options[] = {
    "huge",     "integers",       "keep_order", "max_depth",
    "max_size", "property_order", "unique",     NULL};
static const char *const write_options[] = {"indent", "sort_keys", "keep_order",
                                            "max_depth", NULL};

/* --- decoding ------------------------------------------------------------ */

static void set_count(lua_State *L, const char *name, size_t n) {
  core_push_integer(L, (int64_t)n);
  lua_setfield(L, -2, name);
}

/* Pushes nil and the error object that says why reading ended. */
static void push_read_error(lua_State *L, const json_Error *error) {
  char message[JSON_MAX_MESSAGE + 96];
  snprintf(message, sizeof(message),
           "JSON, line %zu, column %zu (byte %zu): %s", error->line,
           error->column, error->offset + 1, error->message);
  lua_pushnil(L);
  lua_createtable(L, 0, 3);
  set_count(L, "offset", error->offset + 1);
  set_count(L, "line", error->line);
  set_count(L, "column", error->column);
  core_push_error(L, "VALIDATION_ERROR", message, -1);
  lua_remove(L, -2);
}

/* Explains why a handler stopped the reader: the builder cannot nest deeper, or
** a name occurred twice. */
static json_Status explain(json_Reader *r, const build_Builder *b,
                           json_Status status) {
  if (status == JSON_STOPPED)
    snprintf(r->error.message, JSON_MAX_MESSAGE, "%s",
             b->repeated
                 ? "two members of the object have one name"
                 : "nested deeper than the Lua stack or memory has room for");
  return status;
}

static void open_texts(lua_State *L, json_Texts *texts, size_t max_depth,
                       size_t max_size) {
  build_init(&texts->builder, L);
  json_init(&texts->reader, build_alloc(&texts->builder), max_depth, max_size,
            &build_handlers, &texts->builder);
}

void json_texts_open(lua_State *L, json_Texts *texts) {
  open_texts(L, texts, JSON_DEFAULT_DEPTH, MAX_SIZE);
}

/* Pushes the value of the text, or nil and the error. */
static bool read_text(json_Texts *texts, const char *text, size_t len) {
  lua_State *L = texts->builder.L;
  json_Reader *reader = &texts->reader;
  int top = lua_gettop(L);
  if (explain(reader, &texts->builder, json_read(reader, text, len)) == JSON_OK)
    return true;
  lua_settop(L, top);
  push_read_error(L, &reader->error);
  return false;
}

bool json_texts_push(json_Texts *texts, const char *text, size_t len) {
  json_restart(&texts->reader);
  build_restart(&texts->builder);
  return read_text(texts, text, len);
}

typedef struct ReadOptions {
  size_t max_depth, max_size;
  bool huge_as_text, integers_as_text, unique, ordered, all_ordered;
} ReadOptions;

static ReadOptions check_read_options(lua_State *L, int i, size_t max_size) {
  ReadOptions options;
  check_options(L, i, read_options);
  options.huge_as_text = option_text(L, i, "huge", "error");
  options.integers_as_text = option_text(L, i, "integers", "exact");
  options.unique = option_boolean(L, i, "unique");
  options.all_ordered = option_boolean(L, i, "keep_order");
  options.ordered =
      option_boolean(L, i, "property_order") || options.all_ordered;
  options.max_depth =
      option_integer(L, i, "max_depth", JSON_DEFAULT_DEPTH, 0, MAX_DEPTH);
  options.max_size = option_integer(L, i, "max_size", max_size, 0, MAX_SIZE);
  return options;
}

/* As read_text. */
static bool decode(lua_State *L, const char *text, size_t len,
                   const ReadOptions *options) {
  json_Texts texts;
  open_texts(L, &texts, options->max_depth, options->max_size);
  texts.reader.huge_as_text = options->huge_as_text;
  texts.builder.integers_as_text = options->integers_as_text;
  texts.builder.unique = options->unique;
  if (options->ordered) build_keep_order(&texts.builder, options->all_ordered);
  return read_text(&texts, text, len);
}

/* core.json_decode(text, { huge=, integers=, keep_order=, max_depth=,
**   max_size=, property_order=, unique= }?)
**   -> value | nil, err */
static int json_decode(lua_State *L) {
  size_t len;
  const char *text;
  ReadOptions options;
  luaL_checktype(L, 1, LUA_TSTRING);
  options = check_read_options(L, 2, MAX_SIZE);
  text = lua_tolstring(L, 1, &len);
  return decode(L, text, len, &options) ? 1 : 2;
}

/* core.json_line(text, from) -> next, value | next, nil, err
** Reads the line of `text` that begins at byte `from` as a JSON text.  next:
** where the next line begins; nil: this was the last one. */
static int json_line(lua_State *L) {
  size_t len, from;
  const char *text = luaL_checklstring(L, 1, &len), *end;
  lua_Number at = luaL_checknumber(L, 2);
  json_Texts texts;
  int count;
  luaL_argcheck(L, at >= 1 && at <= (lua_Number)len + 1, 2,
                "not a place in the text");
  from = (size_t)at - 1;
  end = (const char *)memchr(text + from, '\n', len - from);
  lua_settop(L, 2);
  if (end != NULL) lua_pushinteger(L, (lua_Integer)(end - text) + 2);
  else lua_pushnil(L);
  json_texts_open(L, &texts);
  len = end != NULL ? (size_t)(end - text) : len;
  count = json_texts_push(&texts, text + from, len - from) ? 1 : 2;
  lua_pushvalue(L, 3);
  lua_insert(L, -1 - count);
  return count + 1;
}

/* --- decoding lines ------------------------------------------------------ */

/* Upvalue of the functions that json_lines returns, beside the core state. */
#define LINES_SELF lua_upvalueindex(2)

typedef struct Lines {
  lines_Queue queue;
  bool ordered; /* the order of properties is kept */
  bool busy;    /* stays set after Lua's memory error */
} Lines;

static Lines *to_lines(lua_State *L) {
  Lines *lines = (Lines *)lua_touserdata(L, LINES_SELF);
  if (lines->busy) luaL_error(L, "the lines are in use, or failed within");
  return lines;
}

/* feed(bytes?): nil at the end of the stream */
static int lines_feed_bytes(lua_State *L) {
  Lines *lines = to_lines(L);
  size_t len;
  const char *bytes = luaL_optlstring(L, 1, NULL, &len);
  if (bytes == NULL) lines_queue_end(&lines->queue);
  else if (!lines_queue_add(&lines->queue, bytes, len))
    return luaL_error(L, "not enough memory");
  return 0;
}

static int push_dropped(lua_State *L, const lines_Line *line) {
  lua_pushnil(L);
  lua_pushnil(L);
  lua_pushlstring(L, line->bytes, line->len);
  lua_pushlstring(L, line->last, line->last_len);
  core_push_integer(L, (int64_t)line->size);
  return 5;
}

/* Pushes the value of a line, or nil and the error; returns their number. */
static int push_line(lua_State *L, const Lines *lines, const lines_Line *line) {
  json_Texts texts;
  json_texts_open(L, &texts);
  if (lines->ordered) build_keep_order(&texts.builder, false);
  return json_texts_push(&texts, line->bytes, line->len) ? 1 : 2;
}

/* next() -> value | nil, err, line | nil, nil, first, last, size | nothing */
static int lines_next(lua_State *L) {
  Lines *lines = to_lines(L);
  lines_Line line;
  lines_Found found = lines_queue_next(&lines->queue, &line);
  int count;
  if (found == LINES_NONE) return 0;
  if (found == LINES_DROPPED) return push_dropped(L, &line);
  lines->busy = true; /* the line is borrowed while a finalizer may run */
  count = push_line(L, lines, &line);
  if (count == 2) {
    lua_pushlstring(L, line.bytes, line.len);
    count = 3;
  }
  lines->busy = false;
  return count;
}

static int lines_gc(lua_State *L) {
  lines_queue_free(&((Lines *)lua_touserdata(L, 1))->queue);
  return 0;
}

/* core.json_lines(max, ordered?) -> feed, next
** Reads one JSON text per line, from bytes cut anywhere.  After each `feed`,
** call `next` until it returns nothing.  Of a line with more than `max` bytes,
** `next` returns its first and last bytes and its size.  Blank lines are
** skipped.  With `ordered`, the order of properties is kept. */
static int json_lines(lua_State *L) {
  lua_Number max = luaL_checknumber(L, 1);
  Lines *lines;
  bool ordered;
  luaL_argcheck(L, max >= 1 && max <= (lua_Number)MAX_SIZE, 1, "out of range");
  ordered = lua_toboolean(L, 2);
  lua_settop(L, 0);
  lua_pushvalue(L, lua_upvalueindex(1));
  lines = (Lines *)lua_newuserdata(L, sizeof(*lines));
  *lines = (Lines){.ordered = ordered};
  lines_queue_init(&lines->queue, core_alloc(L), (size_t)max);
  luaL_getmetatable(L, LINES_TYPE);
  lua_setmetatable(L, -2);
  lua_pushvalue(L, 1);
  lua_pushvalue(L, 2);
  lua_pushcclosure(L, lines_feed_bytes, 2);
  lua_insert(L, 1);
  lua_pushcclosure(L, lines_next, 2);
  return 2;
}

/* --- decoding piece by piece --------------------------------------------- */

/* Between two calls, the builder's part of the stack is kept in a table,
** the uservalue.  During a call the stack is: decoder, piece, the builder's
** part. */
typedef struct Decoder {
  json_Reader reader;
  build_Builder builder;
  int parked;          /* number of values in the table */
  bool busy, finished; /* busy stays set after Lua's memory error */
} Decoder;

#define DECODER_BASE 2

/* Moves the stack above DECODER_BASE into the decoder's table. */
static void park(lua_State *L, Decoder *d) {
  int top = lua_gettop(L), i;
  ops_getuservalue(L, 1);
  for (i = DECODER_BASE + 1; i <= top; i++) {
    lua_pushvalue(L, i);
    ops_rawseti(L, -2, (size_t)(i - DECODER_BASE));
  }
  for (i = top - DECODER_BASE + 1; i <= d->parked; i++) {
    lua_pushnil(L);
    ops_rawseti(L, -2, (size_t)i);
  }
  d->parked = top - DECODER_BASE;
  lua_settop(L, DECODER_BASE);
}

static void unpark(lua_State *L, Decoder *d) {
  int i;
  luaL_checkstack(L, d->parked + BUILD_WAITING + LUA_MINSTACK, "JSON");
  ops_getuservalue(L, 1);
  for (i = 1; i <= d->parked; i++) {
    ops_rawgeti(L, -1, (size_t)i);
    lua_insert(L, -2);
  }
  lua_pop(L, 1);
}

static Decoder *check_decoder(lua_State *L) {
  Decoder *d = (Decoder *)luaL_checkudata(L, 1, DECODER_TYPE);
  if (d->finished) luaL_error(L, "the decoder has finished");
  if (d->busy) luaL_error(L, "the decoder is in use, or failed within");
  return d;
}

/* core.json_decoder({ huge=, integers=, keep_order=, max_depth=, max_size=,
**   property_order=, unique= }?) -> decoder */
static int json_decoder(lua_State *L) {
  ReadOptions options = check_read_options(L, 1, DEFAULT_SIZE);
  Decoder *d;
  lua_settop(L, 0);
  d = (Decoder *)lua_newuserdata(L, sizeof(Decoder));
  json_init(&d->reader, core_alloc(L), options.max_depth, options.max_size,
            &build_handlers, &d->builder);
  d->reader.huge_as_text = options.huge_as_text;
  d->parked = 0;
  d->busy = d->finished = false;
  luaL_getmetatable(L, DECODER_TYPE);
  lua_setmetatable(L, 1);
  lua_newtable(L);
  ops_setuservalue(L, 1);
  lua_settop(L, DECODER_BASE);
  build_init(&d->builder, L);
  d->builder.integers_as_text = options.integers_as_text;
  d->builder.unique = options.unique;
  if (options.ordered) build_keep_order(&d->builder, options.all_ordered);
  park(L, d);
  lua_settop(L, 1);
  return 1;
}

/* decoder:feed(bytes) -> true | nil, err */
static int decoder_feed(lua_State *L) {
  Decoder *d = check_decoder(L);
  size_t len;
  const char *piece;
  json_Status status;
  luaL_checktype(L, 2, LUA_TSTRING);
  piece = lua_tolstring(L, 2, &len);
  lua_settop(L, DECODER_BASE);
  d->busy = true;
  build_move(&d->builder, L);
  unpark(L, d);
  status = explain(&d->reader, &d->builder, json_feed(&d->reader, piece, len));
  park(L, d);
  d->busy = false;
  lua_pushboolean(L, true);
  if (status == JSON_OK) return 1;
  push_read_error(L, &d->reader.error);
  return 2;
}

/* decoder:finish() -> value | nil, err */
static int decoder_finish(lua_State *L) {
  Decoder *d = check_decoder(L);
  lua_settop(L, DECODER_BASE);
  d->finished = true;
  build_move(&d->builder, L);
  unpark(L, d);
  if (explain(&d->reader, &d->builder, json_finish(&d->reader)) == JSON_OK)
    return 1;
  push_read_error(L, &d->reader.error);
  return 2;
}

/* decoder:__gc() */
static int decoder_gc(lua_State *L) {
  json_free(&((Decoder *)lua_touserdata(L, 1))->reader);
  return 0;
}

/* --- encoding ------------------------------------------------------------ */

/* core.json_encode(value, { indent=, sort_keys=, keep_order=, max_depth= }?)
**   -> string | nil, err */
static int json_encode(lua_State *L) {
  walk_Options options;
  luaL_checkany(L, 1);
  check_options(L, 2, write_options);
  options.max_depth =
      (int)option_integer(L, 2, "max_depth", JSON_DEFAULT_DEPTH, 0, MAX_DEPTH);
  options.indent = (int)option_integer(L, 2, "indent", 0, 0, MAX_INDENT);
  options.sort_keys = option_boolean(L, 2, "sort_keys");
  options.keep_order = option_boolean(L, 2, "keep_order");
  return walk_encode(L, 1, &options) ? 1 : 2;
}

/* core.json_members(name, value, ...) -> string | nil, err: the text of an
** object with these members, in this order, without those whose value is nil */
static int json_members(lua_State *L) {
  static const walk_Options options = {.max_depth = JSON_DEFAULT_DEPTH};
  int i, top = lua_gettop(L);
  for (i = 1; i <= top; i += 2) luaL_checktype(L, i, LUA_TSTRING);
  luaL_argcheck(L, top % 2 == 0, top, "a name without a value");
  return walk_members(L, 1, top, &options) ? 1 : 2;
}

void json_open(lua_State *L) {
  static const luaL_Reg functions[] = {
      {"json_decode", json_decode},
      {"json_decoder", json_decoder},
      {"json_line", json_line},
      {"json_encode", json_encode},
      {"json_members", json_members},
      {"json_lines", json_lines},
      {NULL, NULL},
  };
  static const luaL_Reg decoder_methods[] = {
      {"feed", decoder_feed},
      {"finish", decoder_finish},
      {NULL, NULL},
  };
  strings_open(L);
  core_setfuncs(L, functions);
  core_new_type(L, DECODER_TYPE, decoder_methods, decoder_gc);
  core_new_type(L, LINES_TYPE, NULL, lines_gc);
  walk_open(L);
}
