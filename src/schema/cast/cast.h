/*
** cast.h - moves a value towards a schema, into a new value.  The value
** in a stack slot is replaced by its cast form; input tables are only read.
**
** Machine: cast.c combined.c convert.c force.c.
*/
#ifndef OPERATIONS_SCHEMA_CAST_H
#define OPERATIONS_SCHEMA_CAST_H

#include "schema/check/check.h"

#define CAST_MAX_DEPTH 512 /* nodes within nodes */
#define CAST_STEPS 3       /* what a node takes, as check_step counts */
#define CAST_PAIRS 128     /* members on the stack until they are stored */
#define CAST_VIEWS 48      /* schemas that apply to one value */

typedef struct cast_Machine {
  check_Machine m;
  const schema_Step *at; /* where in the value */
  int changes; /* stack index of the list of changes, 0 when unwanted */
  int changed; /* how many changes there were */
  size_t said; /* changes on the list when force began: they stay */
  int trials;  /* casts within casts, to find a branch */
  int merging; /* merged casts within merged casts */
  bool chosen; /* a branch was chosen by what stood there: cast again */
  int keep;    /* 1: fill in nothing, 2: strip nothing either */
  bool force;  /* the pass that replaces misfits */
  bool first;  /* a union none of whose branches is meant takes its first */
  int stayed;  /* misfits that nothing could replace */
  int filling; /* defaults within defaults that are being cast */
  int making;  /* replacements within replacements */
  int ahead;   /* stack index of what was cast already, or 0 */
} cast_Machine;

/* The schemas that apply to one value: of allOf, $ref, chosen branches. */
typedef struct cast_Views {
  int32_t nodes[CAST_VIEWS];
  bool weak[CAST_VIEWS]; /* only lends its knowledge of names */
  int count;
} cast_Views;

/* Pushes the cast value, the array of changes or nil when unasked, and nil or
** an array with the issue that says why defaults are missing; says whether
** the result conforms.  `ahead` is 0, or the index of nil or an ahead_Ahead of
** the same value and schema. */
bool cast_value(lua_State *L, int schema, int v, int mode, bool changes,
                int ahead);

/* Casts the value in `slot` by one node.  Branches are chosen by what stands
** there: casts until nothing changes. */
bool cast_until_stable(cast_Machine *c, int32_t node, int slot);

/* Marks the table on top of the stack. */
void cast_mark_array(cast_Machine *c);

/* Casts the value in `slot`, of Lua type `t`; false when it cannot be said, or
** it does not conform. */
bool cast_slot(cast_Machine *c, int32_t node, int slot, int t);

/* The same when several schemas apply. */
bool cast_slot_by(cast_Machine *c, const int32_t *nodes, int count, int slot);

/* The same by all the schemas that apply, those of chosen branches too.  Only a
** check can say whether the result conforms, which the outermost one makes. */
bool cast_merged(cast_Machine *c, const int32_t *nodes, int count, int slot);

/* The only branch that the table in `slot` can conform to, by its tag or its
** type, where a node is a union and nothing else; else -1.  Where the tag says
** it, `type` becomes the table's. */
int32_t cast_only_branch(cast_Machine *c, const schema_Node *n, int slot,
                         uint16_t *type);

/* Records a change; stack indices, 0 for nothing. */
void cast_record(cast_Machine *c, const char *kind, int old, int fresh);

/* Tries what converts a scalar without loss; true when the slot conforms.  A
** value of a type that is not among `types` is converted to one that is even
** when it misses a bound then: "9" is 9, which may be too large. */
bool cast_convert(cast_Machine *c, const int32_t *nodes, int count, int slot,
                  uint16_t types);

/* Marks the new table in `out`, made from `slot`, as an object if it is empty
** and no array is wanted. */
void cast_mark_empty(cast_Machine *c, int slot, int out, uint16_t types);

/* Collects the schemas that apply to the value in `slot`. */
void cast_gather(cast_Machine *c, cast_Views *views, int32_t node, int slot);

/* The types that all the schemas accept, as TYPE_ bits. */
uint16_t cast_types(const cast_Machine *c, const cast_Views *views);

/* Casts by all the schemas that apply, but does not replace the value itself;
** false when a limit was reached. */
bool cast_move(cast_Machine *c, const int32_t *nodes, int count, int slot);

/* Replaces the value in `slot`, whose members were forced before, when it does
** not conform and its replacement does, and records that.  A value with a
** member that stayed a misfit stays too: `stayed` is the machine's count before
** its members.  Says whether the slot conforms. */
bool cast_force(cast_Machine *c, const int32_t *nodes, int count, int slot,
                int stayed);

/* Pushes the replacement for a required member that is missing; when there is
** none, pushes nothing, counts it as a misfit that stayed, and returns false.
*/
bool cast_make(cast_Machine *c, const int32_t *nodes, int count);

bool cast_conforms(cast_Machine *c, const int32_t *nodes, int count, int slot);

#endif
