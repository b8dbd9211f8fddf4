/*
** operation_lua.c - the pipeline around a handler in two halves: prepare
** (access, validate) and finish (detect, wrap, normalize, validate).  The
** handler runs between them, in Lua, so that it may wait.
*/
#include "registry/access.h"
#include "registry/operation.h"
#include "registry/envelope.h"
#include "schema/schema.h"

#define TRUST_TYPE "operations.trust"

/* Upvalues of both halves; 1 is the core state. */
enum { UP_ID = 2, UP_SCHEMA, UP_MODE, UP_ACCESS = UP_MODE, UP_KEYS };

#define KEYS lua_upvalueindex(UP_KEYS)

/* Pushes a copy of the array t[key], which is nobody else's; nil when there is
** none. */
static void push_copy(lua_State *L, int t, const char *key) {
  size_t i, n;
  lua_pushstring(L, key);
  lua_rawget(L, t);
  if (lua_type(L, -1) != LUA_TTABLE) return;
  n = ops_rawlen(L, -1);
  lua_createtable(L, (int)n, 0);
  core_push_array_mt(L);
  lua_setmetatable(L, -2);
  for (i = 1; i <= n; i++) {
    ops_rawgeti(L, -2, i);
    ops_rawseti(L, -2, i);
  }
  lua_remove(L, -2);
}

static void push_denied(lua_State *L, int reason) {
  const char *id = lua_tostring(L, lua_upvalueindex(UP_ID));
  const char *why = lua_tostring(L, reason);
  int details, message;
  lua_createtable(L, 0, 2);
  details = lua_gettop(L);
  lua_pushvalue(L, lua_upvalueindex(UP_ID));
  lua_setfield(L, details, "operationId");
  push_copy(L, lua_upvalueindex(UP_ACCESS), "requiredScopes");
  lua_setfield(L, details, "requiredScopes");
  lua_pushfstring(L, "%s %s", id, why);
  message = lua_gettop(L);
  core_push_error(L, "ACCESS_DENIED", lua_tostring(L, message), details);
}

/* Pushes the VALIDATION_ERROR of the issues at `issues`; its message is the
** first of them. */
static void push_invalid(lua_State *L, int issues) {
  const char *path, *text;
  size_t n = ops_rawlen(L, issues);
  ops_rawgeti(L, issues, 1);
  lua_getfield(L, -1, "path");
  path = lua_tostring(L, -1);
  lua_getfield(L, -2, "message");
  text = lua_tostring(L, -1);
  if (path == NULL || *path == '\0') path = "input";
  if (n > 1) lua_pushfstring(L, "%s: %s (and %d more)", path, text, (int)n - 1);
  else lua_pushfstring(L, "%s: %s", path, text);
  core_push_error(L, "VALIDATION_ERROR", lua_tostring(L, -1), issues);
}

static int fail(lua_State *L) {
  lua_pushboolean(L, 0);
  lua_insert(L, -2);
  return 2;
}

/* prepare(input, identity, trust) -> true, input | false, err */
static int operation_prepare(lua_State *L) {
  int schema = lua_upvalueindex(UP_SCHEMA);
  int access = lua_upvalueindex(UP_ACCESS);
  lua_settop(L, 3);
  if (lua_type(L, access) == LUA_TTABLE &&
      ops_testudata(L, 3, TRUST_TYPE) == NULL &&
      !access_allows(L, access, 2, 1)) {
    push_denied(L, lua_gettop(L));
    return fail(L);
  }
  if (lua_isnil(L, schema)) {
    lua_settop(L, 1);
  } else {
    lua_settop(L, 1);
    if (!schema_fill(L, schema, 1)) {
      push_invalid(L, 2);
      return fail(L);
    }
    if (!schema_valid(L, schema, 2)) {
      schema_push_issues(L, schema, 2);
      push_invalid(L, lua_gettop(L));
      return fail(L);
    }
  }
  lua_pushboolean(L, 1);
  lua_insert(L, -2);
  return 2;
}

/* Pushes a warning { operationId, issues } about the data at `data`: what does
** not fit, then the issue in the array at `problem`, if that is no nil. */
static void push_warning(lua_State *L, int data, bool fits, int problem) {
  lua_createtable(L, 0, 2);
  lua_pushvalue(L, lua_upvalueindex(UP_ID));
  lua_setfield(L, -2, "operationId");
  if (fits) lua_pushvalue(L, problem);
  else schema_push_issues(L, lua_upvalueindex(UP_SCHEMA), data);
  if (!fits && !lua_isnil(L, problem)) {
    ops_rawgeti(L, problem, 1);
    ops_rawseti(L, -2, ops_rawlen(L, -2) + 1);
  }
  lua_setfield(L, -2, "issues");
}

/* Casts or checks the data at `data`; pushes the data to answer with, then a
** warning or nil, then the changes or nil. */
static void normalize(lua_State *L, int data, int mode, bool changes) {
  int schema = lua_upvalueindex(UP_SCHEMA), top = lua_gettop(L);
  bool fits;
  changes = changes || mode == SCHEMA_FORCE;
  if (mode == SCHEMA_OFF) {
    lua_pushvalue(L, data);
    fits = schema_valid(L, schema, top + 1);
    lua_settop(L, top + 3);
  } else {
    fits = schema_cast(L, schema, data, mode, changes);
  }
  if (!fits || !lua_isnil(L, top + 3)) push_warning(L, top + 1, fits, top + 3);
  else lua_pushnil(L);
  lua_insert(L, top + 2);
  lua_settop(L, top + 3);
}

/* Handlers' tables may have metamethods: none is called. */
static void push_raw(lua_State *L, int t, const char *key) {
  lua_pushstring(L, key);
  lua_rawget(L, t);
}

/* Is the meta at the top an error's of a tool (MCP)?  Its data is no output. */
static bool is_tool_error(lua_State *L) {
  bool is;
  push_raw(L, lua_gettop(L), "isError");
  is = lua_toboolean(L, -1);
  lua_pop(L, 1);
  return is;
}

/* The half of finish for an operation with an output schema: pushes envelope,
** warning, changes.  An envelope without data has nothing to normalize (an HTTP
** answer 204): it passes. */
static int finish_by_schema(lua_State *L, bool is_envelope) {
  int mode = (int)lua_tointeger(L, lua_upvalueindex(UP_MODE));
  bool changes = lua_toboolean(L, 2);
  if (is_envelope) {
    bool passes;
    push_raw(L, 1, "meta");
    passes = is_tool_error(L);
    push_raw(L, 1, "data");
    if (passes || lua_isnil(L, 4)) {
      lua_settop(L, 1);
      return 1;
    }
  } else {
    envelope_push_local_meta(L, lua_upvalueindex(UP_ID), KEYS);
    lua_pushvalue(L, 1);
  }
  normalize(L, 4, mode, changes); /* 5 data, 6 warning, 7 changes */
  /* As it was: then it is the handler's own envelope. */
  if (is_envelope && lua_rawequal(L, 4, 5)) lua_pushvalue(L, 1);
  else envelope_push(L, 5, 3, KEYS);
  lua_replace(L, 5);
  return 3;
}

/* finish(data, want_changes) -> envelope, warning, changes */
static int operation_finish(lua_State *L) {
  bool is_envelope;
  lua_settop(L, 2);
  is_envelope = envelope_is(L, 1, KEYS);
  if (!lua_isnil(L, lua_upvalueindex(UP_SCHEMA)))
    return finish_by_schema(L, is_envelope);
  if (is_envelope) {
    lua_settop(L, 1);
    return 1;
  }
  envelope_push_local_meta(L, lua_upvalueindex(UP_ID), KEYS);
  envelope_push(L, 1, 3, KEYS);
  return 1;
}

static void push_prepare(lua_State *L) {
  lua_pushvalue(L, lua_upvalueindex(1));
  lua_pushvalue(L, 1);
  lua_pushvalue(L, 3);
  lua_pushvalue(L, 2);
  lua_pushcclosure(L, operation_prepare, UP_ACCESS);
}

static void push_finish(lua_State *L, int mode) {
  lua_pushvalue(L, lua_upvalueindex(1));
  lua_pushvalue(L, 1);
  lua_pushvalue(L, 4);
  lua_pushinteger(L, mode);
  envelope_push_keys(L);
  lua_pushcclosure(L, operation_finish, UP_MODE + ENVELOPE_KEYS);
}

/* What a value must be so that nobody has to ask the schema at `schema`: "any",
** "object" (an unmarked table), or nil when it has to be asked. */
static void push_guard(lua_State *L, int schema) {
  if (lua_isnil(L, schema)) lua_pushliteral(L, "any");
  else if (schema_accepts_every_object(L, schema)) lua_pushliteral(L, "object");
  else lua_pushnil(L);
}

/* core.operation(id, access?, input?, output?, normalize) -> prepare, finish,
** input_guard, output_guard; access is an accessControl table, input and output
** are compiled schemas, normalize is "cast", "force" or "off".  The guards say
** which inputs need no prepare and which data needs no more than an envelope.
*/
static int operation_new(lua_State *L) {
  static const char *const modes[] = {"off", "cast", "force", NULL};
  static const int values[] = {SCHEMA_OFF, SCHEMA_CAST, SCHEMA_FORCE};
  int mode;
  luaL_checktype(L, 1, LUA_TSTRING);
  lua_settop(L, 5);
  if (!lua_isnil(L, 2)) luaL_checktype(L, 2, LUA_TTABLE);
  luaL_argcheck(L, lua_isnil(L, 3) || schema_to(L, 3) != NULL, 3,
                "compiled schema expected");
  luaL_argcheck(L, lua_isnil(L, 4) || schema_to(L, 4) != NULL, 4,
                "compiled schema expected");
  mode = luaL_checkoption(L, 5, "cast", modes);
  if (!lua_isnil(L, 2) && !access_requires_anything(L, 2)) {
    lua_pushnil(L);
    lua_replace(L, 2);
  }
  push_prepare(L);
  push_finish(L, values[mode]);
  if (lua_isnil(L, 2)) push_guard(L, 3);
  else lua_pushnil(L);
  push_guard(L, 4);
  return 4;
}

/* core.trust() -> a value that marks a call as trusted */
static int operation_trust(lua_State *L) {
  lua_newuserdata(L, 1);
  luaL_getmetatable(L, TRUST_TYPE);
  lua_setmetatable(L, -2);
  return 1;
}

static const luaL_Reg operation_functions[] = {
    {"operation", operation_new},
    {"trust", operation_trust},
    {NULL, NULL},
};

void operation_open(lua_State *L) {
  core_new_type(L, TRUST_TYPE, NULL, NULL);
  core_setfuncs(L, operation_functions);
}
