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

void build_init(build_Builder *b, lua_State *L) {
  b->L = L;
  core_push_array_mt(L);
  b->array_mt = lua_gettop(L);
  lua_pushnil(L);
  b->scratch = b->array_mt + 1;
  b->small_used = false;
  b->levels = b->inline_levels;
  b->depth = 0;
  b->capacity = BUILD_INLINE_LEVELS;
}

static void grow_levels(build_Builder *b) {
  size_t size = (size_t)b->capacity * sizeof(build_Level);
  bool on_heap = b->levels != b->inline_levels;
  build_Level *levels = (build_Level *)build_realloc(
      b, on_heap ? b->levels : NULL, on_heap ? size : 0, size * 2);
  if (!on_heap) memcpy(levels, b->inline_levels, size);
  b->levels = levels;
  b->capacity *= 2;
}

/* --- tables -------------------------------------------------------------- */

/* The table of a level, made for `items` and `members` when it is not yet. */
static void make_table(build_Builder *b, build_Level *level, int items,
                       int members) {
  if (level->made) return;
  lua_createtable(b->L, items, members);
  lua_replace(b->L, level->base);
  level->made = true;
}

/* Moves the waiting items up to stack slot `top` into the array. */
static void store_items(build_Builder *b, build_Level *level) {
  lua_State *L = b->L;
  int base = level->base, n = lua_gettop(L) - base, i;
  make_table(b, level, n, 0);
  for (i = n; i > 0; i--)
    ops_rawseti(L, base, (size_t)level->stored + (size_t)i);
  level->stored += n;
}

/* Moves the waiting pairs into the object; in their order, so that the last of
** equal keys wins.  A key without its value stays on top. */
static void store_members(build_Builder *b, build_Level *level) {
  lua_State *L = b->L;
  int base = level->base, n = (lua_gettop(L) - base) / 2, i;
  bool odd = (lua_gettop(L) - base) % 2 != 0;
  make_table(b, level, 0, n);
  for (i = 0; i < n; i++) {
    lua_pushvalue(L, base + 1 + 2 * i);
    lua_pushvalue(L, base + 2 + 2 * i);
    lua_rawset(L, base);
  }
  if (odd) lua_replace(L, base + 1);
  lua_settop(L, base + odd);
}

/* Makes room after a value or key was pushed. */
static inline void stored_value(build_Builder *b) {
  build_Level *level;
  if (b->depth == 0) return;
  level = &b->levels[b->depth - 1];
  if (lua_gettop(b->L) - level->base < BUILD_WAITING) return;
  if (level->is_object) store_members(b, level);
  else store_items(b, level);
}

/* --- events -------------------------------------------------------------- */

static bool on_null(void *ud) {
  build_Builder *b = (build_Builder *)ud;
  lua_pushlightuserdata(b->L, NULL);
  stored_value(b);
  return true;
}

static bool on_boolean(void *ud, bool value) {
  build_Builder *b = (build_Builder *)ud;
  lua_pushboolean(b->L, value);
  stored_value(b);
  return true;
}

static bool on_number(void *ud, double value) {
  build_Builder *b = (build_Builder *)ud;
  lua_pushnumber(b->L, value);
  stored_value(b);
  return true;
}

static bool on_string(void *ud, const char *s, size_t len) {
  build_Builder *b = (build_Builder *)ud;
  lua_pushlstring(b->L, s, len);
  stored_value(b);
  return true;
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
  stored_value(b);
  return true;
}

static bool on_key(void *ud, const char *s, size_t len) {
  lua_pushlstring(((build_Builder *)ud)->L, s, len);
  return true;
}

static bool begin(build_Builder *b, bool is_object) {
  lua_State *L = b->L;
  build_Level *level;
  if (!lua_checkstack(L, BUILD_WAITING + LUA_MINSTACK)) return false;
  if (b->depth > 0 && lua_gettop(L) > MAX_STACK) {
    level = &b->levels[b->depth - 1];
    if (level->is_object) store_members(b, level);
    else store_items(b, level);
  }
  if (b->depth == b->capacity) grow_levels(b);
  lua_pushnil(L);
  level = &b->levels[b->depth++];
  level->base = lua_gettop(L);
  level->stored = 0;
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
  store_items(b, &b->levels[b->depth - 1]);
  lua_pushvalue(b->L, b->array_mt);
  lua_setmetatable(b->L, -2);
  b->depth--;
  stored_value(b);
  return true;
}

static bool end_object(void *ud) {
  build_Builder *b = (build_Builder *)ud;
  store_members(b, &b->levels[b->depth - 1]);
  b->depth--;
  stored_value(b);
  return true;
}

const json_Handlers build_handlers = {
    on_null, on_boolean,  on_integer, on_string,    on_number,  on_string,
    on_key,  begin_array, end_array,  begin_object, end_object,
};
