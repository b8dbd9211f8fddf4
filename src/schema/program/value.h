/*
** value.h - Lua values by the rules of JSON Schema: their type, length, order
** and hash.  Nothing here raises or allocates.
*/
#ifndef OPERATIONS_SCHEMA_VALUE_H
#define OPERATIONS_SCHEMA_VALUE_H

#include "schema/program/program.h"

/* The TYPE_ bit of the value at `i`, whose Lua type is `t`; 0 when it is not a
** JSON value (NaN and the infinities are not).  An unmarked empty table has the
** bit in `wanted`, else TYPE_OBJECT. */
uint16_t schema_type_of(lua_State *L, const core_State *core, int i, int t,
                        uint16_t wanted);

/* As schema_type_of for a table without a metatable. */
uint16_t schema_type_of_unmarked(lua_State *L, int i, uint16_t wanted);

/* The n of the array at `i` if its keys are 1..n, else -1; may miss a stray key
** where value_glance_length does. */
ptrdiff_t schema_sequence_length(lua_State *L, int i);

/* Combines two words of a hash. */
static inline uint64_t schema_mix(uint64_t h, uint64_t x) {
  h = (h ^ x) * UINT64_C(0x9E3779B97F4A7C15);
  h = (h ^ (h >> 32)) * UINT64_C(0xD6E8FEB86659FD93);
  return h ^ (h >> 32);
}

/* The hash of a string, as in schema_hash; linear in its length. */
uint64_t schema_hash_text(const core_State *core, const char *s, size_t len);

/* The number of code points of UTF-8 text. */
size_t schema_text_length(const char *s, size_t len);

/* -1, 0, 1: the number at `i` is below, equal to, above the bound of `op`. */
int schema_compare(lua_State *L, const core_State *core, int i,
                   const schema_Op *op);

/* Is the number at `i` a multiple of the bound?  Computed in decimal, so that
** 19.99 is a multiple of 0.01. */
bool schema_is_multiple(lua_State *L, const core_State *core, int i,
                        const schema_Op *op);

#endif
