/*
** force.c - replaces a misfit by a value from its schemas: `default`, `const`,
** the first of `enum`, or the empty value of its type.  If none of these
** conforms, the misfit stays (schema/cast/cast.h, cast_force).
*/
#include "schema/cast/cast.h"
#include "schema/cast/fill.h"
#include "schema/check/equal.h"

#include <math.h>

#define MOST_MAKING 64 /* nested replacements */

/* A value to replace, and all schemas that apply to it. */
typedef struct Misfit {
  cast_Machine *c;
  const int32_t *nodes;
  int count;
  cast_Views views;
  int64_t made; /* the machine's count before this one */
} Misfit;

/* Fills in defaults of the new table at `at`; records no changes. */
static void complete(Misfit *m, int at) {
  cast_Machine *c = m->c;
  int changes = c->changes, changed = c->changed, stayed = c->stayed;
  c->changes = c->stayed = 0;
  c->making++;
  cast_move(c, m->nodes, m->count, at);
  c->making--;
  c->changes = changes;
  c->changed = changed;
  c->stayed = stayed;
}

/* Keeps the value on top of the stack if it conforms, else pops it. */
static bool keep(Misfit *m) {
  cast_Machine *c = m->c;
  int at = lua_gettop(c->m.L);
  if (check_step(&c->m) && cast_conforms(c, m->nodes, m->count, at) &&
      !c->m.too_deep)
    return true;
  c->m.made = m->made;
  lua_settop(c->m.L, at - 1);
  return false;
}

/* Casts the outermost replacement at `at` as a value that came: members that
** its schemas do not know may be in defaults. */
static void settle(Misfit *m, int at) {
  cast_Machine *c = m->c;
  int changes = c->changes, changed = c->changed;
  lua_pushvalue(c->m.L, at);
  c->changes = 0;
  c->force = false;
  cast_merged(c, m->nodes, m->count, at + 1);
  c->force = true;
  c->changes = changes;
  c->changed = changed;
  if (cast_conforms(c, m->nodes, m->count, at + 1)) lua_replace(c->m.L, at);
  lua_settop(c->m.L, at);
}

static bool keep_completed(Misfit *m) {
  int at = lua_gettop(m->c->m.L);
  bool is_table = lua_type(m->c->m.L, at) == LUA_TTABLE;
  if (is_table && m->c->making < MOST_MAKING) complete(m, at);
  if (!keep(m)) return false;
  if (is_table && m->c->making == 0) settle(m, at);
  return true;
}

/* Stops because too many values were made. */
static bool stop(Misfit *m) {
  cast_Machine *c = m->c;
  return fill_stop(&c->m, c->at, m->count > 0 ? m->nodes[0] : c->m.s->root,
                   FILL_FORCED);
}

static bool push_constant(Misfit *m, int32_t constant) {
  cast_Machine *c = m->c;
  uint16_t types = cast_types(c, &m->views);
  if (!fill_push_default(&c->m, constant)) return stop(m);
  if (value_kind(c->m.L, c->m.core, -1) == VALUE_EMPTY &&
      (types & TYPE_OBJECT) == 0)
    cast_mark_array(c); /* {} may be both */
  return true;
}

/* Counts a value about to be made. */
static bool make_one(Misfit *m) {
  return fill_count(&m->c->m, 1) || stop(m);
}

/* Takes a schema's default, const or first enum value. */
static bool take_named(Misfit *m) {
  const schema_Schema *s = m->c->m.s;
  int i;
  int32_t j;
  for (i = 0; i < m->views.count; i++) {
    int32_t value = program_node(s, m->views.nodes[i])->default_value;
    if (value == 0) continue;
    if (push_constant(m, value) && keep_completed(m)) return true;
  }
  for (i = 0; i < m->views.count; i++) {
    const schema_Node *n = program_node(s, m->views.nodes[i]);
    for (j = n->every; j < n->end; j++) {
      const schema_Op *op = program_op(s, j);
      if (op->code != CODE_CONST && op->code != CODE_ENUM) continue;
      if (op->b == 0) continue; /* an enum without members */
      if (push_constant(m, program_member(s, op->a)->value) && keep(m))
        return true;
    }
  }
  return false;
}

static bool take_number(Misfit *m, double d) {
  if (!isfinite(d) || !make_one(m)) return false;
  if (d == floor(d) && fabs(d) <= (double)OPS_MAX_SAFE_INTEGER)
    core_push_integer(m->c->m.L, (int64_t)d);
  else lua_pushnumber(m->c->m.L, d);
  return keep(m);
}

/* The tightest bounds of all schemas. */
typedef struct Range {
  const schema_Op *low, *high; /* NULL: no bound */
  double unit;                 /* multipleOf; 1 without one */
} Range;

static Range find_range(const Misfit *m) {
  const schema_Schema *s = m->c->m.s;
  Range r = {.unit = 0};
  int i;
  int32_t j;
  for (i = 0; i < m->views.count; i++) {
    const schema_Node *n = program_node(s, m->views.nodes[i]);
    for (j = n->numbers; j < n->arrays; j++) {
      const schema_Op *op = program_op(s, j);
      double d = program_bound(op);
      if (op->code == CODE_MINIMUM || op->code == CODE_ABOVE) {
        if (r.low == NULL || d > program_bound(r.low)) r.low = op;
      } else if (op->code == CODE_MAXIMUM || op->code == CODE_BELOW) {
        if (r.high == NULL || d < program_bound(r.high)) r.high = op;
      } else if (op->code == CODE_MULTIPLE_OF) {
        r.unit = fmax(r.unit, d);
      }
    }
  }
  if (r.unit == 0) r.unit = 1;
  return r;
}

/* Takes the bound, or the next multiple of the unit in `direction`; one further
** for an exclusive bound. */
static bool take_next(Misfit *m, const schema_Op *op, double unit,
                      int direction) {
  double inverse = 1 / unit, d, k;
  integer_Value bound;
  int i;
  if (op == NULL) return false;
  if (program_integer_bound(op, &bound)) {
    if (!make_one(m)) return false;
    integer_push(m->c->m.L, m->c->m.core, bound); /* exact beyond 2^53 */
    if (keep(m)) return true;
  } else if (take_number(m, op->u.d)) {
    return true;
  }
  d = program_bound(op) / unit;
  k = direction > 0 ? floor(d) : ceil(d);
  for (i = 0; i < 3; i++, k += direction) {
    /* 3 * 0.1 is not 0.3, but 3 / 10 is */
    if (take_number(m, inverse == floor(inverse) ? k / inverse : k * unit))
      return true;
  }
  return false;
}

/* Takes the smallest allowed number; without a minimum 0, or the largest. */
static bool take_least_number(Misfit *m) {
  Range r = find_range(m);
  return take_next(m, r.low, r.unit, 1) || take_number(m, 0) ||
         take_next(m, r.high, r.unit, -1);
}

/* Takes the empty value of a type. */
static bool take_empty(Misfit *m, uint16_t type) {
  lua_State *L = m->c->m.L;
  if (type == TYPE_NUMBER) return take_least_number(m);
  if (!make_one(m)) return false;
  switch (type) {
  case TYPE_NULL: lua_pushlightuserdata(L, NULL); break;
  case TYPE_BOOLEAN: lua_pushboolean(L, 0); break;
  case TYPE_STRING: lua_pushliteral(L, ""); break;
  case TYPE_ARRAY:
    lua_newtable(L);
    cast_mark_array(m->c);
    break;
  default:
    lua_newtable(L);
    core_push_object_mt(L);
    lua_setmetatable(L, -2);
    break;
  }
  return keep_completed(m);
}

/* Takes the empty value of the type of the value at `slot` if it is allowed,
** else of the first allowed type.  If the schemas name no type, it is the
** value's own type, and null for a missing value. */
static bool take_by_type(Misfit *m, int slot) {
  static const uint16_t order[] = {TYPE_NULL,   TYPE_BOOLEAN, TYPE_NUMBER,
                                   TYPE_STRING, TYPE_ARRAY,   TYPE_OBJECT};
  lua_State *L = m->c->m.L;
  uint16_t types = cast_types(m->c, &m->views);
  uint16_t own =
      schema_type_of(L, m->c->m.core, slot, lua_type(L, slot), types);
  size_t i;
  if (own & TYPE_NUMBER) own = TYPE_NUMBER;
  if (types == TYPE_ANY) types = own != 0 ? own : TYPE_NULL;
  if ((types & own) && take_empty(m, own)) return true;
  for (i = 0; i < sizeof(order) / sizeof(order[0]); i++) {
    if ((types & order[i]) && order[i] != own && take_empty(m, order[i]))
      return true;
  }
  return false;
}

/* Pushes the replacement for the value in `slot`; false, with nothing pushed,
** when there is none. */
static bool push_replacement(cast_Machine *c, const int32_t *nodes, int count,
                             int slot) {
  Misfit m = {.c = c, .nodes = nodes, .count = count, .made = c->m.made};
  int i;
  if (!ops_checkstack(c->m.L, 32)) return check_too_deep(&c->m);
  c->first = true;
  for (i = 0; i < count; i++) cast_gather(c, &m.views, nodes[i], slot);
  c->first = false;
  return !c->m.too_deep && (take_named(&m) || take_by_type(&m, slot));
}

bool cast_force(cast_Machine *c, const int32_t *nodes, int count, int slot,
                int stayed) {
  lua_State *L = c->m.L;
  if (cast_conforms(c, nodes, count, slot)) return true;
  if (c->m.too_deep || c->stayed > stayed) return false;
  if (!push_replacement(c, nodes, count, slot)) {
    c->stayed++;
    return false;
  }
  cast_record(c, "replaced", slot, lua_gettop(L));
  lua_replace(L, slot);
  return true;
}

bool cast_make(cast_Machine *c, const int32_t *nodes, int count) {
  lua_State *L = c->m.L;
  int missing = lua_gettop(L) + 1;
  lua_pushnil(L);
  if (push_replacement(c, nodes, count, missing)) {
    lua_remove(L, missing);
    return true;
  }
  lua_pop(L, 1);
  c->stayed++;
  return false;
}
