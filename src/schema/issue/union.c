/*
** union.c - finds the branch of an anyOf or oneOf that was meant, and its
** issues for the value (schema/issue/issue.h).
*/
#include "schema/program/program.h"
#include "schema/issue/issue.h"
#include "schema/check/equal.h"

#define WRONG_TAG 16 /* the weight of a wrong const or enum */

/* Adds an issue: several branches of a oneOf fit. */
static bool add_ambiguous(issue_List *list, int32_t node, const schema_Op *op,
                          int v) {
  lua_State *L = list->m.L;
  const schema_Union *u = program_union(list->m.s, op->a);
  int t = lua_type(L, v), fitting[2] = {0}, n = 0, i;
  for (i = 0; i < u->count && n < 2; i++) {
    if (check_node(&list->m, *program_link(list->m.s, u->first + i), v, t))
      fitting[n++] = i;
  }
  if (n == 2) {
    lua_pushfstring(L,
                    "expected to fit one alternative only, fits %d and %d of "
                    "oneOf",
                    fitting[0], fitting[1]);
    lua_createtable(L, 2, 0);
    lua_pushinteger(L, fitting[0]);
    ops_rawseti(L, -2, 1);
    lua_pushinteger(L, fitting[1]);
    ops_rawseti(L, -2, 2);
    lua_createtable(L, 0, 1);
    lua_insert(L, -2);
    lua_setfield(L, -2, "passingSchemas");
    issue_add(list, node, KEYWORD_ONE_OF);
  }
  return n > 0;
}

/* Adds an issue: the property that distinguishes the branches is missing or has
** an unknown value. */
static void add_wrong_tag(issue_List *list, int32_t node, const schema_Op *op,
                          int v) {
  lua_State *L = list->m.L;
  const schema_Union *u = program_union(list->m.s, op->a);
  int top = lua_gettop(L);
  schema_Step step = {.outer = list->at};
  ops_rawgeti(L, list->m.constants, (size_t)u->key);
  step.name = lua_tolstring(L, -1, &step.len);
  lua_pushvalue(L, -1);
  lua_rawget(L, v);
  issue_push_value(L, list->m.core, top + 2);
  issue_push_tags(list, u);
  lua_pushfstring(L, "%sexpected %s%s%s",
                  lua_isnil(L, top + 2) ? "required, but missing; " : "",
                  lua_tostring(L, top + 4),
                  lua_isnil(L, top + 2) ? "" : ", got ",
                  lua_isnil(L, top + 2) ? "" : lua_tostring(L, top + 3));
  lua_createtable(L, 0, 1);
  lua_pushvalue(L, top + 5);
  lua_setfield(L, -2, "allowedValues");
  list->at = &step;
  issue_add(list, node, (schema_KeywordId)op->keyword);
  list->at = step.outer;
}

/* The weight of the issues in the array on top of the stack. */
static int distance(lua_State *L) {
  int n = (int)ops_rawlen(L, -1), i, sum = n;
  for (i = 1; i <= n; i++) {
    const char *keyword;
    ops_rawgeti(L, -1, (size_t)i);
    lua_getfield(L, -1, "keyword");
    keyword = lua_tostring(L, -1);
    if (keyword != NULL &&
        (strcmp(keyword, "const") == 0 || strcmp(keyword, "enum") == 0))
      sum += WRONG_TAG;
    lua_pop(L, 2);
  }
  return sum;
}

/* Pushes the issues of one branch. */
static void push_branch_issues(issue_List *list, int32_t branch, int v) {
  lua_State *L = list->m.L;
  int issues = list->issues, count = list->count;
  lua_newtable(L);
  list->issues = lua_gettop(L);
  list->count = 0;
  issue_collect(list, branch, v, lua_type(L, v));
  list->issues = issues;
  list->count = count;
}

static bool could_fit(const schema_Schema *s, int32_t branch, uint16_t type) {
  return (program_node(s, branch)->types & program_target(s, branch)->types &
          type) != 0;
}

/* Pushes the issues of the closest branch; nothing when no branch accepts
** values of this type. */
static bool push_closest(issue_List *list, const schema_Union *u, int v,
                         uint16_t type) {
  lua_State *L = list->m.L;
  int32_t i;
  int best = -1;
  for (i = 0; i < u->count; i++) {
    int32_t branch = *program_link(list->m.s, u->first + i);
    int far;
    if (!could_fit(list->m.s, branch, type)) continue;
    push_branch_issues(list, branch, v);
    far = distance(L);
    if (best < 0) {
      best = far;
    } else if (far < best) {
      best = far;
      lua_replace(L, -2);
    } else {
      lua_pop(L, 1);
    }
  }
  return best >= 0;
}

static void append_issues(issue_List *list) {
  lua_State *L = list->m.L;
  size_t i, n = ops_rawlen(L, -1);
  for (i = 1; i <= n && list->count < list->limit; i++) {
    ops_rawgeti(L, -1, i);
    ops_rawseti(L, list->issues, (size_t)++list->count);
  }
  lua_pop(L, 1);
}

static uint16_t all_types(const schema_Schema *s, const schema_Union *u) {
  uint16_t types = 0;
  int32_t i;
  for (i = 0; i < u->count; i++) {
    int32_t branch = *program_link(s, u->first + i);
    types |= program_node(s, branch)->types & program_target(s, branch)->types;
  }
  return types;
}

/* Continues with the first branch for which a limit left the answer open. */
static bool collect_undecided(issue_List *list, const schema_Union *u, int v) {
  int t = lua_type(list->m.L, v);
  int32_t i;
  for (i = 0; i < u->count; i++) {
    int32_t branch = *program_link(list->m.s, u->first + i);
    check_resume(&list->m);
    check_node(&list->m, branch, v, t);
    if (!list->m.too_deep) continue;
    issue_collect(list, branch, v, t);
    return true;
  }
  return false;
}

void issue_collect_union(issue_List *list, int32_t node, const schema_Op *op,
                         int v, uint16_t type) {
  lua_State *L = list->m.L;
  const schema_Union *u = program_union(list->m.s, op->a);
  int32_t tagged;
  bool fits;
  list->m.left -= u->count / CHECK_STEP_ITEMS;
  fits = check_op(&list->m, node, op, v, type);
  if (list->m.too_deep ? collect_undecided(list, u, v) : fits) return;
  if (op->code == CODE_ONE_OF && add_ambiguous(list, node, op, v)) return;
  tagged = check_tagged_branch(&list->m, u, v);
  if (tagged < 0) tagged = check_hinted_branch(&list->m, u, v);
  if (tagged >= 0) {
    issue_collect(list, *program_link(list->m.s, u->first + tagged), v,
                  lua_type(L, v));
  } else if (u->key != 0 && type == TYPE_OBJECT) {
    add_wrong_tag(list, node, op, v);
  } else if (push_closest(list, u, v, type)) {
    append_issues(list);
  } else {
    issue_describe_type(list, all_types(list->m.s, u), v);
    issue_add(list, node, (schema_KeywordId)op->keyword);
  }
}
