#include "registry/envelope.h"

/* Pushes raw `t[key]` and returns its type. */
static int raw_field(lua_State *L, int t, const char *key) {
  t = ops_absindex(L, t);
  lua_pushstring(L, key);
  return ops_rawget(L, t);
}

static bool field_is(lua_State *L, int t, const char *key, int type) {
  bool same = raw_field(L, t, key) == type;
  lua_pop(L, 1);
  return same;
}

/* Is t[key] an array, or an empty table that may be one? */
static bool field_is_list(lua_State *L, int t, const char *key) {
  value_Kind kind;
  raw_field(L, t, key);
  kind = value_kind(L, core_state(L), -1);
  lua_pop(L, 1);
  return kind == VALUE_ARRAY || kind == VALUE_EMPTY;
}

bool envelope_knows_meta(lua_State *L) {
  const char *source;
  bool known = false;
  if (raw_field(L, -1, "source") == LUA_TSTRING) {
    source = lua_tostring(L, -1);
    if (strcmp(source, "local") == 0)
      known = field_is(L, -2, "operationId", LUA_TSTRING) &&
              field_is(L, -2, "timestamp", LUA_TNUMBER);
    else if (strcmp(source, "http") == 0)
      known = field_is(L, -2, "statusCode", LUA_TNUMBER);
    else if (strcmp(source, "mcp") == 0)
      known = field_is(L, -2, "isError", LUA_TBOOLEAN) &&
              field_is_list(L, -2, "content");
  }
  lua_pop(L, 1);
  return known;
}

const char *envelope_needs(lua_State *L) {
  static const struct {
    const char *source, *needs;
  } known[] = {{"local", "operationId, a string, and timestamp, a number"},
               {"http", "statusCode, a number"},
               {"mcp", "isError, a boolean, and content, an array"}};
  const char *needs = NULL;
  size_t i;
  if (raw_field(L, -1, "source") == LUA_TSTRING) {
    for (i = 0; i < sizeof(known) / sizeof(*known); i++)
      if (strcmp(lua_tostring(L, -1), known[i].source) == 0)
        needs = known[i].needs;
  }
  lua_pop(L, 1);
  return needs;
}

void envelope_push_keys(lua_State *L) {
  lua_pushliteral(L, "data");
  lua_pushliteral(L, "meta");
  lua_pushliteral(L, "source");
  lua_pushliteral(L, "local");
  lua_pushliteral(L, "operationId");
  lua_pushliteral(L, "timestamp");
}

/* Is the value at `i` a response envelope: a table whose meta names a known
** source and has the fields of that source?  Raw reads only. */
static bool envelope_is(lua_State *L, int i, int keys) {
  bool is;
  if (lua_type(L, i) != LUA_TTABLE) return false;
  i = ops_absindex(L, i);
  envelope_push_meta(L, i, keys);
  is = envelope_is_meta(L);
  lua_pop(L, 1);
  return is;
}

void envelope_push(lua_State *L, int data, int meta, int keys) {
  lua_createtable(L, 0, 2);
  lua_pushvalue(L, keys - ENVELOPE_DATA);
  lua_pushvalue(L, data);
  lua_rawset(L, -3);
  lua_pushvalue(L, keys - ENVELOPE_META);
  lua_pushvalue(L, meta);
  lua_rawset(L, -3);
}

/* Makes few API calls: under LuaJIT each is expensive. */
void envelope_push_local(lua_State *L, int data, int id, int keys) {
  lua_createtable(L, 0, 2);
  lua_pushvalue(L, keys - ENVELOPE_DATA);
  lua_pushvalue(L, data);
  lua_rawset(L, -3);
  lua_pushvalue(L, keys - ENVELOPE_META);
  lua_createtable(L, 0, 3);
  lua_pushvalue(L, keys - ENVELOPE_SOURCE);
  lua_pushvalue(L, keys - ENVELOPE_LOCAL);
  lua_rawset(L, -3);
  lua_pushvalue(L, keys - ENVELOPE_OPERATION_ID);
  lua_pushvalue(L, id);
  lua_rawset(L, -3);
  lua_pushvalue(L, keys - ENVELOPE_TIMESTAMP);
  core_push_integer(L, core_now());
  lua_rawset(L, -3);
  lua_rawset(L, -3);
}

/* Upvalues of every function here: 1 is the core state, then the strings. */
#define KEYS lua_upvalueindex(2)

/* core.local_envelope(data, id) -> envelope */
static int local_envelope(lua_State *L) {
  luaL_checktype(L, 2, LUA_TSTRING);
  lua_settop(L, 2);
  envelope_push_local(L, 1, 2, KEYS);
  return 1;
}

/* The stack of a remote envelope: fields are looked for in the copy of meta,
** which no finalizer can change. */
enum { DATA = 1, META, COPY };

/* Makes the envelope of (data, meta): copies meta and sets its source. */
static int remote_envelope(lua_State *L, const char *source) {
  lua_createtable(L, 0, 8);
  lua_pushnil(L);
  while (lua_next(L, META)) {
    lua_pushvalue(L, -2);
    lua_insert(L, -2);
    lua_rawset(L, COPY);
  }
  lua_pushliteral(L, "source");
  lua_pushstring(L, source);
  lua_rawset(L, COPY);
  envelope_push(L, DATA, COPY, KEYS);
  return 1;
}

static void check_field(lua_State *L, const char *key, int type) {
  int actual = raw_field(L, COPY, key);
  if (actual != type) {
    const char *message =
        lua_pushfstring(L, "meta.%s: %s expected, got %s", key,
                        lua_typename(L, type), lua_typename(L, actual));
    luaL_argerror(L, META, message);
  }
  lua_pop(L, 1);
}

/* Sets meta.headers of the envelope on top to an empty table when it is
** absent. */
static void default_headers(lua_State *L) {
  lua_getfield(L, -1, "meta");
  if (raw_field(L, -1, "headers") == LUA_TNIL) {
    lua_newtable(L);
    lua_setfield(L, -3, "headers");
  }
  lua_pop(L, 2);
}

/* Sets meta.content of the envelope on top to an empty array when it is absent
** or an unmarked empty table. */
static void default_content(lua_State *L) {
  lua_getfield(L, -1, "meta");
  if (raw_field(L, -1, "content") == LUA_TNIL ||
      value_kind(L, core_state(L), -1) == VALUE_EMPTY) {
    lua_newtable(L);
    core_push_array_mt(L);
    lua_setmetatable(L, -2);
    lua_setfield(L, -3, "content");
  }
  lua_pop(L, 2);
}

/* core.http_envelope(data, meta) -> envelope */
static int http_envelope(lua_State *L) {
  luaL_checktype(L, 2, LUA_TTABLE);
  lua_settop(L, 2);
  remote_envelope(L, "http");
  check_field(L, "statusCode", LUA_TNUMBER);
  default_headers(L);
  return 1;
}

/* core.mcp_envelope(data, meta) -> envelope */
static int mcp_envelope(lua_State *L) {
  luaL_checktype(L, 2, LUA_TTABLE);
  lua_settop(L, 2);
  remote_envelope(L, "mcp");
  lua_getfield(L, -1, "meta");
  if (raw_field(L, -1, "isError") == LUA_TNIL) {
    lua_pushboolean(L, 0);
    lua_setfield(L, -3, "isError");
  }
  lua_pop(L, 2);
  default_content(L);
  if (!envelope_is(L, -1, KEYS))
    return luaL_argerror(
        L, 2, "meta.isError must be a boolean and meta.content an array");
  return 1;
}

/* core.is_response_envelope(value) -> boolean */
static int is_response_envelope(lua_State *L) {
  luaL_checkany(L, 1);
  lua_pushboolean(L, envelope_is(L, 1, KEYS));
  return 1;
}

/* core.unwrap(envelope) -> data */
static int unwrap(lua_State *L) {
  if (!envelope_is(L, 1, KEYS)) /* luaL_argerror finds no name on LuaJIT */
    return luaL_error(
        L, "bad argument #1 to 'unwrap' (response envelope expected)");
  raw_field(L, 1, "data");
  return 1;
}

static const luaL_Reg envelope_functions[] = {
    {"local_envelope", local_envelope},
    {"http_envelope", http_envelope},
    {"mcp_envelope", mcp_envelope},
    {"is_response_envelope", is_response_envelope},
    {"unwrap", unwrap},
    {NULL, NULL},
};

void envelope_open(lua_State *L) {
  lua_pushvalue(L, lua_upvalueindex(1));
  envelope_push_keys(L);
  ops_setfuncs(L, envelope_functions, 1 + ENVELOPE_KEYS);
}
