#include "registry/access.h"
#include "base/pointer.h"
#include "value/integer.h"

/* Is the value on top an item of the array at `list`?  Pops it. */
static bool pop_is_listed(lua_State *L, int list) {
  bool found = false;
  size_t i, n = lua_type(L, list) == LUA_TTABLE ? ops_rawlen(L, list) : 0;
  list = ops_absindex(L, list);
  for (i = 1; i <= n && !found; i++) {
    ops_rawgeti(L, list, i);
    found = lua_rawequal(L, -1, -2) != 0;
    lua_pop(L, 1);
  }
  lua_pop(L, 1);
  return found;
}

static bool has_items(lua_State *L, int i, const char *key) {
  bool has = value_push_field(L, i, key) == LUA_TTABLE && ops_rawlen(L, -1) > 0;
  lua_pop(L, 1);
  return has;
}

static bool has_field(lua_State *L, int i, const char *key) {
  bool has = value_push_field(L, i, key) != LUA_TNIL;
  lua_pop(L, 1);
  return has;
}

bool access_requires_anything(lua_State *L, int i) {
  return has_items(L, i, "requiredScopes") ||
         has_items(L, i, "requiredScopesAny") ||
         has_field(L, i, "resourceType");
}

/* Pushes the first of the scopes at `required` that the identity's scopes at
** `owned` lack. */
static bool push_missing_scope(lua_State *L, int required, int owned) {
  size_t i, n = ops_rawlen(L, required);
  for (i = 1; i <= n; i++) {
    ops_rawgeti(L, required, i);
    lua_pushvalue(L, -1);
    if (!pop_is_listed(L, owned)) return true;
    lua_pop(L, 1);
  }
  return false;
}

static bool has_any_scope(lua_State *L, int accepted, int owned) {
  size_t i, n = ops_rawlen(L, accepted);
  for (i = 1; i <= n; i++) {
    ops_rawgeti(L, accepted, i);
    if (pop_is_listed(L, owned)) return true;
  }
  return false;
}

static bool allows_scopes(lua_State *L, int rules, int identity) {
  int top = lua_gettop(L), owned = top + 1;
  value_push_field(L, identity, "scopes");
  if (value_push_field(L, rules, "requiredScopes") == LUA_TTABLE &&
      push_missing_scope(L, -1, owned)) {
    const char *scope = luaL_checkstring(L, -1);
    lua_pushfstring(L, "needs scope '%s'", scope);
    return false;
  }
  if (value_push_field(L, rules, "requiredScopesAny") == LUA_TTABLE &&
      ops_rawlen(L, -1) > 0 && !has_any_scope(L, lua_gettop(L), owned)) {
    lua_pushliteral(L, "needs one of the scopes in requiredScopesAny");
    return false;
  }
  lua_settop(L, top);
  return true;
}

/* Replaces the table on top by the member that a JSON Pointer token names (RFC
** 6901); nil when there is none. */
static void step_into(lua_State *L, const char *token, size_t len) {
  luaL_Buffer b;
  size_t i, index;
  luaL_buffinit(L, &b);
  for (i = 0; i < len; i++) {
    if (token[i] == '~' && i + 1 < len)
      luaL_addchar(&b, token[++i] == '1' ? '/' : '~');
    else luaL_addchar(&b, token[i]);
  }
  luaL_pushresult(&b);
  if (lua_type(L, -2) != LUA_TTABLE) {
    lua_pushnil(L);
  } else {
    lua_pushvalue(L, -1);
    if (ops_rawget(L, -3) == LUA_TNIL) {
      lua_pop(L, 1);
      if (pointer_is_index(token, len, &index)) ops_rawgeti(L, -2, index + 1);
      else lua_pushnil(L);
    }
  }
  lua_replace(L, -3);
  lua_pop(L, 1);
}

/* Pushes the value that the JSON Pointer names in `input`, or nil. */
static void push_pointed(lua_State *L, int input, const char *pointer) {
  lua_pushvalue(L, input);
  while (*pointer == '/') {
    size_t len = strcspn(++pointer, "/");
    step_into(L, pointer, len);
    pointer += len;
  }
}

/* Does a key `prefix`* of the resources on top list the action at `action`? */
static bool any_resource_lists(lua_State *L, const char *prefix, int action) {
  size_t len = strlen(prefix);
  int resources = lua_gettop(L);
  lua_pushnil(L);
  while (lua_next(L, resources)) {
    if (lua_type(L, -2) == LUA_TSTRING &&
        strncmp(lua_tostring(L, -2), prefix, len) == 0) {
      lua_pushvalue(L, action);
      if (pop_is_listed(L, -2)) {
        lua_settop(L, resources);
        return true;
      }
    }
    lua_pop(L, 1);
  }
  return false;
}

/* Replaces the id on top, a string or a number, by its text; false for other
** types.  7.0 is the resource 7, as in JSON Schema. */
static bool id_to_text(lua_State *L) {
  char digits[INTEGER_ROOM];
  integer_Value n;
  int type = lua_type(L, -1);
  if (integer_read(L, core_state(L), -1, &n)) {
    lua_pushlstring(L, digits, integer_format(digits, n));
    lua_replace(L, -2);
    return true;
  }
  return type == LUA_TSTRING || type == LUA_TNUMBER;
}

/* Pushes the resource key that the rules and the input name, "type:id", above
** other values; nil when the input names none.  The id may contain any byte,
** NUL included. */
static void push_resource_key(lua_State *L, int rules, int input,
                              const char *type) {
  value_push_field(L, rules, "resourceId");
  push_pointed(L, input, lua_tostring(L, -1));
  if (id_to_text(L)) {
    lua_pushfstring(L, "%s:", type);
    lua_insert(L, -2);
    lua_concat(L, 2);
  } else {
    lua_pushnil(L);
  }
}

#define SHOWN_KEY 200 /* bytes of a resource key in a message */

/* Pushes why the action at `action` is denied on the resource with the key at
** `key` (nil: the input names none).  An identity with the key "project:*" may
** expect it to stand for all projects: the message says that it does not. */
static void push_resource_reason(lua_State *L, int rules, const char *verb,
                                 const char *type, int key, bool held_star) {
  if (lua_isnil(L, key)) {
    value_push_field(L, rules, "resourceId");
    lua_pushfstring(L,
                    "needs action '%s' on a resource of type '%s', "
                    "and the input names none at %s",
                    verb, type, lua_tostring(L, -1));
  } else if (ops_rawlen(L, key) > SHOWN_KEY) {
    lua_pushfstring(L, "needs action '%s' on resource type '%s'", verb, type);
  } else {
    lua_pushfstring(
        L, "needs action '%s' on resource '%s'%s", verb, lua_tostring(L, key),
        held_star ? " ('*' is an id, it does not stand for all)" : "");
  }
}

/* Does the identity list the action at `action` for the resource key on top?
** Pops the key. */
static bool pop_grants(lua_State *L, int identity, int action) {
  int top = lua_gettop(L) - 1;
  bool grants = false;
  if (!lua_isnil(L, -1) &&
      value_push_field(L, identity, "resources") == LUA_TTABLE) {
    lua_insert(L, -2);
    lua_rawget(L, -2);
    lua_pushvalue(L, action);
    grants = pop_is_listed(L, -2);
  }
  lua_settop(L, top);
  return grants;
}

/* Is the action granted on the resource that the input names?  If not, pushes
** why. */
static bool allows_named(lua_State *L, int rules, int identity, int input,
                         const char *type, int action) {
  int key;
  push_resource_key(L, rules, input, type);
  key = lua_gettop(L);
  lua_pushvalue(L, key);
  if (pop_grants(L, identity, action)) return true;
  lua_pushfstring(L, "%s:*", type);
  push_resource_reason(L, rules, lua_tostring(L, action), type, key,
                       pop_grants(L, identity, action));
  return false;
}

static bool allows_resource(lua_State *L, int rules, int identity, int input) {
  int top = lua_gettop(L), action = top + 2;
  const char *type, *verb;
  if (value_push_field(L, rules, "resourceType") == LUA_TNIL) return true;
  type = luaL_checkstring(L, top + 1);
  value_push_field(L, rules, "resourceAction");
  verb = luaL_checkstring(L, action);
  if (input != 0 && has_field(L, rules, "resourceId"))
    return allows_named(L, rules, identity, input, type, action);
  lua_pushfstring(L, "%s:", type);
  if (value_push_field(L, identity, "resources") == LUA_TTABLE &&
      any_resource_lists(L, lua_tostring(L, -2), action))
    return true;
  lua_pushfstring(L, "needs action '%s' on resource type '%s'", verb, type);
  return false;
}

bool access_allows(lua_State *L, int rules, int identity, int input) {
  if (lua_type(L, identity) != LUA_TTABLE) {
    lua_pushliteral(L, "needs an identity");
    return false;
  }
  return allows_scopes(L, rules, identity) &&
         allows_resource(L, rules, identity, input);
}
