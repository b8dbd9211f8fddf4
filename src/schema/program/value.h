/*
** value.h - Lua values as JSON Schema sees them: their type, equality,
** length, order.  Nothing here raises or allocates, except for large arrays.
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

/* Deep equality by JSON's rules.  Values nested deeper than the limit are not
** equal. */
bool schema_equal(lua_State *L, const core_State *core, int a, int b);

/* Equal values have equal hashes. */
uint64_t schema_hash(lua_State *L, const core_State *core, int i);

/* Is the value at `i`, with TYPE_ bit `type`, the enum member? */
bool schema_is_member(lua_State *L, const core_State *core, int constants,
                      const schema_Member *member, int i, uint16_t type);

/* The positions (from 1) of two equal items of the array at `i` with `n`
** items; false when all differ. */
bool schema_find_twins(lua_State *L, const core_State *core, int i, size_t n,
                       size_t *first, size_t *second);

/* Code points of UTF-8. */
size_t schema_text_length(const char *s, size_t len);

/* -1, 0, 1: how the number at `i` stands to the bound of `op`. */
int schema_compare(lua_State *L, int i, const schema_Op *op);

/* Is the number at `i` a multiple of the bound?  Decided on the decimal
** notations, so that 19.99 is a multiple of 0.01. */
bool schema_is_multiple(lua_State *L, int i, const schema_Op *op);

#endif
