/*
** force.c - mends what does not conform, so that little of it is lost,
** and replaces what cannot be mended (schema/cast/cast.h, cast_repair).
*/
#include "schema/cast/fill.h"
#include "schema/cast/make.h"
#include "schema/check/equal.h"

/* The last resort: what the schema mentions, in what is there, then in what can
** be made.  Replaces the slot. */
static bool search(make_Maker *m, int slot) {
  cast_Machine *c = m->c;
  lua_State *L = c->m.L;
  int base = lua_type(L, slot) == LUA_TTABLE ? slot : 0;
  if (cast_search(c, m->nodes, m->count, base)) return true;
  if ((make_types(m) & TYPE_OBJECT) == 0) return false;
  c->made = 0; /* each needs its own share of the work */
  make_push_object(m);
  return cast_search(c, m->nodes, m->count, lua_gettop(L));
}

static bool has_op(const make_Maker *m, schema_Code code, size_t *least) {
  bool found = false;
  int i;
  for (i = 0; i < m->views.count; i++) {
    const schema_Node *node = program_node(m->c->m.s, m->views.nodes[i]);
    int32_t j;
    for (j = node->arrays; j < node->objects; j++) {
      const schema_Op *op = program_op(m->c->m.s, j);
      if (op->code != code) continue;
      if (!found || op->u.n < *least) *least = op->u.n;
      found = true;
    }
  }
  return found;
}

/* Too many items, too few, equal ones: in a copy of the array in `slot`. */
static bool mend_array(make_Maker *m, int slot) {
  lua_State *L = m->c->m.L;
  size_t n = ops_rawlen(L, slot), most = n, i;
  int copy;
  if (value_array_length(L, slot) < 0) return false;
  lua_createtable(L, (int)n, 0);
  copy = lua_gettop(L);
  cast_mark_array(m->c);
  for (i = 1; i <= n; i++) {
    ops_rawgeti(L, slot, i);
    ops_rawseti(L, copy, i);
  }
  if (has_op(m, CODE_UNIQUE_ITEMS, &i)) schema_drop_twins(&m->c->m, copy);
  if (has_op(m, CODE_MAX_ITEMS, &most)) {
    for (i = ops_rawlen(L, copy); i > most; i--) {
      lua_pushnil(L);
      ops_rawseti(L, copy, i);
    }
  }
  make_pad(m, copy, make_largest(m, CODE_MIN_ITEMS));
  lua_settop(L, copy);
  if (!make_keep(m)) return false;
  cast_record(m->c, "replaced", slot, copy);
  lua_replace(L, slot);
  return true;
}

/* What dependentRequired asks of the object on top of the stack. */
static bool add_dependents(make_Maker *m, const schema_Op *op) {
  lua_State *L = m->c->m.L;
  int object = lua_gettop(L);
  int32_t i;
  if (op->code != CODE_DEPENDENT_REQUIRED ||
      !check_has_key(&m->c->m, object, op->c))
    return false;
  for (i = 0; i < op->b; i++) {
    schema_Property p;
    memset(&p, 0, sizeof(p));
    p.key = *program_link(m->c->m.s, op->a + i);
    ops_rawgeti(L, m->c->m.constants, (size_t)p.key);
    p.name = lua_tolstring(L, -1, &p.len); /* the constants keep it */
    lua_pop(L, 1);
    make_add_property(m, &p);
  }
  return false;
}

/* Too few members: in a copy of the object in `slot`. */
static bool mend_object(make_Maker *m, int slot) {
  lua_State *L = m->c->m.L;
  size_t least = make_largest(m, CODE_MIN_PROPERTIES);
  int object, i;
  fill_push_copy(&m->c->m, slot);
  object = lua_gettop(L);
  for (i = 0; i < 3; i++)
    make_each_op(m, add_dependents); /* they ask for more */
  if (check_count_members(&m->c->m, object) < least)
    make_each_op(m, make_add_optional);
  if (check_count_members(&m->c->m, object) < least) make_add_free(m, least);
  lua_settop(L, object);
  if (!make_keep(m)) return false;
  cast_record(m->c, "replaced", slot, object);
  lua_replace(L, slot);
  return true;
}

/* Mends the table in `slot`, so that little of it is lost. */
static bool mend(make_Maker *m, int slot) {
  switch (value_kind(m->c->m.L, m->c->m.core, slot)) {
  case VALUE_ARRAY: return mend_array(m, slot);
  case VALUE_OBJECT: return mend_object(m, slot);
  case VALUE_EMPTY: return mend_array(m, slot) || mend_object(m, slot);
  default: return false;
  }
}

bool cast_repair(cast_Machine *c, const int32_t *nodes, int count, int slot) {
  lua_State *L = c->m.L;
  make_Maker m;
  int top = lua_gettop(L), i;
  if (c->trials > 0) return false;
  if (cast_conforms(c, nodes, count, slot)) return true;
  if (c->at == NULL) c->made = c->searched = 0; /* all depends on this one */
  memset(&m, 0, sizeof(m));
  m.c = c;
  m.nodes = nodes;
  m.count = count;
  for (i = 0; i < count; i++) make_view(&m, nodes[i], 0);
  if (mend(&m, slot)) return true;
  if (cast_create(c, nodes, count) || search(&m, slot)) {
    cast_record(c, "replaced", slot, lua_gettop(L));
    lua_replace(L, slot);
    lua_settop(L, top);
    return true;
  }
  lua_settop(L, top);
  return false;
}
