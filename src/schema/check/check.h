/*
** check.h - the machine that answers yes or no.  It stops at the first
** misfit, allocates nothing, and leaves the Lua stack as it found it.
**
** Machine: any.c check.c equal.c instruction.c unevaluated.c.
*/
#ifndef OPERATIONS_SCHEMA_CHECK_H
#define OPERATIONS_SCHEMA_CHECK_H

#include "schema/program/program.h"

/* The work of checks and casts for each member, and their rare work. */
#if defined(__GNUC__)
#define HOT inline __attribute__((always_inline))
#define COLD __attribute__((noinline))
#else
#define HOT inline
#define COLD
#endif

#define CHECK_MAX_DEPTH 1536  /* nodes within nodes, as the C stack bears */
#define CHECK_STEPS 4000000   /* that any value may take, */
#define CHECK_VALUE_STEPS 64  /* and so many more for each value within, */
#define CHECK_VALUES 10000000 /* of which this many count */
#define CHECK_STEP_ITEMS 16   /* to walk over so many takes a step's time, */
#define CHECK_STEP_BYTES 64   /* and to read so much text */

/* The resources entered, the current one first ($dynamicRef looks there). */
typedef struct check_Scope {
  const struct check_Scope *outer;
  int32_t resource;
} check_Scope;

typedef struct check_Machine {
  lua_State *L;
  const schema_Schema *s;
  const core_State *core;
  const check_Scope *scope;
  int constants; /* stack index of the constants table */
  int top;       /* height of the Lua stack, kept so that nobody need ask */
  int room;      /* up to here the stack may grow unasked */
  int depth;
  bool too_deep; /* a limit was reached: the answer is no, nothing goes on */
  bool extended; /* the size of the value was taken into account */
  int value;     /* stack index of the outermost value */
  int64_t left;  /* steps until a limit is reached, none when one was */
  int64_t kept;  /* `left` when one was reached */
  /* For those who fill in defaults (schema_fill.h); else unset. */
  int64_t made;      /* values that defaults and force made */
  int64_t most_made; /* how many may be, 0: not asked yet */
  int problem;       /* stack index of why they stopped, or of nil */
} check_Machine;

#define CHECK_STACK_BLOCK 32 /* slots asked for in advance */

/* A limit was reached. */
static inline bool check_too_deep(check_Machine *m) {
  if (m->too_deep) return false;
  m->too_deep = true;
  m->kept = m->left;
  m->left = 0;
  return false;
}

/* Goes on after a limit was reached, with another part. */
static inline void check_resume(check_Machine *m) {
  if (!m->too_deep) return;
  m->too_deep = false;
  m->left = m->kept;
}

/* No step is left: takes the size of the value into account, once. */
COLD bool check_go_on(check_Machine *m);

/* How many values stand in the outermost one. */
int64_t check_count_values(const check_Machine *m);

/* Before what may ask the same of the same value once more: a schema could do
** so over and over, twice as often with each level.  To walk over a value is
** linear in itself, so that it only counts (check_walked, check_read). */
static inline bool check_step(check_Machine *m) {
  return --m->left > 0 || check_go_on(m);
}

/* As regex_match, within the machine's steps: -1 when a limit was reached. */
static inline int check_match(check_Machine *m, const regex_Regex *regex,
                              const char *s, size_t len) {
  int found = check_step(m) ? regex_match(regex, s, len, &m->left) : -1;
  if (found < 0) check_too_deep(m);
  return found;
}

/* Item or member `i` of a table was walked over. */
static inline void check_walked(check_Machine *m, size_t i) {
  if (i % CHECK_STEP_ITEMS == 0) m->left--;
}

static inline void check_read(check_Machine *m, size_t bytes) {
  m->left -= (int64_t)(bytes / CHECK_STEP_BYTES);
}

/* Several steps at once: of what the schema makes long, for each value. */
static inline bool check_steps(check_Machine *m, int64_t n) {
  m->left -= n;
  return m->left > 0 || check_go_on(m);
}

/* Room for `n` more values above m->top: asked for in blocks. */
static inline bool check_reserve(check_Machine *m, int n) {
  if (m->top + n <= m->room) return true;
  if (!ops_checkstack(m->L, n + CHECK_STACK_BLOCK)) return check_too_deep(m);
  m->room = m->top + n + CHECK_STACK_BLOCK;
  return true;
}

/* Pushes the constants of the schema at index `schema`.  `value` stays where it
** is. */
void check_start(check_Machine *m, lua_State *L, int schema, int value);

/* The same of schema `s`, for check_root alone, which may do without them.
** `top` is the height of the stack, which may grow up to `room` unasked. */
void check_start_root(check_Machine *m, lua_State *L, const schema_Schema *s,
                      int schema, int top, int room);

/* Does the value at stack index `v` (absolute), of Lua type `t`, conform to
** node `node`? */
bool check_node(check_Machine *m, int32_t node, int v, int t);

/* Is the value a scalar that conforms, as far as the node's act can say?
** `n` is a target. */
bool check_quick(check_Machine *m, const schema_Node *n, int v, int t);

/* check_node for the outermost value: a value that is too deep is refused. */
bool check_value(check_Machine *m, int32_t node, int v);

/* check_value for the root node of a machine just started. */
bool check_root(check_Machine *m, int v, int t);

/* Among the machine's own files, where m->top and m->room hold: */

/* check_node of a value within the outermost one. */
bool check_inner(check_Machine *m, int32_t node, int v, int t);

/* Can the table at `v` be said in JSON, all that is in it?  Strings may be
** other than UTF-8, as elsewhere in checks. */
bool check_says_json(check_Machine *m, int v);

/* The members of the object at `v`: all, or only the described ones where no
** other matters. */
bool check_object(check_Machine *m, const schema_Object *object, int v);

/* The member at `key`, `key` + 1, whatever its name; counts `required` down. */
bool check_odd_member(check_Machine *m, const schema_Object *object, int key,
                      int32_t *required);

/* All members of the object at `v`, as they come. */
bool check_every_member(check_Machine *m, const schema_Object *object, int v);

/* One instruction each: CODE_ITEMS of an array with `n` items; CODE_ANY_OF or
** CODE_ONE_OF; one for strings; any.  `type` is the value's TYPE_ bit. */
bool check_items(check_Machine *m, const schema_Op *op, int v, size_t n);
bool check_union(check_Machine *m, const schema_Op *op, int v, int t,
                 uint16_t type);
bool check_text_op(check_Machine *m, const schema_Op *op, const char *s,
                   size_t len);
bool check_one_op(check_Machine *m, const schema_Node *n, const schema_Op *op,
                  int v, uint16_t type);

/* Checks all instructions of a node, beyond its type. */
bool check_ops(check_Machine *m, const schema_Node *n, int v, int t,
               uint16_t type);

/* A collection may have shrunk the stack (LuaJIT). */
void check_forget_room(check_Machine *m);

/* One instruction alone; `type` is the value's TYPE_ bit, `n` the length of an
** array. */
bool check_op(check_Machine *m, int32_t node, const schema_Op *op, int v,
              uint16_t type);

/* The node that a CODE_DYNAMIC instruction calls at this point. */
int32_t check_dynamic(check_Machine *m, const schema_Op *op);

/* Is the key known to node `node`, or to one applied to the same object?
** `check` false takes every branch for a match. */
bool check_knows_key(check_Machine *m, int32_t node, int v, const char *name,
                     size_t len, bool check);

/* The same for item `index` (from 0), which stands at stack index `item`. */
bool check_knows_item(check_Machine *m, int32_t node, int v, size_t index,
                      int item);

/* CODE_UNEVALUATED_PROPERTIES and CODE_UNEVALUATED_ITEMS of node `node`. */
bool check_unevaluated_properties(check_Machine *m, int32_t node,
                                  const schema_Op *op, int v);
bool check_unevaluated_items(check_Machine *m, int32_t node,
                             const schema_Op *op, int v);

/* The branch that the discriminating property of the value names, or -1. */
int32_t check_tagged_branch(check_Machine *m, const schema_Union *u, int v);

/* The first of a union of consts that the value is, or -1. */
int32_t check_const_branch(check_Machine *m, const schema_Union *u, int v);

/* The branch that OpenAPI's discriminator says was meant, or -1. */
int32_t check_hinted_branch(check_Machine *m, const schema_Union *u, int v);

/* The first of the `count` members from `first` on that the value is, or -1;
** `after` of them are passed over; `type` is the value's TYPE_ bit. */
int32_t check_find_member(check_Machine *m, int32_t first, int32_t count,
                          schema_Index index, int32_t after, int v,
                          uint16_t type);

/* How often CODE_CONTAINS matches; stops after `enough`. */
size_t check_count_contained(check_Machine *m, const schema_Op *op, int v,
                             size_t enough);

/* Walks over all members of the object at `v`, within the steps. */
size_t check_count_members(check_Machine *m, int v);

/* Does the object at `v` have the member whose name is constant `key`? */
bool check_has_key(check_Machine *m, int v, int32_t key);

#endif
