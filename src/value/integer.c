#include "value/integer.h"

#include <math.h>

#include "json/number.h"

#define TWO_TO_63 9223372036854775808.0
#define TWO_TO_64 18446744073709551616.0

int integer_compare(integer_Value a, integer_Value b) {
  int64_t x = (int64_t)a.bits, y = (int64_t)b.bits;
  if (a.above != b.above) return a.above ? 1 : -1;
  if (a.above) return a.bits < b.bits ? -1 : a.bits > b.bits;
  return x < y ? -1 : x > y;
}

static bool from_double(double d, integer_Value *n) {
  if (!(d >= -TWO_TO_63 && d < TWO_TO_64)) return false;
  *n =
      d < TWO_TO_63 ? integer_of((int64_t)d) : integer_of_unsigned((uint64_t)d);
  return integer_to_double(*n) == d;
}

int integer_compare_double(double a, integer_Value b) {
  int order;
  if (a >= TWO_TO_64) return 1;
  if (a < -TWO_TO_63) return -1;
  order = integer_compare(integer_of((int64_t)a), b);
  if (order != 0) return order;
  return a < (double)(int64_t)a ? -1 : 1;
}

bool integer_parse(const char *s, size_t len, integer_Value *n) {
  bool negative = len > 0 && s[0] == '-';
  const char *p = s + negative, *end = s + len;
  uint64_t magnitude = 0;
  if (p == end) return false;
  for (; p < end; p++) {
    uint64_t digit = (uint64_t)(unsigned char)*p - '0';
    if (digit > 9 || magnitude > (UINT64_MAX - digit) / 10) return false;
    magnitude = magnitude * 10 + digit;
  }
  if (!negative) *n = integer_of_unsigned(magnitude);
  else if (magnitude <= (uint64_t)INT64_MAX + 1)
    *n = integer_of((int64_t)(0 - magnitude));
  else return false;
  return true;
}

size_t integer_format(char *out, integer_Value n) {
  return n.above ? json_format_unsigned(out, n.bits)
                 : json_format_integer(out, (int64_t)n.bits);
}

bool integer_read(lua_State *L, const core_State *core, int i,
                  integer_Value *n) {
  int t = lua_type(L, i);
  if (t == INTEGER_WIDE_TYPE) return integer_is_wide(L, core, i, n);
  if (t != LUA_TNUMBER) return false;
#if OPS_INTEGERS
  if (lua_isinteger(L, i)) {
    *n = integer_of(lua_tointeger(L, i));
    return true;
  }
#endif
  return from_double(lua_tonumber(L, i), n);
}

bool integer_push_text(lua_State *L, const core_State *core, int i) {
  char digits[INTEGER_ROOM];
  integer_Value n;
  int t = lua_type(L, i);
#if !OPS_INTEGERS
  /* A double that is an integer has all its digits. */
  if (t == LUA_TNUMBER && fabs(lua_tonumber(L, i)) <= OPS_MAX_SAFE_INTEGER &&
      from_double(lua_tonumber(L, i), &n)) {
    lua_pushlstring(L, digits, integer_format(digits, n));
    return true;
  }
#endif
  if (t == LUA_TNUMBER) {
    lua_pushvalue(L, i);
    lua_tostring(L, -1);
    return true;
  }
  if (t != INTEGER_WIDE_TYPE || !integer_is_wide(L, core, i, &n)) return false;
  lua_pushlstring(L, digits, integer_format(digits, n));
  return true;
}

/* --- Lua 5.4 ------------------------------------------------------------- */

#if OPS_INTEGERS

#define WIDE_TYPE "operations.integer"
#define NOT_ORDERED 2

bool integer_is_wide(lua_State *L, const core_State *core, int i,
                     integer_Value *n) {
  bool wide;
  if (!lua_getmetatable(L, i)) return false;
  wide = lua_topointer(L, -1) == core->wide;
  lua_pop(L, 1);
  if (wide) *n = integer_of_unsigned(*(const uint64_t *)lua_touserdata(L, i));
  return wide;
}

void integer_push(lua_State *L, const core_State *core, integer_Value n) {
  (void)core;
  if (!n.above) {
    lua_pushinteger(L, (lua_Integer)n.bits);
    return;
  }
  *(uint64_t *)lua_newuserdatauv(L, sizeof(n.bits), 0) = n.bits;
  luaL_getmetatable(L, WIDE_TYPE);
  lua_setmetatable(L, -2);
}

/* -1, 0, 1: the first argument is less, equal, greater; one of them is a wide
** integer.  NOT_ORDERED when the other is NaN. */
static int order(lua_State *L) {
  const core_State *core = core_state(L);
  integer_Value a = integer_of(0), b = integer_of(0);
  bool whole = integer_read(L, core, 1, &a);
  lua_Number d;
  if (integer_read(L, core, 2, &b) && whole) return integer_compare(a, b);
  d = luaL_checknumber(L, whole ? 2 : 1);
  if (d != d) return NOT_ORDERED;
  return whole ? -integer_compare_double(d, a) : integer_compare_double(d, b);
}

/* integer:__eq(other); Lua calls it for two userdata only */
static int wide_eq(lua_State *L) {
  const core_State *core = core_state(L);
  integer_Value a, b;
  lua_pushboolean(L, integer_read(L, core, 1, &a) &&
                         integer_read(L, core, 2, &b) &&
                         integer_compare(a, b) == 0);
  return 1;
}

/* integer:__lt(other), for numbers and wide integers */
static int wide_lt(lua_State *L) {
  lua_pushboolean(L, order(L) < 0);
  return 1;
}

/* integer:__le(other) */
static int wide_le(lua_State *L) {
  lua_pushboolean(L, order(L) <= 0);
  return 1;
}

/* integer:__tostring() -> its digits */
static int wide_tostring(lua_State *L) {
  char digits[INTEGER_ROOM];
  uint64_t n = *(const uint64_t *)luaL_checkudata(L, 1, WIDE_TYPE);
  lua_pushlstring(L, digits, json_format_unsigned(digits, n));
  return 1;
}

void integer_open(lua_State *L) {
  static const luaL_Reg metamethods[] = {
      {"__eq", wide_eq}, {"__lt", wide_lt},
      {"__le", wide_le}, {"__tostring", wide_tostring},
      {NULL, NULL},
  };
  luaL_newmetatable(L, WIDE_TYPE);
  core_state(L)->wide = (void *)lua_topointer(L, -1);
  core_setfuncs(L, metamethods);
  lua_pop(L, 1);
}

/* --- LuaJIT -------------------------------------------------------------- */

#else

/* The C API can neither make a cdata nor tell its type.  lua_topointer returns
** the address of its payload, so `box` is memory that C and Lua share. */
static const char functions[] =
    "local ffi = require('ffi')\n"
    "local istype = ffi.istype\n"
    "local int64, uint64 = ffi.typeof('int64_t'), ffi.typeof('uint64_t')\n"
    "local box = ffi.new('int64_t[1]')\n"
    "local unsigned = ffi.cast('uint64_t *', box)\n"
    "return box,\n"
    "  function(value)\n"
    "    local kind = istype(int64, value) and 1 or istype(uint64, value) and "
    "2\n"
    "    local id = kind and tonumber(value) -- of a type, when it is one\n"
    "    if not kind or id > 0 and id < 65536\n"
    "      and tostring(value):find('^ctype') then\n"
    "      return 0\n"
    "    end\n"
    "    return kind\n"
    "  end,\n"
    "  function() return box[0] end,\n"
    "  function() return unsigned[0] end\n";

enum { NOT_WIDE, SIGNED, UNSIGNED };

/* Registry keys: the address of core->wide plus one of these. */
enum { KEY_KIND, KEY_SIGNED, KEY_UNSIGNED };

static const void *key_of(const core_State *core, int key) {
  return (const char *)&core->wide + key;
}

bool integer_is_wide(lua_State *L, const core_State *core, int i,
                     integer_Value *n) {
  const void *payload = lua_topointer(L, i);
  uint64_t bits;
  int kind;
  if (core->wide == NULL || !ops_checkstack(L, LUA_MINSTACK)) return false;
  i = ops_absindex(L, i);
  ops_rawgetp(L, LUA_REGISTRYINDEX, key_of(core, KEY_KIND));
  lua_pushvalue(L, i);
  lua_call(L, 1, 1);
  kind = (int)lua_tointeger(L, -1);
  lua_pop(L, 1);
  if (kind == NOT_WIDE) return false;
  memcpy(&bits, payload, sizeof(bits));
  *n = kind == SIGNED ? integer_of((int64_t)bits) : integer_of_unsigned(bits);
  return true;
}

/* Can a number hold it exactly? */
static bool is_safe(integer_Value n) {
  return !n.above && (int64_t)n.bits <= OPS_MAX_SAFE_INTEGER &&
         (int64_t)n.bits >= -OPS_MAX_SAFE_INTEGER;
}

void integer_push(lua_State *L, const core_State *core, integer_Value n) {
  if (is_safe(n)) {
    lua_pushnumber(L, (lua_Number)(int64_t)n.bits);
  } else if (core->wide == NULL) {
    char digits[INTEGER_ROOM];
    lua_pushlstring(L, digits, integer_format(digits, n));
  } else {
    memcpy(core->wide, &n.bits, sizeof(n.bits));
    ops_rawgetp(L, LUA_REGISTRYINDEX,
                key_of(core, n.above ? KEY_UNSIGNED : KEY_SIGNED));
    lua_call(L, 0, 1);
  }
}

void integer_open(lua_State *L) {
  core_State *core = core_state(L);
  int top = lua_gettop(L);
  if (luaL_loadbuffer(L, functions, sizeof(functions) - 1, "=integer") == 0 &&
      lua_pcall(L, 0, 4, 0) == 0) {
    ops_rawsetp(L, LUA_REGISTRYINDEX, key_of(core, KEY_UNSIGNED));
    ops_rawsetp(L, LUA_REGISTRYINDEX, key_of(core, KEY_SIGNED));
    ops_rawsetp(L, LUA_REGISTRYINDEX, key_of(core, KEY_KIND));
    core->wide = (void *)lua_topointer(
        L, -1); /* the function under KEY_SIGNED keeps it alive */
  }
  lua_settop(L, top);
}

#endif
