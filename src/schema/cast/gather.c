/*
** gather.c - the schemas that apply to one value: those of allOf and $ref, the
** branch of a union or of an `if` (schema/cast/cast.h).
*/
#include "schema/cast/cast.h"
#include "schema/check/equal.h"

#define MAX_TRIALS 3   /* nested casts that look for a branch */
#define MAX_LOOKED 500 /* nodes of one branch that are looked at */

static void gather(cast_Machine *c, cast_Views *views, int32_t node, int slot);

static bool fits(cast_Machine *c, int32_t node, int slot) {
  return check_node(&c->m, node, slot, lua_type(c->m.L, slot));
}

/* Does the value conform to the branch after casting? */
static bool fits_when_cast(cast_Machine *c, int32_t node, int slot) {
  lua_State *L = c->m.L;
  int changes = c->changes, changed = c->changed, copy;
  int64_t made = c->m.made;
  bool force = c->force, ok;
  lua_pushvalue(L, slot);
  copy = lua_gettop(L);
  c->changes = 0;
  c->force = false;
  c->trials++;
  cast_slot(c, node, copy, lua_type(L, copy));
  ok = !c->m.too_deep && fits(c, node, copy);
  c->trials--;
  c->force = force;
  c->changes = changes;
  c->changed = changed;
  c->m.made = made;
  lua_settop(L, copy - 1);
  return ok;
}

/* --- scores -------------------------------------------------------------- */

static int add_score(cast_Machine *c, int32_t node, int slot, int *left);

/* The points of the members that the object's properties name. */
static int score_members(cast_Machine *c, const schema_Object *object,
                         int slot) {
  lua_State *L = c->m.L;
  int sum = 0, top = lua_gettop(L);
  int32_t i;
  c->m.left -= object->count / CHECK_STEP_ITEMS;
  for (i = 0; i < object->count; i++) {
    const schema_Property *p = program_property(c->m.s, object->first + i);
    ops_rawgeti(L, c->m.constants, (size_t)p->key);
    if (ops_rawget(L, slot) != LUA_TNIL) {
      sum += 1;
      if (fits(c, p->node, top + 1)) sum += p->fixed != 0 ? 100 : 10;
    }
    lua_settop(L, top);
  }
  return sum;
}

static int best_score(cast_Machine *c, const schema_Union *u, int slot,
                      int *left) {
  int most = -1;
  int32_t i;
  for (i = 0; i < u->count; i++) {
    int points = add_score(c, *program_link(c->m.s, u->first + i), slot, left);
    if (points > most) most = points;
  }
  return most;
}

static int score_if(cast_Machine *c, const schema_Op *op, int slot, int *left) {
  int32_t node = fits(c, op->a, slot) ? op->b : op->c;
  return node < 0 ? 0 : add_score(c, node, slot, left);
}

/* The points of what an instruction refers to; -1 when the value has a type
** that is not allowed. */
static int score_op(cast_Machine *c, const schema_Op *op, int slot, int *left) {
  switch ((schema_Code)op->code) {
  case CODE_CALL: return add_score(c, op->a, slot, left);
  case CODE_DYNAMIC: return add_score(c, check_dynamic(&c->m, op), slot, left);
  case CODE_ANY_OF:
  case CODE_ONE_OF:
    return best_score(c, program_union(c->m.s, op->a), slot, left);
  case CODE_IF: return score_if(c, op, slot, left);
  case CODE_DEPENDENT_SCHEMA:
    return lua_type(c->m.L, slot) == LUA_TTABLE &&
                   check_has_key(&c->m, slot, op->c)
               ? add_score(c, op->a, slot, left)
               : 0;
  case CODE_NOT:
  case CODE_UNEVALUATED_ITEMS:
  case CODE_UNEVALUATED_PROPERTIES:
  case CODE_ITEMS:
  case CODE_CONTAINS:
  case CODE_MEMBERS:
  case CODE_PROPERTY_NAMES:
  CASES_ALONE:
    break;
  }
  return 0;
}

/* As score, without the point for the type; -1 for a wrong type. */
static int add_score(cast_Machine *c, int32_t node, int slot, int *left) {
  const schema_Node *n = program_node(c->m.s, node);
  int sum = 0;
  int32_t i;
  uint16_t type =
      schema_type_of(c->m.L, c->m.core, slot, lua_type(c->m.L, slot), n->types);
  if ((type & n->types) == 0) return -1;
  if (--*left < 0) return 0;
  if (type == TYPE_OBJECT && n->object >= 0)
    sum = score_members(c, program_object(c->m.s, n->object), slot);
  for (i = n->objects; i < n->end; i++) {
    int points = score_op(c, program_op(c->m.s, i), slot, left);
    if (points < 0) return -1;
    sum += points;
  }
  return sum;
}

/* How well the value matches the branch: by the members that the branch knows,
** through allOf, $ref, `if` and unions; 0 when it has another type. */
static int score(cast_Machine *c, int32_t node, int slot) {
  int left = MAX_LOOKED, points = add_score(c, node, slot, &left);
  c->m.left -= MAX_LOOKED - left;
  return points + 1;
}

static int32_t best_branch(cast_Machine *c, const schema_Union *u, int slot) {
  int32_t i, best = -1;
  int most = 0;
  c->m.left -= u->count; /* the cost of the scores */
  if (c->trials < MAX_TRIALS) {
    for (i = 0; i < u->count && !c->m.too_deep; i++) {
      if (fits_when_cast(c, *program_link(c->m.s, u->first + i), slot))
        return i;
    }
  }
  for (i = 0; i < u->count; i++) {
    int points = score(c, *program_link(c->m.s, u->first + i), slot);
    if (points <= most) continue;
    most = points;
    best = i;
  }
  return best;
}

static int32_t branch_node(const cast_Machine *c, const schema_Union *u,
                           int32_t branch) {
  return *program_link(c->m.s, u->first + branch);
}

/* --- names --------------------------------------------------------------- */

/* A question for the branches of a union, beyond the schemas in `views`. */
typedef struct Question {
  const cast_Views *views;
  const char *name; /* of a member; NULL: items of arrays */
  size_t len;
  int left; /* nodes that are still looked at */
} Question;

static bool declares(cast_Machine *c, int32_t node, Question *q);

static bool object_declares(cast_Machine *c, const schema_Object *object,
                            const Question *q) {
  const schema_Schema *s = c->m.s;
  const schema_Property *p = program_find(s, object, q->name, q->len);
  int32_t i;
  if (p != NULL && (p->declared || object->patterns == 0)) return true;
  for (i = 0; i < object->patterns; i++) {
    const schema_Pattern *pattern = program_pattern(s, object->pattern + i);
    if (check_match(&c->m, *program_regex(s, pattern->regex), q->name, q->len) >
        0)
      return true;
  }
  return object->additional >= 0 &&
         !program_node(s, object->additional)->is_false;
}

/* {} and { "type": "object" } declare every name. */
static bool is_free(const cast_Machine *c, int32_t node, const Question *q) {
  const schema_Node *n =
      program_node(c->m.s, program_node(c->m.s, node)->target);
  uint16_t type = q->name != NULL ? TYPE_OBJECT : TYPE_ARRAY;
  if (n->accepts_all) return true;
  return n->types != TYPE_ANY && (n->types & type) != 0 &&
         (q->name != NULL ? n->object : n->items) < 0 && n->objects == n->end;
}

static bool union_declares(cast_Machine *c, const schema_Union *u,
                           Question *q) {
  int32_t i;
  for (i = 0; i < u->count; i++) {
    int32_t node = *program_link(c->m.s, u->first + i);
    if (is_free(c, node, q) || declares(c, node, q)) return true;
  }
  return false;
}

static bool op_declares(cast_Machine *c, const schema_Op *op, Question *q) {
  switch ((schema_Code)op->code) {
  case CODE_CALL:
  case CODE_DEPENDENT_SCHEMA: return declares(c, op->a, q);
  case CODE_DYNAMIC: return declares(c, check_dynamic(&c->m, op), q);
  case CODE_ANY_OF:
  case CODE_ONE_OF: return union_declares(c, program_union(c->m.s, op->a), q);
  case CODE_IF:
    return declares(c, op->a, q) || (op->b >= 0 && declares(c, op->b, q)) ||
           (op->c >= 0 && declares(c, op->c, q));
  case CODE_NOT:
  case CODE_UNEVALUATED_ITEMS:
  case CODE_UNEVALUATED_PROPERTIES:
  case CODE_ITEMS:
  case CODE_CONTAINS:
  case CODE_MEMBERS:
  case CODE_PROPERTY_NAMES:
  CASES_ALONE:
    break;
  }
  return false;
}

static bool has_view(const cast_Views *views, int32_t node) {
  int i = 0;
  while (i < views->count && views->nodes[i] != node) i++;
  return i < views->count;
}

/* With too many nodes to look at, the answer that loses nothing. */
static bool declares(cast_Machine *c, int32_t node, Question *q) {
  const schema_Node *n = program_node(c->m.s, node);
  int32_t i;
  if (--q->left < 0) return true;
  c->m.left--;
  if (has_view(q->views, node)) return false;
  if (q->name == NULL && n->items >= 0) return true;
  if (q->name != NULL && n->object >= 0 &&
      object_declares(c, program_object(c->m.s, n->object), q))
    return true;
  for (i = n->objects; i < n->end; i++) {
    if (op_declares(c, program_op(c->m.s, i), q)) return true;
  }
  return false;
}

bool cast_declares(cast_Machine *c, const cast_Views *views, const char *name,
                   size_t len) {
  int i;
  if (views->unions > CAST_UNIONS) return true;
  for (i = 0; i < views->unions; i++) {
    const schema_Union *u = program_union(c->m.s, views->undecided[i]);
    Question q = {views, name, len, u->count + MAX_LOOKED};
    if (union_declares(c, u, &q)) return true;
  }
  return false;
}

static void add_undecided(cast_Views *views, int32_t u) {
  int i;
  for (i = 0; i < views->unions && i < CAST_UNIONS; i++) {
    if (views->undecided[i] == u) return;
  }
  if (views->unions < CAST_UNIONS) views->undecided[views->unions] = u;
  views->unions++;
}

/* --- gathering ----------------------------------------------------------- */

/* Adds the branch `named` (-1: none) if it fits, else the first one that fits.
** What any branch declares stays: an open branch fits many values.  Only where
** no other branch than the named one fits, the others say nothing.  False when
** none fits. */
static bool gather_fitting(cast_Machine *c, cast_Views *views,
                           const schema_Op *op, int slot, int32_t named) {
  const schema_Union *u = program_union(c->m.s, op->a);
  bool fitting = named >= 0 && fits(c, branch_node(c, u, named), slot);
  int32_t other = 0;
  c->m.left -= u->count / CHECK_STEP_ITEMS;
  while (other < u->count &&
         (other == named || !fits(c, branch_node(c, u, other), slot)))
    other++;
  if (named < 0 || other < u->count) add_undecided(views, op->a);
  if (!fitting && other == u->count) return false;
  gather(c, views, branch_node(c, u, fitting ? named : other), slot);
  return true;
}

/* Adds the branch of the tag; else the one that fits; else the one that was
** meant; else the one with the highest score. */
static void gather_union(cast_Machine *c, cast_Views *views,
                         const schema_Op *op, int slot) {
  const schema_Union *u = program_union(c->m.s, op->a);
  int32_t branch = u->member != 0 ? check_const_branch(&c->m, u, slot)
                                  : check_tagged_branch(&c->m, u, slot);
  if (branch < 0 && u->member == 0) {
    c->chosen = true;
    branch = check_hinted_branch(&c->m, u, slot);
    if (gather_fitting(c, views, op, slot, branch)) return;
    if (branch < 0) branch = best_branch(c, u, slot);
  }
  if (branch < 0 && c->first && c->trials == 0 && u->count > 0) branch = 0;
  if (branch >= 0) gather(c, views, branch_node(c, u, branch), slot);
}

static void gather_if(cast_Machine *c, cast_Views *views, const schema_Op *op,
                      int slot) {
  int32_t node = op->c;
  c->chosen = true;
  if (fits(c, op->a, slot)) {
    gather(c, views, op->a, slot);
    node = op->b;
  }
  if (node >= 0) gather(c, views, node, slot);
}

static void gather_op(cast_Machine *c, cast_Views *views, const schema_Op *op,
                      int slot) {
  switch ((schema_Code)op->code) {
  case CODE_CALL: gather(c, views, op->a, slot); break;
  case CODE_DYNAMIC: gather(c, views, check_dynamic(&c->m, op), slot); break;
  case CODE_ANY_OF:
  case CODE_ONE_OF: gather_union(c, views, op, slot); break;
  case CODE_IF: gather_if(c, views, op, slot); break;
  case CODE_DEPENDENT_SCHEMA:
    c->chosen = true;
    if (lua_type(c->m.L, slot) == LUA_TTABLE &&
        check_has_key(&c->m, slot, op->c))
      gather(c, views, op->a, slot);
    break;
  case CODE_NOT:
  case CODE_UNEVALUATED_ITEMS:
  case CODE_UNEVALUATED_PROPERTIES:
  case CODE_ITEMS:
  case CODE_CONTAINS:
  case CODE_MEMBERS:
  case CODE_PROPERTY_NAMES:
  CASES_ALONE:
    break;
  }
}

static void gather(cast_Machine *c, cast_Views *views, int32_t node, int slot) {
  const schema_Node *n = program_node(c->m.s, node);
  check_Scope scope = {.outer = c->m.scope, .resource = n->resource};
  int32_t i;
  if (has_view(views, node)) return;
  if (views->count >= CAST_VIEWS) {
    check_too_deep(&c->m); /* more than any real schema has: keep the value */
    return;
  }
  views->nodes[views->count++] = node;
  if (c->m.s->has_dynamic) c->m.scope = &scope;
  for (i = n->objects; i < n->end && !c->m.too_deep; i++)
    gather_op(c, views, program_op(c->m.s, i), slot);
  c->m.scope = scope.outer;
}

void cast_gather(cast_Machine *c, cast_Views *views, int32_t node, int slot) {
  gather(c, views, node, slot);
}
