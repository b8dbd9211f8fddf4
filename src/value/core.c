#include "value/core.h"

#include "platform/platform.h"

/* Registry keys: the address of the core state plus one of these. */
enum { KEY_MARKS, KEY_ARRAY_MT, KEY_OBJECT_MT, KEY_ERROR_MT, KEY_ORDER };

static const void *core_key(const core_State *core, int key) {
  return (const char *)core + key;
}

ops_Alloc core_alloc(lua_State *L) {
  ops_Alloc alloc;
  alloc.fn = lua_getallocf(L, &alloc.ud);
  return alloc;
}

void core_setfuncs(lua_State *L, const luaL_Reg *funcs) {
  lua_pushvalue(L, lua_upvalueindex(1));
  ops_setfuncs(L, funcs, 1);
}

void core_new_type(lua_State *L, const char *name, const luaL_Reg *methods,
                   lua_CFunction gc) {
  luaL_newmetatable(L, name);
  if (gc != NULL) {
    lua_pushcfunction(L, gc);
    lua_setfield(L, -2, "__gc");
  }
  if (methods != NULL) {
    lua_newtable(L);
    core_setfuncs(L, methods);
    lua_setfield(L, -2, "__index");
  }
  lua_pushstring(L, name);
  lua_setfield(L, -2, "__name");
  lua_pop(L, 1);
}

void core_push_array_mt(lua_State *L) {
  ops_rawgetp(L, LUA_REGISTRYINDEX, core_key(core_state(L), KEY_ARRAY_MT));
}

void core_push_object_mt(lua_State *L) {
  ops_rawgetp(L, LUA_REGISTRYINDEX, core_key(core_state(L), KEY_OBJECT_MT));
}

void core_push_error(lua_State *L, const char *code, const char *message,
                     int details) {
  if (details != 0) details = ops_absindex(L, details);
  lua_createtable(L, 0, 3);
  lua_pushstring(L, code);
  lua_setfield(L, -2, "code");
  lua_pushstring(L, message);
  lua_setfield(L, -2, "message");
  if (details != 0) {
    lua_pushvalue(L, details);
    lua_setfield(L, -2, "details");
  }
  ops_rawgetp(L, LUA_REGISTRYINDEX, core_key(core_state(L), KEY_ERROR_MT));
  lua_setmetatable(L, -2);
}

int64_t core_now(void) {
  return platform_realtime() / 1000000;
}

void core_push_integer(lua_State *L, int64_t n) {
#if OPS_INTEGERS
  lua_pushinteger(L, (lua_Integer)n);
#else
  lua_pushnumber(L, (lua_Number)n);
#endif
}

/* Makes metatable `name`, stores it in the registry under `key` and in the
** module table as `field`; returns its address. */
static const void *open_mark(lua_State *L, core_State *core, int key,
                             const char *name, const char *field) {
  const void *address;
  luaL_newmetatable(L, name);
  address = lua_topointer(L, -1);
  lua_pushstring(L, name);
  lua_setfield(L, -2, "__name");
  lua_pushvalue(L, -1);
  ops_rawsetp(L, LUA_REGISTRYINDEX, core_key(core, key));
  lua_setfield(L, -2, field);
  return address;
}

/* One table in each Lua state, as for the marks: stored under a name, so that
** it stays the same when the module is opened again. */
static void open_property_order(lua_State *L, core_State *core) {
  if (luaL_newmetatable(L, "operations.property_order")) {
    lua_pushnil(L);
    lua_setfield(L, -2, "__name");
    lua_createtable(L, 0, 1);
    lua_pushliteral(L, "k");
    lua_setfield(L, -2, "__mode");
    lua_setmetatable(L, -2);
  }
  lua_pushvalue(L, -1);
  ops_rawsetp(L, LUA_REGISTRYINDEX, core_key(core, KEY_ORDER));
  lua_setfield(L, -2, "property_order");
}

void core_open_marks(lua_State *L) {
  core_State *core = core_state(L);
  core->error_mt =
      open_mark(L, core, KEY_ERROR_MT, CORE_ERROR_NAME, "error_mt");
  core->array_mt =
      open_mark(L, core, KEY_ARRAY_MT, "operations.array", "array_mt");
  core->object_mt =
      open_mark(L, core, KEY_OBJECT_MT, "operations.object", "object_mt");
  lua_newtable(L);
  ops_rawsetp(L, LUA_REGISTRYINDEX, core_key(core, KEY_MARKS));
  open_property_order(L, core);
}

void core_push_property_order(lua_State *L) {
  ops_rawgetp(L, LUA_REGISTRYINDEX, core_key(core_state(L), KEY_ORDER));
}

void core_set_array_mark(lua_State *L, int metatable) {
  core_State *core = core_state(L);
  lua_pushvalue(L, metatable);
  core->array_mt = lua_topointer(L, -1);
  ops_rawsetp(L, LUA_REGISTRYINDEX, core_key(core, KEY_ARRAY_MT));
}

void core_add_foreign_mark(lua_State *L, int metatable, int mark) {
  core_State *core = core_state(L);
  ops_rawgetp(L, LUA_REGISTRYINDEX, core_key(core, KEY_MARKS));
  lua_pushvalue(L, metatable);
  lua_pushinteger(L, mark);
  lua_rawset(L, -3);
  lua_pop(L, 1);
  core->foreign_marks++;
}
