#include "schema/cast/make.h"
#include "schema/cast/fill.h"
#include "schema/check/equal.h"

#include <math.h>

#define CREATE_MAX_DEPTH 24 /* values within values */
#define CREATE_MAX_ITEMS 1024
#define CREATE_MAX_TEXT 65536 /* bytes */
#define CREATE_BUDGET 20000   /* values tried in one cast */

static bool make(cast_Machine *c, const int32_t *nodes, int count, int depth,
                 int salt);

/* Leaves the value on top of the stack if it conforms, else pops it. */
bool make_keep(make_Maker *m) {
  lua_State *L = m->c->m.L;
  if (++m->c->made <= CREATE_BUDGET &&
      cast_conforms(m->c, m->nodes, m->count, lua_gettop(L)))
    return true;
  lua_pop(L, 1);
  return false;
}

/* Runs `visit` on each instruction that applies; stops when it says so. */
bool make_each_op(make_Maker *m,
                  bool (*visit)(make_Maker *m, const schema_Op *op)) {
  int i;
  for (i = 0; i < m->views.count; i++) {
    const schema_Node *n = program_node(m->c->m.s, m->views.nodes[i]);
    int32_t j;
    for (j = n->strings; j < n->end; j++) {
      if (visit(m, program_op(m->c->m.s, j))) return true;
    }
  }
  return false;
}

static bool try_constant(make_Maker *m, int32_t constant) {
  if (constant == 0) return false;
  ops_rawgeti(m->c->m.L, m->c->m.constants, (size_t)constant);
  fill_push_copy(&m->c->m, lua_gettop(m->c->m.L));
  lua_remove(m->c->m.L, -2);
  return make_keep(m);
}

static bool try_member(make_Maker *m, const schema_Op *op) {
  int32_t i;
  if (op->code != CODE_CONST && op->code != CODE_ENUM) return false;
  for (i = 0; i < op->b; i++) {
    int32_t at = op->a + (i + m->salt) % op->b;
    if (try_constant(m, program_member(m->c->m.s, at)->value)) return true;
  }
  return false;
}

static bool try_defaults(make_Maker *m) {
  int i;
  if (m->salt != 0) return false;
  for (i = 0; i < m->views.count; i++) {
    const schema_Node *n = program_node(m->c->m.s, m->views.nodes[i]);
    if (try_constant(m, n->default_value)) return true;
  }
  return false;
}

static bool try_number(make_Maker *m, double d) {
  int64_t n;
  if (!isfinite(d)) return false;
  if (d == floor(d) && fabs(d) < 9007199254740992.0) {
    n = (int64_t)d;
    core_push_integer(m->c->m.L, n);
  } else {
    lua_pushnumber(m->c->m.L, d);
  }
  return make_keep(m);
}

/* Numbers at and around a bound. */
static bool try_bound(make_Maker *m, const schema_Op *op) {
  double d;
  int step;
  if (op->code < CODE_MINIMUM || op->code > CODE_MULTIPLE_OF) return false;
  d = program_bound(op);
  if (op->flag & INTEGER_BOUND && op->code != CODE_MULTIPLE_OF) {
    core_push_integer(m->c->m.L, op->u.i);
    if (make_keep(m)) return true;
  }
  for (step = m->salt; step < m->salt + 3; step++) {
    if (op->code == CODE_MULTIPLE_OF) {
      if (try_number(m, d * step) || try_number(m, -d * step)) return true;
    } else if (try_number(m, d + step) || try_number(m, d - step) ||
               try_number(m, ceil(d) + step) ||
               try_number(m, floor(d) - step) || try_number(m, d + 0.5) ||
               try_number(m, d - 0.5)) {
      return true;
    }
  }
  return false;
}

/* A multiple of one number near the bound of another. */
static bool try_multiple_of(make_Maker *m, const schema_Op *op) {
  double unit;
  int i;
  if (op->code != CODE_MULTIPLE_OF) return false;
  unit = program_bound(op);
  for (i = 0; i < m->views.count; i++) {
    const schema_Node *n = program_node(m->c->m.s, m->views.nodes[i]);
    int32_t j;
    for (j = n->numbers; j < n->arrays; j++) {
      const schema_Op *bound = program_op(m->c->m.s, j);
      double d = program_bound(bound);
      if (bound->code > CODE_BELOW) continue;
      if (try_number(m, ceil(d / unit) * unit) ||
          try_number(m, floor(d / unit) * unit) ||
          try_number(m, (ceil(d / unit) + 1) * unit) ||
          try_number(m, (floor(d / unit) - 1) * unit))
        return true;
    }
  }
  return false;
}

/* The middle between two bounds. */
static bool try_middle(make_Maker *m, const schema_Op *op) {
  double d;
  int i;
  if (op->code < CODE_MINIMUM || op->code > CODE_BELOW) return false;
  d = program_bound(op);
  for (i = 0; i < m->views.count; i++) {
    const schema_Node *n = program_node(m->c->m.s, m->views.nodes[i]);
    int32_t j;
    for (j = n->numbers; j < n->arrays; j++) {
      const schema_Op *other = program_op(m->c->m.s, j);
      double e = program_bound(other);
      if (other->code <= CODE_BELOW && try_number(m, (d + e) / 2)) return true;
    }
  }
  return false;
}

static bool try_numbers(make_Maker *m) {
  return try_number(m, m->salt) || make_each_op(m, try_bound) ||
         make_each_op(m, try_multiple_of) || make_each_op(m, try_middle);
}

size_t make_largest(const make_Maker *m, schema_Code code) {
  size_t n = 0;
  int i;
  for (i = 0; i < m->views.count; i++) {
    const schema_Node *node = program_node(m->c->m.s, m->views.nodes[i]);
    int32_t j;
    for (j = node->strings; j < node->end; j++) {
      const schema_Op *op = program_op(m->c->m.s, j);
      if (op->code == code && op->u.n > n) n = op->u.n;
    }
  }
  return n;
}

/* `text` repeated to `n` bytes at least. */
static bool try_repeated(make_Maker *m, const char *text, size_t n) {
  lua_State *L = m->c->m.L;
  size_t len = strlen(text), i;
  int top = lua_gettop(L);
  luaL_Buffer b;
  if (n > CREATE_MAX_TEXT) return false;
  luaL_buffinit(L, &b);
  for (i = 0; i < n; i += len == 0 ? n : len) luaL_addlstring(&b, text, len);
  luaL_pushresult(&b);
  if (make_keep(m)) return true;
  lua_settop(L, top);
  return false;
}

static bool try_strings(make_Maker *m) {
  /* One for each format that the engine knows, and what patterns often ask. */
  static const char *const samples[] = {
      "",
      "1970-01-01T00:00:00Z",
      "1970-01-01",
      "00:00:00Z",
      "P0D",
      "a@example.com",
      "example.com",
      "127.0.0.1",
      "::1",
      "http://example.com/",
      "00000000-0000-0000-0000-000000000000",
      "/",
      "0",
      "a",
      "A",
      "abc",
      "ABC",
      "-",
      "_",
      "a1",
      "#/",
      "000",
      "1.0.0",
      "#000000",
      NULL,
  };
  static const char *const units[] = {" ", "x", "X", "0", "a", "A", "1", NULL};
  size_t least = make_largest(m, CODE_MIN_LENGTH) + (size_t)m->salt;
  int i;
  if (least > 0) {
    for (i = 0; units[i] != NULL; i++) {
      if (try_repeated(m, units[i], least)) return true;
    }
  }
  for (i = 0; samples[i] != NULL; i++) {
    lua_pushstring(m->c->m.L, samples[i]);
    if (make_keep(m)) return true;
  }
  for (i = 0; units[i] != NULL; i++) {
    size_t n;
    for (n = 1; n <= 40; n++) {
      if (try_repeated(m, units[i], n)) return true;
    }
  }
  return false;
}

static int item_nodes(make_Maker *m, size_t i, int32_t *nodes) {
  int count = 0, j;
  for (j = 0; j < m->views.count; j++) {
    const schema_Node *n = program_node(m->c->m.s, m->views.nodes[j]);
    const schema_Op *op;
    int32_t node;
    if (n->items < 0) continue;
    op = program_op(m->c->m.s, n->items);
    node = i < (size_t)op->b ? *program_link(m->c->m.s, op->a + (int32_t)i)
                             : op->c;
    if (node >= 0) nodes[count++] = node;
  }
  return count;
}

/* What `contains` asks for, appended to the array on top of the stack. */
static bool add_contained(make_Maker *m, const schema_Op *op) {
  lua_State *L = m->c->m.L;
  int32_t i, nodes[CAST_VIEWS];
  if (op->code != CODE_CONTAINS) return false;
  for (i = 0; i < op->b && i < CREATE_MAX_ITEMS; i++) {
    size_t n = ops_rawlen(L, -1);
    int count = item_nodes(m, n, nodes);
    if (count < CAST_VIEWS) nodes[count++] = op->a;
    if (!make(m->c, nodes, count, m->depth + 1, (int)n)) return false;
    ops_rawseti(L, -2, n + 1);
  }
  return false;
}

/* Appends made items to the array at `array` up to `least`. */
bool make_pad(make_Maker *m, int array, size_t least) {
  lua_State *L = m->c->m.L;
  int32_t nodes[CAST_VIEWS];
  size_t n;
  if (least > CREATE_MAX_ITEMS) return false;
  for (n = ops_rawlen(L, array); n < least; n++) {
    int count = item_nodes(m, n, nodes);
    if (!make(m->c, nodes, count, m->depth + 1, (int)n)) return false;
    ops_rawseti(L, array, n + 1);
  }
  return true;
}

static bool try_array(make_Maker *m) {
  lua_State *L = m->c->m.L;
  int array;
  lua_newtable(L);
  array = lua_gettop(L);
  cast_mark_array(m->c);
  make_each_op(m, add_contained);
  lua_settop(L, array);
  if (make_pad(m, array, make_largest(m, CODE_MIN_ITEMS) + (size_t)m->salt))
    return make_keep(m);
  lua_settop(L, array - 1);
  return false;
}

/* Nodes that say what property `name` must be. */
static int property_nodes(make_Maker *m, const schema_Property *p,
                          int32_t *nodes) {
  int count = 0, i;
  for (i = 0; i < m->views.count; i++) {
    const schema_Node *n = program_node(m->c->m.s, m->views.nodes[i]);
    const schema_Property *same;
    if (n->object < 0) continue;
    same = program_find(m->c->m.s, program_object(m->c->m.s, n->object),
                        p->name, p->len);
    if (same != NULL && same->declared) nodes[count++] = same->node;
    else if (program_object(m->c->m.s, n->object)->additional >= 0)
      nodes[count++] = program_object(m->c->m.s, n->object)->additional;
  }
  return count;
}

/* Sets property `p` of the object on top of the stack, if it can be made. */
bool make_add_property(make_Maker *m, const schema_Property *p) {
  lua_State *L = m->c->m.L;
  int32_t nodes[CAST_VIEWS];
  int count = property_nodes(m, p, nodes), object = lua_gettop(L);
  ops_rawgeti(L, m->c->m.constants, (size_t)p->key);
  lua_pushvalue(L, -1);
  if (ops_rawget(L, object) == LUA_TNIL) {
    lua_pop(L, 1);
    if (make(m->c, nodes, count, m->depth + 1, m->salt)) lua_rawset(L, object);
  }
  lua_settop(L, object);
  return false;
}

static bool add_required(make_Maker *m, const schema_Op *op) {
  const schema_Object *object;
  int32_t i;
  if (op->code != CODE_MEMBERS) return false;
  object = program_object(m->c->m.s, op->a);
  for (i = 0; i < object->count; i++) {
    const schema_Property *p = program_property(m->c->m.s, object->first + i);
    if (p->required || p->default_value != 0) make_add_property(m, p);
  }
  return false;
}

bool make_add_optional(make_Maker *m, const schema_Op *op) {
  const schema_Object *object;
  int32_t i;
  if (op->code != CODE_MEMBERS) return false;
  object = program_object(m->c->m.s, op->a);
  for (i = 0; i < object->count; i++) {
    if (check_count_members(&m->c->m, lua_gettop(m->c->m.L)) >=
        make_largest(m, CODE_MIN_PROPERTIES))
      return true;
    make_add_property(m, program_property(m->c->m.s, object->first + i));
  }
  return false;
}

/* Properties by made-up names, which additionalProperties may know. */
void make_add_free(make_Maker *m, size_t least) {
  lua_State *L = m->c->m.L;
  int object = lua_gettop(L), i;
  if (least > CREATE_MAX_ITEMS) return;
  for (i = 0;
       check_count_members(&m->c->m, object) < least && i < (int)least * 2;
       i++) {
    int32_t nodes[CAST_VIEWS];
    int count = 0, j;
    for (j = 0; j < m->views.count; j++) {
      const schema_Node *n = program_node(m->c->m.s, m->views.nodes[j]);
      if (n->object >= 0 &&
          program_object(m->c->m.s, n->object)->additional >= 0)
        nodes[count++] = program_object(m->c->m.s, n->object)->additional;
    }
    lua_pushfstring(L, "property%d", i + 1);
    if (make(m->c, nodes, count, m->depth + 1, m->salt)) lua_rawset(L, object);
    lua_settop(L, object);
  }
}

/* Pushes an object with what is required of one. */
void make_push_object(make_Maker *m) {
  lua_State *L = m->c->m.L;
  size_t least = make_largest(m, CODE_MIN_PROPERTIES);
  int object;
  lua_newtable(L);
  object = lua_gettop(L);
  make_each_op(m, add_required);
  if (check_count_members(&m->c->m, object) < least)
    make_each_op(m, make_add_optional);
  if (check_count_members(&m->c->m, object) < least + (size_t)m->salt)
    make_add_free(m, least + (size_t)m->salt);
  lua_pushnil(L);
  if (lua_next(L, object)) {
    lua_pop(L, 2);
  } else {
    core_push_object_mt(L);
    lua_setmetatable(L, object);
  }
}

static bool try_object(make_Maker *m) {
  make_push_object(m);
  return make_keep(m);
}

uint16_t make_types(const make_Maker *m) {
  uint16_t types = TYPE_ANY;
  int i;
  for (i = 0; i < m->views.count; i++)
    types &= program_node(m->c->m.s, m->views.nodes[i])->types;
  return types;
}

static bool try_null(make_Maker *m) {
  lua_pushlightuserdata(m->c->m.L, NULL);
  return make_keep(m);
}

static bool try_boolean(make_Maker *m) {
  lua_pushboolean(m->c->m.L, m->salt % 2);
  if (make_keep(m)) return true;
  lua_pushboolean(m->c->m.L, (m->salt + 1) % 2);
  return make_keep(m);
}

static bool try_types(make_Maker *m) {
  uint16_t types = make_types(m);
  if (types == TYPE_ANY && try_null(m)) return true;
  if ((types & TYPE_OBJECT) && try_object(m)) return true;
  if ((types & TYPE_ARRAY) && try_array(m)) return true;
  if ((types & TYPE_STRING) && try_strings(m)) return true;
  if ((types & TYPE_NUMBER) && try_numbers(m)) return true;
  if ((types & TYPE_BOOLEAN) && try_boolean(m)) return true;
  return (types & TYPE_NULL) && try_null(m);
}

/* The schemas that apply whatever the value is: by $ref and allOf. */
void make_view(make_Maker *m, int32_t node, int depth) {
  const schema_Node *n = program_node(m->c->m.s, node);
  int32_t i;
  if (depth > 32 || m->views.count >= CAST_VIEWS) return;
  m->views.nodes[m->views.count] = node;
  m->views.weak[m->views.count++] = false;
  for (i = n->every; i < n->end; i++) {
    const schema_Op *op = program_op(m->c->m.s, i);
    if (op->code == CODE_CALL) make_view(m, op->a, depth + 1);
    if (op->code == CODE_DYNAMIC)
      make_view(m, check_dynamic(&m->c->m, op), depth + 1);
  }
}

/* With one branch of a union, or of an if, at a time. */
static bool try_branches(make_Maker *m) {
  int count = m->views.count, i;
  for (i = 0; i < count; i++) {
    const schema_Node *n = program_node(m->c->m.s, m->views.nodes[i]);
    int32_t j, k;
    for (j = n->objects; j < n->end; j++) {
      const schema_Op *op = program_op(m->c->m.s, j);
      int32_t branches[3] = {-1, -1, -1};
      const int32_t *from = branches;
      int32_t n_branches = 3;
      if (op->code == CODE_ANY_OF || op->code == CODE_ONE_OF) {
        const schema_Union *u = program_union(m->c->m.s, op->a);
        from = program_link(m->c->m.s, u->first);
        n_branches = u->count;
      } else if (op->code == CODE_IF) {
        branches[0] = op->c;
        branches[1] = op->b;
        branches[2] = op->a;
      } else {
        continue;
      }
      for (k = 0; k < n_branches; k++) {
        if (from[k] < 0) continue;
        m->views.count = count;
        make_view(m, from[k], 0);
        if (try_defaults(m) || make_each_op(m, try_member) || try_types(m))
          return true;
        if (m->count + 1 < CAST_VIEWS && m->depth < CREATE_MAX_DEPTH) {
          int32_t nodes[CAST_VIEWS];
          int32_t branch = from[k];
          memcpy(nodes, m->nodes, (size_t)m->count * sizeof(int32_t));
          nodes[m->count] = branch;
          if (branch != m->nodes[0] &&
              make(m->c, nodes, m->count + 1, m->depth + 8, m->salt))
            return true;
        }
      }
      m->views.count = count;
    }
  }
  return false;
}

/* An empty table, or one with a single made-up member. */
static bool try_table(make_Maker *m, bool array, bool full) {
  lua_State *L = m->c->m.L;
  lua_newtable(L);
  if (array) core_push_array_mt(L);
  else core_push_object_mt(L);
  lua_setmetatable(L, -2);
  if (full) {
    lua_pushboolean(L, 0);
    if (array) ops_rawseti(L, -2, 1);
    else lua_setfield(L, -2, "property1");
  }
  return make_keep(m);
}

/* What is left: `not` says only what a value must not be. */
static bool try_anything(make_Maker *m) {
  static const double numbers[] = {0, 1, -1, 0.5, 2, 3, 10, 1000000};
  size_t i;
  for (i = 0; i < sizeof(numbers) / sizeof(numbers[0]); i++) {
    if (try_number(m, numbers[i])) return true;
  }
  return try_table(m, false, false) || try_table(m, true, false) ||
         try_table(m, false, true) || try_table(m, true, true) || try_null(m) ||
         try_boolean(m) || try_strings(m);
}

static bool make(cast_Machine *c, const int32_t *nodes, int count, int depth,
                 int salt) {
  make_Maker m;
  int i;
  if (depth > CREATE_MAX_DEPTH || ++c->made > CREATE_BUDGET ||
      !ops_checkstack(c->m.L, 24))
    return false;
  memset(&m, 0, sizeof(m));
  m.c = c;
  m.nodes = nodes;
  m.count = count;
  m.depth = depth;
  m.salt = salt;
  for (i = 0; i < count; i++) make_view(&m, nodes[i], 0);
  if (count == 0) {
    core_push_integer(c->m.L, salt);
    return true;
  }
  return try_defaults(&m) || make_each_op(&m, try_member) || try_types(&m) ||
         try_branches(&m) || try_anything(&m);
}

/* What was made for the first of the nodes before, if it conforms to all of
** them: many values may miss the same schema. */
static bool push_known(cast_Machine *c, const int32_t *nodes, int count) {
  lua_State *L = c->m.L;
  int known = lua_gettop(L) + 1;
  ops_rawgeti(L, c->known, (size_t)nodes[0] + 1);
  fill_push_copy(&c->m, known);
  lua_remove(L, known);
  if (!lua_isnil(L, known) && cast_conforms(c, nodes, count, known))
    return true;
  lua_pop(L, 1);
  return false;
}

bool cast_create(cast_Machine *c, const int32_t *nodes, int count) {
  lua_State *L = c->m.L;
  if (push_known(c, nodes, count)) return true;
  if (!make(c, nodes, count, 0, 0)) return false;
  fill_push_copy(&c->m, lua_gettop(L));
  ops_rawseti(L, c->known, (size_t)nodes[0] + 1);
  return true;
}
