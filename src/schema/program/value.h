/*
** value.h - Lua values as JSON Schema sees them: their type, length, order and
** hash.  Nothing here raises or allocates.
*/
#ifndef OPERATIONS_SCHEMA_VALUE_H
#define OPERATIONS_SCHEMA_VALUE_H

#include "schema/program/program.h"

/* The TYPE_ bit of the value at `i`, whose Lua type is `t`; 0 when it is no
** JSON value (NaN and the infinities are not).  Of an unmarked empty table the
** bit that `wanted` has, else TYPE_OBJECT. */
uint16_t schema_type_of(lua_State *L, const core_State *core, int i, int t,
                        uint16_t wanted);

/* The same of a table that has no metatable. */
uint16_t schema_type_of_unmarked(lua_State *L, int i, uint16_t wanted);

/* The n of the array at `i` when it has the keys 1..n and no others, or -1;
** a stray key may be missed where value_glance_length misses it. */
ptrdiff_t schema_sequence_length(lua_State *L, int i);

/* Joins two words of a hash. */
static inline uint64_t schema_mix(uint64_t h, uint64_t x) {
  h = (h ^ x) * UINT64_C(0x9E3779B97F4A7C15);
  h = (h ^ (h >> 32)) * UINT64_C(0xD6E8FEB86659FD93);
  return h ^ (h >> 32);
}

/* The hash of a string, as schema_hash has it; linear in its length. */
uint64_t schema_hash_text(const core_State *core, const char *s, size_t len);

/* Code points of UTF-8. */
size_t schema_text_length(const char *s, size_t len);

/* -1, 0, 1: how the number at `i` stands to the bound of `op`. */
int schema_compare(lua_State *L, const core_State *core, int i,
                   const schema_Op *op);

/* Is the number at `i` a multiple of the bound?  Decided on the decimal
** notations, so that 19.99 is a multiple of 0.01. */
bool schema_is_multiple(lua_State *L, const core_State *core, int i,
                        const schema_Op *op);

#endif
