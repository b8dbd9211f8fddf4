#include "schema_check.h"
#include "schema_value.h"

#include <float.h>
#include <math.h>

void check_start(check_Machine *m, lua_State *L, int schema) {
  memset(m, 0, sizeof(*m));
  m->L = L;
  m->s = (const schema_Schema *)lua_touserdata(L, schema);
  m->core = m->s->core;
  ops_getuservalue(L, schema);
  m->constants = lua_gettop(L);
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

/* Known names are looked up; others are nobody's business. */
static bool check_known_members(check_Machine *m, const schema_Object *object,
                                int v) {
  lua_State *L = m->L;
  const schema_Property *p = program_property(m->s, object->first);
  const schema_Property *end = p + object->count;
  int top = lua_gettop(L), at = top;
  bool ok = true;
  if (!lua_checkstack(L, object->count + 8)) return too_deep(m);
  for (; p < end; p++) {
    int t;
    ops_rawgeti(L, m->constants, (size_t)p->key);
    t = ops_rawget(L, v);
    at++;
    if (t == LUA_TNIL) ok = !p->required;
    else ok = check_node(m, p->node, at, t);
    if (!ok) break;
  }
  lua_settop(L, top);
  return ok;
}

/* The member at `key`, `key` + 1 against all that applies to it. */
static bool check_member(check_Machine *m, const schema_Object *object, int key,
                         int32_t *required) {
  size_t len;
  const char *name = lua_tolstring(m->L, key, &len);
  const schema_Property *p = program_find(m->s, object, name, len);
  int t = lua_type(m->L, key + 1);
  bool known = false;
  int32_t i;
  if (p != NULL) {
    *required -= p->required;
    known = p->declared;
    if (known && !check_node(m, p->node, key + 1, t)) return false;
  }
  for (i = 0; i < object->patterns; i++) {
    const schema_Pattern *pattern = program_pattern(m->s, object->pattern + i);
    int match = regex_match(*program_regex(m->s, pattern->regex), name, len);
    if (match < 0) return too_deep(m);
    if (match == 0) continue;
    known = true;
    if (!check_node(m, pattern->node, key + 1, t)) return false;
  }
  return known || object->additional < 0 ||
         check_node(m, object->additional, key + 1, t);
}

static bool check_all_members(check_Machine *m, const schema_Object *object,
                              int v) {
  lua_State *L = m->L;
  int top = lua_gettop(L);
  int32_t required = object->required;
  if (!lua_checkstack(L, 8)) return too_deep(m);
  lua_pushnil(L);
  while (lua_next(L, v)) {
    if (lua_type(L, top + 1) != LUA_TSTRING ||
        !check_member(m, object, top + 1, &required)) {
      lua_settop(L, top);
      return false;
    }
    lua_settop(L, top + 1);
  }
  return required == 0;
}

static bool check_property_names(check_Machine *m, int32_t node, int v) {
  lua_State *L = m->L;
  int top = lua_gettop(L);
  bool ok = true;
  if (!lua_checkstack(L, 8)) return too_deep(m);
  lua_pushnil(L);
  while (ok && lua_next(L, v)) {
    ok = lua_type(L, top + 1) == LUA_TSTRING &&
         check_node(m, node, top + 1, LUA_TSTRING);
    lua_settop(L, top + 1);
  }
  lua_settop(L, top);
  return ok;
}

static bool check_items(check_Machine *m, const schema_Op *op, int v) {
  lua_State *L = m->L;
  size_t n = ops_rawlen(L, v), i, tuple = (size_t)op->b;
  int top = lua_gettop(L);
  bool ok = true;
  if (!lua_checkstack(L, 8)) return too_deep(m);
  for (i = 0; ok && i < n && i < tuple; i++) {
    int t = ops_rawgeti(L, v, i + 1);
    ok = check_node(m, *program_link(m->s, op->a + (int32_t)i), top + 1, t);
    lua_settop(L, top);
  }
  if (op->c < 0) return ok;
  for (; ok && i < n; i++) {
    int t = ops_rawgeti(L, v, i + 1);
    ok = check_node(m, op->c, top + 1, t);
    lua_settop(L, top);
  }
  return ok;
}

size_t check_count_contained(check_Machine *m, const schema_Op *op, int v,
                             size_t enough) {
  lua_State *L = m->L;
  size_t n = ops_rawlen(L, v), i, count = 0;
  int top = lua_gettop(L);
  if (!lua_checkstack(L, 8)) return 0;
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

static bool check_union(check_Machine *m, const schema_Op *op, int v) {
  const schema_Union *u = program_union(m->s, op->a);
  int t = lua_type(m->L, v);
  int32_t i, matches = 0;
  if (u->key != 0 && t == LUA_TTABLE && (i = tagged_branch(m, u, v)) >= 0)
    return check_node(m, *program_link(m->s, u->first + i), v, t);
  for (i = 0; i < u->count; i++) {
    if (!check_node(m, *program_link(m->s, u->first + i), v, t)) continue;
    if (op->code == CODE_ANY_OF) return true;
    if (++matches > 1) return false;
  }
  return matches == 1;
}

static bool check_if(check_Machine *m, const schema_Op *op, int v) {
  int t = lua_type(m->L, v);
  int32_t node = check_node(m, op->a, v, t) ? op->b : op->c;
  return node < 0 || check_node(m, node, v, t);
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

static bool check_unevaluated_properties(check_Machine *m, int32_t node,
                                         const schema_Op *op, int v) {
  lua_State *L = m->L;
  int top = lua_gettop(L);
  bool ok = true;
  if (!lua_checkstack(L, 8)) return too_deep(m);
  lua_pushnil(L);
  while (ok && lua_next(L, v)) {
    size_t len;
    const char *name;
    ok = lua_type(L, top + 1) == LUA_TSTRING;
    if (ok) {
      name = lua_tolstring(L, top + 1, &len);
      ok = check_knows_key(m, node, v, name, len, true) ||
           check_node(m, op->a, top + 2, lua_type(L, top + 2));
    }
    lua_settop(L, top + 1);
  }
  lua_settop(L, top);
  return ok;
}

static bool check_unevaluated_items(check_Machine *m, int32_t node,
                                    const schema_Op *op, int v) {
  lua_State *L = m->L;
  size_t n = ops_rawlen(L, v), i;
  int top = lua_gettop(L);
  bool ok = true;
  if (!lua_checkstack(L, 8)) return too_deep(m);
  for (i = 0; ok && i < n; i++) {
    int t = ops_rawgeti(L, v, i + 1);
    ok = check_knows_item(m, node, v, i, top + 1) ||
         check_node(m, op->a, top + 1, t);
    lua_settop(L, top);
  }
  return ok;
}

static bool check_string_op(check_Machine *m, const schema_Op *op, int v) {
  size_t len;
  const char *s = lua_tolstring(m->L, v, &len);
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

static bool check_array_op(check_Machine *m, const schema_Op *op, int v) {
  size_t first, second;
  switch (op->code) {
  case CODE_MIN_ITEMS: return ops_rawlen(m->L, v) >= op->u.n;
  case CODE_MAX_ITEMS: return ops_rawlen(m->L, v) <= op->u.n;
  case CODE_ITEMS: return check_items(m, op, v);
  case CODE_CONTAINS: return check_contains(m, op, v);
  default:
    return !schema_find_twins(m->L, m->core, v, ops_rawlen(m->L, v), &first,
                              &second);
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
    return !check_has_key(m, v, op->c) || check_node(m, op->a, v, LUA_TTABLE);
  }
}

static bool check_every_op(check_Machine *m, int32_t node, const schema_Op *op,
                           int v, uint16_t type) {
  switch (op->code) {
  case CODE_ENUM:
  case CODE_CONST: return check_enum(m, op, v, type);
  case CODE_CALL: return check_node(m, op->a, v, lua_type(m->L, v));
  case CODE_DYNAMIC:
    return check_node(m, check_dynamic(m, op), v, lua_type(m->L, v));
  case CODE_ANY_OF:
  case CODE_ONE_OF: return check_union(m, op, v);
  case CODE_NOT: return !check_node(m, op->a, v, lua_type(m->L, v));
  case CODE_IF: return check_if(m, op, v);
  case CODE_UNEVALUATED_ITEMS:
    return type != TYPE_ARRAY || check_unevaluated_items(m, node, op, v);
  default:
    return type != TYPE_OBJECT || check_unevaluated_properties(m, node, op, v);
  }
}

bool check_op(check_Machine *m, int32_t node, const schema_Op *op, int v,
              uint16_t type) {
  schema_Code code = (schema_Code)op->code;
  if (code < CODE_MIN_LENGTH || code == CODE_UNEVALUATED_ITEMS ||
      code == CODE_UNEVALUATED_PROPERTIES)
    return check_every_op(m, node, op, v, type);
  if (code < CODE_MINIMUM) return check_string_op(m, op, v);
  if (code < CODE_MIN_ITEMS) return check_number_op(m, op, v, type);
  if (code < CODE_MIN_PROPERTIES) return check_array_op(m, op, v);
  return check_object_op(m, op, v);
}

static bool check_ops(check_Machine *m, int32_t node, const schema_Node *n,
                      int v, uint16_t type) {
  const schema_Op *op, *end;
  switch (type) {
  case TYPE_STRING:
    op = program_op(m->s, n->strings);
    end = program_op(m->s, n->numbers);
    for (; op < end; op++) {
      if (!check_string_op(m, op, v)) return false;
    }
    break;
  case TYPE_INTEGER:
  case TYPE_FRACTION:
    op = program_op(m->s, n->numbers);
    end = program_op(m->s, n->arrays);
    for (; op < end; op++) {
      if (!check_number_op(m, op, v, type)) return false;
    }
    break;
  case TYPE_ARRAY:
    op = program_op(m->s, n->arrays);
    end = program_op(m->s, n->objects);
    if (!schema_is_sequence(m->L, v, n->items >= 0)) return false;
    for (; op < end; op++) {
      if (!check_array_op(m, op, v)) return false;
    }
    break;
  case TYPE_OBJECT:
    op = program_op(m->s, n->objects);
    end = program_op(m->s, n->every);
    for (; op < end; op++) {
      if (!check_object_op(m, op, v)) return false;
    }
    break;
  default: break;
  }
  op = program_op(m->s, n->every);
  end = program_op(m->s, n->end);
  for (; op < end; op++) {
    if (!check_every_op(m, node, op, v, type)) return false;
  }
  return true;
}

static bool check_in_scope(check_Machine *m, int32_t node, const schema_Node *n,
                           int v, uint16_t type) {
  check_Scope scope;
  bool ok;
  if (m->scope != NULL && m->scope->resource == n->resource)
    return check_ops(m, node, n, v, type);
  scope.outer = m->scope;
  scope.resource = n->resource;
  m->scope = &scope;
  ok = check_ops(m, node, n, v, type);
  m->scope = scope.outer;
  return ok;
}

bool check_node(check_Machine *m, int32_t node, int v, int t) {
  const schema_Node *n = program_node(m->s, node);
  uint16_t type = schema_type_of(m->L, m->core, v, t, n->types);
  bool ok;
  if ((type & n->types) == 0) return false;
  if (n->simple)
    return type != TYPE_ARRAY || schema_is_sequence(m->L, v, false);
  if (m->depth >= CHECK_MAX_DEPTH || !lua_checkstack(m->L, 8))
    return too_deep(m);
  m->depth++;
  ok = m->s->has_dynamic ? check_in_scope(m, node, n, v, type)
                         : check_ops(m, node, n, v, type);
  m->depth--;
  return ok;
}

bool check_value(check_Machine *m, int32_t node, int v) {
  return check_node(m, node, v, lua_type(m->L, v)) && !m->too_deep;
}
