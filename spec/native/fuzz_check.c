/*
** fuzz_check.c - libFuzzer target: two JSON texts, a schema and a value, split
** at the first NUL or line feed.  Whatever compiles checks and casts without
** raising, says the same twice, never changes the value, and casting what is
** valid leaves it valid.
*/
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <lauxlib.h>
#include <lua.h>
#include <lualib.h>

int LLVMFuzzerTestOneInput(const unsigned char *data, size_t size);
int luaopen_operations_core(lua_State *L);

/* The properties, in Lua: they are about values.  Raises when one is broken. */
static const char properties[] =
    "local core = ...\n"
    "local sorted = { sort_keys = true }\n"
    "local function text(value) return core.json_encode(value, sorted) end\n"
    "return function(schema_text, value_text)\n"
    "  local schema = core.json_decode(schema_text, { max_depth = 64 })\n"
    "  local is_schema = { table = true, boolean = true }\n"
    "  if not is_schema[type(schema)] then return end\n"
    "  local compiled = core.schema_compile(schema)\n"
    "  if not compiled then return end\n"
    "  local value, err = core.json_decode(value_text, { max_depth = 64 })\n"
    "  if value == nil and err then return end\n"
    "  local before = text(value)\n"
    "  local valid, issues = compiled:check(value)\n"
    "  assert(valid == compiled:check(value), 'check differs')\n"
    "  assert(valid or #issues > 0, 'invalid without an issue')\n"
    "  for _, mode in ipairs({ 'cast', 'force' }) do\n"
    "    local cast = compiled:cast(value, mode)\n"
    "    assert(text(value) == before, mode .. ' changes the value')\n"
    "    assert(not valid or compiled:check(cast), mode .. ' spoils it')\n"
    "  end\n"
    "end\n";

/* Lua refuses to grow past this. */
#define MAX_BYTES ((size_t)256 << 20)

static size_t in_use;

static void *allocate(void *ud, void *p, size_t old_size, size_t new_size) {
  (void)ud;
  if (p == NULL) old_size = 0;
  if (new_size > old_size && in_use + new_size - old_size > MAX_BYTES)
    return NULL;
  in_use += new_size - old_size;
  if (new_size > 0) return realloc(p, new_size);
  free(p);
  return NULL;
}

static void fail(lua_State *L) {
  const char *message = luaL_tolstring(L, -1, NULL);
  if (strstr(message, "not enough memory") != NULL) return;
  fprintf(stderr, "%s\n", message);
  abort();
}

/* Leaves the properties' function at index 1. */
static lua_State *open_state(void) {
  lua_State *L = lua_newstate(allocate, NULL);
  if (L == NULL) abort();
  luaL_openlibs(L);
  if (luaL_loadstring(L, properties) != LUA_OK) fail(L);
  lua_pushcfunction(L, luaopen_operations_core);
  if (lua_pcall(L, 0, 1, 0) != LUA_OK) fail(L);
  if (lua_pcall(L, 1, 1, 0) != LUA_OK) fail(L);
  return L;
}

/* A state is used again, which is ten times as fast, but not for ever. */
#define RUNS_PER_STATE 500

int LLVMFuzzerTestOneInput(const unsigned char *data, size_t size) {
  static lua_State *L;
  static int runs;
  const char *text = (const char *)data;
  size_t split = 0;
  if (L != NULL && ++runs == RUNS_PER_STATE) {
    lua_close(L);
    L = NULL;
    runs = 0;
  }
  if (L == NULL) L = open_state();
  while (split < size && text[split] != '\n' && text[split] != '\0') split++;
  lua_pushvalue(L, 1);
  lua_pushlstring(L, text, split);
  if (split < size) split++;
  lua_pushlstring(L, text + split, size - split);
  if (lua_pcall(L, 2, 0, 0) != LUA_OK) fail(L);
  lua_settop(L, 1);
  return 0;
}
