#include "schema/check/equal.h"

#include <math.h>

#define MAX_NESTING 512 /* levels that equality compares */
#define FEW_ITEMS 24    /* up to this many, every pair is compared */

static bool equal(check_Machine *m, int a, int b, int depth);

static bool equal_arrays(check_Machine *m, int a, int b, int depth) {
  lua_State *L = m->L;
  size_t n = ops_rawlen(L, a), i;
  bool same = n == ops_rawlen(L, b);
  for (i = 1; same && i <= n; i++) {
    int top = lua_gettop(L);
    ops_rawgeti(L, a, i);
    ops_rawgeti(L, b, i);
    same = equal(m, top + 1, top + 2, depth);
    lua_settop(L, top);
    check_walked(m, i);
  }
  return same;
}

static size_t count_members(check_Machine *m, int i) {
  size_t n = 0;
  lua_pushnil(m->L);
  while (lua_next(m->L, i)) {
    lua_pop(m->L, 1);
    check_walked(m, ++n);
  }
  return n;
}

static bool equal_objects(check_Machine *m, int a, int b, int depth) {
  lua_State *L = m->L;
  int top = lua_gettop(L);
  size_t n = 0;
  lua_pushnil(L);
  while (lua_next(L, a)) {
    lua_pushvalue(L, top + 1);
    if (ops_rawget(L, b) == LUA_TNIL || !equal(m, top + 2, top + 3, depth)) {
      lua_settop(L, top);
      return false;
    }
    lua_settop(L, top + 1);
    check_walked(m, ++n);
  }
  return count_members(m, b) == n; /* no others: all of `a` are in `b` */
}

static bool equal_tables(check_Machine *m, int a, int b, int depth) {
  lua_State *L = m->L;
  value_Kind x, y;
  if (lua_rawequal(L, a, b)) return true;
  if (depth > MAX_NESTING || !ops_checkstack(L, 12) || !check_step(m))
    return false;
  x = value_kind(L, m->core, a);
  y = value_kind(L, m->core, b);
  if (x == VALUE_EMPTY) x = y; /* without a mark it is [] as well as {} */
  if (y == VALUE_EMPTY) y = x;
  if (x != y) return false;
  return x == VALUE_ARRAY ? equal_arrays(m, a, b, depth + 1)
                          : equal_objects(m, a, b, depth + 1);
}

static bool equal_integers(const check_Machine *m, int a, int b) {
  integer_Value x, y;
  return integer_read(m->L, m->core, a, &x) &&
         integer_read(m->L, m->core, b, &y) && integer_compare(x, y) == 0;
}

static bool equal_nulls(const check_Machine *m, int a, int b) {
  return value_kind(m->L, m->core, a) == VALUE_NULL &&
         value_kind(m->L, m->core, b) == VALUE_NULL;
}

static bool equal(check_Machine *m, int a, int b, int depth) {
  lua_State *L = m->L;
  int t = lua_type(L, a);
  if (t == LUA_TTABLE && lua_type(L, b) == LUA_TTABLE)
    return equal_tables(m, a, b, depth);
  if (t == LUA_TSTRING) check_read(m, ops_rawlen(L, a));
  if (lua_rawequal(L, a, b)) return true;
  return equal_integers(m, a, b) || equal_nulls(m, a, b);
}

bool schema_equal(check_Machine *m, int a, int b) {
  return equal(m, a, b, 0);
}

bool schema_is_member(check_Machine *m, const schema_Member *member, int i,
                      uint16_t type) {
  lua_State *L = m->L;
  bool same;
  /* An empty table may equal a member of either type. */
  if (type & (TYPE_ARRAY | TYPE_OBJECT)) type = TYPE_ARRAY | TYPE_OBJECT;
  if ((member->type & type) == 0) return false;
  if (type == TYPE_STRING) {
    size_t len;
    const char *s = lua_tolstring(L, i, &len);
    return program_same(s, len, member->text, member->len);
  }
  if (type == TYPE_NULL) return true;
  ops_rawgeti(L, m->constants, (size_t)member->value);
  same = schema_equal(m, i, lua_gettop(L));
  lua_pop(L, 1);
  return same;
}

/* Hashes the exact value of integers: several have the same double. */
static uint64_t hash_number(lua_State *L, const core_State *core) {
  integer_Value n;
  lua_Number d = lua_tonumber(L, -1);
  uint64_t bits;
  if (integer_read(L, core, -1, &n))
    return schema_mix(core->seed ^ (n.above ? 6 : 1), n.bits);
  memcpy(&bits, &d, sizeof(bits));
  return schema_mix(core->seed ^ 2, bits);
}

static uint64_t hash_value(check_Machine *m, int depth);

static uint64_t hash_table(check_Machine *m, int depth) {
  lua_State *L = m->L;
  int i = lua_gettop(L);
  uint64_t sum = 4; /* a sum: the order of members does not matter */
  size_t n = 0;
  if (depth > MAX_NESTING || !ops_checkstack(L, 8) || !check_step(m))
    return sum;
  lua_pushnil(L);
  while (lua_next(L, i)) {
    uint64_t value = hash_value(m, depth + 1);
    lua_pop(L, 1);
    sum += schema_mix(hash_value(m, depth + 1), value);
    check_walked(m, ++n);
  }
  return schema_mix(m->core->seed, sum);
}

/* Hashes the value on top of the stack. */
static uint64_t hash_value(check_Machine *m, int depth) {
  lua_State *L = m->L;
  integer_Value n;
  const char *s;
  size_t len;
  switch (lua_type(L, -1)) {
  case LUA_TBOOLEAN: return lua_toboolean(L, -1) ? 2 : 3;
  case LUA_TNUMBER: return hash_number(L, m->core);
  case LUA_TSTRING:
    s = lua_tolstring(L, -1, &len);
    check_read(m, len);
    return schema_hash_text(m->core, s, len);
  case LUA_TTABLE: return hash_table(m, depth);
  case INTEGER_WIDE_TYPE:
    if (integer_is_wide(L, m->core, -1, &n)) return hash_number(L, m->core);
    return 5;
  default: return 5;
  }
}

uint64_t schema_hash(check_Machine *m, int i) {
  uint64_t hash;
  lua_pushvalue(m->L, i);
  hash = hash_value(m, 0);
  lua_pop(m->L, 1);
  return hash;
}

/* Items of an array by their hashes; at most half of the places are used. */
typedef struct Item {
  uint64_t hash;
  size_t position; /* 0: free */
} Item;

typedef struct Items {
  Item *items; /* a userdata */
  size_t mask;
} Items;

/* Pushes a set with room for `n` items. */
static Items new_items(lua_State *L, size_t n) {
  Items set;
  size_t size = 16;
  while (size < 2 * n) size *= 2;
  set.items = (Item *)lua_newuserdata(L, size * sizeof(Item));
  set.mask = size - 1;
  memset(set.items, 0, size * sizeof(Item));
  return set;
}

static bool same_items(check_Machine *m, int i, size_t a, size_t b) {
  lua_State *L = m->L;
  int top = lua_gettop(L);
  bool same;
  ops_rawgeti(L, i, a);
  ops_rawgeti(L, i, b);
  same = schema_equal(m, top + 1, top + 2);
  lua_settop(L, top);
  return same;
}

/* Returns the position of the item equal to item `at` of the array at `i`;
** without one, adds the item to the set and returns 0. */
static size_t add_item(check_Machine *m, const Items *set, int i, size_t at) {
  uint64_t hash;
  size_t place;
  ops_rawgeti(m->L, i, at);
  hash = hash_value(m, 0);
  lua_pop(m->L, 1);
  for (place = hash & set->mask; set->items[place].position != 0;
       place = (place + 1) & set->mask) {
    const Item *item = &set->items[place];
    if (item->hash != hash) continue;
    if (!check_step(m)) return 0;
    if (same_items(m, i, item->position, at)) return item->position;
  }
  set->items[place].hash = hash;
  set->items[place].position = at;
  return 0;
}

/* The position of an item equal to item `at`, among the few before it. */
static size_t find_before(check_Machine *m, int i, size_t at) {
  size_t a;
  for (a = 1; a < at; a++) {
    if (same_items(m, i, a, at)) return a;
  }
  return 0;
}

bool schema_find_twins(check_Machine *m, int i, size_t n, size_t *first,
                       size_t *second) {
  int top = lua_gettop(m->L);
  bool many = n > FEW_ITEMS;
  Items set = {.items = NULL};
  size_t at, found = 0;
  if (many) set = new_items(m->L, n);
  for (at = 1; at <= n && found == 0 && !m->too_deep; at++) {
    found = many ? add_item(m, &set, i, at) : find_before(m, i, at);
    check_walked(m, at);
    *first = found;
    *second = at;
  }
  lua_settop(m->L, top);
  return found != 0;
}
