#include "schema/program/value.h"

#include <math.h>

#include "json/number.h"

#define FEW_TO_WALK 8 /* with more items, indexing is twice as fast */

/* A length of 0 means that there is no first item; other lengths need no
** test. */
static bool has_first(lua_State *L, int i) {
  bool has;
  if (ops_rawlen(L, i) == 0) return false;
  has = ops_rawgeti(L, i, 1) != LUA_TNIL;
  lua_pop(L, 1);
  return has;
}

uint16_t schema_type_of_unmarked(lua_State *L, int i, uint16_t wanted) {
  if (has_first(L, i)) return TYPE_ARRAY;
  if ((wanted & TYPE_OBJECT) || (wanted & TYPE_ARRAY) == 0) return TYPE_OBJECT;
  lua_pushnil(L);
  if (!lua_next(L, i)) return TYPE_ARRAY;
  lua_pop(L, 2);
  return TYPE_OBJECT;
}

static uint16_t table_type(lua_State *L, const core_State *core, int i,
                           uint16_t wanted) {
  switch (value_mark(L, core, i)) {
  case MARK_ARRAY: return TYPE_ARRAY;
  case MARK_OBJECT: return TYPE_OBJECT;
  default: return schema_type_of_unmarked(L, i, wanted);
  }
}

static uint16_t number_type(lua_State *L, int i) {
  lua_Number d;
#if OPS_INTEGERS
  if (lua_isinteger(L, i)) return TYPE_INTEGER;
#endif
  d = lua_tonumber(L, i);
  if (!isfinite(d)) return 0;
  return floor(d) == d ? TYPE_INTEGER : TYPE_FRACTION;
}

uint16_t schema_type_of(lua_State *L, const core_State *core, int i, int t,
                        uint16_t wanted) {
  switch (t) {
  case LUA_TSTRING: return TYPE_STRING;
  case LUA_TNUMBER: return number_type(L, i);
  case LUA_TBOOLEAN: return TYPE_BOOLEAN;
  case LUA_TTABLE: return table_type(L, core, i, wanted);
  default: break;
  }
  switch (value_kind(L, core, i)) {
  case VALUE_NULL: return TYPE_NULL;
  case VALUE_NUMBER: return TYPE_INTEGER;
  default: return 0;
  }
}

ptrdiff_t schema_sequence_length(lua_State *L, int i) {
  ptrdiff_t n, at;
  if (ops_rawlen(L, i) <= FEW_TO_WALK) return value_array_length(L, i);
  n = value_glance_length(L, i);
  for (at = 1; at <= n; at++) {
    bool hole = ops_rawgeti(L, i, (size_t)at) == LUA_TNIL;
    lua_pop(L, 1);
    if (hole) return -1;
  }
  return n;
}

uint64_t schema_hash_text(const core_State *core, const char *s, size_t len) {
  uint64_t h = schema_mix(core->seed, len), word = 0;
  for (; len >= sizeof(word); s += sizeof(word), len -= sizeof(word)) {
    memcpy(&word, s, sizeof(word));
    h = schema_mix(h, word);
  }
  memcpy(&word, s, len); /* the rest of the word stays */
  return schema_mix(h, word);
}

size_t schema_text_length(const char *s, size_t len) {
  size_t i, n = 0;
  for (i = 0; i < len; i++) n += ((unsigned char)s[i] & 0xC0) != 0x80;
  return n;
}

int schema_compare(lua_State *L, const core_State *core, int i,
                   const schema_Op *op) {
  integer_Value n, bound;
  bool whole = program_integer_bound(op, &bound);
  double d;
  if (integer_read(L, core, i, &n))
    return whole ? integer_compare(n, bound)
                 : -integer_compare_double(op->u.d, n);
  d = lua_tonumber(L, i);
  if (whole) return integer_compare_double(d, bound);
  return d < op->u.d ? -1 : d > op->u.d;
}

typedef struct Decimal {
  uint64_t digits; /* without trailing zeros */
  int exponent;
} Decimal;

static Decimal strip(Decimal decimal) {
  while (decimal.digits != 0 && decimal.digits % 10 == 0) {
    decimal.digits /= 10;
    decimal.exponent++;
  }
  return decimal;
}

/* The shortest decimal that reads back as `d`, of at most 17 digits. */
static Decimal to_decimal(double d) {
  Decimal decimal = {0, 0};
  char text[JSON_NUMBER_ROOM];
  const char *p = text, *end = text + json_format_double(text, fabs(d));
  bool fraction = false;
  int exponent = 0;
  for (; p < end && *p != 'e'; p++) {
    if (*p == '.') {
      fraction = true;
      continue;
    }
    decimal.digits = decimal.digits * 10 + (uint64_t)(*p - '0');
    if (fraction) decimal.exponent--;
  }
  if (p < end) { /* "e21", "e-7" */
    bool negative = p[1] == '-';
    for (p += negative ? 2 : 1; p < end; p++)
      exponent = exponent * 10 + (*p - '0');
    decimal.exponent += negative ? -exponent : exponent;
  }
  return strip(decimal);
}

/* `of` is above 0. */
static bool is_decimal_multiple(Decimal a, double of) {
  Decimal b = to_decimal(of);
  uint64_t rest;
  int i;
  if (a.digits == 0) return true;
  if (a.exponent < b.exponent) return false;
  rest = a.digits % b.digits;
  for (i = a.exponent - b.exponent; i > 0 && rest != 0; i--)
    rest = rest * 10 % b.digits;
  return rest == 0;
}

bool schema_is_multiple(lua_State *L, const core_State *core, int i,
                        const schema_Op *op) {
  integer_Value n, bound;
  Decimal decimal = {.exponent = 0};
  bool whole = program_integer_bound(op, &bound);
  if (!integer_read(L, core, i, &n))
    return is_decimal_multiple(to_decimal(lua_tonumber(L, i)),
                               program_bound(op));
  if (whole)
    return integer_magnitude(n) % bound.bits == 0; /* the bound is above 0 */
  decimal.digits = integer_magnitude(n);
  return is_decimal_multiple(strip(decimal), op->u.d);
}
