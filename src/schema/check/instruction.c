/*
** instruction.c - the instructions of a node beside its acts
** (schema/check/check.h): one function for each kind of value.
*/
#include "schema/check/check.h"
#include "schema/check/equal.h"

#include <float.h>
#include <math.h>

size_t check_count_members(check_Machine *m, int v) {
  lua_State *L = m->L;
  size_t n = 0;
  lua_pushnil(L);
  while (lua_next(L, v)) {
    lua_pop(L, 1);
    check_walked(m, ++n);
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

/* The outermost resource with the anchor decides. */
int32_t check_dynamic(check_Machine *m, const schema_Op *op) {
  const check_Scope *scope;
  int32_t node = op->a, i;
  for (scope = m->scope; scope != NULL; scope = scope->outer) {
    m->left -= (int64_t)m->s->dynamics.count / CHECK_STEP_ITEMS;
    for (i = 0; i < (int32_t)m->s->dynamics.count; i++) {
      const schema_Dynamic *d = program_dynamic(m->s, i);
      if (d->resource == scope->resource && d->name == op->b) node = d->node;
    }
  }
  return node;
}

void check_forget_room(check_Machine *m) {
  m->room = 0;
}

static bool check_property_names(check_Machine *m, int32_t node, int v) {
  lua_State *L = m->L;
  int top = m->top;
  size_t n = 0;
  bool ok = true;
  if (!check_reserve(m, 8)) return false;
  lua_pushnil(L);
  m->top = top + 2;
  while (ok && lua_next(L, v)) {
    check_walked(m, ++n);
    ok = lua_type(L, top + 1) == LUA_TSTRING &&
         check_inner(m, node, top + 1, LUA_TSTRING);
    lua_settop(L, top + 1);
  }
  m->top = top;
  lua_settop(L, top);
  return ok;
}

/* Also called from issues, where m->top is not valid. */
size_t check_count_contained(check_Machine *m, const schema_Op *op, int v,
                             size_t enough) {
  lua_State *L = m->L;
  size_t n = ops_rawlen(L, v), i, count = 0;
  int top = lua_gettop(L);
  if (!ops_checkstack(L, 8)) return 0;
  for (i = 1; i <= n && count < enough; i++) {
    int t = ops_rawgeti(L, v, i);
    check_walked(m, i);
    if (check_node(m, op->a, top + 1, t)) count++;
    lua_settop(L, top);
  }
  return count;
}

static bool check_contains(check_Machine *m, const schema_Op *op, int v) {
  size_t least = (size_t)op->b;
  size_t enough =
      op->c < 0 ? least : (size_t)op->c + 1; /* enough to know "too many" */
  size_t count = check_count_contained(m, op, v, enough);
  return count >= least && (op->c < 0 || count <= (size_t)op->c);
}

static bool check_if(check_Machine *m, const schema_Op *op, int v, int t) {
  int32_t node = check_inner(m, op->a, v, t) ? op->b : op->c;
  return node < 0 || check_inner(m, node, v, t);
}

int32_t check_find_member(check_Machine *m, int32_t first, int32_t count,
                          schema_Index index, int32_t after, int v,
                          uint16_t type) {
  const schema_Member *members = program_member(m->s, first);
  const int32_t *slots;
  int32_t i;
  uint64_t hash;
  uint32_t at;
  for (i = after; index.mask == 0 && i < count; i++) {
    if (schema_is_member(m, &members[i], v, type)) return first + i;
  }
  if (index.mask == 0) return -1;
  slots = program_slot(m->s, index.slots);
  hash = schema_hash(m, v);
  for (at = (uint32_t)hash; slots[at & index.mask] != 0; at++) {
    i = slots[at & index.mask] - 1;
    if (i >= after && members[i].hash == hash &&
        schema_is_member(m, &members[i], v, type))
      return first + i;
  }
  return -1;
}

static bool check_dependent_required(check_Machine *m, const schema_Op *op,
                                     int v) {
  int32_t i;
  if (!check_has_key(m, v, op->c)) return true;
  m->left -= op->b / CHECK_STEP_ITEMS;
  for (i = 0; i < op->b; i++) {
    if (!check_has_key(m, v, *program_link(m->s, op->a + i))) return false;
  }
  return true;
}

static bool check_number_format(check_Machine *m, const schema_Op *op, int v,
                                uint16_t type) {
  integer_Value n;
  bool whole = integer_read(m->L, m->core, v, &n);
  if (op->a == NUMBER_FORMAT_FLOAT)
    return whole || fabs(lua_tonumber(m->L, v)) <= (double)FLT_MAX;
  if (type != TYPE_INTEGER || !whole || n.above) return false;
  return op->a == NUMBER_FORMAT_INT64 ||
         ((int64_t)n.bits >= INT32_MIN && (int64_t)n.bits <= INT32_MAX);
}

static bool check_string_op(check_Machine *m, const schema_Op *op, int v) {
  size_t len;
  const char *s = lua_tolstring(m->L, v, &len);
  check_read(m, len);
  return check_text_op(m, op, s, len);
}

static bool check_number_op(check_Machine *m, const schema_Op *op, int v,
                            uint16_t type) {
  switch ((schema_Code)op->code) {
  case CODE_MINIMUM: return schema_compare(m->L, m->core, v, op) >= 0;
  case CODE_MAXIMUM: return schema_compare(m->L, m->core, v, op) <= 0;
  case CODE_ABOVE: return schema_compare(m->L, m->core, v, op) > 0;
  case CODE_BELOW: return schema_compare(m->L, m->core, v, op) < 0;
  case CODE_MULTIPLE_OF: return schema_is_multiple(m->L, m->core, v, op);
  case CODE_NUMBER_FORMAT:
    return check_number_format(m, op, v, type);
  CASES_BUT_NUMBER:
    break;
  }
  return false;
}

/* Checks the member at `key`, `key` + 1 against everything that applies to
** it. */
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
    if (known && !check_inner(m, p->node, key + 1, t)) return false;
  }
  for (i = 0; i < object->patterns; i++) {
    const schema_Pattern *pattern = program_pattern(m->s, object->pattern + i);
    int match = check_match(m, *program_regex(m->s, pattern->regex), name, len);
    if (match == 0) continue;
    known = true; /* or a limit was reached, and no step is left */
    if (!check_step(m) || !check_inner(m, pattern->node, key + 1, t))
      return false;
  }
  return known || object->additional < 0 ||
         check_inner(m, object->additional, key + 1, t);
}

bool check_odd_member(check_Machine *m, const schema_Object *object, int key,
                      int32_t *required) {
  return lua_type(m->L, key) == LUA_TSTRING &&
         check_member(m, object, key, lua_type(m->L, key + 1), required);
}

bool check_every_member(check_Machine *m, const schema_Object *object, int v) {
  int key = m->top + 1;
  int32_t required = object->required;
  size_t n = 0;
  if (!check_reserve(m, 8)) return false;
  lua_pushnil(m->L);
  m->top = key + 1;
  while (lua_next(m->L, v)) {
    check_walked(m, ++n);
    if (!check_odd_member(m, object, key, &required)) return false;
    lua_pop(m->L, 1);
  }
  m->top = key - 1;
  return required == 0;
}

static bool check_array_op(check_Machine *m, const schema_Op *op, int v,
                           size_t n) {
  size_t first, second;
  bool twins;
  switch ((schema_Code)op->code) {
  case CODE_MIN_ITEMS: return n >= op->u.n;
  case CODE_MAX_ITEMS: return n <= op->u.n;
  case CODE_ITEMS: return check_items(m, op, v, n);
  case CODE_CONTAINS: return check_step(m) && check_contains(m, op, v);
  case CODE_UNIQUE_ITEMS:
    twins = schema_find_twins(m, v, n, &first, &second);
    check_forget_room(m);
    return !twins;
  CASES_BUT_ARRAY:
    break;
  }
  return false;
}

static bool check_object_op(check_Machine *m, const schema_Op *op, int v) {
  switch ((schema_Code)op->code) {
  case CODE_MEMBERS: return check_object(m, program_object(m->s, op->a), v);
  case CODE_MIN_PROPERTIES: return check_count_members(m, v) >= op->u.n;
  case CODE_MAX_PROPERTIES: return check_count_members(m, v) <= op->u.n;
  case CODE_PROPERTY_NAMES: return check_property_names(m, op->a, v);
  case CODE_DEPENDENT_REQUIRED: return check_dependent_required(m, op, v);
  case CODE_DEPENDENT_SCHEMA:
    return !check_has_key(m, v, op->c) ||
           (check_step(m) && check_inner(m, op->a, v, LUA_TTABLE));
  CASES_BUT_OBJECT:
    break;
  }
  return false;
}

static bool check_every_op(check_Machine *m, const schema_Node *n,
                           const schema_Op *op, int v, int t, uint16_t type) {
  if (!check_step(m)) return false;
  switch ((schema_Code)op->code) {
  case CODE_ENUM:
  case CODE_CONST:
    return check_find_member(m, op->a, op->b, op->u.index, 0, v, type) >= 0;
  case CODE_CALL: return check_inner(m, op->a, v, t);
  case CODE_DYNAMIC: return check_inner(m, check_dynamic(m, op), v, t);
  case CODE_ANY_OF:
  case CODE_ONE_OF: return check_union(m, op, v, t, type);
  case CODE_NOT: return !check_inner(m, op->a, v, t);
  case CODE_IF: return check_if(m, op, v, t);
  case CODE_UNEVALUATED_ITEMS:
    return type != TYPE_ARRAY || check_unevaluated_items(m, n->self, op, v);
  case CODE_UNEVALUATED_PROPERTIES:
    return type != TYPE_OBJECT ||
           check_unevaluated_properties(m, n->self, op, v);
  CASES_BUT_EVERY:
    break;
  }
  return false;
}

bool check_one_op(check_Machine *m, const schema_Node *n, const schema_Op *op,
                  int v, uint16_t type) {
  switch (schema_codes[op->code].kind) {
  case TYPE_STRING: return check_string_op(m, op, v);
  case TYPE_NUMBER: return check_number_op(m, op, v, type);
  case TYPE_ARRAY: return check_array_op(m, op, v, ops_rawlen(m->L, v));
  case TYPE_OBJECT: return check_object_op(m, op, v);
  default: return check_every_op(m, n, op, v, lua_type(m->L, v), type);
  }
}

static bool check_array(check_Machine *m, const schema_Node *n, int v) {
  const schema_Op *op = program_op(m->s, n->arrays);
  const schema_Op *end = program_op(m->s, n->objects);
  /* When all items are visited, holes show up there. */
  ptrdiff_t length = n->items < 0 ? schema_sequence_length(m->L, v)
                                  : value_glance_length(m->L, v);
  if (length < 0) return false;
  m->left -= length / CHECK_STEP_ITEMS;
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
    m->left -= (end - op) / CHECK_STEP_ITEMS; /* for the dependencies */
    for (; op < end; op++) {
      if (!check_object_op(m, op, v)) return false;
    }
    return true;
  default: return true;
  }
}

static bool run(check_Machine *m, const schema_Node *n, int v, int t,
                uint16_t type) {
  const schema_Op *op, *end;
  if (!check_kind(m, n, v, type)) return false;
  op = program_op(m->s, n->every);
  end = program_op(m->s, n->end);
  for (; op < end; op++) {
    if (!check_every_op(m, n, op, v, t, type)) return false;
  }
  return true;
}

/* Checks with a new scope, on the C stack, when the resource changes. */
static bool check_in_scope(check_Machine *m, const schema_Node *n, int v, int t,
                           uint16_t type) {
  check_Scope scope = {.outer = m->scope, .resource = n->resource};
  bool ok;
  if (m->scope != NULL && m->scope->resource == n->resource)
    return run(m, n, v, t, type);
  m->scope = &scope;
  ok = run(m, n, v, t, type);
  m->scope = scope.outer;
  return ok;
}

bool check_ops(check_Machine *m, const schema_Node *n, int v, int t,
               uint16_t type) {
  bool ok;
  if (m->depth >= CHECK_MAX_DEPTH || !check_reserve(m, 8))
    return check_too_deep(m);
  m->depth++;
  ok = m->s->has_dynamic ? check_in_scope(m, n, v, t, type)
                         : run(m, n, v, t, type);
  m->depth--;
  return ok;
}
