#include "schema/cast/fill.h"
#include "schema/check/check.h"
#include "schema/program/value.h"

#define FILL_MAX_DEPTH 512 /* nodes within nodes */

typedef struct Filler {
  check_Machine m;
  int depth;
} Filler;

static void push_copy(lua_State *L, const core_State *core, int i, int depth) {
  int copy;
  if (lua_type(L, i) != LUA_TTABLE || depth > FILL_MAX_DEPTH) {
    lua_pushvalue(L, i);
    return;
  }
  luaL_checkstack(L, 8, "default");
  lua_createtable(L, (int)ops_rawlen(L, i), 0);
  copy = lua_gettop(L);
  lua_pushnil(L);
  while (lua_next(L, i)) {
    lua_pushvalue(L, copy + 1);
    push_copy(L, core, copy + 2, depth + 1);
    lua_rawset(L, copy);
    lua_settop(L, copy + 1);
  }
  switch (value_kind(L, core, i)) {
  case VALUE_ARRAY:
    core_push_array_mt(L);
    lua_setmetatable(L, copy);
    break;
  case VALUE_OBJECT:
    if (value_mark(L, core, i) != MARK_OBJECT) break;
    core_push_object_mt(L);
    lua_setmetatable(L, copy);
    break;
  default: break;
  }
}

void fill_push_copy(lua_State *L, const core_State *core, int i) {
  push_copy(L, core, i, 0);
}

void fill_push_default(lua_State *L, const schema_Schema *s, int constants,
                       int32_t constant) {
  int top = lua_gettop(L);
  ops_rawgeti(L, constants, (size_t)constant);
  if (lua_type(L, -1) != LUA_TTABLE) return;
  push_copy(L, s->core, top + 1, 0);
  lua_replace(L, top + 1);
}

static bool fill(Filler *f, int32_t node, int v);

/* Makes slot `v` hold a shallow copy, once. */
static void own(Filler *f, int v, bool *owned) {
  lua_State *L = f->m.L;
  int copy;
  if (*owned) return;
  *owned = true;
  lua_createtable(L, (int)ops_rawlen(L, v), 8);
  copy = lua_gettop(L);
  lua_pushnil(L);
  while (lua_next(L, v)) {
    lua_pushvalue(L, -2);
    lua_insert(L, -2);
    lua_rawset(L, copy);
  }
  if (lua_getmetatable(L, v)) lua_setmetatable(L, copy);
  lua_replace(L, v);
}

/* Fills the member whose key and value are on top of the stack. */
static void fill_member(Filler *f, int32_t node, int v, bool *owned) {
  lua_State *L = f->m.L;
  int key = lua_gettop(L) - 1;
  if (fill(f, node, key + 1)) {
    own(f, v, owned);
    lua_pushvalue(L, key);
    lua_pushvalue(L, key + 1);
    lua_rawset(L, v);
  }
  lua_settop(L, key - 1);
}

static void fill_properties(Filler *f, const schema_Object *object, int v,
                            bool *owned) {
  lua_State *L = f->m.L;
  const schema_Schema *s = f->m.s;
  int32_t i;
  for (i = 0; i < object->count; i++) {
    const schema_Property *p = program_property(s, object->first + i);
    if (p->default_value == 0 && !program_node(s, p->node)->fills) continue;
    ops_rawgeti(L, f->m.constants, (size_t)p->key);
    lua_pushvalue(L, -1);
    if (ops_rawget(L, v) == LUA_TNIL && p->default_value != 0) {
      lua_pop(L, 1);
      fill_push_default(L, s, f->m.constants, p->default_value);
      own(f, v, owned);
      lua_pushvalue(L, -2);
      lua_pushvalue(L, -2);
      lua_rawset(L, v);
    }
    fill_member(f, p->node, v, owned);
  }
}

/* Members that patternProperties or additionalProperties know. */
static void fill_others(Filler *f, const schema_Object *object, int v,
                        bool *owned) {
  lua_State *L = f->m.L;
  const schema_Schema *s = f->m.s;
  int walked;
  if (object->patterns == 0 &&
      (object->additional < 0 || !program_node(s, object->additional)->fills))
    return;
  lua_pushvalue(L, v); /* the table that is walked stays as it is */
  walked = lua_gettop(L);
  lua_pushnil(L);
  while (lua_next(L, walked)) {
    size_t len;
    const char *name;
    const schema_Property *p;
    bool known;
    int32_t i;
    if (lua_type(L, walked + 1) == LUA_TSTRING) {
      name = lua_tolstring(L, walked + 1, &len);
      p = program_find(s, object, name, len);
      known = p != NULL && p->declared;
      for (i = 0; i < object->patterns; i++) {
        const schema_Pattern *pattern = program_pattern(s, object->pattern + i);
        if (check_match(&f->m, *program_regex(s, pattern->regex), name, len) <=
            0)
          continue;
        known = true;
        lua_pushvalue(L, walked + 1);
        lua_pushvalue(L, walked + 1);
        lua_rawget(L, v);
        fill_member(f, pattern->node, v, owned);
      }
      if (!known && object->additional >= 0) {
        lua_pushvalue(L, walked + 1);
        lua_pushvalue(L, walked + 2);
        fill_member(f, object->additional, v, owned);
      }
    }
    lua_settop(L, walked + 1);
  }
  lua_settop(L, walked - 1);
}

static void fill_items(Filler *f, const schema_Op *op, int v, bool *owned) {
  lua_State *L = f->m.L;
  size_t n = ops_rawlen(L, v), i;
  for (i = 0; i < n; i++) {
    int32_t node =
        i < (size_t)op->b ? *program_link(f->m.s, op->a + (int32_t)i) : op->c;
    if (node < 0) return;
    if (!program_node(f->m.s, node)->fills) continue;
    lua_pushinteger(L, (lua_Integer)i + 1);
    ops_rawgeti(L, v, i + 1);
    fill_member(f, node, v, owned);
  }
}

static bool fill_op(Filler *f, const schema_Op *op, int v, uint16_t type) {
  bool owned = false;
  switch (op->code) {
  case CODE_CALL: return fill(f, op->a, v);
  case CODE_DYNAMIC: return fill(f, check_dynamic(&f->m, op), v);
  case CODE_ITEMS:
    if (type == TYPE_ARRAY) fill_items(f, op, v, &owned);
    return owned;
  case CODE_MEMBERS:
    if (type != TYPE_OBJECT) return false;
    fill_properties(f, program_object(f->m.s, op->a), v, &owned);
    fill_others(f, program_object(f->m.s, op->a), v, &owned);
    return owned;
  default: return false;
  }
}

/* Fills the value in slot `v`; true when the slot holds a copy now. */
static bool fill(Filler *f, int32_t node, int v) {
  const schema_Node *n = program_node(f->m.s, node);
  check_Scope scope;
  bool copied = false;
  uint16_t type;
  int32_t i;
  if (!n->fills || lua_type(f->m.L, v) != LUA_TTABLE || f->m.too_deep)
    return false;
  if (f->depth >= FILL_MAX_DEPTH || !check_step(&f->m) ||
      !ops_checkstack(f->m.L, 16))
    return check_too_deep(&f->m); /* stop: a cycle would never end */
  type = schema_type_of(f->m.L, f->m.core, v, LUA_TTABLE, n->types);
  scope.outer = f->m.scope;
  scope.resource = n->resource;
  f->m.scope = &scope;
  f->depth++;
  for (i = n->arrays; i < n->end; i++)
    copied = fill_op(f, program_op(f->m.s, i), v, type) || copied;
  f->depth--;
  f->m.scope = scope.outer;
  return copied;
}

bool fill_value(lua_State *L, int schema, int v) {
  const schema_Schema *s = (const schema_Schema *)lua_touserdata(L, schema);
  Filler f;
  bool copied;
  int slot;
  lua_pushvalue(L, v);
  if (!program_node(s, s->root)->fills || lua_type(L, v) != LUA_TTABLE)
    return false;
  slot = lua_gettop(L);
  memset(&f, 0, sizeof(f));
  check_start(&f.m, L, schema, v);
  copied = fill(&f, s->root, slot);
  lua_settop(L, slot);
  if (!f.m.too_deep) return copied;
  lua_pushvalue(L, v);
  lua_replace(L, slot);
  return false;
}
