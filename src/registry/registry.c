/*
** registry.c - the operations by id, in the order of registration.
*/
#include "registry/registry.h"
#include "registry/prepare.h"
#include "registry/visible.h"

/* Its uservalue is one table: the operations by id, and at 1 to `last` in the
** order of registration, with false where one was removed. */
typedef struct registry_Registry {
  const void *tag; /* registry_tag */
  size_t last, count;
  uint8_t mode;       /* schema_Mode of operations that set none */
  bool tells_changes; /* the list of changes is wanted */
  bool fails;         /* misfits fail, for operations that do not say */
} registry_Registry;

static const char registry_tag[] = REGISTRY_TYPE;

static registry_Registry *check_self(lua_State *L) {
  return (registry_Registry *)operation_tagged(
      L, 1, registry_tag, sizeof(registry_Registry), REGISTRY_TYPE);
}

/* Pushes the operation with the id at `id`; pushes nothing and returns NULL
** when there is none. */
static operation_Operation *push_found(lua_State *L, int id) {
  if (lua_type(L, id) != LUA_TSTRING) return NULL;
  ops_getuservalue(L, 1);
  lua_pushvalue(L, id);
  if (ops_rawget(L, -2) == LUA_TNIL) {
    lua_pop(L, 2);
    return NULL;
  }
  lua_remove(L, -2);
  return (operation_Operation *)lua_touserdata(L, -1);
}

/* core.registry(normalize, tells_changes, fails) -> registry; normalize is
** "cast", "force" or "off" */
static int registry_new(lua_State *L) {
  static const char *const modes[] = {"off", "cast", "force", NULL};
  int mode = luaL_checkoption(L, 1, "cast", modes);
  bool tells_changes = lua_toboolean(L, 2), fails = lua_toboolean(L, 3);
  registry_Registry *r = (registry_Registry *)lua_newuserdata(L, sizeof(*r));
  *r = (registry_Registry){.tag = registry_tag,
                           .mode = (uint8_t)mode,
                           .tells_changes = tells_changes,
                           .fails = fails};
  luaL_getmetatable(L, REGISTRY_TYPE);
  lua_setmetatable(L, -2);
  lua_newtable(L);
  ops_setuservalue(L, -2);
  return 1;
}

/* registry:operation(spec, input?, output?) -> operation, not yet in the
** registry; input and output are compiled schemas */
static int registry_operation(lua_State *L) {
  const registry_Registry *r = check_self(L);
  int i;
  luaL_checktype(L, 2, LUA_TTABLE);
  lua_settop(L, 4);
  for (i = 3; i <= 4; i++)
    luaL_argcheck(L, lua_isnil(L, i) || schema_to(L, i) != NULL, i,
                  "compiled schema expected");
  operation_new(L, 2, 3, 4, (schema_Mode)r->mode, r->fails)->tells_changes =
      r->tells_changes;
  return 1;
}

/* registry:put(operation): adds it, or replaces the one with the same id */
static int registry_put(lua_State *L) {
  registry_Registry *r = check_self(L);
  operation_Operation *op = operation_check(L, 2), *old;
  size_t place;
  luaL_argcheck(L, op->place == 0, 2, "operation is registered");
  lua_settop(L, 2);
  ops_getslot(L, 2, OPERATION_ID);
  old = push_found(L, 3);
  place = old != NULL ? old->place : r->last + 1;
  lua_settop(L, 3);
  ops_getuservalue(L, 1);
  lua_pushvalue(L, 2); /* calls that may raise come first */
  ops_rawseti(L, 4, place);
  lua_pushvalue(L, 3);
  lua_pushvalue(L, 2);
  lua_rawset(L, 4);
  if (old != NULL) {
    old->place = 0;
  } else {
    r->last = place;
    r->count++;
  }
  op->place = place;
  return 0;
}

/* Closes the holes in the order once half of it is holes, so that removing an
** operation costs the same however many there are. */
static void close_holes(lua_State *L, registry_Registry *r, int all) {
  size_t i, to = 0;
  if (r->last < 2 * r->count + 16) return;
  for (i = 1; i <= r->last; i++) {
    if (ops_rawgeti(L, all, i) == LUA_TUSERDATA) {
      ((operation_Operation *)lua_touserdata(L, -1))->place = ++to;
      ops_rawseti(L, all, to);
    } else {
      lua_pop(L, 1);
    }
  }
  for (i = to + 1; i <= r->last; i++) {
    lua_pushnil(L);
    ops_rawseti(L, all, i);
  }
  r->last = to;
}

/* registry:remove(id) -> boolean: was it registered? */
static int registry_remove(lua_State *L) {
  registry_Registry *r = check_self(L);
  operation_Operation *op;
  lua_settop(L, 2);
  op = push_found(L, 2);
  if (op != NULL) {
    ops_getuservalue(L, 1);
    lua_pushboolean(L, 0);
    ops_rawseti(L, 4, op->place);
    lua_pushvalue(L, 2);
    lua_pushnil(L);
    lua_rawset(L, 4);
    op->place = 0;
    r->count--;
    close_holes(L, r, 4);
  }
  lua_pushboolean(L, op != NULL);
  return 1;
}

/* registry:find(id) -> operation or nil */
static int registry_find(lua_State *L) {
  check_self(L);
  lua_settop(L, 2);
  if (push_found(L, 2) == NULL) lua_pushnil(L);
  return 1;
}

/* registry:type_of(id) -> "query" | "mutation" | "subscription" | nil, may
** others see it?, does the handler take a context? */
static int registry_type_of(lua_State *L) {
  static const char *const kinds[] = {"query", "mutation", "subscription"};
  const operation_Operation *op;
  check_self(L);
  lua_settop(L, 2);
  op = push_found(L, 2);
  if (op == NULL) lua_pushnil(L);
  else lua_pushstring(L, kinds[op->kind]);
  lua_pushboolean(L, op == NULL || op->exposed);
  lua_pushboolean(L, op != NULL && op->takes_context);
  return 3;
}

/* registry:select({ namespace, type, tag }?) -> operations, in order */
static int registry_select(lua_State *L) {
  registry_Registry *r = check_self(L);
  size_t i, n = 0;
  int list;
  lua_settop(L, 2);
  ops_getuservalue(L, 1);
  lua_newtable(L);
  list = lua_gettop(L);
  for (i = 1; i <= r->last; i++) {
    if (ops_rawgeti(L, 3, i) == LUA_TUSERDATA) {
      ops_getslot(L, list + 1, OPERATION_SPEC);
      if (visible_matches(L, list + 2, 2)) {
        lua_settop(L, list + 1);
        ops_rawseti(L, list, ++n);
      }
    }
    lua_settop(L, list);
  }
  return 1;
}

/* registry:visible(spec | id, identity?, { namespace, type, tag }?) -> "yes" |
** "denied" | "hidden" */
static int registry_visible(lua_State *L) {
  check_self(L);
  lua_settop(L, 4);
  if (push_found(L, 2) != NULL) {
    ops_getslot(L, 5, OPERATION_SPEC);
    lua_replace(L, 2);
  }
  lua_pushstring(L, lua_istable(L, 2) ? visible_to(L, 2, 3, 4) : "hidden");
  return 1;
}

/* Returns the results of registry_prepare.  Those at the end that would be nil
** or false are left out: most calls have three. */
static int prepare(lua_State *L, bool streams) {
  const operation_Operation *op;
  check_self(L);
  lua_settop(L, CALL_WARNS);
  op = prepare_look_up(L);
  if (op == NULL || !op->has_handler) return 0;
  if (!prepare_allows(L, op, streams, true)) return 2;
  if (!prepare_input(L, op)) return PREPARE_REFUSAL;
  operation_push_slot(L, CALL_OPERATION, OPERATION_HANDLER);
  lua_pushvalue(L, CALL_INPUT);
  lua_pushvalue(L, CALL_OPERATION);
  if (!op->takes_context && !lua_istable(L, CALL_ISSUES)) return 3;
  lua_pushboolean(L, op->takes_context);
  if (!lua_istable(L, CALL_ISSUES)) return 4;
  lua_pushvalue(L, CALL_ISSUES);
  return 5;
}

/* registry:prepare(id, input, identity, trust, warns)
**   -> handler, input, operation, takes_context?, issues?
**    | nil, err
**    | nil, nil, operation
**    | nothing
** `issues` are those of an input that is let through with a warning, as this
** operation does, or this call with `warns`.  The third
** form asks for the schemas of the operation, which are not compiled yet; then
** the call is prepared again.  Nothing: the operation has no handler here. */
static int registry_prepare(lua_State *L) {
  return prepare(L, false);
}

/* registry:prepare_stream(...): as prepare, for a subscription */
static int registry_prepare_stream(lua_State *L) {
  return prepare(L, true);
}

/* registry:admit(id, input, streams)
**   -> true, input | nil, err | nil, nil, operation
** As prepare, for an operation whose handler is in another process, which also
** checks access. */
static int registry_admit(lua_State *L) {
  const operation_Operation *op;
  bool streams = lua_toboolean(L, 4);
  check_self(L);
  lua_settop(L, CALL_WARNS);
  op = prepare_look_up(L);
  luaL_argcheck(L, op != NULL, CALL_ID, "operation expected");
  if (!prepare_allows(L, op, streams, false)) return 2;
  if (!prepare_input(L, op)) return PREPARE_REFUSAL;
  lua_pushboolean(L, 1);
  lua_pushvalue(L, CALL_INPUT);
  return 2;
}

/* core.trust() -> a value that marks a call as trusted */
static int registry_trust(lua_State *L) {
  lua_newuserdata(L, 1);
  luaL_getmetatable(L, TRUST_TYPE);
  lua_setmetatable(L, -2);
  return 1;
}

static const luaL_Reg registry_methods[] = {
    {"operation", registry_operation},
    {"put", registry_put},
    {"remove", registry_remove},
    {"find", registry_find},
    {"type_of", registry_type_of},
    {"select", registry_select},
    {"visible", registry_visible},
    {"prepare", registry_prepare},
    {"prepare_stream", registry_prepare_stream},
    {"admit", registry_admit},
    {NULL, NULL},
};

static const luaL_Reg finish_methods[] = {
    {"finish", operation_finish},
    {"ahead", operation_ahead},
    {NULL, NULL},
};

static const luaL_Reg registry_functions[] = {
    {"registry", registry_new},
    {"trust", registry_trust},
    {NULL, NULL},
};

/* Sets `functions` in the table on top, with the upvalues of UP_COUNT. */
static void set_functions(lua_State *L, const luaL_Reg *functions) {
  lua_pushvalue(L, lua_upvalueindex(1));
  envelope_push_keys(L);
  ops_setfuncs(L, functions, UP_COUNT);
}

void registry_open(lua_State *L) {
  core_new_type(L, TRUST_TYPE, NULL, NULL);
  core_new_type(L, REGISTRY_TYPE, NULL, NULL);
  core_new_type(L, OPERATION_TYPE, NULL, NULL);
  luaL_getmetatable(L, REGISTRY_TYPE);
  lua_newtable(L);
  set_functions(L, registry_methods);
  lua_setfield(L, -2, "__index");
  luaL_getmetatable(L, OPERATION_TYPE);
  lua_newtable(L);
  set_functions(L, operation_methods);
  set_functions(L, finish_methods);
  lua_setfield(L, -2, "__index");
  lua_pop(L, 2);
  set_functions(L, registry_functions);
}
