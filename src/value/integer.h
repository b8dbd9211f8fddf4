/*
** integer.h - 64-bit integers in Lua: as a number, or as a wide integer where a
** number would round.  Wide integers are int64_t and uint64_t of LuaJIT's FFI,
** and on Lua 5.4 a userdata for 2^63 to 2^64-1.
*/
#ifndef OPERATIONS_VALUE_INTEGER_H
#define OPERATIONS_VALUE_INTEGER_H

#include "value/core.h"

/* The Lua type of wide integers: LuaJIT's cdata, which lua.h does not name. */
#if OPS_INTEGERS
#define INTEGER_WIDE_TYPE LUA_TUSERDATA
#else
#define INTEGER_WIDE_TYPE 10
#endif

/* Bytes that integer_format may write, plus one for a '\0'. */
#define INTEGER_ROOM 24

typedef struct integer_Value {
  uint64_t bits; /* of an int64_t, unless `above` is set */
  bool above;    /* the bits are an uint64_t above INT64_MAX */
} integer_Value;

static inline integer_Value integer_of(int64_t n) {
  integer_Value value = {(uint64_t)n, false};
  return value;
}

static inline integer_Value integer_of_unsigned(uint64_t n) {
  integer_Value value = {n, n > (uint64_t)INT64_MAX};
  return value;
}

/* Called once when the module opens. */
void integer_open(lua_State *L);

/* Is the value at `i`, of type INTEGER_WIDE_TYPE, a wide integer?  Sets it.  On
** LuaJIT this calls a Lua function, which may run out of memory. */
bool integer_is_wide(lua_State *L, const core_State *core, int i,
                     integer_Value *n);

/* Is the value at `i` a number without fraction or a wide integer, within 64
** bits?  Sets it.  (1.0 is one.) */
bool integer_read(lua_State *L, const core_State *core, int i,
                  integer_Value *n);

/* Pushes the integer: a number where that is exact, else a wide integer; on a
** LuaJIT without FFI its digits as a string. */
void integer_push(lua_State *L, const core_State *core, integer_Value n);

/* Pushes the text of the number or wide integer at `i`; false, with nothing
** pushed, for other values. */
bool integer_push_text(lua_State *L, const core_State *core, int i);

/* Reads digits after an optional '-'; false when they do not fit in 64 bits or
** other text follows. */
bool integer_parse(const char *s, size_t len, integer_Value *n);

/* Writes the digits; returns their number; no '\0'. */
size_t integer_format(char *out, integer_Value n);

static inline bool integer_is_negative(integer_Value n) {
  return !n.above && (int64_t)n.bits < 0;
}

/* The absolute value. */
static inline uint64_t integer_magnitude(integer_Value n) {
  return integer_is_negative(n) ? 0 - n.bits : n.bits;
}

static inline double integer_to_double(integer_Value n) {
  return n.above ? (double)n.bits : (double)(int64_t)n.bits;
}

/* -1, 0, 1: `a` is less than, equal to, greater than `b`. */
int integer_compare(integer_Value a, integer_Value b);

/* The same, exactly, for a number that integer_read does not read: one with a
** fraction, or beyond 64 bits. */
int integer_compare_double(double a, integer_Value b);

#endif
