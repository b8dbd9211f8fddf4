#include "value/build.h"

#include "json/number.h"
#include "value/integer.h"

/* When more containers are open than this many slots hold, only their tables
** stay on the stack (LuaJIT's stack has 8000 slots for C functions). */
#define MAX_STACK 1000

/* --- memory -------------------------------------------------------------- */

/* A block owned by Lua, kept in the table at `scratch` while it is in use. */
static void *new_block(build_Builder *b, size_t size) {
  void *block;
  if (lua_isnil(b->L, b->scratch)) {
    lua_newtable(b->L);
    lua_replace(b->L, b->scratch);
  }
  block = lua_newuserdata(b->L, size);
  ops_rawsetp(b->L, b->scratch, block);
  return block;
}

static void free_block(build_Builder *b, void *block) {
  if (block == b->small) {
    b->small_used = false;
  } else if (block != NULL) {
    lua_pushnil(b->L);
    ops_rawsetp(b->L, b->scratch, block);
  }
}

static void *build_realloc(void *ud, void *p, size_t old_size,
                           size_t new_size) {
  build_Builder *b = (build_Builder *)ud;
  void *block = NULL;
  if (new_size > 0) {
    bool fits = new_size <= sizeof(b->small);
    if (fits && p == b->small) return p;
    if (fits && !b->small_used) {
      block = b->small;
      b->small_used = true;
    } else {
      block = new_block(b, new_size);
    }
    if (p != NULL) memcpy(block, p, old_size < new_size ? old_size : new_size);
  }
  free_block(b, p);
  return block;
}

ops_Alloc build_alloc(build_Builder *b) {
  ops_Alloc alloc;
  alloc.fn = build_realloc;
  alloc.ud = b;
  return alloc;
}

void build_move(build_Builder *b, lua_State *L) {
  b->L = L;
  b->ensured = 0;
}

/* Slots requested at once.  Few: every task that reads has its own stack, which
** doubles when one slot is missing. */
#define SLOTS 48

void build_init(build_Builder *b, lua_State *L) {
  luaL_checkstack(L, SLOTS + LUA_MINSTACK, "JSON");
  build_move(b, L);
  b->ensured = lua_gettop(L) + SLOTS;
  core_push_array_mt(L);
  b->array_mt = lua_gettop(L);
  lua_pushnil(L);
  b->scratch = b->array_mt + 1;
  strings_push_table(L);
  b->strings = b->array_mt + 2;
  b->core = core_state(L);
  b->set = b->core->strings;
  b->all_ordered = b->integers_as_text = b->unique = b->repeated = false;
  b->small_used = false;
  b->order = 0;
  b->levels = b->inline_levels;
  b->levels_end = b->levels + BUILD_INLINE_LEVELS;
  build_restart(b);
}

void build_keep_order(build_Builder *b, bool all) {
  b->all_ordered = all;
  core_push_property_order(b->L);
  b->order = lua_gettop(b->L);
  build_restart(b);
}

void build_restart(build_Builder *b) {
  b->level = b->levels;
  *b->level = (build_Level){.table = lua_gettop(b->L),
                            .room = BUILD_WAITING}; /* only one value */
}

static void grow_levels(build_Builder *b) {
  size_t used = (size_t)(b->level - b->levels);
  size_t n = (size_t)(b->levels_end - b->levels);
  size_t size = n * sizeof(build_Level);
  build_Level *levels = (build_Level *)new_block(b, 2 * size);
  memcpy(levels, b->levels, size);
  if (b->levels != b->inline_levels) free_block(b, b->levels);
  b->levels = levels;
  b->levels_end = levels + 2 * n;
  b->level = levels + used;
}

/* --- tables -------------------------------------------------------------- */

/* Inserts a new table below the values that wait for it. */
static inline void make_table(build_Builder *b, int items, int pairs) {
  lua_createtable(b->L, items, pairs);
  lua_replace(b->L, b->level->table);
  b->level->made = true;
}

/* Moves the waiting items into the array; only the array is left on top. */
static void store_items(build_Builder *b) {
  build_Level *level = b->level;
  int n = level->waiting, i;
  if (!level->made) make_table(b, n, 0);
  for (i = level->stored + n; i > level->stored; i--)
    ops_rawseti(b->L, level->table, (size_t)i);
  level->stored += n;
  level->waiting = 0;
}

/* Moves the waiting pairs into the object in order, so that the last of equal
** keys wins.  A key without its value stays. */
static void store_in_order(build_Builder *b) {
  lua_State *L = b->L;
  int table = b->level->table, waiting = b->level->waiting;
  int first = table + 1, odd = waiting % 2, last = table + waiting - odd, i;
  for (i = first; i < last; i += 2) {
    if (b->unique) {
      lua_pushvalue(L, i);
      b->repeated |= ops_rawget(L, table) != LUA_TNIL;
      lua_pop(L, 1);
    }
    lua_pushvalue(L, i);
    lua_pushvalue(L, i + 1);
    lua_rawset(L, table);
  }
  if (odd) {
    lua_pushvalue(L, last + 1);
    lua_replace(L, first);
  }
  lua_settop(L, table + odd);
  b->level->waiting = odd;
}

/* Adds the keys of the waiting pairs to the object's list of names. */
static void keep_order(build_Builder *b) {
  lua_State *L = b->L;
  int table = b->level->table, list = lua_gettop(L) + 1, i;
  size_t n;
  if (!ops_checkstack(L, 4)) return;
  lua_pushvalue(L, table);
  if (ops_rawget(L, b->order) == LUA_TNIL) {
    lua_pop(L, 1);
    lua_createtable(L, b->level->waiting / 2, 0);
    lua_pushvalue(L, table);
    lua_pushvalue(L, list);
    lua_rawset(L, b->order);
  }
  n = ops_rawlen(L, list);
  for (i = 0; i + 1 < b->level->waiting; i += 2) {
    lua_pushvalue(L, table + 1 + i);
    ops_rawseti(L, list, ++n);
  }
  lua_settop(L, list - 1);
}

/* Moves the waiting pairs into the object; only the object and a key without
** its value are left on top. */
static void store_members(build_Builder *b) {
  build_Level *level = b->level;
  int i;
  if (!level->made) make_table(b, 0, level->waiting / 2);
  if (level->ordered) keep_order(b);
  if (level->repeats || level->waiting % 2 != 0) {
    store_in_order(b);
  } else {
    for (i = level->waiting; i > 0; i -= 2) lua_rawset(b->L, level->table);
    level->waiting = 0;
  }
  level->repeats = b->unique;
  level->keys = 0;
}

static void store(build_Builder *b) {
  if (b->level->is_object) store_members(b);
  else store_items(b);
}

/* Ensures `n` more slots, and some in reserve. */
static bool grow_stack(build_Builder *b, int n) {
  if (!ops_checkstack(b->L, n + SLOTS + LUA_MINSTACK)) return false;
  b->ensured = lua_gettop(b->L) + n + SLOTS;
  return true;
}

static inline int room_of(int slots) {
  return slots < BUILD_WAITING ? slots & ~1 : BUILD_WAITING;
}

/* The slots of the level are used up: reserves more, or stores what waits. */
static void make_room(build_Builder *b) {
  build_Level *level = b->level;
  if (level->waiting < BUILD_WAITING && grow_stack(b, level->waiting))
    level->room = room_of(b->ensured - level->table);
  else store(b);
}

/* Counts a pushed value. */
static inline bool added(build_Builder *b) {
  if (++b->level->waiting == b->level->room) make_room(b);
  return true;
}

/* --- events -------------------------------------------------------------- */

static bool on_null(void *ud) {
  build_Builder *b = (build_Builder *)ud;
  lua_pushlightuserdata(b->L, NULL);
  return added(b);
}

static bool on_boolean(void *ud, bool value) {
  build_Builder *b = (build_Builder *)ud;
  lua_pushboolean(b->L, value);
  return added(b);
}

static bool on_number(void *ud, double value) {
  build_Builder *b = (build_Builder *)ud;
  lua_pushnumber(b->L, value);
  return added(b);
}

static bool on_string(void *ud, const char *s, size_t len) {
  build_Builder *b = (build_Builder *)ud;
  build_push_string(b, s, len);
  return added(b);
}

/* An odd number of values waits after a key, which is never too many. */
static bool on_key(void *ud, const char *s, size_t len) {
  build_Builder *b = (build_Builder *)ud;
  build_Level *level = b->level;
  strings_Ends ends = strings_ends(s, len);
  uint64_t bit = UINT64_C(1) << (ends.hash & 63);
  level->repeats |= (level->keys & bit) != 0;
  level->keys |= bit;
  level->waiting++;
  strings_push(b->L, b->set, b->strings, &ends, s, len);
  return true;
}

/* Pushes an integer outside +-2^53. */
static bool on_long_integer(build_Builder *b, integer_Value n) {
  char digits[INTEGER_ROOM];
  if (b->integers_as_text)
    return on_string(b, digits, integer_format(digits, n));
  integer_push(b->L, b->core, n);
  return added(b);
}

static bool on_integer(void *ud, int64_t value) {
  build_Builder *b = (build_Builder *)ud;
  if (value > OPS_MAX_SAFE_INTEGER || value < -OPS_MAX_SAFE_INTEGER)
    return on_long_integer(b, integer_of(value));
  core_push_integer(b->L, value);
  return added(b);
}

/* Pushes the digits as text when they do not fit in 64 bits. */
static bool on_big_integer(void *ud, const char *digits, size_t len) {
  build_Builder *b = (build_Builder *)ud;
  integer_Value n;
  if (integer_parse(digits, len, &n)) return on_long_integer(b, n);
  return on_string(b, digits, len);
}

static bool begin(build_Builder *b, bool is_object) {
  build_Level *level = b->level;
  int table;
  if (level->table > MAX_STACK && level->waiting > 1) store(b);
  table = level->table + level->waiting + 1;
  if (b->ensured - table < BUILD_FIRST && !grow_stack(b, BUILD_FIRST + 1))
    return false;
  if (level + 1 == b->levels_end) grow_levels(b);
  level = ++b->level;
  level->table = table;
  level->waiting = level->stored = 0;
  level->room = room_of(b->ensured - table);
  level->made = level->ordered = false;
  level->repeats = b->unique;
  level->is_object = is_object;
  level->keys = 0;
  lua_pushnil(b->L);
  return true;
}

static bool begin_array(void *ud) {
  return begin((build_Builder *)ud, false);
}

/* Is the next value a member named "properties"? */
static bool are_properties(const build_Builder *b) {
  const build_Level *level = b->level;
  const char *key = level->is_object && level->waiting % 2 != 0
                        ? lua_tostring(b->L, -1)
                        : NULL;
  return key != NULL && strcmp(key, "properties") == 0;
}

static bool begin_object(void *ud) {
  build_Builder *b = (build_Builder *)ud;
  bool ordered = b->order != 0 && (b->all_ordered || are_properties(b));
  if (!begin(b, true)) return false;
  b->level->ordered = ordered;
  return true;
}

static bool end_array(void *ud) {
  build_Builder *b = (build_Builder *)ud;
  store_items(b);
  lua_pushvalue(b->L, b->array_mt);
  lua_setmetatable(b->L, -2);
  b->level--;
  return added(b);
}

static bool end_object(void *ud) {
  build_Builder *b = (build_Builder *)ud;
  bool is_empty = !b->level->made && b->level->waiting == 0;
  store_members(b);
  if (is_empty) {
    core_push_object_mt(b->L);
    lua_setmetatable(b->L, -2);
  }
  b->level--;
  return added(b) && !b->repeated;
}

const json_Handlers build_handlers = {
    on_null, on_boolean,  on_integer, on_big_integer, on_number,  on_string,
    on_key,  begin_array, end_array,  begin_object,   end_object,
};
