/*
** finish.c - the half of the pipeline after the handler: detect, wrap,
** normalize, validate.
*/
#include "registry/operation.h"

/* The stack indices of finish; AHEAD is the result of `ahead`, or nil. */
enum { SELF = 1, VALUE, AHEAD };

/* Pushes the changes at `changes` that replaced a value, or nil. */
static void push_replaced(lua_State *L, int changes) {
  size_t i, n = ops_rawlen(L, changes), found = 0;
  lua_pushnil(L);
  for (i = 1; i <= n; i++) {
    ops_rawgeti(L, changes, i);
    value_push_field(L, -1, "kind");
    if (strcmp(lua_tostring(L, -1), "replaced") == 0) {
      if (found == 0) {
        lua_newtable(L);
        lua_replace(L, -4);
      }
      lua_pushvalue(L, -2);
      ops_rawseti(L, -4, ++found);
    }
    lua_pop(L, 2);
  }
}

/* Pushes an array of the issues of the data, followed by the issue in the array
** at `problem`, unless that is nil. */
static void push_issues(lua_State *L, int data, bool fits, int problem) {
  if (fits && lua_isnil(L, problem)) {
    lua_newtable(L);
    return;
  }
  if (fits) {
    lua_pushvalue(L, problem);
    return;
  }
  ops_getslot(L, SELF, OPERATION_OUTPUT);
  schema_push_issues(L, lua_gettop(L), data);
  lua_remove(L, -2);
  if (lua_isnil(L, problem)) return;
  ops_rawgeti(L, problem, 1);
  ops_rawseti(L, -2, ops_rawlen(L, -2) + 1);
}

/* Pushes the warning { operationId, issues, changes } about the data at `data`,
** or nil: the issues of the data, the issue at `problem` (nil: none), and the
** changes at `changes` (nil: none) that lost a value. */
static void push_warning(lua_State *L, int data, bool fits, int changes,
                         int problem) {
  int top = lua_gettop(L), replaced = top + 1;
  if (!lua_isnil(L, changes)) push_replaced(L, changes);
  else lua_pushnil(L);
  if (fits && lua_isnil(L, replaced) && lua_isnil(L, problem)) return;
  lua_createtable(L, 0, 3);
  ops_getslot(L, SELF, OPERATION_ID);
  lua_setfield(L, -2, "operationId");
  push_issues(L, data, fits, problem);
  lua_setfield(L, -2, "issues");
  lua_pushvalue(L, replaced);
  lua_setfield(L, -2, "changes");
  lua_replace(L, replaced);
}

/* Pushes nil and an error when the operation fails on results that do not fit,
** and the warning at `warning` has issues. */
static bool fails(lua_State *L, const operation_Operation *op, int warning) {
  int issues = lua_gettop(L) + 1;
  if (!op->fails || lua_isnil(L, warning)) return false;
  value_push_field(L, warning, "issues");
  if (ops_rawlen(L, issues) == 0) {
    lua_pop(L, 1);
    return false;
  }
  ops_getslot(L, SELF, OPERATION_ID);
  lua_pushliteral(L, ": the result does not fit its schema: ");
  operation_push_summary(L, issues, "result");
  lua_concat(L, 3);
  lua_pushnil(L);
  core_push_error(L, "OUTPUT_INVALID", lua_tostring(L, issues + 1), issues);
  return true;
}

/* Casts or checks the data at `data`; pushes the resulting data, a warning or
** nil, and the changes or nil. */
static void normalize(lua_State *L, const operation_Operation *op, int data) {
  int top = lua_gettop(L), schema = top + 1, result = top + 2;
  bool changes =
      op->mode != SCHEMA_OFF && (op->tells_changes || op->mode == SCHEMA_FORCE);
  bool fits;
  ops_getslot(L, SELF, OPERATION_OUTPUT);
  if (op->mode == SCHEMA_OFF) {
    lua_pushvalue(L, data);
    fits = schema_valid(L, schema, result);
  } else {
    fits = schema_cast(L, schema, data, op->mode, changes, AHEAD);
  }
  lua_settop(L, result + 2); /* the changes or nil, the problem or nil */
  lua_remove(L, schema);
  push_warning(L, top + 1, fits, top + 2, top + 3);
  lua_insert(L, top + 2);
  lua_settop(L, top + 3);
  if (changes && (!op->tells_changes || ops_rawlen(L, top + 3) == 0)) {
    lua_pushnil(L);
    lua_replace(L, top + 3);
  }
}

/* Is VALUE an envelope of a failed MCP tool?  Its data is not an output. */
static bool is_tool_error(lua_State *L) {
  bool is;
  value_push_field(L, VALUE, "meta");
  value_push_field(L, -1, "isError");
  is = lua_toboolean(L, -1);
  lua_pop(L, 2);
  return is;
}

/* Finishes an envelope that the handler returned.  One without data has nothing
** to normalize (HTTP status 204). */
static int finish_envelope(lua_State *L, const operation_Operation *op) {
  int data = AHEAD + 1;
  value_push_field(L, VALUE, "data");
  if (lua_isnil(L, data) ||
      operation_accepts(L, data, lua_type(L, data), op->output) ||
      is_tool_error(L)) {
    lua_settop(L, VALUE);
    return 1;
  }
  normalize(L, op, data);
  if (fails(L, op, data + 2)) return 2;
  if (lua_rawequal(L, data, data + 1)) {
    lua_pushvalue(L, VALUE);
  } else {
    value_push_field(L, VALUE, "meta");
    envelope_push(L, data + 1, lua_gettop(L), KEYS);
    lua_remove(L, -2);
  }
  lua_replace(L, data + 1);
  return 3;
}

/* Finishes plain data: VALUE, of Lua type `t`; `top` is the stack height. */
static int finish_data(lua_State *L, const operation_Operation *op, int t,
                       int top) {
  int data = top + 1;
  if (operation_accepts(L, VALUE, t, op->output)) {
    operation_push_slot(L, SELF, OPERATION_ID);
    envelope_push_local(L, VALUE, top + OPERATION_PUSHES, KEYS);
    return 1;
  }
  normalize(L, op, VALUE); /* data, warning, changes */
  if (fails(L, op, data + 1)) return 2;
  operation_push_slot(L, SELF, OPERATION_ID);
  envelope_push_local(L, data, top + 3 + OPERATION_PUSHES, KEYS);
  lua_replace(L, data);
  lua_settop(L, data + 2);
  return 3;
}

/* Adds to the warning at `warning`, or nil, that VALUE is almost an envelope.
 */
static void warn_of_meta(lua_State *L, int warning, const char *needs) {
  if (lua_isnil(L, warning)) {
    lua_createtable(L, 0, 2);
    ops_getslot(L, SELF, OPERATION_ID);
    lua_setfield(L, -2, "operationId");
    lua_newtable(L);
    lua_setfield(L, -2, "issues");
    lua_replace(L, warning);
  }
  value_push_field(L, warning, "issues");
  lua_createtable(L, 0, 3);
  lua_pushliteral(L, "/meta");
  lua_setfield(L, -2, "path");
  lua_pushliteral(L, "envelope");
  lua_setfield(L, -2, "keyword");
  lua_pushfstring(L, "an envelope of this source has %s; it is data", needs);
  lua_setfield(L, -2, "message");
  ops_rawseti(L, -2, ops_rawlen(L, -2) + 1);
  lua_pop(L, 1);
}

/* Finishes VALUE, whose meta is on top of the stack and not one of an
** envelope. */
static int finish_other(lua_State *L, const operation_Operation *op, int t) {
  const char *needs = lua_istable(L, -1) ? envelope_needs(L) : NULL;
  int n = finish_data(L, op, t, AHEAD + 1);
  if (needs == NULL || n == 2) return n;
  if (n == 1) {
    lua_pushnil(L);
    lua_pushnil(L);
  }
  warn_of_meta(L, lua_gettop(L) - 1, needs);
  return 3;
}

int operation_finish(lua_State *L) {
  const operation_Operation *op = operation_check(L, SELF);
  int t;
  lua_settop(L, AHEAD);
  t = lua_type(L, VALUE);
  if (t != LUA_TTABLE) return finish_data(L, op, t, AHEAD);
  envelope_push_meta(L, VALUE, KEYS);
  if (!envelope_is_meta(L)) return finish_other(L, op, t);
  lua_settop(L, AHEAD);
  if (op->output != ACCEPTS_ANY) return finish_envelope(L, op);
  lua_settop(L, VALUE);
  return 1;
}

/* operation:ahead(envelope) -> an object that casts the data step by step, to
** be passed to `finish`; nil when the data has no long lists */
int operation_ahead(lua_State *L) {
  const operation_Operation *op = operation_check(L, SELF);
  lua_settop(L, VALUE);
  if (op->mode != SCHEMA_CAST || op->tells_changes ||
      op->output != ACCEPTS_CHECKED ||
      value_push_field(L, VALUE, "data") != LUA_TTABLE)
    return 0;
  ops_getslot(L, SELF, OPERATION_OUTPUT);
  schema_push_ahead(L, VALUE + 2, VALUE + 1);
  return 1;
}
