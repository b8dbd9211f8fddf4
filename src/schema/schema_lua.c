/*
** schema_lua.c - schemas for Lua: core.schema_compile and the methods
** of "operations.schema".
*/
#include <stdarg.h>

#include "schema/schema.h"
#include "schema/cast/ahead.h"
#include "schema/compile/compile.h"
#include "schema/cast/fill.h"
#include "schema/issue/issue.h"
#include "schema/compile/tree.h"

#define AHEAD_TYPE "operations.ahead"

schema_Schema *schema_to(lua_State *L, int i) {
  return program_to(L, i);
}

bool schema_valid(lua_State *L, int schema, int value) {
  check_Machine m;
  int top = lua_gettop(L);
  bool ok;
  check_start_root(&m, L, (const schema_Schema *)lua_touserdata(L, schema),
                   schema, top, 0);
  ok = check_root(&m, value, lua_type(L, value));
  lua_settop(L, top);
  return ok;
}

void schema_push_issues(lua_State *L, int schema, int value) {
  issue_List list = {.at = NULL};
  luaL_checkstack(L, 40, "schema");
  lua_newtable(L);
  core_push_array_mt(L);
  lua_setmetatable(L, -2);
  list.issues = lua_gettop(L);
  check_start(&list.m, L, schema, value);
  list.limit = list.m.s->issue_limit;
  issue_collect_all(&list, value);
  lua_settop(L, list.issues);
}

/* Pushes "/title: expected string, got integer (and 2 more)" for a non-empty
** array of issues. */
static void push_summary(lua_State *L, int issues) {
  int top = lua_gettop(L);
  size_t n = ops_rawlen(L, issues);
  ops_rawgeti(L, issues, 1);
  lua_getfield(L, top + 1, "path");
  lua_getfield(L, top + 1, "message");
  lua_pushfstring(L, "%s%s%s", lua_tostring(L, top + 2),
                  *lua_tostring(L, top + 2) == '\0' ? "" : ": ",
                  lua_tostring(L, top + 3));
  if (n > 1) {
    lua_pushfstring(L, " (and %d more)", (int)n - 1);
    lua_concat(L, 2);
  }
  lua_replace(L, top + 1);
  lua_settop(L, top + 1);
}

bool schema_fill(lua_State *L, int schema, int value, bool only_required) {
  return fill_value(L, schema, value, only_required);
}

bool schema_cast(lua_State *L, int schema, int value, int mode, bool changes,
                 int ahead) {
  return cast_value(L, schema, value, mode, changes, ahead);
}

void schema_push_ahead(lua_State *L, int schema, int value) {
  if (ahead_push(L, schema, value) == NULL) return;
  luaL_getmetatable(L, AHEAD_TYPE);
  lua_setmetatable(L, -2);
}

/* ahead:step() -> are there more items to cast? */
static int schema_ahead_step(lua_State *L) {
  luaL_checkudata(L, 1, AHEAD_TYPE);
  lua_pushboolean(L, ahead_step(L, 1));
  return 1;
}

bool schema_accepts_every_object(lua_State *L, int schema) {
  const schema_Schema *s = (const schema_Schema *)lua_touserdata(L, schema);
  const schema_Node *n = program_target(s, s->root);
  return (n->types & TYPE_OBJECT) != 0 && n->objects == n->end &&
         !n->accepts_all;
}

/* Raises an error at the caller of schema.compile, which called us. */
static void misuse(lua_State *L, const char *format, ...) {
  va_list values;
  luaL_where(L, 2);
  va_start(values, format);
  lua_pushvfstring(L, format, values);
  va_end(values);
  lua_concat(L, 2);
  lua_error(L);
}

/* Pushes the options' field `name` of type `t`, nil when absent. */
static bool option(lua_State *L, const char *name, int t) {
  if (lua_isnoneornil(L, 2)) {
    lua_pushnil(L);
    return false;
  }
  lua_getfield(L, 2, name);
  if (lua_isnil(L, -1)) return false;
  if (lua_type(L, -1) != t)
    misuse(L, "bad option '%s' (%s expected, got %s)", name, lua_typename(L, t),
           luaL_typename(L, -1));
  return true;
}

/* Leaves the options' values on the stack. */
static void read_options(lua_State *L, schema_Schema *s, tree_Tree *t) {
  if (!option(L, "draft", LUA_TSTRING)) {
    schema_dialect_by_name("2020-12", &t->dialect);
  } else if (!schema_dialect_by_name(lua_tostring(L, -1), &t->dialect) &&
             !schema_dialect_by_uri(lua_tostring(L, -1), &t->dialect)) {
    misuse(L,
           "bad option 'draft' (\"2020-12\", \"2019-09\", \"7\", \"6\", "
           "\"4\", \"openapi-3.1\", \"openapi-3.0\" or \"swagger-2.0\" "
           "expected, got \"%s\")",
           lua_tostring(L, -1));
  }
  s->issue_limit = ISSUE_LIMIT;
  if (option(L, "max_issues", LUA_TNUMBER)) {
    lua_Number n = lua_tonumber(L, -1);
    if (!(n >= 1 && n <= 1000000))
      misuse(L, "bad option 'max_issues' (1 to 1000000 expected)");
    s->issue_limit = (int32_t)n;
  }
  if (option(L, "max_steps", LUA_TNUMBER)) {
    lua_Number n = lua_tonumber(L, -1);
    if (!(n >= 1 && n <= 1e15))
      misuse(L, "bad option 'max_steps' (1 to 1e15 expected)");
    s->max_steps = (int64_t)n;
  }
}

/* Pushes nil and the error with the array of issues at `issues`. */
static int push_error(lua_State *L, int issues) {
  push_summary(L, issues);
  lua_pushnil(L);
  core_push_error(L, "VALIDATION_ERROR", lua_tostring(L, -2), issues);
  return 2;
}

static int push_failure(lua_State *L, const tree_Tree *t) {
  lua_pushvalue(L, t->issues);
  core_push_array_mt(L);
  lua_setmetatable(L, -2);
  push_error(L, t->issues);
  lua_pushvalue(L, t->unresolved);
  return 3;
}

static bool has_issues(lua_State *L, const tree_Tree *t) {
  return ops_rawlen(L, t->issues) > 0;
}

/* core.schema_compile(schema, { draft, formats, documents, uri, max_issues,
** max_steps }?) -> schema | nil, err, array of URIs without a document */
static int schema_compile(lua_State *L) {
  schema_Schema *s;
  tree_Tree *t;
  int program, documents;
  int32_t root;
  bool formats;
  int kind = lua_type(L, 1);
  luaL_argcheck(L, kind == LUA_TTABLE || kind == LUA_TBOOLEAN, 1,
                "a schema (a table or a boolean) expected");
  luaL_argcheck(L, lua_isnoneornil(L, 2) || lua_istable(L, 2), 2,
                "a table of options expected");
  lua_settop(L, 2);
  s = program_new(L, core_state(L));
  program = lua_gettop(L);
  ops_getuservalue(L, program);
  if (!option(L, "documents", LUA_TTABLE)) lua_newtable(L);
  documents = lua_gettop(L);
  formats = option(L, "formats", LUA_TBOOLEAN) && lua_toboolean(L, -1);
  t = tree_new(L, s->core, program + 1, documents);
  read_options(L, s, t);
  lua_pushstring(L, option(L, "uri", LUA_TSTRING) ? lua_tostring(L, -1) : "");
  root = tree_build(L, t, 1, lua_tostring(L, -1));
  if (!has_issues(L, t)) compile_program(L, s, t, root, formats);
  if (has_issues(L, t)) return push_failure(L, t);
  lua_settop(L, program);
  fill_find_unfit(L, program);
  return 1;
}

static void check_self(lua_State *L) {
  luaL_argcheck(L, program_to(L, 1) != NULL, 1, "a compiled schema expected");
  luaL_checkany(L, 2);
}

static int push_misfits(lua_State *L) {
  lua_settop(L, 2);
  lua_pushboolean(L, 0);
  schema_push_issues(L, 1, 2);
  return 2;
}

/* schema:check(value) -> true | false, issues */
static int schema_check(lua_State *L) {
  check_Machine m;
  const schema_Schema *s = program_to(L, 1);
  int t = lua_type(L, 2), top = lua_gettop(L);
  if (s == NULL || t == LUA_TNONE) check_self(L);
  check_start_root(&m, L, s, 1, top, top + LUA_MINSTACK);
  if (!check_root(&m, 2, t)) return push_misfits(L);
  lua_pushboolean(L, 1);
  return 1;
}

static int cast_mode(lua_State *L, int i) {
  static const char *const modes[] = {"off", "cast", "force", NULL};
  if (lua_isnil(L, i)) return SCHEMA_CAST; /* LuaJIT's takes tables for nil */
  return luaL_checkoption(L, i, NULL, modes);
}

/* schema:cast(value, mode = "cast", changes = true)
** -> value, changes | nil, nothing | err: why defaults are missing */
static int schema_cast_method(lua_State *L) {
  int mode;
  bool changes;
  if (lua_type(L, 2) == LUA_TNONE || program_to(L, 1) == NULL) check_self(L);
  lua_settop(L, 4);
  mode = cast_mode(L, 3);
  changes = lua_toboolean(L, 4) || lua_type(L, 4) == LUA_TNIL;
  schema_cast(L, 1, 2, mode, changes, 0);
  if (lua_isnil(L, -1)) {
    lua_settop(L, changes ? 6 : 5);
    return changes ? 2 : 1;
  }
  push_error(L, lua_gettop(L));
  lua_replace(L, 7);
  lua_settop(L, 7);
  return 3;
}

/* schema:fill(value, only_required = false) -> value or a copy with defaults |
** nil, err */
static int schema_fill_method(lua_State *L) {
  bool only_required = lua_toboolean(L, 3);
  check_self(L);
  return schema_fill(L, 1, 2, only_required) ? 1 : push_error(L, lua_gettop(L));
}

static const luaL_Reg functions[] = {
    {"schema_compile", schema_compile},
    {NULL, NULL},
};

static const luaL_Reg methods[] = {
    {"check", schema_check},
    {"cast", schema_cast_method},
    {"fill", schema_fill_method},
    {NULL, NULL},
};

static const luaL_Reg ahead_methods[] = {
    {"step", schema_ahead_step},
    {NULL, NULL},
};

void schema_open(lua_State *L) {
  program_open(L, methods);
  core_new_type(L, AHEAD_TYPE, ahead_methods, NULL);
  core_setfuncs(L, functions);
}
