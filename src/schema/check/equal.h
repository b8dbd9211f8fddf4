/*
** equal.h - are two JSON values the same?  Equality, hashes and twins, within
** the steps of a machine.  Allocates for large arrays only.
*/
#ifndef OPERATIONS_SCHEMA_EQUAL_H
#define OPERATIONS_SCHEMA_EQUAL_H

#include "schema/check/check.h"
#include "schema/program/value.h"

/* All count steps, as check_step does: when none is left the machine
** is too_deep, and what they say does not count. */

/* Deep equality by JSON's rules.  Values nested deeper than the limit are not
** equal. */
bool schema_equal(check_Machine *m, int a, int b);

/* Equal values have equal hashes in one Lua state, which seeds them. */
uint64_t schema_hash(check_Machine *m, int i);

/* Is the value at `i`, with TYPE_ bit `type`, the enum member? */
bool schema_is_member(check_Machine *m, const schema_Member *member, int i,
                      uint16_t type);

/* The positions (from 1) of two equal items of the array at `i` with `n`
** items: the first that has an equal one before it; false when all differ. */
bool schema_find_twins(check_Machine *m, int i, size_t n, size_t *first,
                       size_t *second);

#endif
