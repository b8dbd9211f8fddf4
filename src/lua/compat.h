/*
** compat.h - one spelling of the Lua C API for Lua 5.4, Lua 5.5 and LuaJIT 2.1:
** only the functions that differ.  A 5.1 build uses only symbols of 5.1.
*/
#ifndef OPERATIONS_COMPAT_H
#define OPERATIONS_COMPAT_H

#include <locale.h>
#include <stdint.h>
#include <stddef.h>
#include <string.h>

#include <lua.h>
#include <lauxlib.h>

#if LUA_VERSION_NUM != 505 && LUA_VERSION_NUM != 504 && LUA_VERSION_NUM != 501
#error "operations supports Lua 5.4, Lua 5.5 and LuaJIT 2.1"
#endif

#if LUA_VERSION_NUM >= 503
#define OPS_INTEGERS 1 /* numbers have an integer subtype */
#else
#define OPS_INTEGERS 0
#endif

/* Integers up to this size are exact in a double. */
#define OPS_MAX_SAFE_INTEGER INT64_C(9007199254740992)

#if LUA_VERSION_NUM >= 502

#define ops_rawlen(L, i) ((size_t)lua_rawlen(L, i))
#define ops_absindex(L, i) lua_absindex(L, i)
#define ops_testudata(L, i, name) luaL_testudata(L, i, name)
#define ops_setfuncs(L, funcs, nup) luaL_setfuncs(L, funcs, nup)
#define ops_rawgetp(L, i, p) lua_rawgetp(L, i, p)
#define ops_rawsetp(L, i, p) lua_rawsetp(L, i, p)
#define ops_setuservalue(L, i) lua_setuservalue(L, i)
#define ops_getuservalue(L, i) ((void)lua_getuservalue(L, i))

#else

#define ops_rawlen(L, i) ((size_t)lua_objlen(L, i))

/* As lua_absindex. */
static inline int ops_absindex(lua_State *L, int i) {
  return i > 0 || i <= LUA_REGISTRYINDEX ? i : lua_gettop(L) + i + 1;
}

/* As luaL_testudata: NULL unless it is a userdata of the type `name`. */
static inline void *ops_testudata(lua_State *L, int i, const char *name) {
  void *p = lua_touserdata(L, i);
  int same;
  if (p == NULL || !lua_getmetatable(L, i)) return NULL;
  lua_getfield(L, LUA_REGISTRYINDEX, name);
  same = lua_rawequal(L, -1, -2);
  lua_pop(L, 2);
  return same ? p : NULL;
}

/* Sets `funcs` in the table below `nup` upvalues; pops the upvalues. */
static inline void ops_setfuncs(lua_State *L, const luaL_Reg *funcs, int nup) {
  for (; funcs->name != NULL; funcs++) {
    int i;
    for (i = 0; i < nup; i++) lua_pushvalue(L, -nup);
    lua_pushcclosure(L, funcs->func, nup);
    lua_setfield(L, -(nup + 2), funcs->name);
  }
  lua_pop(L, nup);
}

/* As lua_rawgetp and lua_rawsetp: the key is the address `p`. */
static inline void ops_rawgetp(lua_State *L, int i, const void *p) {
  i = ops_absindex(L, i);
  lua_pushlightuserdata(L, (void *)p);
  lua_rawget(L, i);
}

static inline void ops_rawsetp(lua_State *L, int i, const void *p) {
  i = ops_absindex(L, i);
  lua_pushlightuserdata(L, (void *)p);
  lua_insert(L, -2);
  lua_rawset(L, i);
}

/* The uservalue of a userdata is a table on both runtimes. */
#define ops_setuservalue(L, i) ((void)lua_setfenv(L, i))
#define ops_getuservalue(L, i) lua_getfenv(L, i)

#endif

#if LUA_VERSION_NUM >= 505
#define ops_newstate(alloc, ud) lua_newstate(alloc, ud, luaL_makeseed(NULL))
#else
#define ops_newstate(alloc, ud) lua_newstate(alloc, ud)
#endif

/* A userdata with `slots` Lua values, counted from 1. */
static inline void *ops_newuserdata(lua_State *L, size_t size, int slots) {
#if LUA_VERSION_NUM >= 504
  return lua_newuserdatauv(L, size, slots);
#else
  void *p = lua_newuserdata(L, size);
  lua_createtable(L, slots, 0);
  ops_setuservalue(L, -2);
  return p;
#endif
}

/* Pops a value into a slot. */
static inline void ops_setslot(lua_State *L, int i, int slot) {
#if LUA_VERSION_NUM >= 504
  lua_setiuservalue(L, i, slot);
#else
  ops_getuservalue(L, i);
  lua_insert(L, -2);
  lua_rawseti(L, -2, slot);
  lua_pop(L, 1);
#endif
}

/* Pushes the value of a slot. */
static inline void ops_getslot(lua_State *L, int i, int slot) {
#if LUA_VERSION_NUM >= 504
  lua_getiuservalue(L, i, slot);
#else
  ops_getuservalue(L, i);
  lua_rawgeti(L, -1, slot);
  lua_remove(L, -2);
#endif
}

/* A C function of LuaJIT may have 8000 slots on its stack. */
#define OPS_STACK_SLOTS 7900

/* Makes room for `n` more stack slots; false when the stack has reached its
** limit.  Raises when out of memory, where lua_checkstack also returns
** false. */
static inline int ops_checkstack(lua_State *L, int n) {
  if (lua_checkstack(L, n)) return 1;
  if (lua_gettop(L) + n < OPS_STACK_SLOTS) luaL_error(L, "not enough memory");
  return 0;
}

/* lua_rawget and lua_rawgeti that return the type of the pushed value. */
static inline int ops_rawget(lua_State *L, int i) {
#if LUA_VERSION_NUM >= 503
  return lua_rawget(L, i);
#else
  lua_rawget(L, i);
  return lua_type(L, -1);
#endif
}

static inline int ops_rawgeti(lua_State *L, int i, size_t n) {
#if LUA_VERSION_NUM >= 503
  return lua_rawgeti(L, i, (lua_Integer)n);
#else
  lua_rawgeti(L, i, (int)n);
  return lua_type(L, -1);
#endif
}

/* As lua_rawseti for an index of any size. */
static inline void ops_rawseti(lua_State *L, int i, size_t n) {
#if LUA_VERSION_NUM >= 503
  lua_rawseti(L, i, (lua_Integer)n);
#else
  lua_rawseti(L, i, (int)n);
#endif
}

/* The text of the string or number at `i`, which becomes it; NULL for others.
** Lua writes the decimal point of the locale; here it is always ".". */
static inline const char *ops_text(lua_State *L, int i, size_t *len) {
  const int is_number = lua_type(L, i) == LUA_TNUMBER;
  const char *s = lua_tolstring(L, i, len);
  const char *point = is_number ? localeconv()->decimal_point : ".";
  if (strcmp(point, ".") == 0 || strstr(s, point) == NULL) return s;
  i = ops_absindex(L, i);
  luaL_gsub(L, s, point, ".");
  lua_replace(L, i);
  return lua_tolstring(L, i, len);
}

/* The `self` of a method set by ops_new_type; raises when it has another
** type. */
static inline void *ops_self(lua_State *L, const char *name) {
  void *p = lua_touserdata(L, 1);
  int same;
  if (p == NULL || !lua_getmetatable(L, 1)) return luaL_checkudata(L, 1, name);
  same = lua_rawequal(L, -1, lua_upvalueindex(1));
  lua_pop(L, 1);
  return same ? p : luaL_checkudata(L, 1, name);
}

/* Makes a userdata type: its methods, and its __gc.  A type that exists keeps
** the methods that were added to it. */
static inline void ops_new_type(lua_State *L, const char *name,
                                const luaL_Reg *methods, lua_CFunction gc) {
  luaL_newmetatable(L, name);
  lua_pushstring(L, name);
  lua_setfield(L, -2,
               "__name"); /* LuaJIT's luaL_newmetatable does not set it */
  lua_pushcfunction(L, gc);
  lua_setfield(L, -2, "__gc");
  lua_getfield(L, -1, "__index");
  if (lua_isnil(L, -1)) {
    lua_pop(L, 1);
    lua_newtable(L);
  }
  lua_pushvalue(L, -2); /* upvalue: the metatable, not looked up by name */
  ops_setfuncs(L, methods, 1);
  lua_setfield(L, -2, "__index");
  lua_pop(L, 1);
}

#endif
