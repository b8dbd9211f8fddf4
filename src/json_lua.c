#include "json_lua.h"

#include <stdio.h>

#include "json_build.h"
#include "json_walk.h"

/* Deeper than this LuaJIT's stack does not go for sure. */
#define MAX_DEPTH 2000
#define MAX_INDENT 16

/* --- options ------------------------------------------------------------- */

/* The integer `name` of the options at `i` (a table or nothing). */
static size_t option_integer(lua_State *L, int i, const char *name,
                             size_t missing, size_t min, size_t max) {
  lua_Number n;
  if (lua_isnoneornil(L, i)) return missing;
  lua_getfield(L, i, name);
  if (lua_isnil(L, -1)) {
    lua_pop(L, 1);
    return missing;
  }
  n = lua_type(L, -1) == LUA_TNUMBER ? lua_tonumber(L, -1) : -1;
  if (!(n >= (lua_Number)min && n <= (lua_Number)max &&
        n == (lua_Number)(size_t)n)) {
    char message[96];
    snprintf(message, sizeof(message),
             "%s: expected an integer from %zu to %zu", name, min, max);
    luaL_argerror(L, i, message);
  }
  lua_pop(L, 1);
  return (size_t)n;
}

static bool option_boolean(lua_State *L, int i, const char *name) {
  bool value;
  if (lua_isnoneornil(L, i)) return false;
  lua_getfield(L, i, name);
  if (!lua_isnil(L, -1) && !lua_isboolean(L, -1)) {
    lua_pushfstring(L, "%s: expected a boolean, got %s", name,
                    luaL_typename(L, -1));
    luaL_argerror(L, i, lua_tostring(L, -1));
  }
  value = lua_toboolean(L, -1);
  lua_pop(L, 1);
  return value;
}

static void check_options(lua_State *L, int i) {
  if (!lua_isnoneornil(L, i)) luaL_checktype(L, i, LUA_TTABLE);
}

/* --- decoding ------------------------------------------------------------ */

static void set_count(lua_State *L, const char *name, size_t n) {
  core_push_integer(L, (int64_t)n);
  lua_setfield(L, -2, name);
}

/* Pushes nil and the error object for why reading ended. */
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

static bool decode(lua_State *L, const char *text, size_t len, size_t max_depth,
                   size_t max_size) {
  build_Builder builder;
  json_Reader reader;
  json_Status status;
  int top = lua_gettop(L);
  luaL_checkstack(L, LUA_MINSTACK, "JSON");
  build_init(&builder, L);
  json_init(&reader, build_alloc(&builder), max_depth, max_size,
            &build_handlers, &builder);
  status = json_read(&reader, text, len);
  if (status == JSON_OK) {
    lua_replace(L, top + 1);
    lua_settop(L, top + 1);
    return true;
  }
  if (status == JSON_STOPPED)
    strcpy(reader.error.message, "nested deeper than the Lua stack");
  lua_settop(L, top);
  push_read_error(L, &reader.error);
  return false;
}

bool json_push_value(lua_State *L, const char *text, size_t len) {
  return decode(L, text, len, JSON_DEFAULT_DEPTH, SIZE_MAX / 2);
}

/* core.json_decode(text, { max_depth=, max_size= }?) -> value | nil, err */
static int json_decode(lua_State *L) {
  size_t len, max_depth, max_size;
  const char *text;
  luaL_checktype(L, 1, LUA_TSTRING);
  check_options(L, 2);
  max_depth =
      option_integer(L, 2, "max_depth", JSON_DEFAULT_DEPTH, 0, MAX_DEPTH);
  max_size = option_integer(L, 2, "max_size", SIZE_MAX / 2, 0,
                            (size_t)OPS_MAX_SAFE_INTEGER);
  text = lua_tolstring(L, 1, &len);
  return decode(L, text, len, max_depth, max_size) ? 1 : 2;
}

/* --- encoding ------------------------------------------------------------ */

bool json_push_text(lua_State *L, int i) {
  static const walk_Options options = {JSON_DEFAULT_DEPTH, 0, false};
  return walk_encode(L, i, &options);
}

/* core.json_encode(value, { indent=, sort_keys=, max_depth= }?)
**   -> string | nil, err */
static int json_encode(lua_State *L) {
  walk_Options options;
  luaL_checkany(L, 1);
  check_options(L, 2);
  options.max_depth =
      (int)option_integer(L, 2, "max_depth", JSON_DEFAULT_DEPTH, 0, MAX_DEPTH);
  options.indent = (int)option_integer(L, 2, "indent", 0, 0, MAX_INDENT);
  options.sort_keys = option_boolean(L, 2, "sort_keys");
  return walk_encode(L, 1, &options) ? 1 : 2;
}

void json_open(lua_State *L) {
  static const luaL_Reg functions[] = {
      {"json_decode", json_decode},
      {"json_encode", json_encode},
      {NULL, NULL},
  };
  core_setfuncs(L, functions);
  walk_open(L);
}
