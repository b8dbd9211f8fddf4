/*
** equal.h - are two JSON values equal?  Equality, hashes and duplicate items,
** within the steps of a machine.  Allocates for large arrays only.
*/
#ifndef OPERATIONS_SCHEMA_EQUAL_H
#define OPERATIONS_SCHEMA_EQUAL_H

#include "schema/check/check.h"
#include "schema/program/value.h"

/* All count steps, as check_step does.  When none is left the machine is
** too_deep, and the result is meaningless. */

/* Deep equality by JSON's rules, of the values at two absolute indices.  Values
** nested beyond the limit are unequal. */
bool schema_equal(check_Machine *m, int a, int b);

/* Equal values have equal hashes within a Lua state, which has its own seed. */
uint64_t schema_hash(check_Machine *m, int i);

/* Does the value at `i`, with TYPE_ bit `type`, equal the enum member? */
bool schema_is_member(check_Machine *m, const schema_Member *member, int i,
                      uint16_t type);

/* Finds two equal items of the array at `i` with `n` items and sets their
** positions (from 1): the first that equals an earlier one; false when all
** differ. */
bool schema_find_twins(check_Machine *m, int i, size_t n, size_t *first,
                       size_t *second);

#endif
