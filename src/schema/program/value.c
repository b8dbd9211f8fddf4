#include "schema/program/value.h"

#include <math.h>
#include <stdlib.h>

#include "json/number.h"

#define MAX_NESTING 512 /* levels that equality looks into */
#define FEW_ITEMS 24    /* so many are compared each with each */
#define FEW_TO_WALK 8   /* items; of more, indexing takes half the time */

/* A length of 0 says that there is no first item; another one may skip it. */
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
  case LUA_TLIGHTUSERDATA:
  case LUA_TUSERDATA:
    return value_kind(L, core, i) == VALUE_NULL ? TYPE_NULL : 0;
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

static bool equal(lua_State *L, const core_State *core, int a, int b,
                  int depth);

static bool equal_arrays(lua_State *L, const core_State *core, int a, int b,
                         int depth) {
  size_t n = ops_rawlen(L, a), i;
  bool same = n == ops_rawlen(L, b);
  for (i = 1; same && i <= n; i++) {
    int top = lua_gettop(L);
    ops_rawgeti(L, a, i);
    ops_rawgeti(L, b, i);
    same = equal(L, core, top + 1, top + 2, depth);
    lua_settop(L, top);
  }
  return same;
}

static size_t count_members(lua_State *L, int i) {
  size_t n = 0;
  lua_pushnil(L);
  while (lua_next(L, i)) {
    lua_pop(L, 1);
    n++;
  }
  return n;
}

static bool equal_objects(lua_State *L, const core_State *core, int a, int b,
                          int depth) {
  int top = lua_gettop(L);
  size_t n = 0;
  lua_pushnil(L);
  while (lua_next(L, a)) {
    lua_pushvalue(L, top + 1);
    if (ops_rawget(L, b) == LUA_TNIL ||
        !equal(L, core, top + 2, top + 3, depth)) {
      lua_settop(L, top);
      return false;
    }
    lua_settop(L, top + 1);
    n++;
  }
  return count_members(L, b) == n;
}

static bool equal_tables(lua_State *L, const core_State *core, int a, int b,
                         int depth) {
  value_Kind x, y;
  if (lua_rawequal(L, a, b)) return true;
  if (depth > MAX_NESTING || !ops_checkstack(L, 12)) return false;
  x = value_kind(L, core, a);
  y = value_kind(L, core, b);
  if (x == VALUE_EMPTY) x = y;
  if (y == VALUE_EMPTY) y = x;
  if (x != y) return false;
  return x == VALUE_ARRAY ? equal_arrays(L, core, a, b, depth + 1)
                          : equal_objects(L, core, a, b, depth + 1);
}

static bool equal(lua_State *L, const core_State *core, int a, int b,
                  int depth) {
  int t = lua_type(L, a);
  if (t == LUA_TTABLE && lua_type(L, b) == LUA_TTABLE)
    return equal_tables(L, core, a, b, depth);
  if (lua_rawequal(L, a, b)) return true;
  return (t == LUA_TLIGHTUSERDATA || t == LUA_TUSERDATA) &&
         value_kind(L, core, a) == VALUE_NULL &&
         value_kind(L, core, b) == VALUE_NULL;
}

bool schema_equal(lua_State *L, const core_State *core, int a, int b) {
  return equal(L, core, ops_absindex(L, a), ops_absindex(L, b), 0);
}

bool schema_is_member(lua_State *L, const core_State *core, int constants,
                      const schema_Member *member, int i, uint16_t type) {
  bool same;
  if (type & (TYPE_ARRAY | TYPE_OBJECT)) type = TYPE_ARRAY | TYPE_OBJECT;
  if ((member->type & type) == 0) return false;
  if (type == TYPE_STRING) {
    size_t len;
    const char *s = lua_tolstring(L, i, &len);
    return program_same(s, len, member->text, member->len);
  }
  if (type == TYPE_NULL) return true;
  ops_rawgeti(L, constants, (size_t)member->value);
  same = equal(L, core, i, lua_gettop(L), 0);
  lua_pop(L, 1);
  return same;
}

typedef struct Hashed {
  uint64_t hash;
  size_t position;
} Hashed;

static uint64_t mix(uint64_t h, uint64_t x) {
  h = (h ^ x) * UINT64_C(0x9E3779B97F4A7C15);
  return h ^ (h >> 29);
}

static uint64_t hash_bytes(const char *s, size_t len) {
  uint64_t h = len;
  size_t i;
  for (i = 0; i < len; i++) h = mix(h, (unsigned char)s[i]);
  return h;
}

static uint64_t hash_value(lua_State *L, const core_State *core, int depth);

static uint64_t hash_table(lua_State *L, const core_State *core, int depth) {
  int i = lua_gettop(L);
  uint64_t sum = 4; /* addition: the order of members does not count */
  if (depth > 16 || !ops_checkstack(L, 8)) return sum;
  lua_pushnil(L);
  while (lua_next(L, i)) {
    uint64_t value = hash_value(L, core, depth + 1);
    lua_pop(L, 1);
    sum += mix(hash_value(L, core, depth + 1), value);
  }
  return sum;
}

/* Of the value on top of the stack. */
static uint64_t hash_value(lua_State *L, const core_State *core, int depth) {
  lua_Number d;
  uint64_t bits;
  const char *s;
  size_t len;
  switch (lua_type(L, -1)) {
  case LUA_TBOOLEAN: return lua_toboolean(L, -1) ? 2 : 3;
  case LUA_TNUMBER:
    d = lua_tonumber(L, -1) + 0.0; /* -0.0 becomes 0.0 */
    memcpy(&bits, &d, sizeof(bits));
    return mix(1, bits);
  case LUA_TSTRING: s = lua_tolstring(L, -1, &len); return hash_bytes(s, len);
  case LUA_TTABLE: return hash_table(L, core, depth);
  default: return 5;
  }
}

uint64_t schema_hash(lua_State *L, const core_State *core, int i) {
  uint64_t hash;
  lua_pushvalue(L, i);
  hash = hash_value(L, core, 0);
  lua_pop(L, 1);
  return hash;
}

static int by_hash(const void *a, const void *b) {
  const Hashed *x = (const Hashed *)a, *y = (const Hashed *)b;
  if (x->hash != y->hash) return x->hash < y->hash ? -1 : 1;
  return x->position < y->position ? -1 : x->position > y->position;
}

static bool same_items(lua_State *L, const core_State *core, int i, size_t a,
                       size_t b) {
  int top = lua_gettop(L);
  bool same;
  ops_rawgeti(L, i, a);
  ops_rawgeti(L, i, b);
  same = equal(L, core, top + 1, top + 2, 0);
  lua_settop(L, top);
  return same;
}

/* Sorted by hash, equal items are neighbours; `items` is a userdata. */
static bool find_twins_hashed(lua_State *L, const core_State *core, int i,
                              size_t n, size_t *first, size_t *second) {
  Hashed *items = (Hashed *)lua_newuserdata(L, n * sizeof(Hashed));
  size_t a, b;
  bool found = false;
  for (a = 0; a < n; a++) {
    ops_rawgeti(L, i, a + 1);
    items[a].hash = hash_value(L, core, 0);
    items[a].position = a + 1;
    lua_pop(L, 1);
  }
  qsort(items, n, sizeof(Hashed), by_hash);
  for (a = 0; a < n && !found; a++) {
    for (b = a + 1; b < n && items[b].hash == items[a].hash && !found; b++) {
      found = same_items(L, core, i, items[a].position, items[b].position);
      *first = items[a].position;
      *second = items[b].position;
    }
  }
  lua_pop(L, 1);
  return found;
}

bool schema_find_twins(lua_State *L, const core_State *core, int i, size_t n,
                       size_t *first, size_t *second) {
  size_t a, b;
  if (n > FEW_ITEMS) return find_twins_hashed(L, core, i, n, first, second);
  for (b = 2; b <= n; b++) {
    for (a = 1; a < b; a++) {
      if (!same_items(L, core, i, a, b)) continue;
      *first = a;
      *second = b;
      return true;
    }
  }
  return false;
}

size_t schema_text_length(const char *s, size_t len) {
  size_t i, n = 0;
  for (i = 0; i < len; i++) n += ((unsigned char)s[i] & 0xC0) != 0x80;
  return n;
}

static int compare_to_integer(double d, int64_t bound) {
  int64_t whole;
  double rest;
  if (d >= 9223372036854775808.0) return 1;
  if (d < -9223372036854775808.0) return -1;
  whole = (int64_t)d;
  if (whole != bound) return whole < bound ? -1 : 1;
  rest = d - (double)whole;
  return rest < 0 ? -1 : rest > 0;
}

int schema_compare(lua_State *L, int i, const schema_Op *op) {
  double d;
#if OPS_INTEGERS
  if (lua_isinteger(L, i)) {
    int64_t n = lua_tointeger(L, i);
    if (op->flag & INTEGER_BOUND) return n < op->u.i ? -1 : n > op->u.i;
    return -compare_to_integer(op->u.d, n);
  }
#endif
  d = lua_tonumber(L, i);
  if (op->flag & INTEGER_BOUND) return compare_to_integer(d, op->u.i);
  return d < op->u.d ? -1 : d > op->u.d;
}

typedef struct Decimal {
  uint64_t digits; /* no trailing zeros, below 10^17 */
  int exponent;
} Decimal;

/* The shortest decimal that reads back as `d`. */
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
  while (decimal.digits != 0 && decimal.digits % 10 == 0) {
    decimal.digits /= 10;
    decimal.exponent++;
  }
  return decimal;
}

static bool is_decimal_multiple(double d, double of) {
  Decimal a = to_decimal(d), b = to_decimal(of);
  uint64_t rest;
  int i;
  if (a.digits == 0) return true;
  if (b.digits == 0 || a.exponent < b.exponent) return false;
  rest = a.digits % b.digits;
  for (i = a.exponent - b.exponent; i > 0 && rest != 0; i--)
    rest = rest * 10 % b.digits;
  return rest == 0;
}

bool schema_is_multiple(lua_State *L, int i, const schema_Op *op) {
  int64_t n;
  if ((op->flag & INTEGER_BOUND) && value_is_integer(L, i, &n))
    return n == INT64_MIN ? op->u.i == 1 || n % op->u.i == 0 : n % op->u.i == 0;
  if ((op->flag & INTEGER_BOUND) == 0)
    return is_decimal_multiple(lua_tonumber(L, i), op->u.d);
  return is_decimal_multiple(lua_tonumber(L, i), (double)op->u.i);
}
