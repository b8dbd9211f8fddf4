#include "schema/cast/fill.h"
#include "schema/check/equal.h"

#define FILL_MAX_DEPTH 512 /* nodes within nodes */

typedef struct Filler {
  check_Machine m;
  const schema_Step *at; /* the place in the value */
  int depth;
  int32_t outermost; /* the first node that applies to the current value */
  bool only_required;
} Filler;

/* `n` is the number of values made, at most `most`. */
typedef struct Copier {
  check_Machine *m;
  int64_t n, most;
} Copier;

/* The maximum number of values that may be made. */
static int64_t most_values(check_Machine *m) {
  if (m->most_made == 0)
    m->most_made = FILL_VALUES + check_count_values(m) * CHECK_VALUE_STEPS;
  return m->most_made;
}

/* Counts the values within the outermost one only when more are made than any
** value allows. */
static bool has_too_many(Copier *c) {
  if (c->n > c->most) c->most = most_values(c->m) - c->m->made;
  return c->n > c->most;
}

static void push_copy(Copier *c, int i, int depth) {
  lua_State *L = c->m->L;
  int copy;
  c->n++;
  if (lua_type(L, i) != LUA_TTABLE || depth > FILL_MAX_DEPTH ||
      has_too_many(c) || !check_step(c->m)) {
    lua_pushvalue(L, i);
    return;
  }
  luaL_checkstack(L, 8, "default");
  lua_createtable(L, (int)ops_rawlen(L, i), 0);
  copy = lua_gettop(L);
  lua_pushnil(L);
  while (lua_next(L, i)) {
    lua_pushvalue(L, copy + 1);
    push_copy(c, copy + 2, depth + 1);
    lua_rawset(L, copy);
    lua_settop(L, copy + 1);
  }
  switch (value_kind(L, c->m->core, i)) {
  case VALUE_ARRAY:
    core_push_array_mt(L);
    lua_setmetatable(L, copy);
    break;
  case VALUE_OBJECT:
    if (value_mark(L, c->m->core, i) != MARK_OBJECT) break;
    core_push_object_mt(L);
    lua_setmetatable(L, copy);
    break;
  default: break;
  }
}

bool fill_count(check_Machine *m, int64_t n) {
  m->made += n;
  return m->made <= FILL_VALUES || m->made <= most_values(m);
}

bool fill_push_default(check_Machine *m, int32_t constant) {
  lua_State *L = m->L;
  int top = lua_gettop(L);
  Copier c = {m, 0, FILL_VALUES - m->made};
  ops_rawgeti(L, m->constants, (size_t)constant);
  if (lua_type(L, -1) == LUA_TTABLE) {
    push_copy(&c, top + 1, 0);
    lua_replace(L, top + 1);
  }
  if (fill_count(m, c.n == 0 ? 1 : c.n)) return true;
  lua_settop(L, top);
  return false;
}

static const schema_Location *location_of(const void *schema, int32_t node) {
  return &program_node((const schema_Schema *)schema, node)->location;
}

static void set_text(lua_State *L, const char *name, const char *text) {
  lua_pushstring(L, text);
  lua_setfield(L, -2, name);
}

static const char *const reasons[] = {
    [FILL_DEEP] = "nested too deeply to fill in values",
    [FILL_LONG] = "takes too many steps to fill in values",
    [FILL_COSTLY] = "its name is too costly to match",
};

bool fill_stop(check_Machine *m, const schema_Step *at, int32_t node,
               fill_Reason reason) {
  lua_State *L = m->L;
  if (!lua_isnil(L, m->problem) || !ops_checkstack(L, 64))
    return check_too_deep(m);
  lua_newtable(L);
  core_push_array_mt(L);
  lua_setmetatable(L, -2);
  lua_createtable(L, 0, 5);
  schema_push_path(L, at);
  lua_setfield(L, -2, "path");
  schema_push_location(L, m->constants, location_of, m->s, node, KEYWORD_NONE);
  lua_setfield(L, -2, "schemaPath");
  set_text(L, "keyword", "default");
  if (reason == FILL_MANY || reason == FILL_FORCED) {
    core_push_integer(L, most_values(m));
    lua_pushfstring(L, "defaults%s make more than %s values",
                    reason == FILL_FORCED ? " and replacements" : "",
                    lua_tostring(L, -1));
    lua_setfield(L, -3, "message");
    lua_pop(L, 1);
    lua_createtable(L, 0, 1);
    core_push_integer(L, most_values(m));
    lua_setfield(L, -2, "limit");
    lua_setfield(L, -2, "params");
  } else {
    set_text(L, "message", reasons[reason]);
  }
  ops_rawseti(L, -2, 1);
  lua_replace(L, m->problem);
  return check_too_deep(m);
}

static bool fill(Filler *f, int32_t node, int v);

/* Copies the table in slot `v`, once; the copy is shallow. */
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

/* Fills in the member whose key and value are on top of the stack. */
static void fill_member(Filler *f, int32_t node, int v, bool *owned,
                        const schema_Step *at) {
  lua_State *L = f->m.L;
  int key = lua_gettop(L) - 1;
  int32_t outermost = f->outermost;
  bool filled;
  f->at = at;
  f->outermost = node;
  filled = fill(f, node, key + 1);
  f->at = at->outer;
  f->outermost = outermost;
  if (filled) {
    own(f, v, owned);
    lua_pushvalue(L, key);
    lua_pushvalue(L, key + 1);
    lua_rawset(L, v);
  }
  lua_settop(L, key - 1);
}

#define REQUIRES_DEPTH 32

/* Does `node`, or one that `$ref` or `allOf` applies to the same value, require
** the member? */
static bool requires(Filler *f, int32_t node, const schema_Property *p,
                     int depth) {
  const schema_Schema *s = f->m.s;
  const schema_Node *n = program_node(s, node);
  int32_t i;
  if (n->object >= 0) {
    const schema_Property *found =
        program_find(s, program_object(s, n->object), p->name, p->len);
    if (found != NULL && found->required) return true;
  }
  if (depth >= REQUIRES_DEPTH || !check_step(&f->m)) return false;
  for (i = n->every; i < n->end; i++) {
    const schema_Op *op = program_op(s, i);
    if (op->code == CODE_CALL && requires(f, op->a, p, depth + 1)) return true;
    if (op->code == CODE_DYNAMIC &&
        requires(f, check_dynamic(&f->m, op), p, depth + 1))
      return true;
  }
  return false;
}

/* Is the default of a missing member filled in? */
static bool takes_default(Filler *f, const schema_Property *p) {
  return p->default_value != 0 && !p->unfit &&
         (!f->only_required || p->required || requires(f, f->outermost, p, 0));
}

/* Marks the empty table on top as an array where the schema takes no object. */
static void mark_list(Filler *f, int32_t node) {
  lua_State *L = f->m.L;
  uint16_t types = program_target(f->m.s, node)->types;
  if ((types & TYPE_OBJECT) != 0 || lua_type(L, -1) != LUA_TTABLE ||
      value_kind(L, f->m.core, -1) != VALUE_EMPTY)
    return;
  core_push_array_mt(L);
  lua_setmetatable(L, -2);
}

static void fill_properties(Filler *f, const schema_Object *object, int v,
                            bool *owned) {
  lua_State *L = f->m.L;
  const schema_Schema *s = f->m.s;
  int32_t i;
  f->m.left -= object->count / CHECK_STEP_ITEMS;
  for (i = 0; i < object->count && !f->m.too_deep; i++) {
    const schema_Property *p = program_property(s, object->first + i);
    schema_Step step = {.outer = f->at, .name = p->name, .len = p->len};
    if (p->default_value == 0 && !program_node(s, p->node)->fills) continue;
    ops_rawgeti(L, f->m.constants, (size_t)p->key);
    lua_pushvalue(L, -1);
    if (ops_rawget(L, v) == LUA_TNIL && takes_default(f, p)) {
      lua_pop(L, 1);
      if (!fill_push_default(&f->m, p->default_value)) {
        fill_stop(&f->m, &step, p->node, FILL_MANY);
        return;
      }
      mark_list(f, p->node);
      own(f, v, owned);
      lua_pushvalue(L, -2);
      lua_pushvalue(L, -2);
      lua_rawset(L, v);
    }
    fill_member(f, p->node, v, owned, &step);
  }
}

/* Fills in members that patternProperties or additionalProperties describe. */
static void fill_others(Filler *f, const schema_Object *object, int v,
                        bool *owned) {
  lua_State *L = f->m.L;
  const schema_Schema *s = f->m.s;
  int walked;
  size_t n = 0;
  if (object->patterns == 0 &&
      (object->additional < 0 || !program_node(s, object->additional)->fills))
    return;
  lua_pushvalue(L, v); /* traverses the original table */
  walked = lua_gettop(L);
  lua_pushnil(L);
  while (lua_next(L, walked)) {
    if (lua_type(L, walked + 1) == LUA_TSTRING) {
      size_t len;
      const char *name = lua_tolstring(L, walked + 1, &len);
      const schema_Property *p;
      bool known;
      int32_t i;
      schema_Step step = {.outer = f->at, .name = name, .len = len};
      p = program_find(s, object, name, len);
      known = p != NULL && p->declared;
      check_walked(&f->m, ++n);
      for (i = 0; i < object->patterns; i++) {
        const schema_Pattern *pattern = program_pattern(s, object->pattern + i);
        int match =
            check_match(&f->m, *program_regex(s, pattern->regex), name, len);
        if (match < 0) fill_stop(&f->m, &step, pattern->node, FILL_COSTLY);
        if (match <= 0) continue;
        known = true;
        lua_pushvalue(L, walked + 1);
        lua_pushvalue(L, walked + 1);
        lua_rawget(L, v);
        fill_member(f, pattern->node, v, owned, &step);
      }
      if (!known && object->additional >= 0) {
        lua_pushvalue(L, walked + 1);
        lua_pushvalue(L, walked + 2);
        fill_member(f, object->additional, v, owned, &step);
      }
    }
    lua_settop(L, walked + 1);
  }
  lua_settop(L, walked - 1);
}

static void fill_items(Filler *f, const schema_Op *op, int v, bool *owned) {
  lua_State *L = f->m.L;
  size_t n = ops_rawlen(L, v), i;
  for (i = 0; i < n && !f->m.too_deep; i++) {
    schema_Step step = {.outer = f->at, .index = i};
    int32_t node =
        i < (size_t)op->b ? *program_link(f->m.s, op->a + (int32_t)i) : op->c;
    check_walked(&f->m, i + 1);
    if (node < 0) return;
    if (!program_node(f->m.s, node)->fills) continue;
    lua_pushinteger(L, (lua_Integer)i + 1);
    ops_rawgeti(L, v, i + 1);
    fill_member(f, node, v, owned, &step);
  }
}

/* The only branch that the value fits; -1 when there are none or several. */
static int32_t matching(Filler *f, const schema_Union *u, int v) {
  const int32_t *branch = program_link(f->m.s, u->first);
  int32_t i, found = -1;
  for (i = 0; i < u->count; i++) {
    if (!check_node(&f->m, branch[i], v, LUA_TTABLE)) continue;
    if (found >= 0) return -1;
    found = branch[i];
  }
  return f->m.too_deep ? -1 : found;
}

/* The branch that the tag names, or the only one for tables; or -1. */
static int32_t named(Filler *f, const schema_Union *u, int v) {
  const schema_Node *single = u->picks[PICK_TABLE];
  int32_t branch = -1;
  if (u->key != 0) branch = check_tagged_branch(&f->m, u, v);
  if (branch < 0 && u->hint_key != 0) branch = check_hinted_branch(&f->m, u, v);
  if (branch >= 0) return *program_link(f->m.s, u->first + branch);
  return single == NULL ? -1 : (int32_t)(single - program_node(f->m.s, 0));
}

/* Gives slot `v` the value on top of the stack back: with its defaults it would
** have another branch. */
static bool undo(Filler *f, int v) {
  lua_replace(f->m.L, v);
  return false;
}

static bool fill_union(Filler *f, const schema_Union *u, int v) {
  int32_t branch, i;
  bool copied;
  for (i = 0; i < u->count; i++) {
    if (program_node(f->m.s, *program_link(f->m.s, u->first + i))->fills) break;
  }
  if (i == u->count || u->member != 0) return false;
  branch = named(f, u, v);
  if (branch >= 0) return fill(f, branch, v);
  branch = matching(f, u, v);
  if (branch < 0) return false;
  lua_pushvalue(f->m.L, v);
  copied = fill(f, branch, v);
  if (copied && matching(f, u, v) != branch) return undo(f, v);
  lua_pop(f->m.L, 1);
  return copied;
}

static bool fill_if(Filler *f, const schema_Op *op, int v) {
  bool fits, copied;
  int32_t node;
  if ((op->b < 0 || !program_node(f->m.s, op->b)->fills) &&
      (op->c < 0 || !program_node(f->m.s, op->c)->fills))
    return false;
  fits = check_node(&f->m, op->a, v, LUA_TTABLE);
  node = fits ? op->b : op->c;
  if (f->m.too_deep || node < 0) return false;
  lua_pushvalue(f->m.L, v);
  copied = fill(f, node, v);
  if (copied && check_node(&f->m, op->a, v, LUA_TTABLE) != fits)
    return undo(f, v);
  lua_pop(f->m.L, 1);
  return copied;
}

static bool fill_op(Filler *f, const schema_Op *op, int v, uint16_t type) {
  bool owned = false;
  switch ((schema_Code)op->code) {
  case CODE_CALL: return fill(f, op->a, v);
  case CODE_DYNAMIC: return fill(f, check_dynamic(&f->m, op), v);
  case CODE_ANY_OF:
  case CODE_ONE_OF: return fill_union(f, program_union(f->m.s, op->a), v);
  case CODE_IF: return fill_if(f, op, v);
  case CODE_ITEMS:
    if (type == TYPE_ARRAY) fill_items(f, op, v, &owned);
    return owned;
  case CODE_MEMBERS:
    if (type != TYPE_OBJECT) return false;
    fill_properties(f, program_object(f->m.s, op->a), v, &owned);
    fill_others(f, program_object(f->m.s, op->a), v, &owned);
    return owned;
  case CODE_NOT: /* as compile/default.c */
  case CODE_DEPENDENT_SCHEMA:
  case CODE_CONTAINS:
  case CODE_PROPERTY_NAMES:
  case CODE_UNEVALUATED_ITEMS:
  case CODE_UNEVALUATED_PROPERTIES:
  CASES_ALONE:
    break;
  }
  return false;
}

/* Fills in the value in slot `v`; true when the slot holds a copy now. */
static bool fill(Filler *f, int32_t node, int v) {
  const schema_Node *n = program_node(f->m.s, node);
  check_Scope scope = {.outer = f->m.scope, .resource = n->resource};
  bool copied = false;
  uint16_t type;
  int32_t i;
  if (!n->fills || lua_type(f->m.L, v) != LUA_TTABLE || f->m.too_deep)
    return false;
  if (f->depth >= FILL_MAX_DEPTH || !ops_checkstack(f->m.L, 16))
    return fill_stop(&f->m, f->at, node, FILL_DEEP); /* possibly a cycle */
  if (!check_steps(&f->m, 1)) return fill_stop(&f->m, f->at, node, FILL_LONG);
  type = schema_type_of(f->m.L, f->m.core, v, LUA_TTABLE, n->types);
  f->m.scope = &scope;
  f->depth++;
  for (i = n->arrays; i < n->end; i++)
    copied = fill_op(f, program_op(f->m.s, i), v, type) || copied;
  f->depth--;
  f->m.scope = scope.outer;
  return copied;
}

bool fill_value(lua_State *L, int schema, int v, bool only_required) {
  const schema_Schema *s = (const schema_Schema *)lua_touserdata(L, schema);
  int slot = lua_gettop(L) + 1;
  Filler f = {.m = {.problem = slot + 1},
              .outermost = s->root,
              .only_required = only_required};
  lua_pushvalue(L, v);
  if (!program_node(s, s->root)->fills || lua_type(L, v) != LUA_TTABLE)
    return true;
  lua_pushnil(L);
  check_start(&f.m, L, schema, v);
  fill(&f, s->root, slot);
  lua_settop(L, slot + 1);
  if (f.m.too_deep) {
    fill_stop(&f.m, NULL, s->root, FILL_LONG);
    lua_replace(L, slot);
  }
  lua_settop(L, slot);
  return !f.m.too_deep;
}

/* Does the default of a property, with those inside it filled in, fit the
** schema of the property?  One that is too large or too long to check fits. */
static bool default_fits(lua_State *L, int schema, const schema_Property *p) {
  int slot = lua_gettop(L) + 1;
  Filler f = {.m = {.problem = slot + 1}, .outermost = p->node};
  bool fits;
  lua_pushnil(L);
  lua_pushnil(L);
  check_start(&f.m, L, schema, slot);
  if (!fill_push_default(&f.m, p->default_value)) {
    lua_settop(L, slot - 1);
    return true;
  }
  lua_replace(L, slot);
  fill(&f, p->node, slot);
  lua_settop(L, slot);
  check_start(&f.m, L, schema, slot);
  fits = check_value(&f.m, p->node, slot) || f.m.too_deep;
  lua_settop(L, slot - 1);
  return fits;
}

void fill_find_unfit(lua_State *L, int schema) {
  const schema_Schema *s = (const schema_Schema *)lua_touserdata(L, schema);
  int32_t i;
  if (!program_node(s, s->root)->fills) return;
  for (i = 0; i < (int32_t)s->properties.count; i++) {
    schema_Property *p = program_property(s, i);
    if (p->default_value != 0 && !default_fits(L, schema, p)) p->unfit = 1;
  }
}
