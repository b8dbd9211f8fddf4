#include "registry/prepare.h"

#include "registry/access.h"

/* Pushes a copy of the array t[key]; nil when there is none. */
static void push_array(lua_State *L, int t, const char *key) {
  if (value_push_field(L, t, key) != LUA_TTABLE) return;
  value_push_copy(L, -1);
  core_push_array_mt(L);
  lua_setmetatable(L, -2);
  lua_remove(L, -2);
}

/* Pushes nil and an error: nothing ran, and a retry would fail again. */
static void push_final(lua_State *L, const char *code, const char *message,
                       int details) {
  lua_pushnil(L);
  core_push_error(L, code, message, details);
  lua_pushboolean(L, false);
  lua_setfield(L, -2, "retryable");
  lua_pushboolean(L, false);
  lua_setfield(L, -2, "mayHaveRun");
}

/* Pops the sentence on top; pushes nil and an error with it as its message.
** details = { operationId, [field] = the value below the sentence }. */
static void push_refusal(lua_State *L, const char *code, const char *field) {
  int value = lua_gettop(L) - 1, message = value + 1;
  lua_createtable(L, 0, 2);
  ops_getslot(L, CALL_OPERATION, OPERATION_ID);
  lua_setfield(L, -2, "operationId");
  lua_pushvalue(L, value);
  lua_setfield(L, -2, field);
  push_final(L, code, lua_tostring(L, message), message + 1);
}

static void push_denied(lua_State *L, int access, int reason) {
  push_array(L, access, "requiredScopes");
  ops_getslot(L, CALL_OPERATION, OPERATION_ID);
  lua_pushliteral(L, " ");
  lua_pushvalue(L, reason);
  lua_concat(L, 3);
  push_refusal(L, "ACCESS_DENIED", "requiredScopes");
}

static void push_wrong_kind(lua_State *L, bool streams) {
  int spec = lua_gettop(L) + 1;
  ops_getslot(L, CALL_OPERATION, OPERATION_SPEC);
  value_push_field(L, spec, "type");
  ops_getslot(L, CALL_OPERATION, OPERATION_ID);
  lua_pushfstring(L, "%s is a %s: use registry:%s", lua_tostring(L, spec + 2),
                  lua_tostring(L, spec + 1), streams ? "execute" : "subscribe");
  lua_remove(L, spec + 2);
  push_refusal(L, "EXECUTION_ERROR", "type");
}

/* Pushes nil and the VALIDATION_ERROR of the issues on top; the first issue is
** its message.  The schema of an imported operation may be wrong, so its
** errors say how to pass by it. */
/* The issues are on top of the stack. */
static void push_invalid(lua_State *L, const operation_Operation *op) {
  int issues = lua_gettop(L);
  operation_push_summary(L, issues, "input");
  push_final(L, "VALIDATION_ERROR", lua_tostring(L, -1), issues);
  if (op->fill != FILLS_ALL) {
    lua_pushliteral(L, "the option `validate` of its import, or --no-check, "
                       "sends it unchecked");
    lua_setfield(L, -2, "hint");
  }
  lua_pushnil(L); /* the operation is compiled */
}

bool prepare_refuses(lua_State *L, const operation_Operation *op,
                     bool streams) {
  int top = lua_gettop(L), access = top + 1;
  if ((op->kind == KIND_SUBSCRIPTION) != streams) {
    push_wrong_kind(L, streams);
    return true;
  }
  if (ops_testudata(L, CALL_TRUST, TRUST_TYPE) != NULL) return false;
  ops_getslot(L, CALL_OPERATION, OPERATION_ACCESS);
  if (!access_allows(L, access, CALL_IDENTITY, CALL_INPUT)) {
    push_denied(L, access, lua_gettop(L));
    return true;
  }
  lua_settop(L, top);
  return false;
}

bool prepare_checked(lua_State *L, const operation_Operation *op) {
  int schema = CALL_OPERATION + 1;
  if (!op->made) {
    lua_pushnil(L);
    lua_pushnil(L);
    lua_pushvalue(L, CALL_OPERATION);
    return false;
  }
  ops_getslot(L, CALL_OPERATION, OPERATION_INPUT);
  if (op->fill != FILLS_NONE) {
    if (!schema_fill(L, schema, CALL_INPUT, op->fill == FILLS_REQUIRED)) {
      push_invalid(L, op);
      return false;
    }
    lua_replace(L, CALL_INPUT);
  }
  if (op->checks == CHECKS_OFF || schema_valid(L, schema, CALL_INPUT))
    return true;
  schema_push_issues(L, schema, CALL_INPUT);
  if (op->checks == CHECKS_WARN || lua_toboolean(L, CALL_WARNS)) {
    lua_replace(L, CALL_ISSUES);
    return true;
  }
  push_invalid(L, op);
  return false;
}
