/*
** option_lua.c - reads the options that a handle is started with: the table at
** index 2.
*/
#include "reactor/reactor_lua.h"

#include <math.h>
#include <string.h>

static void bad_type(lua_State *L, const char *name, const char *expected) {
  luaL_error(L, "bad option '%s' (%s expected, got %s)", name, expected,
             luaL_typename(L, -1));
}

static double check_number(lua_State *L, const char *name) {
  double n;
  if (!lua_isnumber(L, -1)) bad_type(L, name, "number");
  n = lua_tonumber(L, -1);
  if (!(n >= 0)) luaL_error(L, "bad option '%s' (negative)", name);
  return n;
}

static size_t size_of(double n) {
  return n >= (double)OPTION_UNLIMITED ? OPTION_UNLIMITED : (size_t)n;
}

double reactor_number_option(lua_State *L, const char *name, double absent) {
  lua_getfield(L, 2, name);
  return lua_isnil(L, -1) ? absent : check_number(L, name);
}

size_t reactor_size_option(lua_State *L, const char *name) {
  return size_of(reactor_number_option(L, name, HUGE_VAL));
}

bool reactor_flag_option(lua_State *L, const char *name) {
  lua_getfield(L, 2, name);
  return lua_toboolean(L, -1);
}

const char *reactor_string_option(lua_State *L, const char *name,
                                  size_t *length) {
  lua_getfield(L, 2, name);
  if (lua_isnil(L, -1)) return NULL;
  if (lua_type(L, -1) != LUA_TSTRING) bad_type(L, name, "string");
  return lua_tolstring(L, -1, length);
}

const char *reactor_text_at_top(lua_State *L, const char *name) {
  size_t length;
  const char *s;
  if (lua_type(L, -1) != LUA_TSTRING) bad_type(L, name, "string");
  s = lua_tolstring(L, -1, &length);
  if (strlen(s) != length)
    luaL_error(L, "bad option '%s' (contains a NUL)", name);
  return s;
}

const char *reactor_text_option(lua_State *L, const char *name) {
  lua_getfield(L, 2, name);
  return lua_isnil(L, -1) ? NULL : reactor_text_at_top(L, name);
}

/* The option that the string at -2 names, or NULL. */
static const reactor_Option *find(lua_State *L, const reactor_Option *option) {
  size_t length;
  const char *name = lua_tolstring(L, -2, &length);
  while (option->name != NULL &&
         (option->length != length || memcmp(option->name, name, length) != 0))
    option++;
  return option->name != NULL ? option : NULL;
}

/* Stores the value on top of the stack in the option's field of the record. */
static void take(lua_State *L, const reactor_Option *option, char *record) {
  void *place = record + option->offset;
  switch (option->kind) {
  case OPTION_NUMBER: *(double *)place = check_number(L, option->name); break;
  case OPTION_SIZE:
    *(size_t *)place = size_of(check_number(L, option->name));
    break;
  case OPTION_FLAG: *(bool *)place = lua_toboolean(L, -1); break;
  case OPTION_TEXT:
    *(const char **)place = reactor_text_at_top(L, option->name);
    break;
  }
}

void reactor_options(lua_State *L, int index, const reactor_Option *list,
                     void *record) {
  lua_pushnil(L);
  while (lua_next(L, index)) {
    const reactor_Option *option =
        lua_type(L, -2) == LUA_TSTRING ? find(L, list) : NULL;
    if (option != NULL) take(L, option, (char *)record);
    lua_pop(L, 1);
  }
}
