/*
** open.c - luaopen_operations_core: makes the module table.
*/
#include "core/open.h"

#include "base/sha256.h"
#include "base/utf8_repair.h"
#include "lua/build.h"
#include "platform/platform.h"
#include "registry/envelope.h"
#include "registry/registry.h"
#include "schema/schema.h"
#include "streams/streams.h"
#include "value/integer.h"
#include "value/json_lua.h"

#define ERROR_NAME "operations.base.error"

/* core.now() -> integer milliseconds since the Unix epoch */
static int core_lua_now(lua_State *L) {
  core_push_integer(L, core_now());
  return 1;
}

/* core.monotonic() -> ms of a clock that is never set, with a fraction */
static int core_monotonic(lua_State *L) {
  lua_pushnumber(L, (lua_Number)platform_monotonic() / 1e6);
  return 1;
}

/* Lives in a page that a forked child finds zeroed: the child makes new
** bytes. */
struct core_Random {
  size_t left;
  unsigned char bytes[2048]; /* used from the end, each byte once */
};

/* Asks the system for many ids at once. */
static bool take_random(core_State *core, unsigned char *bytes, size_t n) {
  struct core_Random *random = core->random;
  unsigned char *taken;
  if (random == NULL) return platform_random(bytes, n);
  if (random->left < n) {
    if (!platform_random(random->bytes, sizeof(random->bytes))) return false;
    random->left = sizeof(random->bytes);
  }
  random->left -= n;
  taken = random->bytes + random->left;
  memcpy(bytes, taken, n);
  memset(taken, 0, n);
  return true;
}

static const char digits[] = "0123456789abcdef";

/* core.random_id() -> string: a random UUID (RFC 9562, version 4) */
static int core_random_id(lua_State *L) {
  unsigned char random[16];
  char text[36];
  int i, at = 0;
  if (!take_random(core_state(L), random, sizeof(random)))
    return luaL_error(L, "no random bytes from the system");
  random[6] = (unsigned char)((random[6] & 0x0f) | 0x40);
  random[8] = (unsigned char)((random[8] & 0x3f) | 0x80);
  for (i = 0; i < 16; i++) {
    if (i == 4 || i == 6 || i == 8 || i == 10) text[at++] = '-';
    text[at++] = digits[random[i] >> 4];
    text[at++] = digits[random[i] & 15];
  }
  lua_pushlstring(L, text, sizeof(text));
  return 1;
}

static void write_digits(char *text, const unsigned char *bytes, size_t n) {
  size_t i;
  for (i = 0; i < n; i++) {
    text[2 * i] = digits[bytes[i] >> 4];
    text[2 * i + 1] = digits[bytes[i] & 15];
  }
}

#define MOST_RANDOM 256

/* Writes as many unpredictable bytes as the first argument says, and returns
** their number. */
static size_t check_random(lua_State *L, unsigned char *bytes) {
  lua_Integer n = luaL_checkinteger(L, 1);
  luaL_argcheck(L, n >= 1 && n <= MOST_RANDOM, 1, "1 to 256 expected");
  if (!take_random(core_state(L), bytes, (size_t)n))
    luaL_error(L, "no random bytes from the system");
  return (size_t)n;
}

/* core.random_bytes(n) -> string of n unpredictable bytes, 1 to 256 */
static int core_random_bytes(lua_State *L) {
  unsigned char bytes[MOST_RANDOM];
  size_t n = check_random(L, bytes);
  lua_pushlstring(L, (const char *)bytes, n);
  return 1;
}

/* core.random_digits(n) -> their 2n hexadecimal digits */
static int core_random_digits(lua_State *L) {
  unsigned char bytes[MOST_RANDOM];
  char text[2 * MOST_RANDOM];
  size_t n = check_random(L, bytes);
  write_digits(text, bytes, n);
  lua_pushlstring(L, text, 2 * n);
  return 1;
}

/* core.hexadecimal(bytes) -> two lower-case digits for each byte */
static int core_hexadecimal(lua_State *L) {
  char small[128];
  size_t n;
  const char *bytes = luaL_checklstring(L, 1, &n);
  char *text =
      n <= sizeof(small) / 2 ? small : (char *)lua_newuserdata(L, 2 * n);
  write_digits(text, (const unsigned char *)bytes, n);
  lua_pushlstring(L, text, 2 * n);
  return 1;
}

/* core.sha256(bytes) -> digest, a string of 32 bytes */
static int core_sha256(lua_State *L) {
  unsigned char digest[SHA256_SIZE];
  size_t n;
  const char *bytes = luaL_checklstring(L, 1, &n);
  sha256(bytes, n, digest);
  lua_pushlstring(L, (const char *)digest, sizeof(digest));
  return 1;
}

#define SHA256_NAME "operations.sha256"

/* core.sha256_state() -> state */
static int core_sha256_state(lua_State *L) {
  sha256_begin((sha256_State *)lua_newuserdata(L, sizeof(sha256_State)));
  luaL_getmetatable(L, SHA256_NAME);
  lua_setmetatable(L, -2);
  return 1;
}

/* state:add(bytes) */
static int state_add(lua_State *L) {
  size_t n;
  const char *bytes = luaL_checklstring(L, 2, &n);
  sha256_add((sha256_State *)luaL_checkudata(L, 1, SHA256_NAME), bytes, n);
  return 0;
}

/* state:digest() -> a string of 32 bytes: of the bytes so far */
static int state_digest(lua_State *L) {
  unsigned char digest[SHA256_SIZE];
  sha256_end((sha256_State *)luaL_checkudata(L, 1, SHA256_NAME), digest);
  lua_pushlstring(L, (const char *)digest, sizeof(digest));
  return 1;
}

static const luaL_Reg sha256_methods[] = {
    {"add", state_add},
    {"digest", state_digest},
    {NULL, NULL},
};

/* core.is_plain(text): only printable ASCII, tabs and line breaks? */
static int core_is_plain(lua_State *L) {
  size_t n, i;
  const char *text = luaL_checklstring(L, 1, &n);
  for (i = 0; i < n; i++) {
    unsigned char c = (unsigned char)text[i];
    if (c > 126 || (c < ' ' && c != '\t' && c != '\n')) break;
  }
  lua_pushboolean(L, i == n);
  return 1;
}

/* core.repair_utf8(text) -> text with U+FFFD for what is not UTF-8 */
static int core_repair_utf8(lua_State *L) {
  size_t n, size;
  const char *text = luaL_checklstring(L, 1, &n);
  char *out;
  size = utf8_repaired_size(text, n);
  out = (char *)lua_newuserdata(L, size);
  utf8_repair(text, n, out);
  lua_pushlstring(L, out, size);
  return 1;
}

/* core.set_array_mt(metatable): the mark that decoding and casting set */
static int core_set_array_mt(lua_State *L) {
  luaL_checktype(L, 1, LUA_TTABLE);
  core_set_array_mark(L, 1);
  return 0;
}

/* core.add_mark(metatable, "array" | "object"): accepts a foreign mark */
static int core_add_mark(lua_State *L) {
  static const char *const names[] = {"array", "object", NULL};
  int mark = luaL_checkoption(L, 2, NULL, names) + MARK_ARRAY;
  luaL_checktype(L, 1, LUA_TTABLE);
  core_add_foreign_mark(L, 1, mark);
  return 0;
}

/* core.set_foreign_null(userdata): accepts one more null */
static int core_set_foreign_null(lua_State *L) {
  luaL_checkany(L, 1);
  core_state(L)->foreign_null = lua_touserdata(L, 1);
  return 0;
}

/* Upvalues of core.kind: its most frequent answers. */
#define KIND_ARRAY lua_upvalueindex(2)
#define KIND_OBJECT lua_upvalueindex(3)

/* core.kind(value) -> "null" | "boolean" | "integer" | "number" | "string" |
** "array" | "object" | the name of any other Lua type */
static int core_kind(lua_State *L) {
  if (lua_istable(L, 1)) {
    bool is_array = value_is_array(L, core_state(L), 1);
    lua_pushvalue(L, is_array ? KIND_ARRAY : KIND_OBJECT);
  } else {
    luaL_checkany(L, 1);
    lua_pushstring(L, value_type_name(L, core_state(L), 1));
  }
  return 1;
}

/* Sets core.kind, which is mostly called with tables. */
static void open_kind(lua_State *L) {
  lua_pushvalue(L, lua_upvalueindex(1));
  lua_pushliteral(L, "array");
  lua_pushliteral(L, "object");
  lua_pushcclosure(L, core_kind, 3);
  lua_setfield(L, -2, "kind");
}

/* core.is_error(value) -> boolean */
static int core_is_error(lua_State *L) {
  bool is_error = lua_type(L, 1) == LUA_TTABLE && lua_getmetatable(L, 1) &&
                  lua_topointer(L, -1) == core_state(L)->error_mt;
  lua_pushboolean(L, is_error);
  return 1;
}

/* error:__tostring() -> "CODE: message" */
static int error_tostring(lua_State *L) {
  luaL_checktype(L, 1, LUA_TTABLE);
  lua_settop(L, 1);
  lua_getfield(L, 1, "code");
  lua_getfield(L, 1, "message");
  if (!lua_isstring(L, 2)) lua_pushliteral(L, "UNKNOWN_ERROR");
  else lua_pushvalue(L, 2);
  lua_pushliteral(L, ": ");
  if (!lua_isstring(L, 3)) lua_pushliteral(L, "(no message)");
  else lua_pushvalue(L, 3);
  lua_concat(L, 3);
  return 1;
}

static const luaL_Reg core_functions[] = {
    {"now", core_lua_now},
    {"monotonic", core_monotonic},
    {"random_id", core_random_id},
    {"random_bytes", core_random_bytes},
    {"random_digits", core_random_digits},
    {"hexadecimal", core_hexadecimal},
    {"is_plain", core_is_plain},
    {"sha256", core_sha256},
    {"sha256_state", core_sha256_state},
    {"repair_utf8", core_repair_utf8},
    {"set_array_mt", core_set_array_mt},
    {"add_mark", core_add_mark},
    {"set_foreign_null", core_set_foreign_null},
    {"is_error", core_is_error},
    {NULL, NULL},
};

static const luaL_Reg error_meta[] = {
    {"__tostring", error_tostring},
    {NULL, NULL},
};

/* Runs with the core state as upvalue 1; returns the module table. */
static int core_open(lua_State *L) {
  lua_newtable(L);
  luaL_newmetatable(L, CORE_ERROR_NAME);
  core_setfuncs(L, error_meta);
  lua_pop(L, 1);
  luaL_newmetatable(L, SHA256_NAME);
  lua_newtable(L);
  core_setfuncs(L, sha256_methods);
  lua_setfield(L, -2, "__index");
  lua_pop(L, 1);
  core_open_marks(L);
  integer_open(L);
  lua_pushlightuserdata(L, NULL);
  lua_setfield(L, -2, "null");
  core_setfuncs(L, core_functions);
  open_kind(L);
  json_open(L);
  sse_open(L);
  envelopes_open(L);
  fields_open(L);
  schema_open(L);
  envelope_open(L);
  registry_open(L);
  return 1;
}

static int state_gc(lua_State *L) {
  core_State *core = (core_State *)lua_touserdata(L, 1);
  platform_fork_page_free(core->random);
  core->random = NULL; /* later finalizers may still ask for ids */
  return 0;
}

/* Random, so that senders of values cannot choose colliding ones. */
static uint64_t new_seed(const core_State *core) {
  uint64_t seed;
  if (platform_random_at_once(&seed, sizeof(seed))) return seed;
  return (uint64_t)(uintptr_t)core ^ ((uint64_t)core_now() << 20);
}

static core_State *new_state(lua_State *L) {
  core_State *core = (core_State *)lua_newuserdata(L, sizeof(core_State));
  *core = (core_State){.seed = new_seed(core)};
  lua_createtable(L, 0, 1);
  lua_pushcfunction(L, state_gc);
  lua_setfield(L, -2, "__gc");
  lua_setmetatable(L, -2);
  core->random = (struct core_Random *)platform_fork_page();
  return core;
}

BUILD_SHOWN int luaopen_operations_core(lua_State *L);

/* Opened once in each Lua state: its values stay in the Lua registry, so a
** program that loads the library again (an editor that reloads plugins) gets
** the same table. */
int luaopen_operations_core(lua_State *L) {
  static const char opened;
  build_check(L, "operations.core");
  ops_rawgetp(L, LUA_REGISTRYINDEX, &opened);
  if (lua_istable(L, -1)) return 1;
  (void)new_state(L);
  lua_pushcclosure(L, core_open, 1);
  lua_call(L, 0, 1);
  lua_pushvalue(L, -1);
  ops_rawsetp(L, LUA_REGISTRYINDEX, &opened);
  return 1;
}
