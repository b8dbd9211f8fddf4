/*
** fuzz_redis.c - libFuzzer target: bytes that should be replies of Redis, cut
** anywhere, give the same values or the same failure as in one piece, and a
** command is read again as the strings that it was made of.
**
** The first byte of the input says how to cut, the rest are the bytes.
*/
#include <stdio.h>
#include <stdlib.h>

#include <lauxlib.h>
#include <lua.h>
#include <lualib.h>

int LLVMFuzzerTestOneInput(const unsigned char *data, size_t size);
int luaopen_operations_redis(lua_State *L);

/* The properties, in Lua: they are about values.  Raises when one is broken. */
static const char properties[] =
    "local redis = ...\n"
    "local function text(value)\n"
    "  if type(value) ~= 'table' then\n"
    "    return type(value) .. ':' .. tostring(value) .. ';'\n"
    "  elseif value.err then\n"
    "    return 'error:' .. value.err .. ';'\n"
    "  end\n"
    "  local list = {}\n"
    "  for i, item in ipairs(value) do list[i] = text(item) end\n"
    "  assert(#list == #value, 'an array with holes')\n"
    "  return '[' .. table.concat(list) .. ']'\n"
    "end\n"
    "local function read(bytes, largest)\n"
    "  local reader, found, at = redis.reader(), {}, 1\n"
    "  repeat\n"
    "    local replies, err = reader:feed(bytes:sub(at, at + largest - 1))\n"
    "    if not replies then return nil, err end\n"
    "    for _, reply in ipairs(replies) do found[#found + 1] = text(reply) "
    "end\n"
    "    at = at + largest\n"
    "  until at > #bytes\n"
    "  return table.concat(found)\n"
    "end\n"
    "return function(bytes, largest)\n"
    "  local whole, failure = read(bytes, #bytes + 1)\n"
    "  local cut, other = read(bytes, largest)\n"
    "  assert(whole == cut and failure == other, 'cut bytes differ')\n"
    "  local half = math.floor(#bytes / 2)\n"
    "  local given = { bytes:sub(1, half), bytes:sub(half + 1), bytes }\n"
    "  local command = redis.command(table.unpack(given))\n"
    "  assert(read(command, largest) == text(given), 'a command differs')\n"
    "end\n";

static void fail(lua_State *L) {
  fprintf(stderr, "%s\n", luaL_tolstring(L, -1, NULL));
  abort();
}

/* Leaves the properties' function at index 1. */
static lua_State *open_state(void) {
  lua_State *L = luaL_newstate();
  if (L == NULL) abort();
  luaL_openlibs(L);
  if (luaL_loadstring(L, properties) != LUA_OK) fail(L);
  lua_pushcfunction(L, luaopen_operations_redis);
  if (lua_pcall(L, 0, 1, 0) != LUA_OK) fail(L);
  if (lua_pcall(L, 1, 1, 0) != LUA_OK) fail(L);
  return L;
}

int LLVMFuzzerTestOneInput(const unsigned char *data, size_t size) {
  static lua_State *L;
  if (size < 1) return 0;
  if (L == NULL) L = open_state();
  lua_pushvalue(L, 1);
  lua_pushlstring(L, (const char *)data + 1, size - 1);
  lua_pushinteger(L, 1 + data[0] % 64);
  if (lua_pcall(L, 2, 0, 0) != LUA_OK) fail(L);
  lua_settop(L, 1);
  lua_gc(L, LUA_GCCOLLECT, 0); /* else libFuzzer looks for leaks */
  return 0;
}
