#include "json_build.h"

#include "json_number.h"

/* More open containers than this many slots have room for keep only their
** tables on the stack (LuaJIT's holds 8000 slots for C functions). */
#define MAX_STACK 1000

/* --- memory -------------------------------------------------------------- */

/* A block of Lua's, in the table at `scratch` for as long as it is in use. */
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

void build_init(build_Builder *b, lua_State *L) {
  build_move(b, L);
  core_push_array_mt(L);
  b->array_mt = lua_gettop(L);
  lua_pushnil(L);
  b->scratch = b->array_mt + 1;
  b->small_used = false;
  b->levels = b->level = b->inline_levels;
  b->levels_end = b->levels + BUILD_INLINE_LEVELS;
  memset(b->level, 0, sizeof(*b->level));
  b->level->base = b->scratch;
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

/* Moves the waiting items into the array, which is then alone on top. */
static void store_items(build_Builder *b) {
  lua_State *L = b->L;
  build_Level *level = b->level;
  int table = level->base + 1, n = level->waiting, i;
  if (!level->made) {
    lua_createtable(L, n, 0);
    if (n > 0) lua_insert(L, table);
    level->made = true;
  }
  for (i = level->stored + n; i > level->stored; i--)
    ops_rawseti(L, table, (size_t)i);
  level->stored += n;
  level->waiting = 0;
}

/* Moves the waiting pairs into the object, which is then alone on top; in their
** order, so that the last of equal keys wins.  A key without its value stays.
*/
static void store_members(build_Builder *b) {
  lua_State *L = b->L;
  build_Level *level = b->level;
  int table = level->base + 1, first = table + level->made, i;
  int odd = level->waiting % 2, last = first + level->waiting - odd;
  if (!level->made) lua_createtable(L, 0, level->waiting / 2);
  else lua_pushvalue(L, table);
  for (i = first; i < last; i += 2) {
    lua_pushvalue(L, i);
    lua_pushvalue(L, i + 1);
    lua_rawset(L, -3);
  }
  if (odd) { /* rare: only the table and the key are to stay */
    lua_pushvalue(L, last);
    for (i = table; i <= last; i++) lua_remove(L, table);
  } else if (lua_gettop(L) > table) {
    lua_replace(L, table);
    lua_settop(L, table);
  }
  level->made = true;
  level->waiting = odd;
}

static void store(build_Builder *b) {
  if (b->level->is_object) store_members(b);
  else store_items(b);
}

/* A value was pushed. */
static inline bool added(build_Builder *b) {
  if (++b->level->waiting == BUILD_WAITING) store(b);
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

/* A key too: what waits is then odd in number, and never too much. */
static bool on_string(void *ud, const char *s, size_t len) {
  build_Builder *b = (build_Builder *)ud;
  lua_pushlstring(b->L, s, len);
  return added(b);
}

static bool on_integer(void *ud, int64_t value) {
  build_Builder *b = (build_Builder *)ud;
#if !OPS_INTEGERS
  if (value > OPS_MAX_SAFE_INTEGER || value < -OPS_MAX_SAFE_INTEGER) {
    char digits[JSON_NUMBER_ROOM];
    return on_string(b, digits, json_format_integer(digits, value));
  }
#endif
  core_push_integer(b->L, value);
  return added(b);
}

static bool ensure_stack(build_Builder *b, int top) {
  int more = 2 * BUILD_WAITING + LUA_MINSTACK;
  if (top + BUILD_WAITING + LUA_MINSTACK <= b->ensured) return true;
  if (!lua_checkstack(b->L, more)) return false;
  b->ensured = top + more;
  return true;
}

static bool begin(build_Builder *b, bool is_object) {
  build_Level *level = b->level;
  int top;
  if (level->base > MAX_STACK && level->waiting > 1) store(b);
  top = level->base + level->made + level->waiting;
  if (!ensure_stack(b, top)) return false;
  if (level + 1 == b->levels_end) grow_levels(b);
  level = ++b->level;
  level->base = top;
  level->waiting = level->stored = 0;
  level->made = false;
  level->is_object = is_object;
  return true;
}

static bool begin_array(void *ud) {
  return begin((build_Builder *)ud, false);
}

static bool begin_object(void *ud) {
  return begin((build_Builder *)ud, true);
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
  store_members(b);
  b->level--;
  return added(b);
}

const json_Handlers build_handlers = {
    on_null,   on_boolean,  on_integer, on_string,    on_number,  on_string,
    on_string, begin_array, end_array,  begin_object, end_object,
};
