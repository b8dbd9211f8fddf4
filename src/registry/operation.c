#include "registry/operation.h"

#include "registry/access.h"
#include "registry/visible.h"

const char operation_tag[] = OPERATION_TYPE;

static bool is_function(lua_State *L, int spec, const char *key) {
  bool is = value_push_field(L, spec, key) == LUA_TFUNCTION;
  lua_pop(L, 1);
  return is;
}

static bool has_field(lua_State *L, int spec, const char *key) {
  bool has = value_push_field(L, spec, key) != LUA_TNIL;
  lua_pop(L, 1);
  return has;
}

/* The position of the string spec[key] in `names`; `absent` without it. */
static int one_of(lua_State *L, int spec, const char *key,
                  const char *const names[], int absent) {
  int found = absent, i;
  if (value_push_field(L, spec, key) == LUA_TSTRING)
    for (i = 0; names[i] != NULL; i++)
      if (strcmp(lua_tostring(L, -1), names[i]) == 0) found = i;
  lua_pop(L, 1);
  return found;
}

static bool restricts(lua_State *L, int spec) {
  bool is = value_push_field(L, spec, "accessControl") == LUA_TTABLE &&
            access_requires_anything(L, -1);
  lua_pop(L, 1);
  return is;
}

static operation_Accepts accepts(lua_State *L, int schema) {
  if (lua_isnil(L, schema)) return ACCEPTS_ANY;
  return schema_accepts_every_object(L, schema) ? ACCEPTS_OBJECTS
                                                : ACCEPTS_CHECKED;
}

static void set_slot(lua_State *L, int operation, int slot, int value) {
  lua_pushvalue(L, value);
  ops_setslot(L, operation, slot);
}

static void check_schema(lua_State *L, int i) {
  luaL_argcheck(L, lua_isnoneornil(L, i) || schema_to(L, i) != NULL, i,
                "compiled schema expected");
}

/* Stores a copy of the spec at `spec` and the compiled schemas in the operation
** at `operation`. */
static void set_spec(lua_State *L, int operation, int spec, int input,
                     int output) {
  operation_Operation *op = (operation_Operation *)lua_touserdata(L, operation);
  value_push_copy(L, spec);
  value_push_field(L, -1, "accessControl");
  ops_setslot(L, operation, OPERATION_ACCESS);
  ops_setslot(L, operation, OPERATION_SPEC);
  set_slot(L, operation, OPERATION_INPUT, input);
  set_slot(L, operation, OPERATION_OUTPUT, output);
  op->input = (uint8_t)accepts(L, input);
  op->output = (uint8_t)accepts(L, output);
  op->made = !is_function(L, spec, "inputSchema") &&
             !is_function(L, spec, "outputSchema") &&
             !is_function(L, spec, "errorSchemas");
}

operation_Operation *operation_new(lua_State *L, int spec, int input,
                                   int output, schema_Mode mode, bool fails) {
  static const char *const kinds[] = {"query", "mutation", "subscription",
                                      NULL};
  static const char *const modes[] = {"off", "cast", "force", NULL};
  static const char *const mismatches[] = {"warn", "fail", NULL};
  static const char *const fills[] = {"all", "required", "none", NULL};
  static const char *const checks[] = {"on", "warn", "off", NULL};
  operation_Operation *op =
      (operation_Operation *)ops_newuserdata(L, sizeof(*op), OPERATION_SLOTS);
  int operation = lua_gettop(L);
  *op = (operation_Operation){.tag = operation_tag};
  luaL_getmetatable(L, OPERATION_TYPE);
  lua_setmetatable(L, operation);
  value_push_field(L, spec, "namespace");
  lua_pushliteral(L, ".");
  value_push_field(L, spec, "name");
  lua_concat(L, 3);
  ops_setslot(L, operation, OPERATION_ID);
  set_spec(L, operation, spec, input, output);
  op->kind = (uint8_t)one_of(L, spec, "type", kinds, KIND_QUERY);
  op->mode = (uint8_t)one_of(L, spec, "normalize", modes, (int)mode);
  op->fill = (uint8_t)one_of(L, spec, "fill", fills, FILLS_ALL);
  op->checks = (uint8_t)one_of(L, spec, "validate", checks, CHECKS_ON);
  op->restricted = restricts(L, spec);
  op->exposed = visible_exposed(L, spec);
  op->fails = one_of(L, spec, "on_mismatch", mismatches, fails);
  op->finishes_all = op->fails || has_field(L, spec, "normalize");
  return op;
}

void operation_push_summary(lua_State *L, int issues, const char *whole) {
  int top = lua_gettop(L);
  size_t n = ops_rawlen(L, issues);
  const char *path, *text;
  ops_rawgeti(L, issues, 1);
  value_push_field(L, top + 1, "path");
  value_push_field(L, top + 1, "message");
  path = lua_tostring(L, top + 2);
  text = lua_tostring(L, top + 3);
  if (path == NULL || *path == '\0') path = whole;
  if (n > 1) lua_pushfstring(L, "%s: %s (and %d more)", path, text, (int)n - 1);
  else lua_pushfstring(L, "%s: %s", path, text);
  lua_replace(L, top + 1);
  lua_settop(L, top + 1);
}

/* operation:id() -> string */
static int operation_id(lua_State *L) {
  operation_check(L, 1);
  ops_getslot(L, 1, OPERATION_ID);
  return 1;
}

/* Is the value at `i` the name of a field that holds schemas? */
static bool names_schemas(lua_State *L, int i) {
  const char *key = lua_type(L, i) == LUA_TSTRING ? lua_tostring(L, i) : "";
  return strcmp(key, "inputSchema") == 0 || strcmp(key, "outputSchema") == 0 ||
         strcmp(key, "errorSchemas") == 0;
}

/* operation:spec(schemas = true) -> a copy; without schemas when false */
static int operation_spec(lua_State *L) {
  bool bare = lua_type(L, 2) == LUA_TBOOLEAN && !lua_toboolean(L, 2);
  operation_check(L, 1);
  lua_settop(L, 1);
  ops_getslot(L, 1, OPERATION_SPEC);
  if (bare) {
    lua_createtable(L, 0, 8);
    lua_pushnil(L);
    while (lua_next(L, 2)) {
      if (!names_schemas(L, 4)) {
        lua_pushvalue(L, 4);
        lua_pushvalue(L, 5);
        lua_rawset(L, 3);
      }
      lua_settop(L, 4);
    }
  }
  value_push_copy(L, lua_gettop(L));
  return 1;
}

/* operation:field(name) -> a field of the spec, not to be changed */
static int operation_field(lua_State *L) {
  operation_check(L, 1);
  ops_getslot(L, 1, OPERATION_SPEC);
  value_push_field(L, -1, luaL_checkstring(L, 2));
  return 1;
}

/* operation:finishes_all() -> are results from other processes, which have
** finished them already, finished here as well? */
static int operation_finishes_all(lua_State *L) {
  lua_pushboolean(L, operation_check(L, 1)->finishes_all);
  return 1;
}

/* operation:accepts() -> "any" | "object" | nil: the results that need no
** check; "object": unmarked tables that are objects */
static int operation_accepted(lua_State *L) {
  switch (operation_check(L, 1)->output) {
  case ACCEPTS_ANY: lua_pushliteral(L, "any"); break;
  case ACCEPTS_OBJECTS: lua_pushliteral(L, "object"); break;
  default: lua_pushnil(L); break;
  }
  return 1;
}

/* operation:handler() -> function or nil */
static int operation_handler(lua_State *L) {
  operation_check(L, 1);
  ops_getslot(L, 1, OPERATION_HANDLER);
  return 1;
}

/* operation:set_handler(handler, takes_context) */
static int operation_set_handler(lua_State *L) {
  operation_Operation *op = operation_check(L, 1);
  luaL_checktype(L, 2, LUA_TFUNCTION);
  set_slot(L, 1, OPERATION_HANDLER, 2);
  op->has_handler = true;
  op->takes_context = lua_toboolean(L, 3);
  return 0;
}

/* operation:made() -> are the schemas compiled?, the error if they cannot be */
static int operation_made(lua_State *L) {
  const operation_Operation *op = operation_check(L, 1);
  lua_pushboolean(L, op->made);
  ops_getslot(L, 1, OPERATION_FLAW);
  return 2;
}

/* operation:make(spec, input?, output?): stores the spec and compiled
** schemas */
static int operation_make(lua_State *L) {
  operation_check(L, 1);
  luaL_checktype(L, 2, LUA_TTABLE);
  lua_settop(L, 4);
  check_schema(L, 3);
  check_schema(L, 4);
  set_spec(L, 1, 2, 3, 4);
  return 0;
}

/* operation:flaw(err): stores why the schemas cannot be compiled */
static int operation_flaw(lua_State *L) {
  operation_check(L, 1);
  luaL_checkany(L, 2);
  set_slot(L, 1, OPERATION_FLAW, 2);
  return 0;
}

const luaL_Reg operation_methods[] = {
    {"id", operation_id},
    {"spec", operation_spec},
    {"field", operation_field},
    {"accepts", operation_accepted},
    {"finishes_all", operation_finishes_all},
    {"handler", operation_handler},
    {"set_handler", operation_set_handler},
    {"made", operation_made},
    {"make", operation_make},
    {"flaw", operation_flaw},
    {NULL, NULL},
};
