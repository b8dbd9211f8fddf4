/*
** cast.h - moves a value towards a schema, into a new value.  The cast value
** replaces the one in a stack slot; input tables are only read.
**
** Machine: cast.c combined.c convert.c force.c gather.c.
*/
#ifndef OPERATIONS_SCHEMA_CAST_H
#define OPERATIONS_SCHEMA_CAST_H

#include "schema/check/check.h"

#define CAST_MAX_DEPTH 512 /* nodes within nodes */
#define CAST_STEPS 3       /* steps of a node, as in check_step */
#define CAST_PAIRS 128     /* members on the stack before they are stored */
#define CAST_VIEWS 48      /* schemas that apply to one value */

typedef struct cast_Machine {
  check_Machine m;
  const schema_Step *at; /* the place in the value */
  int changes;           /* stack index of the list of changes; 0: none */
  int changed;           /* the number of changes */
  size_t said;           /* length of the list when force began */
  int trials;            /* nested casts that look for a branch */
  int merging;           /* nested merged casts */
  bool chosen;           /* the value chose a branch: cast again */
  int keep;              /* 1: fill in nothing, 2: strip nothing either */
  int shared;  /* members around it of several branches: strip nothing */
  bool force;  /* replace misfits */
  bool first;  /* a union takes its first branch if none fits */
  int stayed;  /* misfits that could not be replaced */
  int filling; /* nested defaults that are being cast */
  int making;  /* nested replacements */
  int ahead;   /* stack index of the items cast ahead, or 0 */
} cast_Machine;

#define CAST_UNIONS 16 /* undecided unions of one value */

/* The schemas that apply to one value: of allOf, $ref, chosen branches; and the
** unions whose branch no tag decides: what any of their branches declares
** stays. */
typedef struct cast_Views {
  int32_t nodes[CAST_VIEWS];
  int count;
  int32_t undecided[CAST_UNIONS];
  int unions; /* with more than CAST_UNIONS, every member stays */
} cast_Views;

/* Pushes the cast value; the array of changes, or nil without `changes`; and
** nil, or an array with the issue that says why defaults are missing.  Says
** whether the result conforms.  `ahead` is 0, or the index of nil or an
** ahead_Ahead of the same value and schema. */
bool cast_value(lua_State *L, int schema, int v, int mode, bool changes,
                int ahead);

/* Casts the value in `slot` by one node.  The value chooses branches, so it is
** cast until nothing changes. */
bool cast_until_stable(cast_Machine *c, int32_t node, int slot);

/* Marks the table on top of the stack. */
void cast_mark_array(cast_Machine *c);

/* Casts the value in `slot`, of Lua type `t`; false when it does not conform,
** or that is not known. */
bool cast_slot(cast_Machine *c, int32_t node, int slot, int t);

/* As cast_slot, when several schemas apply. */
bool cast_slot_by(cast_Machine *c, const int32_t *nodes, int count, int slot);

/* Casts by all schemas that apply, chosen branches included.  Only a check can
** say whether the result conforms; the outermost call makes it. */
bool cast_merged(cast_Machine *c, const int32_t *nodes, int count, int slot);

/* The only branch to which the table in `slot` can conform, by its tag or its
** type, when a node is just a union; else -1.  When the tag decides, `type`
** becomes that of the table. */
int32_t cast_only_branch(cast_Machine *c, const schema_Node *n, int slot,
                         uint16_t *type);

/* Do members stay that no schema knows? */
static inline bool cast_keeps(const cast_Machine *c) {
  return c->keep >= 2 || c->shared > 0;
}

/* Records a change; stack indices, 0 for nothing. */
void cast_record(cast_Machine *c, const char *kind, int old, int fresh);

/* Tries conversions of a scalar that lose nothing; true when the slot conforms.
** A value of a type that is not in `types` is converted even if it then exceeds
** a bound: "9" becomes 9, which may be too large. */
bool cast_convert(cast_Machine *c, const int32_t *nodes, int count, int slot,
                  uint16_t types);

/* Marks the new table in `out`, made from `slot`, as an object if it is empty
** and an array is not allowed. */
void cast_mark_empty(cast_Machine *c, int slot, int out, uint16_t types);

/* Collects the schemas that apply to the value in `slot`. */
void cast_gather(cast_Machine *c, cast_Views *views, int32_t node, int slot);

/* Does a branch of an undecided union declare the name (NULL: items), however
** deep in allOf, `$ref`, `if` and other unions?  The schemas that apply are not
** asked. */
bool cast_declares(cast_Machine *c, const cast_Views *views, const char *name,
                   size_t len);

/* The types that all schemas accept, as TYPE_ bits. */
uint16_t cast_types(const cast_Machine *c, const cast_Views *views);

/* Casts the members by all schemas that apply, but does not replace the value
** itself; false when a limit was reached. */
bool cast_move(cast_Machine *c, const int32_t *nodes, int count, int slot);

/* Replaces the value in `slot` if it does not conform and its replacement does,
** and records the change.  Its members were replaced before; a value with a
** misfit that stayed is kept: `stayed` is the machine's count before its
** members. Says whether the slot conforms. */
bool cast_force(cast_Machine *c, const int32_t *nodes, int count, int slot,
                int stayed);

/* Pushes the replacement for a missing required member.  Without one, pushes
** nothing, counts a misfit that stayed, and returns false. */
bool cast_make(cast_Machine *c, const int32_t *nodes, int count);

bool cast_conforms(cast_Machine *c, const int32_t *nodes, int count, int slot);

#endif
