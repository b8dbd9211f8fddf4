#include "schema/issue/issue.h"
#include "schema/check/equal.h"

#include <stdlib.h>

/* The cost of one issue, and of a search, as check_step counts. */
#define ISSUE_STEPS 1000
#define LOOK_STEPS 10

#define TOO_COSTLY "too costly to match"
#define NO_ANSWER                                                              \
  "cannot be checked within the limits of depth, steps and patterns"

static const schema_Location *location_of(const void *schema, int32_t node) {
  return &program_node((const schema_Schema *)schema, node)->location;
}

static bool is_full(const issue_List *list) {
  return list->count >= list->limit;
}

void issue_add(issue_List *list, int32_t node, schema_KeywordId keyword) {
  lua_State *L = list->m.L;
  int message = lua_gettop(L) - 1;
  list->m.left -= ISSUE_STEPS;
  if (!is_full(list)) {
    lua_createtable(L, 0, 5);
    schema_push_path(L, list->at);
    lua_setfield(L, -2, "path");
    schema_push_location(L, list->m.constants, location_of, list->m.s, node,
                         keyword);
    lua_setfield(L, -2, "schemaPath");
    if (keyword != KEYWORD_NONE) {
      lua_pushstring(L, schema_keywords[keyword].name);
      lua_setfield(L, -2, "keyword");
    }
    lua_pushvalue(L, message);
    lua_setfield(L, -2, "message");
    lua_pushvalue(L, message + 1);
    lua_setfield(L, -2, "params");
    ops_rawseti(L, list->issues, (size_t)++list->count);
  }
  lua_settop(L, message - 1);
}

static void add_plain(issue_List *list, int32_t node, const char *message) {
  lua_pushstring(list->m.L, message);
  lua_pushnil(list->m.L);
  issue_add(list, node, KEYWORD_NONE);
}

/* Stops: no step is left. */
static void stop(issue_List *list, int32_t node) {
  add_plain(list, node, "takes too many steps to check");
  list->limit = list->count;
}

/* Counts a step.  After one kind of limit the search continues; after another
** it ends. */
static bool takes_step(issue_List *list, int32_t node) {
  check_resume(&list->m);
  list->m.left -= LOOK_STEPS;
  if (check_step(&list->m)) return true;
  stop(list, node);
  return false;
}

/* Continues with the member at `step` of the table at `v`. */
static void collect_at(issue_List *list, int32_t node, int v, schema_Step *step,
                       int member) {
  lua_State *L = list->m.L;
  int t = lua_type(L, member);
  /* A table may be neither an array nor an object. */
  if (program_node(list->m.s, node)->accepts_all && t != LUA_TTABLE &&
      schema_type_of(L, list->m.core, member, t, TYPE_ANY) != 0)
    return;
  step->outer = list->at;
  step->table = lua_topointer(L, v);
  list->at = step;
  issue_collect(list, node, member, t);
  list->at = step->outer;
}

static void collect_member(issue_List *list, int32_t node, int v,
                           const char *name, size_t len, int member) {
  schema_Step step = {.name = name, .len = len};
  collect_at(list, node, v, &step, member);
}

static void collect_item(issue_List *list, int32_t node, int v, size_t index,
                         int member) {
  schema_Step step = {.index = index};
  collect_at(list, node, v, &step, member);
}

/* Adds an issue at a member instead of the object; message and params are on
** top of the stack. */
static void add_at(issue_List *list, int32_t node, schema_KeywordId keyword,
                   const char *name, size_t len) {
  schema_Step step = {.outer = list->at, .name = name, .len = len};
  list->at = &step;
  issue_add(list, node, keyword);
  list->at = step.outer;
}

static void push_name_params(lua_State *L, const char *field, const char *name,
                             size_t len) {
  lua_createtable(L, 0, 1);
  lua_pushlstring(L, name, len);
  lua_setfield(L, -2, field);
}

/* The types that a node accepts, also through `$ref`. */
static uint16_t types_of(const schema_Schema *s, int32_t node) {
  uint16_t types = program_node(s, node)->types;
  int hops;
  for (hops = 0; hops < 32; hops++) {
    const schema_Node *n = program_node(s, node);
    if (n->end == n->every || program_op(s, n->every)->code != CODE_CALL) break;
    node = program_op(s, n->every)->a;
    types &= program_node(s, node)->types;
  }
  return types;
}

static void add_missing(issue_List *list, int32_t node,
                        const schema_Property *p) {
  lua_State *L = list->m.L;
  uint16_t types = types_of(list->m.s, p->node);
  if (types == TYPE_ANY || types == 0) {
    lua_pushliteral(L, "required, but missing");
  } else {
    issue_push_types(L, types);
    lua_pushfstring(L, "required, but missing; expected %s",
                    lua_tostring(L, -1));
  }
  push_name_params(L, "missingProperty", p->name, p->len);
  add_at(list, node, KEYWORD_REQUIRED, p->name, p->len);
}

static void collect_known(issue_List *list, int32_t node,
                          const schema_Object *object, int v) {
  lua_State *L = list->m.L;
  int top = lua_gettop(L);
  int32_t i;
  list->m.left -= object->count / CHECK_STEP_ITEMS;
  for (i = 0; i < object->count && !is_full(list); i++) {
    const schema_Property *p = program_property(list->m.s, object->first + i);
    ops_rawgeti(L, list->m.constants, (size_t)p->key);
    if (ops_rawget(L, v) != LUA_TNIL) {
      collect_member(list, p->node, v, p->name, p->len, top + 1);
    } else if (p->required) {
      add_missing(list, node, p);
    }
    lua_settop(L, top);
  }
}

static void add_stray_keys(issue_List *list, int32_t node, int v) {
  lua_State *L = list->m.L;
  int top = lua_gettop(L);
  lua_pushnil(L);
  while (!is_full(list) && lua_next(L, v)) {
    lua_pop(L, 1);
    if (lua_type(L, -1) == LUA_TSTRING) continue;
    lua_pushfstring(L, "the keys of an object are strings, got a %s",
                    luaL_typename(L, -1));
    lua_pushnil(L);
    issue_add(list, node, KEYWORD_NONE);
  }
  lua_settop(L, top);
}

static void add_unknown(issue_List *list, int32_t node,
                        schema_KeywordId keyword, const schema_Object *object,
                        const value_Name *name) {
  lua_State *L = list->m.L;
  if (object != NULL && object->count > 0) {
    issue_push_names(list, object);
    issue_push_meant(list, object, name->s, name->len);
    lua_pushfstring(L, "unknown property; expected %s%s", lua_tostring(L, -2),
                    lua_tostring(L, -1));
  } else {
    lua_pushliteral(L, "unknown property");
  }
  push_name_params(L,
                   keyword == KEYWORD_ADDITIONAL_PROPERTIES
                       ? "additionalProperty"
                       : "unevaluatedProperty",
                   name->s, name->len);
  add_at(list, node, keyword, name->s, name->len);
}

/* Adds an issue: matching the member's name against the pattern costs too
** much. */
static void add_costly(issue_List *list, int32_t node, const value_Name *name) {
  check_resume(&list->m);
  lua_pushliteral(list->m.L, "its name is " TOO_COSTLY);
  lua_pushnil(list->m.L);
  add_at(list, node, KEYWORD_PATTERN_PROPERTIES, name->s, name->len);
}

/* Checks a member that is not in `properties`: patterns and the rest. */
static void collect_other(issue_List *list, int32_t node,
                          const schema_Object *object, int v,
                          const value_Name *name, int member) {
  const schema_Schema *s = list->m.s;
  const schema_Property *p = program_find(s, object, name->s, name->len);
  bool known = p != NULL && p->declared;
  int32_t i;
  if (object->patterns > 0 && !takes_step(list, node)) return;
  for (i = 0; i < object->patterns; i++) {
    const schema_Pattern *pattern = program_pattern(s, object->pattern + i);
    int match = check_match(&list->m, *program_regex(s, pattern->regex),
                            name->s, name->len);
    if (match < 0) {
      add_costly(list, node, name);
      return;
    }
    if (match == 0) continue;
    known = true;
    collect_member(list, pattern->node, v, name->s, name->len, member);
  }
  if (known || object->additional < 0) return;
  if (program_node(s, object->additional)->is_false)
    add_unknown(list, node, KEYWORD_ADDITIONAL_PROPERTIES, object, name);
  else collect_member(list, object->additional, v, name->s, name->len, member);
}

/* Sorting takes about as many comparisons as there are names. */
static value_Name *sorted_names(issue_List *list, int v, size_t *n) {
  value_Name *names = value_sorted_names(list->m.L, v, n);
  list->m.left -= (int64_t)*n;
  return names;
}

static void collect_members(issue_List *list, int32_t node,
                            const schema_Object *object, int v) {
  lua_State *L = list->m.L;
  int top = lua_gettop(L);
  size_t n, i;
  value_Name *names;
  collect_known(list, node, object, v);
  if (!object->whole) return;
  add_stray_keys(list, node, v);
  names = sorted_names(list, v, &n);
  for (i = 0; i < n && !is_full(list); i++) {
    if (!value_push_named(L, v, &names[i])) continue;
    collect_other(list, node, object, v, &names[i], top + 2);
    lua_settop(L, top + 1);
  }
}

/* Adds the issues of a property's name; shows the first message. */
static void collect_names(issue_List *list, int32_t node, const schema_Op *op,
                          int v) {
  lua_State *L = list->m.L;
  int top = lua_gettop(L), outer = list->issues, count;
  size_t n, i;
  value_Name *names = sorted_names(list, v, &n);
  add_stray_keys(list, node, v);
  for (i = 0; i < n && !is_full(list); i++) {
    lua_pushlstring(L, names[i].s, names[i].len);
    check_resume(&list->m);
    if (!check_node(&list->m, op->a, top + 2, LUA_TSTRING)) {
      lua_newtable(L);
      list->issues = top + 3;
      count = list->count;
      list->count = 0;
      issue_collect(list, op->a, top + 2, LUA_TSTRING);
      list->issues = outer;
      list->count = count;
      if (ops_rawgeti(L, top + 3, 1) == LUA_TTABLE)
        lua_getfield(L, -1, "message");
      else lua_pushliteral(L, "it is not allowed");
      lua_pushfstring(L, "this name does not fit: %s", lua_tostring(L, -1));
      push_name_params(L, "propertyName", names[i].s, names[i].len);
      add_at(list, node, KEYWORD_PROPERTY_NAMES, names[i].s, names[i].len);
    }
    lua_settop(L, top + 1);
  }
}

static void collect_items(issue_List *list, const schema_Op *op, int v) {
  lua_State *L = list->m.L;
  size_t n = ops_rawlen(L, v), i;
  int top = lua_gettop(L);
  for (i = 0; i < n && !is_full(list); i++) {
    int32_t node = i < (size_t)op->b
                       ? *program_link(list->m.s, op->a + (int32_t)i)
                       : op->c;
    if (node < 0) break;
    ops_rawgeti(L, v, i + 1);
    collect_item(list, node, v, i, top + 1);
    lua_settop(L, top);
  }
}

static void collect_dependent(issue_List *list, int32_t node,
                              const schema_Op *op, int v) {
  lua_State *L = list->m.L;
  int32_t i;
  if (!check_has_key(&list->m, v, op->c)) return;
  for (i = 0; i < op->b && !is_full(list); i++) {
    int32_t key = *program_link(list->m.s, op->a + i);
    size_t len;
    const char *name;
    if (check_has_key(&list->m, v, key)) continue;
    ops_rawgeti(L, list->m.constants, (size_t)key);
    name = lua_tolstring(L, -1, &len);
    ops_rawgeti(L, list->m.constants, (size_t)op->c);
    lua_pushfstring(L, "required because \"%s\" is present, but missing",
                    lua_tostring(L, -1));
    push_name_params(L, "missingProperty", name, len);
    add_at(list, node, (schema_KeywordId)op->keyword, name, len);
    lua_pop(L, 2);
  }
}

static void collect_unevaluated_items(issue_List *list, int32_t node,
                                      const schema_Op *op, int v) {
  lua_State *L = list->m.L;
  size_t n = ops_rawlen(L, v), i;
  int top = lua_gettop(L);
  for (i = 0; i < n && !is_full(list); i++) {
    ops_rawgeti(L, v, i + 1);
    check_resume(&list->m);
    if (!check_knows_item(&list->m, node, v, i, top + 1) && !list->m.too_deep)
      collect_item(list, op->a, v, i, top + 1);
    lua_settop(L, top);
  }
}

/* While there are other issues, reports only members that no branch could know:
** the others follow from the first misfit. */
static void collect_unevaluated(issue_List *list, int32_t node,
                                const schema_Op *op, int v, bool only_misfit) {
  lua_State *L = list->m.L;
  const schema_Node *from = program_node(list->m.s, node);
  const schema_Object *object =
      from->object < 0 ? NULL : program_object(list->m.s, from->object);
  int top = lua_gettop(L);
  size_t n, i;
  value_Name *names = sorted_names(list, v, &n);
  for (i = 0; i < n && !is_full(list); i++) {
    check_resume(&list->m);
    if (check_knows_key(&list->m, node, v, names[i].s, names[i].len,
                        only_misfit) ||
        list->m.too_deep)
      continue;
    if (!value_push_named(L, v, &names[i])) continue;
    if (program_node(list->m.s, op->a)->is_false)
      add_unknown(list, node, KEYWORD_UNEVALUATED_PROPERTIES, object,
                  &names[i]);
    else collect_member(list, op->a, v, names[i].s, names[i].len, top + 2);
    lua_settop(L, top + 1);
  }
}

static void collect_if(issue_List *list, const schema_Op *op, int v) {
  int t = lua_type(list->m.L, v);
  int32_t node = check_node(&list->m, op->a, v, t) ? op->b : op->c;
  if (list->m.too_deep) node = op->a; /* it says why there is no answer */
  if (node >= 0) issue_collect(list, node, v, t);
}

/* Handles an instruction that says yes or no, unless a limit is reached. */
static void collect_answer(issue_List *list, int32_t node, const schema_Op *op,
                           int v, uint16_t type) {
  bool fits = check_op(&list->m, node, op, v, type);
  if (!fits && !list->m.too_deep) issue_describe(list, op, v);
  if (list->m.too_deep && list->m.kept <= 0) { /* also while describing */
    stop(list, node);
    return;
  }
  if (list->m.too_deep) {
    check_resume(&list->m);
    lua_pushstring(list->m.L,
                   op->code == CODE_PATTERN ? TOO_COSTLY : NO_ANSWER);
    lua_pushnil(list->m.L);
  } else if (fits) {
    return;
  }
  issue_add(list, node, (schema_KeywordId)op->keyword);
}

static void collect_op(issue_List *list, int32_t node, const schema_Op *op,
                       int v, uint16_t type, bool only_misfit) {
  lua_State *L = list->m.L;
  switch (op->code) {
  case CODE_CALL: issue_collect(list, op->a, v, lua_type(L, v)); break;
  case CODE_DYNAMIC:
    issue_collect(list, check_dynamic(&list->m, op), v, lua_type(L, v));
    break;
  case CODE_ANY_OF:
  case CODE_ONE_OF: issue_collect_union(list, node, op, v, type); break;
  case CODE_IF: collect_if(list, op, v); break;
  case CODE_ITEMS: collect_items(list, op, v); break;
  case CODE_MEMBERS:
    collect_members(list, node, program_object(list->m.s, op->a), v);
    break;
  case CODE_PROPERTY_NAMES: collect_names(list, node, op, v); break;
  case CODE_DEPENDENT_REQUIRED: collect_dependent(list, node, op, v); break;
  case CODE_DEPENDENT_SCHEMA:
    if (check_has_key(&list->m, v, op->c))
      issue_collect(list, op->a, v, LUA_TTABLE);
    break;
  case CODE_UNEVALUATED_ITEMS:
    if (type == TYPE_ARRAY) collect_unevaluated_items(list, node, op, v);
    break;
  case CODE_UNEVALUATED_PROPERTIES:
    if (type == TYPE_OBJECT)
      collect_unevaluated(list, node, op, v, only_misfit);
    break;
  default: collect_answer(list, node, op, v, type); break;
  }
}

static void collect_run(issue_List *list, int32_t node, int32_t first,
                        int32_t end, int v, uint16_t type) {
  int top = lua_gettop(list->m.L), count = list->count;
  for (; first < end && !is_full(list); first++) {
    collect_op(list, node, program_op(list->m.s, first), v, type,
               list->count == count);
    lua_settop(list->m.L, top); /* an instruction may leave values */
  }
}

static void collect_ops(issue_List *list, int32_t node, int v, uint16_t type) {
  const schema_Node *n = program_node(list->m.s, node);
  switch (type) {
  case TYPE_STRING:
    collect_run(list, node, n->strings, n->numbers, v, type);
    break;
  case TYPE_INTEGER:
  case TYPE_FRACTION:
    collect_run(list, node, n->numbers, n->arrays, v, type);
    break;
  case TYPE_ARRAY:
    collect_run(list, node, n->arrays, n->objects, v, type);
    break;
  case TYPE_OBJECT:
    collect_run(list, node, n->objects, n->every, v, type);
    break;
  default: break;
  }
  collect_run(list, node, n->every, n->end, v, type);
}

/* Adds what JSON cannot express in the table at `v`. */
static void collect_any(issue_List *list, int32_t node, int v, uint16_t type) {
  lua_State *L = list->m.L;
  int top = lua_gettop(L);
  size_t n, i;
  value_Name *names;
  if (check_says_json(&list->m, v)) return;
  check_resume(&list->m);
  if (type == TYPE_ARRAY) {
    n = ops_rawlen(L, v);
    for (i = 0; i < n && !is_full(list); i++) {
      ops_rawgeti(L, v, i + 1);
      collect_item(list, node, v, i, top + 1);
      lua_settop(L, top);
    }
    return;
  }
  add_stray_keys(list, node, v);
  names = sorted_names(list, v, &n);
  for (i = 0; i < n && !is_full(list); i++) {
    if (!value_push_named(L, v, &names[i])) continue;
    collect_member(list, node, v, names[i].s, names[i].len, top + 2);
    lua_settop(L, top + 1);
  }
  lua_settop(L, top);
}

static void add_misfit(issue_List *list, int32_t node, int v) {
  const schema_Node *n = program_node(list->m.s, node);
  if (n->is_false) {
    add_plain(list, node, "no value is allowed here");
    return;
  }
  issue_describe_type(list, n->types, v);
  issue_add(list, node, n->types == TYPE_ANY ? KEYWORD_NONE : KEYWORD_TYPE);
}

static bool contains_itself(const issue_List *list, int v) {
  const void *table = lua_topointer(list->m.L, v);
  const schema_Step *step;
  for (step = list->at; step != NULL; step = step->outer) {
    if (step->table == table) return true;
  }
  return false;
}

void issue_collect_all(issue_List *list, int v) {
  int32_t root = list->m.s->root;
  issue_collect(list, root, v, lua_type(list->m.L, v));
  if (list->count == 0) add_plain(list, root, NO_ANSWER);
}

void issue_collect(issue_List *list, int32_t node, int v, int t) {
  lua_State *L = list->m.L;
  const schema_Node *n = program_node(list->m.s, node);
  uint16_t type = schema_type_of(L, list->m.core, v, t, n->types);
  check_Scope scope = {.outer = list->m.scope, .resource = n->resource};
  if (is_full(list) || !takes_step(list, node)) return;
  if (type == TYPE_ARRAY)
    list->m.left -= (int64_t)ops_rawlen(L, v) / CHECK_STEP_ITEMS;
  if ((type & n->types) == 0) {
    add_misfit(list, node, v);
  } else if (type == TYPE_ARRAY && value_array_length(L, v) < 0) {
    add_plain(list, node,
              "expected an array, got a table with holes or other keys");
  } else if (t == LUA_TTABLE && contains_itself(list, v)) {
    add_plain(list, node, "the value contains itself");
  } else if (list->m.depth >= CHECK_MAX_DEPTH || !ops_checkstack(L, 32)) {
    add_plain(list, node, "nested too deeply");
  } else if (n->accepts_all && t == LUA_TTABLE) {
    list->m.depth++;
    collect_any(list, node, v, type);
    list->m.depth--;
  } else if (!n->simple) {
    if (scope.outer == NULL || scope.outer->resource != n->resource)
      list->m.scope = &scope;
    list->m.depth++;
    collect_ops(list, node, v, type);
    list->m.depth--;
    list->m.scope = scope.outer;
  }
}
