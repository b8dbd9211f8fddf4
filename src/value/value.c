/*
** value.c - reads a Lua value as a JSON value (value/core.h, value_...).
*/
#include "value/integer.h"

#include <math.h>
#include <stdlib.h>

#define MOST_EXPECTED 65536 /* names for which a new list has room */

static value_Mark foreign_mark(lua_State *L, const core_State *core) {
  value_Mark mark = MARK_NONE;
  if (core->foreign_marks > 0) {
    ops_rawgetp(L, LUA_REGISTRYINDEX, core); /* value/core.c: KEY_MARKS is 0 */
    lua_pushvalue(L, -2);
    if (ops_rawget(L, -2) == LUA_TNUMBER)
      mark = (value_Mark)lua_tointeger(L, -1);
    lua_pop(L, 2);
  }
  if (mark == MARK_NONE) {
    const char *type;
    lua_pushliteral(L, "__jsontype");
    if (ops_rawget(L, -2) == LUA_TSTRING) {
      type = lua_tostring(L, -1);
      if (strcmp(type, "array") == 0) mark = MARK_ARRAY;
      if (strcmp(type, "object") == 0) mark = MARK_OBJECT;
    }
    lua_pop(L, 1);
  }
  return mark;
}

value_Mark value_mark(lua_State *L, const core_State *core, int i) {
  const void *mt;
  value_Mark mark;
  if (!lua_getmetatable(L, i)) return MARK_NONE;
  mt = lua_topointer(L, -1);
  if (mt == core->array_mt) mark = MARK_ARRAY;
  else if (mt == core->object_mt) mark = MARK_OBJECT;
  else mark = foreign_mark(L, core);
  lua_pop(L, 1);
  return mark;
}

bool value_is_array(lua_State *L, const core_State *core, int i) {
  value_Mark mark = value_mark(L, core, i);
  int first;
  if (mark != MARK_NONE) return mark == MARK_ARRAY;
  first = ops_rawgeti(L, i, 1);
  lua_pop(L, 1);
  return first != LUA_TNIL;
}

static value_Kind table_kind(lua_State *L, const core_State *core, int i) {
  int first;
  switch (value_mark(L, core, i)) {
  case MARK_ARRAY: return VALUE_ARRAY;
  case MARK_OBJECT: return VALUE_OBJECT;
  default: break;
  }
  i = ops_absindex(L, i);
  first = ops_rawgeti(L, i, 1);
  lua_pop(L, 1);
  if (first != LUA_TNIL) return VALUE_ARRAY;
  lua_pushnil(L);
  if (!lua_next(L, i)) return VALUE_EMPTY;
  lua_pop(L, 2);
  return VALUE_OBJECT;
}

static value_Kind other_kind(lua_State *L, const core_State *core, int i,
                             int t) {
  integer_Value n;
  if (t == LUA_TUSERDATA && lua_touserdata(L, i) == core->foreign_null)
    return VALUE_NULL;
  return t == INTEGER_WIDE_TYPE && integer_is_wide(L, core, i, &n)
             ? VALUE_NUMBER
             : VALUE_OTHER;
}

value_Kind value_kind(lua_State *L, const core_State *core, int i) {
  int t = lua_type(L, i);
  switch (t) {
  case LUA_TBOOLEAN: return VALUE_BOOLEAN;
  case LUA_TNUMBER: return VALUE_NUMBER;
  case LUA_TSTRING: return VALUE_STRING;
  case LUA_TTABLE: return table_kind(L, core, i);
  case LUA_TLIGHTUSERDATA:
    return lua_touserdata(L, i) == NULL ? VALUE_NULL : VALUE_OTHER;
  default: return other_kind(L, core, i, t);
  }
}

/* Are the keys of the table at `i` exactly the integers 1..n? */
static bool has_only_items(lua_State *L, int i, size_t n) {
  size_t count = 0;
  lua_pushnil(L);
  while (lua_next(L, i)) {
    lua_Number key;
    lua_pop(L, 1);
    key = lua_type(L, -1) == LUA_TNUMBER ? lua_tonumber(L, -1) : 0;
    if (!(key >= 1 && key <= (lua_Number)n && key == floor(key))) {
      lua_pop(L, 1);
      return false;
    }
    count++;
  }
  return count == n;
}

ptrdiff_t value_array_length(lua_State *L, int i) {
  size_t n = 0;
  i = ops_absindex(L, i);
  /* The keys nearly always come in order. */
  for (lua_pushnil(L); lua_next(L, i); lua_pop(L, 1)) {
    if (value_is_index(L, -2, ++n)) continue;
    lua_pop(L, 2);
    n = ops_rawlen(L, i);
    return has_only_items(L, i, n) ? (ptrdiff_t)n : -1;
  }
  return (ptrdiff_t)n;
}

ptrdiff_t value_glance_length(lua_State *L, int i) {
  size_t n = ops_rawlen(L, i), at = 0;
  i = ops_absindex(L, i);
  lua_pushnil(L);
  while (lua_next(L, i)) {
    lua_pop(L, 1);
    if (!value_is_index(L, -1, ++at)) {
      lua_pop(L, 1);
      return value_array_length(L, i);
    }
    if (at > 1 || n <= 3) continue;
    at = n - 2; /* the traversal continues from an existing key */
    lua_pop(L, 1);
    lua_pushinteger(L, (lua_Integer)at);
    if (ops_rawgeti(L, i, at) == LUA_TNIL) {
      lua_pop(L, 2);
      return -1;
    }
    lua_pop(L, 1);
  }
  return at == n ? (ptrdiff_t)n : value_array_length(L, i);
}

static int by_bytes(const void *a, const void *b) {
  const value_Name *x = (const value_Name *)a, *y = (const value_Name *)b;
  int order = memcmp(x->s, y->s, x->len < y->len ? x->len : y->len);
  if (order != 0) return order;
  return (x->len > y->len) - (x->len < y->len);
}

/* Pushes a list of the string keys of the table at `i`; returns its length.
** Nothing here runs the collector, except for the making of the list. */
static size_t push_names(lua_State *L, int i) {
  size_t n = 0;
  int list;
  for (lua_pushnil(L); lua_next(L, i); lua_pop(L, 1)) n++;
  lua_createtable(L, n < MOST_EXPECTED ? (int)n : MOST_EXPECTED, 0);
  list = lua_gettop(L);
  n = 0;
  for (lua_pushnil(L); lua_next(L, i); lua_pop(L, 1)) {
    if (lua_type(L, -2) != LUA_TSTRING) continue;
    lua_pushvalue(L, -2);
    ops_rawseti(L, list, ++n);
  }
  return n;
}

value_Name *value_sorted_names(lua_State *L, int i, size_t *count) {
  value_Name *names;
  size_t n = push_names(L, ops_absindex(L, i)), at;
  int list = lua_gettop(L);
  names = (value_Name *)lua_newuserdata(L, n * sizeof(value_Name));
  for (at = 0; at < n; at++) {
    ops_rawgeti(L, list, at + 1);
    names[at].s = lua_tolstring(L, -1, &names[at].len);
    lua_pop(L, 1);
  }
  qsort(names, n, sizeof(value_Name), by_bytes);
  lua_insert(L, list);
  ops_setuservalue(L, list); /* keeps the strings alive */
  *count = n;
  return names;
}

bool value_push_named(lua_State *L, int i, const value_Name *name) {
  i = ops_absindex(L, i);
  lua_pushlstring(L, name->s, name->len);
  if (ops_rawget(L, i) != LUA_TNIL) return true;
  lua_pop(L, 1);
  return false;
}

int value_push_field(lua_State *L, int t, const char *key) {
  if (lua_type(L, t) != LUA_TTABLE) {
    lua_pushnil(L);
    return LUA_TNIL;
  }
  t = ops_absindex(L, t);
  lua_pushstring(L, key);
  return ops_rawget(L, t);
}

const char *value_type_name(lua_State *L, const core_State *core, int i) {
  integer_Value n;
  switch (value_kind(L, core, i)) {
  case VALUE_NULL: return "null";
  case VALUE_BOOLEAN: return "boolean";
  case VALUE_NUMBER: return integer_read(L, core, i, &n) ? "integer" : "number";
  case VALUE_STRING: return "string";
  case VALUE_ARRAY: return "array";
  case VALUE_OBJECT:
  case VALUE_EMPTY: return "object";
  default: return luaL_typename(L, i);
  }
}

const char *value_describe(lua_State *L, const core_State *core, int i) {
  if (lua_type(L, i) == LUA_TNUMBER) {
    lua_Number d = lua_tonumber(L, i);
    if (d != d) return "NaN";
    if (d - d != 0) return "infinity";
  }
  return value_type_name(L, core, i);
}
