/*
** unevaluated.c - `unevaluatedProperties` and `unevaluatedItems`: does any
** schema that applies to this object or array know the member?  Computed on
** demand, so that checks keep no record (schema/check/check.h).
*/
#include "schema/check/check.h"

/* A question about a key or an item. */
typedef struct Question {
  int v;            /* stack index of the object or array */
  const char *name; /* NULL: about an item */
  size_t len;
  size_t index;
  int item; /* stack index */
  bool check;
} Question;

static bool knows(check_Machine *m, int32_t node, const Question *q,
                  bool outermost);

static bool object_knows(check_Machine *m, const schema_Object *object,
                         const Question *q) {
  const schema_Property *p = program_find(m->s, object, q->name, q->len);
  int32_t i;
  if ((p != NULL && p->declared) || object->additional >= 0) return true;
  for (i = 0; i < object->patterns; i++) {
    const schema_Pattern *pattern = program_pattern(m->s, object->pattern + i);
    if (check_match(m, *program_regex(m->s, pattern->regex), q->name, q->len))
      return true; /* or a limit was reached: m->too_deep */
  }
  return false;
}

static bool passes(check_Machine *m, int32_t node, const Question *q) {
  return !q->check || check_node(m, node, q->v, LUA_TTABLE);
}

static bool union_knows(check_Machine *m, const schema_Op *op,
                        const Question *q) {
  const schema_Union *u = program_union(m->s, op->a);
  int32_t i;
  m->left -= u->count / CHECK_STEP_ITEMS;
  for (i = 0; i < u->count; i++) {
    int32_t branch = *program_link(m->s, u->first + i);
    if (knows(m, branch, q, false) && passes(m, branch, q)) return true;
  }
  return false;
}

static bool if_knows(check_Machine *m, const schema_Op *op, const Question *q) {
  bool taken = passes(m, op->a, q); /* without `check`, either branch counts */
  if (taken &&
      (knows(m, op->a, q, false) || (op->b >= 0 && knows(m, op->b, q, false))))
    return true;
  return !(taken && q->check) && op->c >= 0 && knows(m, op->c, q, false);
}

static bool op_knows(check_Machine *m, const schema_Op *op, const Question *q,
                     bool outermost) {
  switch ((schema_Code)op->code) {
  case CODE_CALL: return knows(m, op->a, q, false);
  case CODE_DYNAMIC: return knows(m, check_dynamic(m, op), q, false);
  case CODE_ANY_OF:
  case CODE_ONE_OF: return union_knows(m, op, q);
  case CODE_IF: return if_knows(m, op, q);
  case CODE_MEMBERS:
    return q->name != NULL && object_knows(m, program_object(m->s, op->a), q);
  case CODE_DEPENDENT_SCHEMA:
    return q->name != NULL && (!q->check || check_has_key(m, q->v, op->c)) &&
           knows(m, op->a, q, false);
  case CODE_UNEVALUATED_PROPERTIES: return q->name != NULL && !outermost;
  case CODE_UNEVALUATED_ITEMS: return q->name == NULL && !outermost;
  case CODE_ITEMS:
    return q->name == NULL && (op->c >= 0 || q->index < (size_t)op->b);
  case CODE_CONTAINS:
    return q->name == NULL && op->flag &&
           check_node(m, op->a, q->item, lua_type(m->L, q->item));
  case CODE_NOT:
  case CODE_PROPERTY_NAMES:
  CASES_ALONE:
    break;
  }
  return false;
}

static bool knows(check_Machine *m, int32_t node, const Question *q,
                  bool outermost) {
  const schema_Node *n = program_node(m->s, node);
  check_Scope scope = {.outer = m->scope, .resource = n->resource};
  int32_t i;
  bool known = false;
  if (m->depth >= CHECK_MAX_DEPTH || !check_step(m)) return check_too_deep(m);
  m->depth++;
  if (scope.outer == NULL || scope.outer->resource != n->resource)
    m->scope = &scope;
  for (i = n->arrays; !known && i < n->end; i++)
    known = op_knows(m, program_op(m->s, i), q, outermost);
  m->scope = scope.outer;
  m->depth--;
  return known;
}

bool check_knows_key(check_Machine *m, int32_t node, int v, const char *name,
                     size_t len, bool check) {
  Question q = {.v = v, .name = name, .len = len, .check = check};
  return knows(m, node, &q, true);
}

bool check_knows_item(check_Machine *m, int32_t node, int v, size_t index,
                      int item) {
  Question q = {.v = v, .index = index, .item = item, .check = true};
  return knows(m, node, &q, true);
}

bool check_unevaluated_properties(check_Machine *m, int32_t node,
                                  const schema_Op *op, int v) {
  lua_State *L = m->L;
  int top = lua_gettop(L);
  bool ok = true;
  if (!ops_checkstack(L, 8)) return check_too_deep(m);
  lua_pushnil(L);
  while (ok && lua_next(L, v)) { /* knows() counts the steps */
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

bool check_unevaluated_items(check_Machine *m, int32_t node,
                             const schema_Op *op, int v) {
  lua_State *L = m->L;
  size_t n = ops_rawlen(L, v), i;
  int top = lua_gettop(L);
  bool ok = true;
  if (!ops_checkstack(L, 8)) return check_too_deep(m);
  for (i = 0; ok && i < n; i++) {
    int t = ops_rawgeti(L, v, i + 1);
    ok = check_knows_item(m, node, v, i, top + 1) ||
         check_node(m, op->a, top + 1, t);
    lua_settop(L, top);
  }
  return ok;
}
