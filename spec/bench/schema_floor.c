/*
** schema_floor.c - what no check through the C API can be faster than: bare
** walks over a value that look at the type of each part and nothing else.
*/
#include "lua/compat.h"

/* Where the tables of a value are and which keys they have. */
typedef struct Plan {
  int count;
  int is_array;
  int *keys; /* places in the table of keys, that walks have as upvalue 1 */
  struct Plan **children;
} Plan;

/* Never freed: the process ends with the benchmark. */
static void *block(lua_State *L, size_t size) {
  void *p = lua_newuserdata(L, size + 1);
  luaL_ref(L, LUA_REGISTRYINDEX);
  return memset(p, 0, size);
}

static int key_place(lua_State *L, int keys, int key) {
  int place;
  lua_pushvalue(L, key);
  if (ops_rawget(L, keys) == LUA_TNIL) {
    lua_pushvalue(L, key);
    ops_rawseti(L, keys, ops_rawlen(L, keys) + 1);
    lua_pushvalue(L, key);
    lua_pushinteger(L, (lua_Integer)ops_rawlen(L, keys));
    lua_rawset(L, keys);
    lua_pop(L, 1);
    lua_pushinteger(L, (lua_Integer)ops_rawlen(L, keys));
  }
  place = (int)lua_tointeger(L, -1);
  lua_pop(L, 1);
  return place;
}

/* Of the table on top of the stack. */
static Plan *make_plan(lua_State *L, int keys) {
  int v = lua_gettop(L), i = 0;
  Plan *plan = (Plan *)block(L, sizeof(Plan));
  luaL_checkstack(L, 20, "plan");
  for (lua_pushnil(L); lua_next(L, v); lua_pop(L, 1)) plan->count++;
  plan->is_array = ops_rawlen(L, v) > 0;
  plan->keys = (int *)block(L, (size_t)plan->count * sizeof(int));
  plan->children = (Plan **)block(L, (size_t)plan->count * sizeof(Plan *));
  for (lua_pushnil(L); lua_next(L, v); lua_pop(L, 1)) {
    if (plan->is_array) i = (int)lua_tointeger(L, -2) - 1;
    else plan->keys[i] = key_place(L, keys, lua_gettop(L) - 1);
    if (lua_type(L, -1) == LUA_TTABLE) plan->children[i] = make_plan(L, keys);
    i++;
  }
  return plan;
}

static void walk_keys(lua_State *L, const Plan *plan, int v, int top) {
  int i, at = top;
  lua_checkstack(L, plan->is_array ? 8 : plan->count + 8);
  for (i = 0; i < plan->count; i++) {
    int t;
    if (plan->is_array) {
      lua_settop(L, at = top);
      t = ops_rawgeti(L, v, (size_t)i + 1);
    } else {
      ops_rawgeti(L, 3, (size_t)plan->keys[i]);
      t = ops_rawget(L, v);
    }
    at++;
    if (t == LUA_TTABLE && plan->children[i] != NULL)
      walk_keys(L, plan->children[i], at, at);
  }
  lua_settop(L, top);
}

static void walk_next(lua_State *L, int v, int top) {
  size_t n = ops_rawlen(L, v), i;
  lua_checkstack(L, 8);
  for (i = 1; i <= n; i++) {
    if (ops_rawgeti(L, v, i) == LUA_TTABLE) walk_next(L, top + 1, top + 1);
    lua_settop(L, top);
  }
  if (n > 0) return;
  lua_pushnil(L);
  while (lua_next(L, v)) {
    if (lua_type(L, top + 2) == LUA_TTABLE) walk_next(L, top + 2, top + 2);
    lua_settop(L, top + 1);
  }
}

/* floor.plan(value) -> plan */
static int floor_plan(lua_State *L) {
  lua_settop(L, 1);
  lua_pushvalue(L, lua_upvalueindex(1));
  lua_insert(L, 1);
  lua_pushlightuserdata(L, make_plan(L, 1));
  return 1;
}

/* floor.keys(plan, value): every known member by its key */
static int floor_keys(lua_State *L) {
  lua_settop(L, 2);
  lua_pushvalue(L, lua_upvalueindex(1));
  walk_keys(L, (const Plan *)lua_touserdata(L, 1), 2, 3);
  return 0;
}

/* floor.next(value): every member as lua_next gives it */
static int floor_next(lua_State *L) {
  lua_settop(L, 1);
  walk_next(L, 1, 1);
  return 0;
}

int luaopen_schema_floor(lua_State *L);

int luaopen_schema_floor(lua_State *L) {
  static const luaL_Reg functions[] = {{"plan", floor_plan},
                                       {"keys", floor_keys},
                                       {"next", floor_next},
                                       {NULL, NULL}};
  lua_newtable(L);
  lua_newtable(L);
  ops_setfuncs(L, functions, 1);
  return 1;
}
