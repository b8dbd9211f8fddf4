/*
** any.c - checks a table by a schema that accepts everything: it must be JSON
** (schema/check/check.h).
*/
#include "schema/check/check.h"
#include "schema/program/value.h"

static bool check_within(check_Machine *m, int v);

static bool check_each(check_Machine *m, int v, size_t n) {
  size_t i;
  for (i = 1; i <= n; i++) {
    bool ok;
    ops_rawgeti(m->L, v, i);
    ok = check_within(m, lua_gettop(m->L));
    lua_pop(m->L, 1);
    if (!ok) return false;
    check_walked(m, i);
  }
  return true;
}

static bool check_names(check_Machine *m, int v) {
  lua_State *L = m->L;
  int key = lua_gettop(L) + 1;
  size_t n = 0;
  lua_pushnil(L);
  while (lua_next(L, v)) {
    if (lua_type(L, key) != LUA_TSTRING || !check_within(m, key + 1)) {
      lua_settop(L, key - 1);
      return false;
    }
    lua_pop(L, 1);
    check_walked(m, ++n);
  }
  return true;
}

static bool check_within(check_Machine *m, int v) {
  lua_State *L = m->L;
  int t = lua_type(L, v);
  bool ok;
  if (t != LUA_TTABLE) return schema_type_of(L, m->core, v, t, TYPE_ANY) != 0;
  if (m->depth >= CHECK_MAX_DEPTH || !ops_checkstack(L, 8))
    return check_too_deep(m);
  if (!check_step(m)) return false; /* shared tables may occur many times */
  m->depth++;
  if (value_is_array(L, m->core, v)) {
    ptrdiff_t n = value_array_length(L, v);
    ok = n >= 0 && check_each(m, v, (size_t)n);
  } else {
    ok = check_names(m, v);
  }
  m->depth--;
  return ok;
}

bool check_says_json(check_Machine *m, int v) {
  bool ok = check_within(m, v);
  check_forget_room(m);
  return ok;
}
