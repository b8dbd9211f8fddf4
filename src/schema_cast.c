#include "schema_cast.h"
#include "schema_fill.h"
#include "schema_value.h"

#include <math.h>

#define PAIRS_AT_ONCE 24 /* members on the stack before they are stored */
#define MAX_PASSES 6     /* until a second cast changes nothing */

void cast_record(cast_Machine *c, const char *kind, int old, int fresh) {
  lua_State *L = c->m.L;
  c->changed++;
  if (c->changes == 0) return;
  luaL_checkstack(L, 8, "changes");
  lua_createtable(L, 0, 4);
  schema_push_path(L, c->at);
  lua_setfield(L, -2, "path");
  lua_pushstring(L, kind);
  lua_setfield(L, -2, "kind");
  if (old != 0) {
    lua_pushvalue(L, old);
    lua_setfield(L, -2, "old");
  }
  if (fresh != 0) {
    lua_pushvalue(L, fresh);
    lua_setfield(L, -2, "new");
  }
  ops_rawseti(L, c->changes, ops_rawlen(L, c->changes) + 1);
}

bool cast_conforms(cast_Machine *c, const int32_t *nodes, int count, int slot) {
  int i;
  for (i = 0; i < count; i++) {
    if (!check_node(&c->m, nodes[i], slot, lua_type(c->m.L, slot)))
      return false;
  }
  return true;
}

/* A scalar that a node without instructions takes as it is. */
static inline bool takes_scalar(const schema_Node *n, lua_State *L, int slot,
                                int t) {
  if (!n->simple) return false;
  switch (t) {
  case LUA_TSTRING: return (n->types & TYPE_STRING) != 0;
  case LUA_TBOOLEAN: return (n->types & TYPE_BOOLEAN) != 0;
  case LUA_TNUMBER:
#if OPS_INTEGERS
    if (lua_isinteger(L, slot)) return (n->types & TYPE_INTEGER) != 0;
#endif
    return (n->types & TYPE_NUMBER) == TYPE_NUMBER &&
           isfinite(lua_tonumber(L, slot));
  default: return false;
  }
}

/* Casts a member whose name or index the step has. */
static bool cast_at(cast_Machine *c, int32_t node, int slot, int t,
                    const void *table, const char *name, size_t len,
                    size_t index) {
  schema_Step step;
  bool fits;
  step.outer = c->at;
  step.table = table;
  step.name = name;
  step.len = len;
  step.index = index;
  c->at = &step;
  fits = cast_slot(c, node, slot, t);
  c->at = step.outer;
  return fits;
}

static void record_at(cast_Machine *c, const char *kind, int old, int fresh,
                      const char *name, size_t len) {
  schema_Step step;
  if (c->changes == 0) {
    c->changed++;
    return;
  }
  step.outer = c->at;
  step.table = NULL;
  step.name = name;
  step.len = len;
  step.index = 0;
  c->at = &step;
  cast_record(c, kind, old, fresh);
  c->at = step.outer;
}

/* An object that is being made: members wait on the stack until it is known how
** many there are, so that the table gets its exact size. */
typedef struct Members {
  int out;   /* stack index of the table, or of the nil in its place */
  int pairs; /* keys with values above it */
  int hint;  /* members expected, for a table made early */
} Members;

static void store(lua_State *L, Members *members, int size) {
  if (lua_isnil(L, members->out)) {
    lua_createtable(L, 0, size);
    lua_replace(L, members->out);
  }
  for (; members->pairs > 0; members->pairs--) lua_rawset(L, members->out);
}

static void add_pair(lua_State *L, Members *members) {
  if (++members->pairs >= PAIRS_AT_ONCE) store(L, members, members->hint);
}

bool cast_drop(cast_Machine *c, int32_t node, int slot) {
  return c->trials == 0 && !c->m.too_deep &&
         !check_node(&c->m, node, slot, lua_type(c->m.L, slot));
}

/* Is the member dealt with by name?  What only `required` names is not where
** others have a say in it. */
static bool by_name(const schema_Object *object, const schema_Property *p) {
  return p->declared || (object->patterns == 0 && object->additional < 0);
}

/* What a missing property becomes; pushes nothing, or the value.  Its key is on
** top of the stack. */
static bool push_missing(cast_Machine *c, const schema_Property *p,
                         bool *fits) {
  lua_State *L = c->m.L;
  int32_t constant = p->default_value;
  int32_t node = p->node;
  if (constant == 0 && p->required) constant = p->fixed;
  if (constant != 0 && c->keep < 1) {
    fill_push_default(L, c->m.s, c->m.constants, constant);
    if (!takes_scalar(program_node(c->m.s, p->node), L, lua_gettop(L),
                      lua_type(L, -1)) &&
        !cast_at(c, p->node, lua_gettop(L), lua_type(L, -1), NULL, p->name,
                 p->len, 0))
      *fits = false;
  } else if (!p->required) {
    return false;
  } else if (!c->force || !cast_create(c, &node, 1, 0)) {
    *fits = false;
    return false;
  }
  record_at(c, "defaulted", 0, lua_gettop(L), p->name, p->len);
  return true;
}

static void cast_properties(cast_Machine *c, const schema_Object *object,
                            int slot, Members *members, bool *fits) {
  lua_State *L = c->m.L;
  const schema_Property *p = program_property(c->m.s, object->first);
  const schema_Property *end = p + object->count;
  for (; p < end; p++) {
    int t, at;
    ops_rawgeti(L, c->m.constants, (size_t)p->key);
    lua_pushvalue(L, -1);
    t = ops_rawget(L, slot);
    if (t == LUA_TNIL) {
      lua_pop(L, 1);
      if (push_missing(c, p, fits)) add_pair(L, members);
      else lua_pop(L, 1);
      if (p->required && !by_name(object, p)) *fits = false;
      continue;
    }
    if (!by_name(object, p)) {
      lua_pop(L, 2);
      continue;
    }
    at = lua_gettop(L);
    if (!takes_scalar(program_node(c->m.s, p->node), L, at, t) &&
        !cast_at(c, p->node, at, t, NULL, p->name, p->len, 0)) {
      *fits = false;
      if (c->force && !p->required && cast_drop(c, p->node, at)) {
        record_at(c, "stripped", at, 0, p->name, p->len);
        lua_settop(L, at - 2);
        continue;
      }
    }
    add_pair(L, members);
  }
}

/* The member `key`, `value` on top of the stack, which `properties` does not
** know: kept as a pair (true), or not. */
static bool cast_other(cast_Machine *c, const schema_Object *object, int key,
                       bool *fits) {
  lua_State *L = c->m.L;
  const schema_Schema *s = c->m.s;
  int32_t nodes[CAST_VIEWS];
  int count = 0, value = key + 1;
  bool known = false;
  size_t len;
  const char *name = lua_tolstring(L, key, &len);
  int32_t i;
  for (i = 0; i < object->patterns; i++) {
    const schema_Pattern *pattern = program_pattern(s, object->pattern + i);
    if (regex_match(*program_regex(s, pattern->regex), name, len) <= 0)
      continue;
    known = true;
    if (count < CAST_VIEWS) nodes[count++] = pattern->node;
  }
  if (!known && object->additional >= 0) {
    nodes[count++] = object->additional;
    known = !program_node(s, object->additional)->is_false;
  } else if (!known) {
    known = object->open || c->keep >= 2;
  }
  if (known && count > 0) {
    schema_Step step = {c->at, NULL, name, len, 0};
    c->at = &step;
    if (!cast_slot_by(c, nodes, count, value)) *fits = false;
    c->at = step.outer;
  } else if (!known) {
    const schema_Property *p = program_find(s, object, name, len);
    if (p != NULL && p->required) *fits = false; /* asked for and refused */
    record_at(c, "stripped", value, 0, name, len);
  }
  return known;
}

static bool is_named(const cast_Machine *c, const schema_Object *object,
                     int key) {
  size_t len;
  const char *name = lua_tolstring(c->m.L, key, &len);
  const schema_Property *p = program_find(c->m.s, object, name, len);
  return p != NULL && by_name(object, p);
}

/* What is not named: patterns, the rest, what is left out. */
static void cast_others(cast_Machine *c, const schema_Object *object, int slot,
                        Members *members, bool *fits) {
  lua_State *L = c->m.L;
  int top;
  store(L, members, object->count);
  top = lua_gettop(L);
  lua_pushnil(L);
  while (lua_next(L, slot)) {
    if (lua_type(L, top + 1) != LUA_TSTRING) {
      *fits = false;
    } else if (!is_named(c, object, top + 1) &&
               cast_other(c, object, top + 1, fits)) {
      lua_pushvalue(L, top + 1);
      lua_pushvalue(L, top + 2);
      lua_rawset(L, members->out);
    }
    lua_settop(L, top + 1);
  }
}

static void copy_table(lua_State *L, int slot) {
  int copy;
  lua_createtable(L, (int)ops_rawlen(L, slot), 0);
  copy = lua_gettop(L);
  lua_pushnil(L);
  while (lua_next(L, slot)) {
    lua_pushvalue(L, copy + 1);
    lua_insert(L, copy + 2);
    lua_rawset(L, copy);
  }
}

void cast_mark_empty(cast_Machine *c, int slot, int out, uint16_t types) {
  lua_State *L = c->m.L;
  lua_pushnil(L);
  if (lua_next(L, out)) {
    lua_pop(L, 2);
  } else if ((types & TYPE_ARRAY) == 0 ||
             value_mark(L, c->m.core, slot) == MARK_OBJECT) {
    core_push_object_mt(L);
    lua_setmetatable(L, out);
  }
}

static bool cast_object(cast_Machine *c, const schema_Node *n, int slot) {
  lua_State *L = c->m.L;
  const schema_Object *object;
  Members members;
  bool fits = true;
  int32_t i;
  members.out = lua_gettop(L) + 1;
  if (n->object < 0) {
    copy_table(L, slot);
  } else {
    object = program_object(c->m.s, n->object);
    members.pairs = 0;
    members.hint = object->count;
    lua_pushnil(L);
    cast_properties(c, object, slot, &members, &fits);
    if (object->patterns > 0 || object->open || object->additional >= 0 ||
        c->changes != 0 || c->keep >= 2)
      cast_others(c, object, slot, &members, &fits);
    else store(L, &members, members.pairs);
  }
  lua_settop(L, members.out);
  if (n->object < 0 || !fits ||
      program_object(c->m.s, n->object)->required == 0)
    cast_mark_empty(c, slot, members.out, n->types);
  lua_replace(L, slot);
  for (i = n->objects; i < n->every; i++) {
    const schema_Op *op = program_op(c->m.s, i);
    if (op->code != CODE_MEMBERS && !check_op(&c->m, 0, op, slot, TYPE_OBJECT))
      fits = false;
  }
  return fits;
}

static bool cast_items(cast_Machine *c, const schema_Op *op, int slot, int out,
                       size_t n) {
  lua_State *L = c->m.L;
  bool fits = true;
  size_t i;
  for (i = 0; i < n; i++) {
    int32_t node = op->c;
    int t = ops_rawgeti(L, slot, i + 1);
    if (i < (size_t)op->b) node = *program_link(c->m.s, op->a + (int32_t)i);
    if (node >= 0 && !takes_scalar(program_node(c->m.s, node), L, out + 1, t) &&
        !cast_at(c, node, out + 1, t, NULL, NULL, 0, i))
      fits = false;
    ops_rawseti(L, out, i + 1);
  }
  return fits;
}

static void copy_items(lua_State *L, int slot, int out, size_t n) {
  size_t i;
  for (i = 1; i <= n; i++) {
    ops_rawgeti(L, slot, i);
    ops_rawseti(L, out, i);
  }
}

static bool cast_array(cast_Machine *c, const schema_Node *n, int slot) {
  lua_State *L = c->m.L;
  ptrdiff_t length = value_array_length(L, slot);
  bool fits = true;
  int out;
  int32_t i;
  if (length < 0 || !schema_is_sequence(L, slot, n->items >= 0)) return false;
  lua_createtable(L, (int)length, 0);
  out = lua_gettop(L);
  lua_pushvalue(L, c->array_mt);
  lua_setmetatable(L, out);
  if (n->items >= 0)
    fits =
        cast_items(c, program_op(c->m.s, n->items), slot, out, (size_t)length);
  else copy_items(L, slot, out, (size_t)length);
  lua_replace(L, slot);
  for (i = n->arrays; i < n->objects; i++) {
    const schema_Op *op = program_op(c->m.s, i);
    if (op->code != CODE_ITEMS && !check_op(&c->m, 0, op, slot, TYPE_ARRAY))
      fits = false;
  }
  return fits;
}

/* 1.0 where only integers are wanted becomes 1. */
static void cast_integer(cast_Machine *c, const schema_Node *n, int slot) {
#if OPS_INTEGERS
  lua_State *L = c->m.L;
  int64_t i;
  if ((n->types & TYPE_NUMBER) != TYPE_INTEGER || lua_isinteger(L, slot) ||
      !value_is_integer(L, slot, &i))
    return;
  core_push_integer(L, i);
  cast_record(c, "converted", slot, lua_gettop(L));
  lua_replace(L, slot);
#else
  (void)c;
  (void)n;
  (void)slot;
#endif
}

static bool check_run(cast_Machine *c, int32_t first, int32_t end, int slot,
                      uint16_t type) {
  for (; first < end; first++) {
    if (!check_op(&c->m, 0, program_op(c->m.s, first), slot, type))
      return false;
  }
  return true;
}

/* A node without others that apply to the same value: one pass does it all. */
static bool cast_plain(cast_Machine *c, int32_t node, const schema_Node *n,
                       int slot, uint16_t type) {
  bool fits;
  switch (type) {
  case TYPE_OBJECT: fits = cast_object(c, n, slot); break;
  case TYPE_ARRAY: fits = cast_array(c, n, slot); break;
  case TYPE_STRING:
    fits = check_run(c, n->strings, n->numbers, slot, type);
    break;
  case TYPE_INTEGER: cast_integer(c, n, slot); /* fall through */
  case TYPE_FRACTION:
    fits = check_run(c, n->numbers, n->arrays, slot, type);
    break;
  default: fits = true; break;
  }
  if (fits) fits = check_run(c, n->every, n->end, slot, type);
  if (!fits && (type & (TYPE_OBJECT | TYPE_ARRAY)) == 0)
    fits = cast_convert(c, &node, 1, slot, n->types);
  return fits;
}

/* A scalar that conforms stays; 1.0 may have to become 1. */
static bool stays(cast_Machine *c, int32_t node, int slot, int t) {
#if OPS_INTEGERS
  if (t == LUA_TNUMBER && !lua_isinteger(c->m.L, slot)) return false;
#endif
  return check_node(&c->m, node, slot, t);
}

/* A scalar that conforms in the end will stay: no other look is needed. */
static bool cast_merging_scalar(cast_Machine *c, int32_t node, int slot,
                                int t) {
  bool merged = c->merged, chosen = c->chosen;
  if (stays(c, node, slot, t)) return true;
  cast_merged(c, &node, 1, slot);
  t = lua_type(c->m.L, slot);
  if (t == LUA_TTABLE || c->m.too_deep || !check_node(&c->m, node, slot, t))
    return false;
  c->merged = merged;
  c->chosen = chosen;
  return true;
}

/* A node with others that apply to the same value: where only one of them can
** be meant, it is cast by that one. */
static bool cast_merging(cast_Machine *c, int32_t node, const schema_Node *n,
                         int slot, int t) {
  int32_t branch;
  if (t != LUA_TTABLE) return cast_merging_scalar(c, node, slot, t);
  branch = cast_only_branch(c, n, slot, t);
  if (branch >= 0) {
    return cast_slot(c, branch, slot, t) ||
           (c->force && cast_repair(c, &node, 1, slot));
  }
  return cast_merged(c, &node, 1, slot);
}

static bool cast_node(cast_Machine *c, int32_t node, int slot, int t) {
  const schema_Node *n = program_node(c->m.s, node);
  uint16_t type;
  bool fits;
  if (n->accepts_all) return true;
  if (n->merges) return cast_merging(c, node, n, slot, t);
  type = schema_type_of(c->m.L, c->m.core, slot, t, n->types);
  if (type & n->types) fits = cast_plain(c, node, n, slot, type);
  else fits = cast_convert(c, &node, 1, slot, n->types);
  if (!fits && c->force) fits = cast_repair(c, &node, 1, slot);
  return fits;
}

bool cast_slot(cast_Machine *c, int32_t node, int slot, int t) {
  check_Scope scope;
  bool fits;
  node = program_node(c->m.s, node)->target;
  if (c->m.too_deep) return false;
  if (c->m.depth >= CAST_MAX_DEPTH ||
      !ops_checkstack(c->m.L, 2 * PAIRS_AT_ONCE + 16)) {
    c->m.too_deep = true;
    return false;
  }
  scope.outer = c->m.scope;
  scope.resource = program_node(c->m.s, node)->resource;
  if (c->m.s->has_dynamic) c->m.scope = &scope;
  c->m.depth++;
  fits = cast_node(c, node, slot, t);
  c->m.depth--;
  c->m.scope = scope.outer;
  return fits;
}

static bool cast_once(cast_Machine *c, int slot) {
  int32_t root = c->m.s->root;
  bool fits;
  c->changed = c->made = c->searched = 0;
  fits = cast_slot(c, root, slot, lua_type(c->m.L, slot));
  if (c->m.too_deep) return false;
  return c->merged ? cast_conforms(c, &root, 1, slot) && !c->m.too_deep : fits;
}

/* Branches are chosen by what stands there: cast until nothing changes. */
static bool cast_until_stable(cast_Machine *c, int slot) {
  lua_State *L = c->m.L;
  bool fits = cast_once(c, slot);
  int pass;
  for (pass = 1;
       pass < MAX_PASSES && c->chosen && c->changed > 0 && !c->m.too_deep;
       pass++) {
    bool same;
    lua_pushvalue(L, slot);
    fits = cast_once(c, slot);
    same = schema_equal(L, c->m.core, slot, lua_gettop(L));
    lua_pop(L, 1);
    if (same) break;
  }
  return fits;
}

/* The slot and the list of changes as they were before this round. */
static void start_again(cast_Machine *c, int slot, int v) {
  lua_State *L = c->m.L;
  size_t i;
  lua_pushvalue(L, v);
  lua_replace(L, slot);
  c->merged = c->chosen = false;
  if (c->changes == 0) return;
  for (i = ops_rawlen(L, c->changes); i > c->said; i--) {
    lua_pushnil(L);
    ops_rawseti(L, c->changes, i);
  }
}

/* With less done: 1 fills in nothing, 2 strips nothing either. */
static bool cast_less(cast_Machine *c, int slot, int v, int keep) {
  c->keep = keep;
  c->m.too_deep = false;
  start_again(c, slot, v);
  return cast_until_stable(c, slot);
}

/* A value that conforms must not be spoiled: by a default that does not fit, by
** stripping what minProperties counts.  Defaults may also go on without end. */
static bool cast_gently(cast_Machine *c, int slot, int v) {
  bool fits = cast_until_stable(c, slot);
  if (c->m.too_deep) fits = cast_less(c, slot, v, 1);
  if (fits || c->m.too_deep || !check_value(&c->m, c->m.s->root, v))
    return fits;
  while (!fits && c->keep < 2) fits = cast_less(c, slot, v, c->keep + 1);
  return fits;
}

/* One round: `slot` holds the value at `v`, and its cast form then. */
static bool cast_round(cast_Machine *c, int slot, int v, bool force) {
  bool fits;
  c->keep = 0;
  c->merged = c->chosen = c->force = false;
  if (c->changes != 0) c->said = ops_rawlen(c->m.L, c->changes);
  fits = cast_gently(c, slot, v);
  if (!fits && force && !c->m.too_deep) {
    c->force = true;
    c->merged = c->chosen = true;
    fits = cast_until_stable(c, slot);
  }
  if (c->m.too_deep) start_again(c, slot, v);
  return fits && !c->m.too_deep;
}

/* Casting the result must change nothing.  A round ends with that, unless it
** did less than usual or more. */
static bool cast_by_mode(cast_Machine *c, int slot, int v, int mode) {
  lua_State *L = c->m.L;
  int round;
  bool fits;
  if (mode == SCHEMA_OFF) return check_value(&c->m, c->m.s->root, slot);
  fits = cast_round(c, slot, v, mode == SCHEMA_FORCE);
  for (round = 1;
       round < MAX_PASSES && (c->keep > 0 || c->force) && !c->m.too_deep;
       round++) {
    int before;
    bool same;
    lua_pushvalue(L, slot);
    before = lua_gettop(L);
    fits = cast_round(c, slot, before, mode == SCHEMA_FORCE);
    same = schema_equal(L, c->m.core, slot, before);
    lua_settop(L, before - 1);
    if (same) break;
  }
  return fits;
}

bool cast_value(lua_State *L, int schema, int v, int mode, bool changes) {
  cast_Machine c;
  bool fits;
  int slot;
  memset(&c, 0, sizeof(c));
  luaL_checkstack(L, 40, "schema");
  lua_pushvalue(L, v);
  slot = lua_gettop(L);
  if (changes) {
    lua_newtable(L);
    core_push_array_mt(L);
    lua_setmetatable(L, -2);
    c.changes = slot + 1;
  }
  check_start(&c.m, L, schema);
  core_push_array_mt(L);
  c.array_mt = lua_gettop(L);
  if (mode == SCHEMA_FORCE) {
    lua_settop(L, c.array_mt + 2);
    c.hints = c.array_mt + 1;
  }
  fits = cast_by_mode(&c, slot, v, mode);
  lua_settop(L, changes ? slot + 1 : slot);
  return fits;
}
