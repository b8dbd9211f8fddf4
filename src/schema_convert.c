/*
** schema_convert.c - conversions of scalars that lose nothing: text that is
** exactly how JSON writes a number or a boolean, and numbers to their text
** (schema_cast.h, cast_convert).
*/
#include "json_number.h"
#include "schema_cast.h"
#include "schema_value.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>

/* The shortest text that reads back the same, as JSON has it. */
static void write_number(char *text, size_t size, double d) {
  int precision;
  for (precision = 15; precision <= 17; precision++) {
    snprintf(text, size, "%.*g", precision, d);
    if (strtod(text, NULL) == d) return;
  }
}

static bool is_integer_text(const char *s, size_t len) {
  size_t start = len > 1 && s[0] == '-' ? 1 : 0, i;
  if (len - start == 0 || len - start > 19) return false;
  if (s[start] == '0' && (len - start > 1 || start > 0)) return false;
  for (i = start; i < len; i++) {
    if (s[i] < '0' || s[i] > '9') return false;
  }
  return true;
}

static bool push_integer_text(lua_State *L, const char *s, size_t len) {
  uint64_t n = 0, limit = (uint64_t)INT64_MAX + (s[0] == '-' ? 1 : 0);
  size_t i;
  if (!is_integer_text(s, len)) return false;
  for (i = s[0] == '-' ? 1 : 0; i < len; i++) {
    uint64_t digit = (uint64_t)(s[i] - '0');
    if (n > (limit - digit) / 10) return false;
    n = n * 10 + digit;
  }
#if !OPS_INTEGERS
  if (n > (uint64_t)OPS_MAX_SAFE_INTEGER) return false;
#endif
  if (s[0] == '-') core_push_integer(L, n == 0 ? 0 : -(int64_t)(n - 1) - 1);
  else core_push_integer(L, (int64_t)n);
  return true;
}

/* Pushes the number that `s` is the canonical text of. */
static bool push_number_text(lua_State *L, const char *s, size_t len) {
  char text[40];
  double d;
  if (len == 0 || len > 30 || strspn(s, "0123456789.-+e") != len) return false;
  if (push_integer_text(L, s, len)) return true;
  d = strtod(s, NULL);
  if (!isfinite(d) || d == 0) return false; /* "-0" would lose its sign */
  write_number(text, sizeof(text), d);
  if (strcmp(text, s) != 0) return false;
  lua_pushnumber(L, d);
  return true;
}

static bool push_boolean_text(lua_State *L, const char *s) {
  bool yes = strcmp(s, "true") == 0;
  if (!yes && strcmp(s, "false") != 0) return false;
  lua_pushboolean(L, yes);
  return true;
}

static bool push_text(lua_State *L, int slot) {
  char text[40];
  int64_t n;
  double d = lua_tonumber(L, slot);
  if (!isfinite(d)) return false;
  if (value_is_integer(L, slot, &n)) {
    lua_pushlstring(L, text, json_format_integer(text, n));
  } else {
    write_number(text, sizeof(text), d);
    lua_pushstring(L, text);
  }
  return true;
}

static uint16_t type_of(const cast_Machine *c, int i) {
  return schema_type_of(c->m.L, c->m.core, i, lua_type(c->m.L, i), 0);
}

/* Takes the value on top of the stack when it conforms, or has a wanted type
** in place of an unwanted one. */
static bool take(cast_Machine *c, const int32_t *nodes, int count, int slot,
                 uint16_t types) {
  lua_State *L = c->m.L;
  int fresh = lua_gettop(L);
  bool fits = cast_conforms(c, nodes, count, fresh);
  if (fits || ((types & type_of(c, fresh)) && !(types & type_of(c, slot)))) {
    cast_record(c, "converted", slot, fresh);
    lua_replace(L, slot);
  } else {
    lua_pop(L, 1);
  }
  return fits;
}

bool cast_convert(cast_Machine *c, const int32_t *nodes, int count, int slot,
                  uint16_t types) {
  lua_State *L = c->m.L;
  const char *s;
  size_t len;
  switch (lua_type(L, slot)) {
  case LUA_TSTRING:
    s = lua_tolstring(L, slot, &len);
    if (strlen(s) != len) return false;
    if (push_number_text(L, s, len)) return take(c, nodes, count, slot, types);
    return push_boolean_text(L, s) && take(c, nodes, count, slot, types);
  case LUA_TNUMBER:
    return push_text(L, slot) && take(c, nodes, count, slot, types);
  default: return false;
  }
}
