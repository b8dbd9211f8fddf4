/*
** combined.c - casting when several schemas apply to one value, which gather.c
** collects (schema/cast/cast.h).
*/
#include "schema/cast/cast.h"
#include "schema/cast/fill.h"
#include "schema/check/equal.h"

#define MAX_EXPECTED 32 /* members for which a new table has room */
#define MAX_GATHERED 6  /* until members that were added apply no schema */

/* What all schemas together say about one member. */
typedef struct Verdict {
  int32_t nodes[CAST_VIEWS];
  int count;
  bool known;     /* a schema names it or allows all names */
  bool forbidden; /* a schema with its own names excludes it */
  bool names;     /* a schema has property names */
} Verdict;

static void add_node(Verdict *verdict, int32_t node) {
  int i;
  for (i = 0; i < verdict->count; i++) {
    if (verdict->nodes[i] == node) return;
  }
  if (verdict->count < CAST_VIEWS) verdict->nodes[verdict->count++] = node;
}

static void ask_object(cast_Machine *c, const schema_Object *object,
                       const char *name, size_t len, Verdict *verdict) {
  const schema_Schema *s = c->m.s;
  const schema_Property *p = program_find(s, object, name, len);
  bool known = p != NULL && p->declared;
  int32_t i;
  if (!object->open) verdict->names = true;
  if (known) add_node(verdict, p->node);
  for (i = 0; i < object->patterns; i++) {
    const schema_Pattern *pattern = program_pattern(s, object->pattern + i);
    if (check_match(&c->m, *program_regex(s, pattern->regex), name, len) <= 0)
      continue;
    known = true;
    add_node(verdict, pattern->node);
  }
  if (!known && object->additional >= 0) {
    if (program_node(s, object->additional)->is_false) {
      verdict->forbidden = true;
      return;
    }
    known = true;
    add_node(verdict, object->additional);
  }
  if (p != NULL && object->patterns == 0) known = true;
  if (known) verdict->known = true;
}

/* unevaluatedProperties: for members that no schema knows. */
static void ask_unevaluated(cast_Machine *c, const schema_Node *n,
                            Verdict *verdict) {
  int32_t i;
  for (i = n->every; i < n->end; i++) {
    const schema_Op *op = program_op(c->m.s, i);
    if (op->code != CODE_UNEVALUATED_PROPERTIES) continue;
    if (program_node(c->m.s, op->a)->is_false) {
      verdict->forbidden = true;
    } else {
      verdict->known = true;
      add_node(verdict, op->a);
    }
  }
}

static void ask(cast_Machine *c, const cast_Views *views, const char *name,
                size_t len, Verdict *verdict) {
  int i;
  for (i = 0; i < views->count; i++) {
    const schema_Node *n = program_node(c->m.s, views->nodes[i]);
    if (n->object >= 0)
      ask_object(c, program_object(c->m.s, n->object), name, len, verdict);
  }
  if (!verdict->known) verdict->known = cast_declares(c, views, name, len);
  for (i = 0; i < views->count && !verdict->known; i++)
    ask_unevaluated(c, program_node(c->m.s, views->nodes[i]), verdict);
}

/* Casts the member `key`, `value` on top of the stack and stores it in
** `out`. */
static void cast_member(cast_Machine *c, const cast_Views *views, int key,
                        int out) {
  lua_State *L = c->m.L;
  Verdict verdict = {.count = 0};
  schema_Step step = {.outer = c->at};
  step.name = lua_tolstring(L, key, &step.len);
  ask(c, views, step.name, step.len, &verdict);
  c->at = &step;
  if (verdict.known || cast_keeps(c) ||
      (!verdict.names && !verdict.forbidden)) {
    int shared = lua_type(L, key + 1) == LUA_TTABLE &&
                 cast_declares(c, views, step.name, step.len);
    c->shared += shared;
    if (verdict.count > 0)
      cast_slot_by(c, verdict.nodes, verdict.count, key + 1);
    c->shared -= shared;
    lua_pushvalue(L, key);
    lua_pushvalue(L, key + 1);
    lua_rawset(L, out);
  } else {
    cast_record(c, "stripped", key + 1, 0);
  }
  c->at = step.outer;
}

/* Pushes the value for a missing member: its default or only value `constant`,
** or that of force (0).  Records it at the member's path.  False, with nothing
** pushed, when there is none.  `node` describes the member. */
static bool push_missing(cast_Machine *c, Verdict *verdict, int32_t constant,
                         int32_t node) {
  lua_State *L = c->m.L;
  int value = lua_gettop(L) + 1;
  if (constant != 0) {
    if (!fill_push_default(&c->m, constant))
      return fill_stop(&c->m, c->at, node, FILL_MANY);
    c->filling++;
    cast_slot_by(c, verdict->nodes, verdict->count, value);
    c->filling--;
    cast_record(c, "defaulted", 0, value);
    return true;
  }
  if (verdict->forbidden) {
    c->stayed++;
    return false;
  }
  if (!cast_make(c, verdict->nodes, verdict->count)) return false;
  cast_record(c, "replaced", 0, value);
  return true;
}

/* Adds a property that `out` lacks: its default, its only allowed value, or
** that of force. */
static void add_missing(cast_Machine *c, const cast_Views *views, int out,
                        const schema_Property *p) {
  lua_State *L = c->m.L;
  int top = lua_gettop(L);
  int32_t constant = p->default_value;
  Verdict verdict = {.count = 0};
  schema_Step step = {.outer = c->at, .name = p->name, .len = p->len};
  if (constant == 0 && p->required) constant = p->fixed;
  if (c->keep >= 1) constant = 0;
  if (constant == 0 && !(p->required && c->force)) return;
  if (c->making > 0 && c->stayed > 0) return; /* it can no longer conform */
  ops_rawgeti(L, c->m.constants, (size_t)p->key);
  lua_pushvalue(L, -1);
  if (ops_rawget(L, out) == LUA_TNIL) {
    lua_pop(L, 1);
    ask(c, views, p->name, p->len, &verdict);
    c->at = &step;
    if (push_missing(c, &verdict, constant, p->node)) lua_rawset(L, out);
    c->at = step.outer;
  }
  lua_settop(L, top);
}

uint16_t cast_types(const cast_Machine *c, const cast_Views *views) {
  uint16_t types = TYPE_ANY;
  int i;
  for (i = 0; i < views->count; i++) {
    types &= program_node(c->m.s, views->nodes[i])->types;
  }
  return types;
}

/* Estimates the number of members: growing a table is expensive. */
static int expected_members(const cast_Machine *c, const cast_Views *views) {
  int32_t most = 0;
  int i;
  for (i = 0; i < views->count; i++) {
    const schema_Node *n = program_node(c->m.s, views->nodes[i]);
    int32_t count =
        n->object < 0 ? 0 : program_object(c->m.s, n->object)->count;
    if (count > most) most = count;
  }
  return most < MAX_EXPECTED ? most : MAX_EXPECTED;
}

/* Adds the members that dependentRequired requires. */
static void add_dependents_of(cast_Machine *c, const cast_Views *views, int out,
                              const schema_Node *n) {
  lua_State *L = c->m.L;
  int32_t i, j;
  for (i = n->objects; i < n->every; i++) {
    const schema_Op *op = program_op(c->m.s, i);
    if (op->code != CODE_DEPENDENT_REQUIRED ||
        !check_has_key(&c->m, out, op->c))
      continue;
    c->m.left -= op->b / CHECK_STEP_ITEMS;
    for (j = 0; j < op->b && !c->m.too_deep; j++) {
      schema_Property p = {.key = *program_link(c->m.s, op->a + j),
                           .required = true};
      ops_rawgeti(L, c->m.constants, (size_t)p.key);
      p.name = lua_tolstring(L, -1, &p.len); /* the constants keep it alive */
      lua_pop(L, 1);
      add_missing(c, views, out, &p);
    }
  }
}

/* The same for all schemas.  A member that was added may require others. */
static void add_dependents(cast_Machine *c, const cast_Views *views, int out) {
  int changed, i;
  do {
    changed = c->changed;
    for (i = 0; i < views->count; i++)
      add_dependents_of(c, views, out, program_node(c->m.s, views->nodes[i]));
  } while (c->changed != changed && !c->m.too_deep);
}

static void cast_members(cast_Machine *c, const cast_Views *views, int slot) {
  lua_State *L = c->m.L;
  int out, i;
  int32_t j;
  lua_createtable(L, 0, expected_members(c, views));
  out = lua_gettop(L);
  lua_pushnil(L);
  while (lua_next(L, slot)) {
    if (lua_type(L, out + 1) == LUA_TSTRING) {
      cast_member(c, views, out + 1, out);
    } else {
      if (c->force) c->stayed++; /* a key cannot be replaced */
      lua_pushvalue(L, out + 1);
      lua_insert(L, out + 2);
      lua_rawset(L, out);
    }
    lua_settop(L, out + 1);
  }
  for (i = 0; i < views->count; i++) {
    const schema_Node *n = program_node(c->m.s, views->nodes[i]);
    const schema_Object *object;
    if (n->object < 0) continue;
    object = program_object(c->m.s, n->object);
    c->m.left -= object->count / CHECK_STEP_ITEMS;
    for (j = 0; j < object->count && !c->m.too_deep; j++)
      add_missing(c, views, out, program_property(c->m.s, object->first + j));
  }
  if (c->force) add_dependents(c, views, out);
  cast_mark_empty(c, slot, out, cast_types(c, views));
  lua_replace(L, slot);
}

/* Collects the schemas of item `i`. */
static int item_nodes(cast_Machine *c, const cast_Views *views, size_t i,
                      int32_t *nodes) {
  int count = 0, j;
  for (j = 0; j < views->count; j++) {
    const schema_Node *n = program_node(c->m.s, views->nodes[j]);
    const schema_Op *op;
    int32_t node;
    if (n->items < 0) continue;
    op = program_op(c->m.s, n->items);
    node =
        i < (size_t)op->b ? *program_link(c->m.s, op->a + (int32_t)i) : op->c;
    if (node >= 0) nodes[count++] = node;
  }
  return count;
}

static void cast_items(cast_Machine *c, const cast_Views *views, int slot) {
  lua_State *L = c->m.L;
  int32_t nodes[CAST_VIEWS];
  size_t n = ops_rawlen(L, slot), i;
  schema_Step step = {.outer = c->at};
  int out, shared = cast_declares(c, views, NULL, 0);
  lua_createtable(L, (int)n, 0);
  out = lua_gettop(L);
  cast_mark_array(c);
  c->at = &step;
  c->shared += shared;
  for (i = 0; i < n; i++) {
    int count = item_nodes(c, views, i, nodes);
    step.index = i;
    ops_rawgeti(L, slot, i + 1);
    if (count > 0) cast_slot_by(c, nodes, count, out + 1);
    ops_rawseti(L, out, i + 1);
  }
  c->shared -= shared;
  c->at = step.outer;
  lua_replace(L, slot);
}

/* Do the schemas describe such tables?  If not, the table stays. */
static bool describe(const cast_Machine *c, const cast_Views *views,
                     uint16_t type) {
  int i;
  for (i = 0; i < views->count; i++) {
    const schema_Node *n = program_node(c->m.s, views->nodes[i]);
    if (n->types != TYPE_ANY) return true;
    if (type == TYPE_ARRAY ? n->items >= 0 : n->object >= 0) return true;
  }
  return false;
}

static void cast_scalar(cast_Machine *c, const int32_t *nodes, int count,
                        int slot, uint16_t types) {
#if OPS_INTEGERS
  lua_State *L = c->m.L;
  integer_Value i;
  if (lua_type(L, slot) == LUA_TNUMBER && !lua_isinteger(L, slot) &&
      (types & TYPE_NUMBER) == TYPE_INTEGER &&
      integer_read(L, c->m.core, slot, &i)) {
    integer_push(L, c->m.core, i);
    cast_record(c, "converted", slot, lua_gettop(L));
    lua_replace(L, slot);
  }
#endif
  if (!cast_conforms(c, nodes, count, slot))
    cast_convert(c, nodes, count, slot, types);
}

static void gather_all(cast_Machine *c, cast_Views *views, const int32_t *nodes,
                       int count, int slot) {
  int i;
  views->count = views->unions = 0;
  for (i = 0; i < count; i++) cast_gather(c, views, nodes[i], slot);
}

static bool same_views(const cast_Views *a, const cast_Views *b) {
  int i;
  if (a->count != b->count) return false;
  for (i = 0; i < a->count; i++) {
    if (a->nodes[i] != b->nodes[i]) return false;
  }
  return true;
}

/* Casts the object by the views.  The members that force adds may make other
** schemas apply: those of dependentSchemas, or of an `if`. */
static void cast_object(cast_Machine *c, cast_Views *views,
                        const int32_t *nodes, int count, int slot) {
  cast_Views before;
  int passes, changed;
  for (passes = 0; passes < MAX_GATHERED; passes++) {
    changed = c->changed;
    cast_members(c, views, slot);
    if (!c->force || c->changed == changed || c->m.too_deep) return;
    before = *views;
    gather_all(c, views, nodes, count, slot);
    if (same_views(views, &before)) return;
  }
}

bool cast_move(cast_Machine *c, const int32_t *nodes, int count, int slot) {
  lua_State *L = c->m.L;
  int t = lua_type(L, slot);
  cast_Views views;
  uint16_t types, type;
  gather_all(c, &views, nodes, count, slot);
  if (c->m.too_deep) return false;
  types = cast_types(c, &views);
  type = schema_type_of(L, c->m.core, slot, t, types);
  if (t != LUA_TTABLE) {
    cast_scalar(c, nodes, count, slot, types);
  } else if ((type & types) != 0 && describe(c, &views, type)) {
    if (type == TYPE_OBJECT) cast_object(c, &views, nodes, count, slot);
    else if (value_array_length(L, slot) >= 0) cast_items(c, &views, slot);
  }
  return !c->m.too_deep;
}

int32_t cast_only_branch(cast_Machine *c, const schema_Node *n, int slot,
                         uint16_t *type) {
  const schema_Op *op = program_op(c->m.s, n->every);
  const schema_Union *u;
  int32_t i, only;
  uint16_t found;
  if (n->end - n->strings != 1 || n->end == n->every) return -1;
  if (op->code != CODE_ANY_OF && op->code != CODE_ONE_OF) return -1;
  found = schema_type_of(c->m.L, c->m.core, slot, LUA_TTABLE, n->types);
  if ((found & n->types) == 0) return -1;
  u = program_union(c->m.s, op->a);
  c->m.left -= u->count / CHECK_STEP_ITEMS;
  only = check_tagged_branch(&c->m, u, slot);
  if (only >= 0) {
    *type = found;
    return *program_link(c->m.s, u->first + only);
  }
  for (i = 0; i < u->count; i++) {
    int32_t node = *program_link(c->m.s, u->first + i);
    uint16_t types = program_node(c->m.s, node)->types;
    node = program_node(c->m.s, node)->target;
    types &= program_node(c->m.s, node)->types;
    if ((schema_type_of(c->m.L, c->m.core, slot, LUA_TTABLE, types) & types) ==
        0)
      continue;
    if (only >= 0) return -1;
    only = node;
  }
  return only;
}

bool cast_merged(cast_Machine *c, const int32_t *nodes, int count, int slot) {
  int stayed = c->stayed;
  bool ok;
  if (c->m.too_deep) return false;
  if (c->m.depth >= CAST_MAX_DEPTH || !ops_checkstack(c->m.L, 32))
    return check_too_deep(&c->m);
  c->m.depth++;
  c->merging++;
  if (!c->force) {
    ok = cast_move(c, nodes, count, slot);
  } else {
    ok = cast_conforms(c, nodes, count, slot) ||
         (cast_move(c, nodes, count, slot) &&
          cast_force(c, nodes, count, slot, stayed));
  }
  c->merging--;
  if (ok && c->merging == 0 && !c->force && c->trials == 0)
    ok = cast_conforms(c, nodes, count, slot) && !c->m.too_deep;
  c->m.depth--;
  return ok;
}

bool cast_slot_by(cast_Machine *c, const int32_t *nodes, int count, int slot) {
  if (count == 1) return cast_slot(c, nodes[0], slot, lua_type(c->m.L, slot));
  return cast_merged(c, nodes, count, slot);
}
