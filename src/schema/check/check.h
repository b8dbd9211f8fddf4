/*
** check.h - the machine that answers yes or no.  It stops at the first misfit,
** allocates nothing, and leaves the Lua stack unchanged.
**
** Machine: any.c check.c equal.c instruction.c unevaluated.c.
*/
#ifndef OPERATIONS_SCHEMA_CHECK_H
#define OPERATIONS_SCHEMA_CHECK_H

#include "schema/program/program.h"

/* Attributes of functions that run for each member, and of rare ones. */
#if defined(__GNUC__)
#define HOT inline __attribute__((always_inline))
#define COLD __attribute__((noinline))
#else
#define HOT inline
#define COLD
#endif

#define CHECK_MAX_DEPTH 1536  /* nodes within nodes, as the C stack bears */
#define CHECK_STEPS 4000000   /* for any value, */
#define CHECK_VALUE_STEPS 64  /* plus this many for each value inside, */
#define CHECK_VALUES 10000000 /* of which at most this many count */
#define CHECK_STEP_ITEMS 16   /* traversing this many items is one step */
#define CHECK_STEP_BYTES 64   /* reading this many bytes is one step */

/* The resources that were entered, the current one first, for $dynamicRef. */
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
  int top;       /* height of the Lua stack, cached */
  int room;      /* the stack may grow to here without a check */
  int depth;
  bool too_deep; /* a limit was reached: the answer is no */
  bool extended; /* the value's size was added to the steps */
  int value;     /* stack index of the outermost value */
  int64_t left;  /* steps left; none after a limit was reached */
  int64_t kept;  /* `left` when a limit was reached */
  /* Used only when defaults are filled in (fill.h). */
  int64_t made;      /* values that defaults and force made */
  int64_t most_made; /* the maximum; 0: not computed yet */
  int problem;       /* stack index of the reason for stopping, or nil */
} check_Machine;

#define CHECK_STACK_BLOCK 32 /* slots asked for in advance */

/* Records that a limit was reached; always returns false. */
static inline bool check_too_deep(check_Machine *m) {
  if (m->too_deep) return false;
  m->too_deep = true;
  m->kept = m->left;
  m->left = 0;
  return false;
}

/* Continues with another part after a limit was reached. */
static inline void check_resume(check_Machine *m) {
  if (!m->too_deep) return;
  m->too_deep = false;
  m->left = m->kept;
}

/* Called when no step is left: adds steps for the value's size, once. */
COLD bool check_go_on(check_Machine *m);

/* The number of values in the outermost one. */
int64_t check_count_values(const check_Machine *m);

/* Counts a step.  Call it before work that a schema could repeat on the same
** value, doubling with each level.  Traversing a value takes linear time and is
** only counted (check_walked, check_read). */
static inline bool check_step(check_Machine *m) {
  return --m->left > 0 || check_go_on(m);
}

/* As regex_match, with the machine's steps; -1 when a limit was reached. */
static inline int check_match(check_Machine *m, const regex_Regex *regex,
                              const char *s, size_t len) {
  int found = check_step(m) ? regex_match(regex, s, len, &m->left) : -1;
  if (found < 0) check_too_deep(m);
  return found;
}

/* Counts item or member `i` of a traversal. */
static inline void check_walked(check_Machine *m, size_t i) {
  if (i % CHECK_STEP_ITEMS == 0) m->left--;
}

static inline void check_read(check_Machine *m, size_t bytes) {
  m->left -= (int64_t)(bytes / CHECK_STEP_BYTES);
}

/* Counts several steps, for work that grows with the schema. */
static inline bool check_steps(check_Machine *m, int64_t n) {
  m->left -= n;
  return m->left > 0 || check_go_on(m);
}

/* Makes room for `n` more values above m->top, in blocks. */
static inline bool check_reserve(check_Machine *m, int n) {
  if (m->top + n <= m->room) return true;
  if (!ops_checkstack(m->L, n + CHECK_STACK_BLOCK)) return check_too_deep(m);
  m->room = m->top + n + CHECK_STACK_BLOCK;
  return true;
}

/* Pushes the constants of the schema at index `schema`.  `value` stays where it
** is.  The counts of made values are the caller's. */
void check_start(check_Machine *m, lua_State *L, int schema, int value);

/* As check_start for schema `s`, for check_root only, which may not need the
** constants.  `top` is the stack height; the stack may grow to `room`
** unchecked. */
void check_start_root(check_Machine *m, lua_State *L, const schema_Schema *s,
                      int schema, int top, int room);

/* Does the value at stack index `v` (absolute), of Lua type `t`, conform to
** node `node`? */
bool check_node(check_Machine *m, int32_t node, int v, int t);

/* Is the value a scalar that conforms, as far as the node's act can tell? `n`
** is a target. */
bool check_quick(check_Machine *m, const schema_Node *n, int v, int t);

/* check_node for the outermost value: a value that is too deep is refused. */
bool check_value(check_Machine *m, int32_t node, int v);

/* check_value for the root node of a machine just started. */
bool check_root(check_Machine *m, int v, int t);

/* Only for the machine's own files, where m->top and m->room are valid: */

/* As check_node, for a value inside the outermost one. */
bool check_inner(check_Machine *m, int32_t node, int v, int t);

/* Can the table at `v` be written as JSON, with all its contents?  As in all
** checks, strings need not be UTF-8. */
bool check_says_json(check_Machine *m, int v);

/* Checks the members of the object at `v`: all, or only the declared ones when
** others do not matter. */
bool check_object(check_Machine *m, const schema_Object *object, int v);

/* Checks the member at `key`, `key` + 1 of any name; counts `required` down. */
bool check_odd_member(check_Machine *m, const schema_Object *object, int key,
                      int32_t *required);

/* Checks all members of the object at `v`, in the order of traversal. */
bool check_every_member(check_Machine *m, const schema_Object *object, int v);

/* Check one instruction each: CODE_ITEMS of an array with `n` items;
** CODE_ANY_OF or CODE_ONE_OF; one for strings; any.  `type` is the value's
** TYPE_ bit. */
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

/* Forgets m->room: a garbage collection may have shrunk the stack (LuaJIT). */
void check_forget_room(check_Machine *m);

/* Checks one instruction; `type` is the value's TYPE_ bit, `n` the length of an
** array. */
bool check_op(check_Machine *m, int32_t node, const schema_Op *op, int v,
              uint16_t type);

/* The node that a CODE_DYNAMIC instruction calls in this scope. */
int32_t check_dynamic(check_Machine *m, const schema_Op *op);

/* Does node `node`, or one applied to the same object, know the key?  Without
** `check`, every branch counts as matching. */
bool check_knows_key(check_Machine *m, int32_t node, int v, const char *name,
                     size_t len, bool check);

/* As check_knows_key for item `index` (from 0), at stack index `item`. */
bool check_knows_item(check_Machine *m, int32_t node, int v, size_t index,
                      int item);

/* Checks CODE_UNEVALUATED_PROPERTIES and CODE_UNEVALUATED_ITEMS of node
** `node`. */
bool check_unevaluated_properties(check_Machine *m, int32_t node,
                                  const schema_Op *op, int v);
bool check_unevaluated_items(check_Machine *m, int32_t node,
                             const schema_Op *op, int v);

/* The branch named by the value's discriminating property, or -1. */
int32_t check_tagged_branch(check_Machine *m, const schema_Union *u, int v);

/* The first const in a union of consts that equals the value, or -1. */
int32_t check_const_branch(check_Machine *m, const schema_Union *u, int v);

/* The branch that OpenAPI's discriminator names, or -1. */
int32_t check_hinted_branch(check_Machine *m, const schema_Union *u, int v);

/* The first of the `count` members from `first` that equals the value, or -1;
** skips `after` of them; `type` is the value's TYPE_ bit. */
int32_t check_find_member(check_Machine *m, int32_t first, int32_t count,
                          schema_Index index, int32_t after, int v,
                          uint16_t type);

/* The number of items that match CODE_CONTAINS; stops after `enough`. */
size_t check_count_contained(check_Machine *m, const schema_Op *op, int v,
                             size_t enough);

/* Counts the members of the object at `v`, within the steps. */
size_t check_count_members(check_Machine *m, int v);

/* Does the object at `v` have the member whose name is constant `key`? */
bool check_has_key(check_Machine *m, int v, int32_t key);

#endif
