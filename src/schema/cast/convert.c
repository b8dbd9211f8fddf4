/*
** convert.c - lossless conversions of scalars: a text that is exactly the JSON
** form of a number or a boolean, and numbers to text (schema/cast/cast.h,
** cast_convert).
*/
#include "json/number.h"
#include "schema/cast/cast.h"
#include "schema/check/equal.h"

#include <math.h>

#define MAX_DIGITS 17 /* the shortest text of a double has no more */

static bool is_digit(char c) {
  return c >= '0' && c <= '9';
}

/* Reads an integer from its canonical text `s`. */
static bool read_integer(const char *s, size_t len, integer_Value *integer) {
  return (len == 1 || s[s[0] == '-'] != '0') && integer_parse(s, len, integer);
}

/* The text of a number; `s` ends with a '\0'. */
typedef struct Text {
  const char *s;
  uint64_t mantissa;
  int digits, exponent;
} Text;

static void read_digits(Text *t, int point) {
  for (; is_digit(*t->s) && t->digits <= MAX_DIGITS; t->s++) {
    t->mantissa = t->mantissa * 10 + (uint64_t)(*t->s - '0');
    t->digits += t->mantissa != 0;
    t->exponent -= point;
  }
}

static void read_exponent(Text *t) {
  int exponent = 0, sign = 1;
  t->s++;
  if (*t->s == '-' || *t->s == '+') sign = *t->s++ == '-' ? -1 : 1;
  for (; is_digit(*t->s) && exponent < 1000; t->s++)
    exponent = exponent * 10 + (*t->s - '0');
  t->exponent += sign * exponent;
}

/* Reads a decimal number in any locale; 0 when `s` is not one, or has more
** digits than a double needs. */
static double read_double(const char *s, size_t len) {
  Text t = {.s = s};
  double d;
  if (*t.s == '-') t.s++;
  read_digits(&t, 0);
  if (*t.s == '.') {
    t.s++;
    read_digits(&t, 1);
  }
  if (*t.s == 'e') read_exponent(&t);
  if (t.s != s + len || t.mantissa == 0) return 0;
  d = json_parse_double(t.mantissa, t.exponent, true, s, len);
  return *s == '-' ? -d : d;
}

/* Are `s` and `json`, which are the same number, the same text, except for the
** exponent's form (e+21, e-07)?  Of the same digits there is no other one. */
static bool is_same_number(const char *s, const char *json) {
  while (*s == *json && *s != '\0' && *s != 'e') s++, json++;
  return *s == *json;
}

/* Pushes the number whose canonical text is `s`. */
static bool push_number_text(lua_State *L, const core_State *core,
                             const char *s, size_t len) {
  char text[JSON_NUMBER_ROOM + 1];
  integer_Value integer;
  double d;
  if (read_integer(s, len, &integer)) {
    integer_push(L, core, integer);
    return true;
  }
  d = read_double(s, len);
  if (!isfinite(d) || d == 0) return false; /* "-0" would lose its sign */
  text[json_format_double(text, d)] = '\0';
  if (!is_same_number(s, text)) return false;
  lua_pushnumber(L, d);
  return true;
}

static bool push_boolean_text(lua_State *L, const char *s) {
  bool yes = strcmp(s, "true") == 0;
  if (!yes && strcmp(s, "false") != 0) return false;
  lua_pushboolean(L, yes);
  return true;
}

static bool push_text(lua_State *L, const core_State *core, int slot) {
  char text[JSON_NUMBER_ROOM];
  integer_Value n;
  double d;
  if (integer_read(L, core, slot, &n)) {
    lua_pushlstring(L, text, integer_format(text, n));
    return true;
  }
  d = lua_tonumber(L, slot);
  if (lua_type(L, slot) != LUA_TNUMBER || !isfinite(d)) return false;
  lua_pushlstring(L, text, json_format_double(text, d));
  return true;
}

static uint16_t type_of(const cast_Machine *c, int i) {
  return schema_type_of(c->m.L, c->m.core, i, lua_type(c->m.L, i), TYPE_ANY);
}

/* Takes the value on top of the stack if it conforms, or has an allowed type
** and the old value has not. */
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
    if (push_number_text(L, c->m.core, s, len))
      return take(c, nodes, count, slot, types);
    return push_boolean_text(L, s) && take(c, nodes, count, slot, types);
  case LUA_TNUMBER:
  case INTEGER_WIDE_TYPE:
    return push_text(L, c->m.core, slot) && take(c, nodes, count, slot, types);
  default: return false;
  }
}
