#include "schema_check.h"
#include "schema_value.h"

#include <float.h>
#include <math.h>

#define STACK_BLOCK 32 /* slots asked for in advance */
#define ITEMS_BLOCK 16 /* items looked at before they are popped */

void check_start_at(check_Machine *m, lua_State *L, int schema, int top) {
  memset(m, 0, sizeof(*m));
  m->L = L;
  m->s = (const schema_Schema *)lua_touserdata(L, schema);
  m->core = m->s->core;
  ops_getuservalue(L, schema);
  m->constants = m->top = top + 1;
}

void check_start(check_Machine *m, lua_State *L, int schema) {
  check_start_at(m, L, schema, lua_gettop(L));
}

size_t check_count_members(lua_State *L, int v) {
  size_t n = 0;
  lua_pushnil(L);
  while (lua_next(L, v)) {
    lua_pop(L, 1);
    n++;
  }
  return n;
}

bool check_has_key(check_Machine *m, int v, int32_t key) {
  bool has;
  ops_rawgeti(m->L, m->constants, (size_t)key);
  has = ops_rawget(m->L, v) != LUA_TNIL;
  lua_pop(m->L, 1);
  return has;
}

int32_t check_dynamic(const check_Machine *m, const schema_Op *op) {
  const check_Scope *scope;
  int32_t node = op->a, i;
  for (scope = m->scope; scope != NULL; scope = scope->outer) {
    for (i = 0; i < (int32_t)m->s->dynamics.count; i++) {
      const schema_Dynamic *d = program_dynamic(m->s, i);
      if (d->resource == scope->resource && d->name == op->b) node = d->node;
    }
  }
  return node;
}

static bool too_deep(check_Machine *m) {
  m->too_deep = true;
  return false;
}

/* Room for `n` more values above m->top: asked for in blocks. */
static inline bool reserve(check_Machine *m, int n) {
  if (m->top + n <= m->room) return true;
  if (!ops_checkstack(m->L, n + STACK_BLOCK)) return too_deep(m);
  m->room = m->top + n + STACK_BLOCK;
  return true;
}

/* A collection may have shrunk the stack (LuaJIT). */
static void forget_room(check_Machine *m) {
  m->room = 0;
}

static bool check_rest(check_Machine *m, int32_t node, const schema_Node *n,
                       int v, int t, uint16_t type);
static bool check_table(check_Machine *m, int32_t node, const schema_Node *n,
                        int v);
static bool check_members(check_Machine *m, const schema_Node *n, int v);

static bool check_text_op(check_Machine *m, const schema_Op *op, const char *s,
                          size_t len) {
  int match;
  switch (op->code) {
  case CODE_MIN_LENGTH: /* a code point has at most four bytes */
    if (len < op->u.n) return false;
    return len / 4 >= op->u.n || schema_text_length(s, len) >= op->u.n;
  case CODE_MAX_LENGTH:
    return len <= op->u.n || schema_text_length(s, len) <= op->u.n;
  case CODE_PATTERN:
    match = regex_match(*program_regex(m->s, op->a), s, len);
    if (match < 0) m->too_deep = true;
    return match > 0;
  default: return op->u.format(s, len);
  }
}

static bool is_text_member(const check_Machine *m, const schema_Op *op,
                           const char *s, size_t len) {
  const schema_Member *member = program_member(m->s, op->a);
  const schema_Member *end = member + op->b;
  for (; member < end; member++) {
    if (program_same(s, len, member->text, member->len)) return true;
  }
  return false;
}

/* A string, when no other node is asked. */
static bool check_text(check_Machine *m, const schema_Node *n, int v) {
  size_t len;
  const char *s = lua_tolstring(m->L, v, &len);
  const schema_Op *op = program_op(m->s, n->strings);
  const schema_Op *end = program_op(m->s, n->numbers);
  for (; op < end; op++) {
    if (!check_text_op(m, op, s, len)) return false;
  }
  op = program_op(m->s, n->every);
  end = program_op(m->s, n->end);
  for (; op < end; op++) {
    if (!is_text_member(m, op, s, len)) return false;
  }
  return true;
}

/* A number within 2^53 is its double: type and bounds need one look. */
static inline bool check_number(check_Machine *m, int32_t node,
                                const schema_Node *n, int v) {
  lua_Number d = lua_tonumber(m->L, v);
  uint16_t type;
  if (n->bounded && fabs(d) < (double)OPS_MAX_SAFE_INTEGER) {
    type = (double)(int64_t)d == d ? TYPE_INTEGER : TYPE_FRACTION;
    return (n->types & type) != 0 && d >= n->low && d <= n->high;
  }
  type = schema_type_of(m->L, m->core, v, LUA_TNUMBER, n->types);
  return (type & n->types) != 0 &&
         (n->simple || check_rest(m, node, n, v, LUA_TNUMBER, type));
}

/* check_node with m->top known. */
static inline bool check_here(check_Machine *m, int32_t node, int v, int t) {
  const schema_Node *n = program_node(m->s, node);
  uint16_t type;
  if (n->forwards) n = program_node(m->s, node = n->target);
  switch (t) {
  case LUA_TSTRING:
    if ((n->types & TYPE_STRING) == 0) return false;
    if (n->simple) return true;
    if (n->leaf) return check_text(m, n, v);
    return check_rest(m, node, n, v, t, TYPE_STRING);
  case LUA_TNUMBER: return check_number(m, node, n, v);
  case LUA_TTABLE:
    return (n->types & (TYPE_ARRAY | TYPE_OBJECT)) != 0 &&
           check_table(m, node, n, v);
  default:
    type = schema_type_of(m->L, m->core, v, t, n->types);
    return (type & n->types) != 0 &&
           (n->simple || check_rest(m, node, n, v, t, type));
  }
}

/* Known names are looked up; others are nobody's business. */
static bool check_known_members(check_Machine *m, const schema_Object *object,
                                int v) {
  lua_State *L = m->L;
  const schema_Property *p = program_property(m->s, object->first);
  const schema_Property *end = p + object->count;
  int top = m->top;
  bool ok = true;
  if (!reserve(m, object->count + 8)) return false;
  for (; ok && p < end; p++) {
    int t;
    ops_rawgeti(L, m->constants, (size_t)p->key);
    t = ops_rawget(L, v);
    m->top++;
    if (t == LUA_TNIL) ok = !p->required;
    else ok = check_here(m, p->node, m->top, t);
  }
  m->top = top;
  lua_settop(L, top);
  return ok;
}

/* The member at `key`, `key` + 1 against all that applies to it. */
static bool check_member(check_Machine *m, const schema_Object *object, int key,
                         int t, int32_t *required) {
  size_t len;
  const char *name = lua_tolstring(m->L, key, &len);
  const schema_Property *p = program_find(m->s, object, name, len);
  bool known = false;
  int32_t i;
  if (p != NULL) {
    *required -= p->required;
    known = p->declared;
    if (known && !check_here(m, p->node, key + 1, t)) return false;
  }
  for (i = 0; i < object->patterns; i++) {
    const schema_Pattern *pattern = program_pattern(m->s, object->pattern + i);
    int match = regex_match(*program_regex(m->s, pattern->regex), name, len);
    if (match < 0) return too_deep(m);
    if (match == 0) continue;
    known = true;
    if (!check_here(m, pattern->node, key + 1, t)) return false;
  }
  return known || object->additional < 0 ||
         check_here(m, object->additional, key + 1, t);
}

static bool check_all_members(check_Machine *m, const schema_Object *object,
                              int v) {
  lua_State *L = m->L;
  int top = m->top, key = top + 1;
  int32_t required = object->required;
  bool quick = m->s->by_address && object->count > 0 && object->patterns == 0;
  bool ok = true;
  if (!reserve(m, 8)) return false;
  lua_pushnil(L);
  m->top = top + 2;
  while (ok && lua_next(L, v)) {
    const schema_Property *p =
        quick ? program_find_address(m->s, object, lua_topointer(L, key))
              : NULL;
    int t = lua_type(L, key + 1);
    if (p != NULL && p->declared) {
      required -= p->required;
      ok = check_here(m, p->node, key + 1, t);
    } else {
      ok = lua_type(L, key) == LUA_TSTRING &&
           check_member(m, object, key, t, &required);
    }
    lua_settop(L, key);
  }
  m->top = top;
  if (!ok) lua_settop(L, top);
  return ok && required == 0;
}

static bool check_property_names(check_Machine *m, int32_t node, int v) {
  lua_State *L = m->L;
  int top = m->top;
  bool ok = true;
  if (!reserve(m, 8)) return false;
  lua_pushnil(L);
  m->top = top + 2;
  while (ok && lua_next(L, v)) {
    ok = lua_type(L, top + 1) == LUA_TSTRING &&
         check_here(m, node, top + 1, LUA_TSTRING);
    lua_settop(L, top + 1);
  }
  m->top = top;
  lua_settop(L, top);
  return ok;
}

static bool check_items(check_Machine *m, const schema_Op *op, int v,
                        size_t n) {
  lua_State *L = m->L;
  size_t i, tuple = (size_t)op->b;
  int top = m->top;
  bool ok = true;
  if (op->c < 0 && tuple < n) n = tuple;
  if (!reserve(m, ITEMS_BLOCK + 8)) return false;
  for (i = 0; ok && i < n; i++) {
    int t = ops_rawgeti(L, v, i + 1);
    int32_t node = i < tuple ? *program_link(m->s, op->a + (int32_t)i) : op->c;
    ok = check_here(m, node, ++m->top, t);
    if (m->top < top + ITEMS_BLOCK) continue;
    m->top = top;
    lua_settop(L, top);
  }
  m->top = top;
  lua_settop(L, top);
  return ok;
}

size_t check_count_contained(check_Machine *m, const schema_Op *op, int v,
                             size_t enough) {
  lua_State *L = m->L;
  size_t n = ops_rawlen(L, v), i, count = 0;
  int top = lua_gettop(L);
  if (!ops_checkstack(L, 8)) return 0;
  for (i = 1; i <= n && count < enough; i++) {
    int t = ops_rawgeti(L, v, i);
    if (check_node(m, op->a, top + 1, t)) count++;
    lua_settop(L, top);
  }
  return count;
}

static bool check_contains(check_Machine *m, const schema_Op *op, int v) {
  size_t least = (size_t)op->b;
  size_t enough = op->c < 0 ? least : (size_t)op->c + 1;
  size_t count;
  if (enough < least) enough = least;
  count = check_count_contained(m, op, v, enough);
  return count >= least && (op->c < 0 || count <= (size_t)op->c);
}

/* The branch that the value of the discriminating property names, or -1. */
static int32_t tagged_branch(check_Machine *m, const schema_Union *u, int v) {
  lua_State *L = m->L;
  const char *s;
  size_t len;
  int32_t i, branch = -1;
  ops_rawgeti(L, m->constants, (size_t)u->key);
  if (ops_rawget(L, v) == LUA_TSTRING) {
    s = lua_tolstring(L, -1, &len);
    for (i = 0; i < u->tags && branch < 0; i++) {
      const schema_Tag *tag = program_tag(m->s, u->tag + i);
      if (program_same(s, len, tag->text, tag->len)) branch = tag->branch;
    }
  }
  lua_pop(L, 1);
  return branch;
}

int32_t check_tagged_branch(check_Machine *m, const schema_Union *u, int v) {
  if (u->key == 0 || lua_type(m->L, v) != LUA_TTABLE) return -1;
  return tagged_branch(m, u, v);
}

static bool check_union(check_Machine *m, const schema_Op *op, int v, int t,
                        uint16_t type) {
  const schema_Union *u = program_union(m->s, op->a);
  const int32_t *branch = program_link(m->s, u->first);
  int32_t i, matches = 0;
  if (u->key != 0 && type == TYPE_OBJECT &&
      (i = tagged_branch(m, u, v)) >= 0) { /* a tag's branch takes objects */
    int32_t node = program_node(m->s, branch[i])->target;
    const schema_Node *n = program_node(m->s, node);
    if (m->s->has_dynamic) return check_here(m, branch[i], v, t);
    return n->members ? check_members(m, n, v)
                      : check_rest(m, node, n, v, t, type);
  }
  for (i = 0; i < u->count; i++) {
    if (!check_here(m, branch[i], v, t)) continue;
    if (op->code == CODE_ANY_OF) return true;
    if (++matches > 1) return false;
  }
  return matches == 1;
}

static bool check_if(check_Machine *m, const schema_Op *op, int v, int t) {
  int32_t node = check_here(m, op->a, v, t) ? op->b : op->c;
  return node < 0 || check_here(m, node, v, t);
}

static bool check_enum(check_Machine *m, const schema_Op *op, int v,
                       uint16_t type) {
  const schema_Member *member = program_member(m->s, op->a);
  int32_t i;
  for (i = 0; i < op->b; i++) {
    if (schema_is_member(m->L, m->core, m->constants, member + i, v, type))
      return true;
  }
  return false;
}

static bool check_dependent_required(check_Machine *m, const schema_Op *op,
                                     int v) {
  int32_t i;
  if (!check_has_key(m, v, op->c)) return true;
  for (i = 0; i < op->b; i++) {
    if (!check_has_key(m, v, *program_link(m->s, op->a + i))) return false;
  }
  return true;
}

static bool check_number_format(check_Machine *m, const schema_Op *op, int v,
                                uint16_t type) {
  int64_t n;
  if (op->b == NUMBER_FORMAT_FLOAT)
    return fabs(lua_tonumber(m->L, v)) <= (double)FLT_MAX;
  if (type != TYPE_INTEGER || !value_is_integer(m->L, v, &n)) return false;
  return op->b == NUMBER_FORMAT_INT64 || (n >= INT32_MIN && n <= INT32_MAX);
}

static bool check_string_op(check_Machine *m, const schema_Op *op, int v) {
  size_t len;
  const char *s = lua_tolstring(m->L, v, &len);
  return check_text_op(m, op, s, len);
}

static bool check_number_op(check_Machine *m, const schema_Op *op, int v,
                            uint16_t type) {
  switch (op->code) {
  case CODE_MINIMUM: return schema_compare(m->L, v, op) >= 0;
  case CODE_MAXIMUM: return schema_compare(m->L, v, op) <= 0;
  case CODE_ABOVE: return schema_compare(m->L, v, op) > 0;
  case CODE_BELOW: return schema_compare(m->L, v, op) < 0;
  case CODE_MULTIPLE_OF: return schema_is_multiple(m->L, v, op);
  default: return check_number_format(m, op, v, type);
  }
}

static bool check_array_op(check_Machine *m, const schema_Op *op, int v,
                           size_t n) {
  size_t first, second;
  bool twins;
  switch (op->code) {
  case CODE_MIN_ITEMS: return n >= op->u.n;
  case CODE_MAX_ITEMS: return n <= op->u.n;
  case CODE_ITEMS: return check_items(m, op, v, n);
  case CODE_CONTAINS: return check_contains(m, op, v);
  default:
    twins = schema_find_twins(m->L, m->core, v, n, &first, &second);
    forget_room(m);
    return !twins;
  }
}

static bool check_object_op(check_Machine *m, const schema_Op *op, int v) {
  const schema_Object *object;
  switch (op->code) {
  case CODE_MEMBERS:
    object = program_object(m->s, op->a);
    return object->whole ? check_all_members(m, object, v)
                         : check_known_members(m, object, v);
  case CODE_MIN_PROPERTIES: return check_count_members(m->L, v) >= op->u.n;
  case CODE_MAX_PROPERTIES: return check_count_members(m->L, v) <= op->u.n;
  case CODE_PROPERTY_NAMES: return check_property_names(m, op->a, v);
  case CODE_DEPENDENT_REQUIRED: return check_dependent_required(m, op, v);
  default:
    return !check_has_key(m, v, op->c) || check_here(m, op->a, v, LUA_TTABLE);
  }
}

static bool check_every_op(check_Machine *m, int32_t node, const schema_Op *op,
                           int v, int t, uint16_t type) {
  switch (op->code) {
  case CODE_ENUM:
  case CODE_CONST: return check_enum(m, op, v, type);
  case CODE_CALL: return check_here(m, op->a, v, t);
  case CODE_DYNAMIC: return check_here(m, check_dynamic(m, op), v, t);
  case CODE_ANY_OF:
  case CODE_ONE_OF: return check_union(m, op, v, t, type);
  case CODE_NOT: return !check_here(m, op->a, v, t);
  case CODE_IF: return check_if(m, op, v, t);
  case CODE_UNEVALUATED_ITEMS:
    return type != TYPE_ARRAY || check_unevaluated_items(m, node, op, v);
  default:
    return type != TYPE_OBJECT || check_unevaluated_properties(m, node, op, v);
  }
}

static bool check_one_op(check_Machine *m, int32_t node, const schema_Op *op,
                         int v, uint16_t type) {
  schema_Code code = (schema_Code)op->code;
  if (code < CODE_MIN_LENGTH || code == CODE_UNEVALUATED_ITEMS ||
      code == CODE_UNEVALUATED_PROPERTIES)
    return check_every_op(m, node, op, v, lua_type(m->L, v), type);
  if (code < CODE_MINIMUM) return check_string_op(m, op, v);
  if (code < CODE_MIN_ITEMS) return check_number_op(m, op, v, type);
  if (code < CODE_MIN_PROPERTIES)
    return check_array_op(m, op, v, ops_rawlen(m->L, v));
  return check_object_op(m, op, v);
}

static bool check_array(check_Machine *m, const schema_Node *n, int v) {
  const schema_Op *op = program_op(m->s, n->arrays);
  const schema_Op *end = program_op(m->s, n->objects);
  ptrdiff_t length = value_array_length(m->L, v);
  if (length < 0 || (n->items < 0 && !schema_is_sequence(m->L, v, false)))
    return false;
  for (; op < end; op++) {
    if (!check_array_op(m, op, v, (size_t)length)) return false;
  }
  return true;
}

static bool check_kind(check_Machine *m, const schema_Node *n, int v,
                       uint16_t type) {
  const schema_Op *op, *end;
  switch (type) {
  case TYPE_STRING:
    op = program_op(m->s, n->strings);
    end = program_op(m->s, n->numbers);
    for (; op < end; op++) {
      if (!check_string_op(m, op, v)) return false;
    }
    return true;
  case TYPE_INTEGER:
  case TYPE_FRACTION:
    op = program_op(m->s, n->numbers);
    end = program_op(m->s, n->arrays);
    for (; op < end; op++) {
      if (!check_number_op(m, op, v, type)) return false;
    }
    return true;
  case TYPE_ARRAY: return check_array(m, n, v);
  case TYPE_OBJECT:
    op = program_op(m->s, n->objects);
    end = program_op(m->s, n->every);
    for (; op < end; op++) {
      if (!check_object_op(m, op, v)) return false;
    }
    return true;
  default: return true;
  }
}

static bool check_ops(check_Machine *m, int32_t node, const schema_Node *n,
                      int v, int t, uint16_t type) {
  const schema_Op *op, *end;
  if (!check_kind(m, n, v, type)) return false;
  op = program_op(m->s, n->every);
  end = program_op(m->s, n->end);
  for (; op < end; op++) {
    if (!check_every_op(m, node, op, v, t, type)) return false;
  }
  return true;
}

static bool check_in_scope(check_Machine *m, int32_t node, const schema_Node *n,
                           int v, int t, uint16_t type) {
  check_Scope scope;
  bool ok;
  if (m->scope != NULL && m->scope->resource == n->resource)
    return check_ops(m, node, n, v, t, type);
  scope.outer = m->scope;
  scope.resource = n->resource;
  m->scope = &scope;
  ok = check_ops(m, node, n, v, t, type);
  m->scope = scope.outer;
  return ok;
}

/* What a node asks beyond the type. */
static bool check_rest(check_Machine *m, int32_t node, const schema_Node *n,
                       int v, int t, uint16_t type) {
  bool ok;
  if (m->depth >= CHECK_MAX_DEPTH || !reserve(m, 8)) return too_deep(m);
  m->depth++;
  ok = m->s->has_dynamic ? check_in_scope(m, node, n, v, t, type)
                         : check_ops(m, node, n, v, t, type);
  m->depth--;
  return ok;
}

/* An object of which nothing but its members is to check. */
static bool check_members(check_Machine *m, const schema_Node *n, int v) {
  const schema_Object *object = program_object(m->s, n->object);
  bool ok;
  if (m->depth >= CHECK_MAX_DEPTH) return too_deep(m);
  m->depth++;
  ok = object->whole ? check_all_members(m, object, v)
                     : check_known_members(m, object, v);
  m->depth--;
  return ok;
}

static uint16_t table_type(check_Machine *m, const schema_Node *n, int v) {
  const void *mt;
  if (!lua_getmetatable(m->L, v)) {
    /* every member will be looked at: numbers among the keys are found */
    if (n->whole) return TYPE_OBJECT;
    return schema_type_of_unmarked(m->L, v, n->types);
  }
  mt = lua_topointer(m->L, -1);
  lua_pop(m->L, 1);
  if (mt == m->core->array_mt) return TYPE_ARRAY;
  if (mt == m->core->object_mt) return TYPE_OBJECT;
  forget_room(m);
  return schema_type_of(m->L, m->core, v, LUA_TTABLE, n->types);
}

static bool check_table(check_Machine *m, int32_t node, const schema_Node *n,
                        int v) {
  uint16_t type;
  if (!reserve(m, 8)) return false;
  type = table_type(m, n, v);
  if ((type & n->types) == 0) return false;
  if (n->simple)
    return type != TYPE_ARRAY || schema_is_sequence(m->L, v, false);
  if (n->members && type == TYPE_OBJECT) return check_members(m, n, v);
  return check_rest(m, node, n, v, LUA_TTABLE, type);
}

/* Others may have pushed and popped since the machine ran last. */
static int enter(check_Machine *m) {
  int top = m->top;
  m->top = lua_gettop(m->L);
  m->room = 0;
  return top;
}

bool check_node(check_Machine *m, int32_t node, int v, int t) {
  int top = enter(m);
  bool ok = check_here(m, node, v, t);
  m->top = top;
  m->room = 0;
  return ok;
}

bool check_op(check_Machine *m, int32_t node, const schema_Op *op, int v,
              uint16_t type) {
  int top = enter(m);
  bool ok = reserve(m, 8) && check_one_op(m, node, op, v, type);
  m->top = top;
  m->room = 0;
  return ok;
}

bool check_value(check_Machine *m, int32_t node, int v) {
  return check_node(m, node, v, lua_type(m->L, v)) && !m->too_deep;
}

bool check_root(check_Machine *m, int v, int t) {
  return check_here(m, m->s->root, v, t) && !m->too_deep;
}
