/*
** message.c - the messages of issues (schema/issue/issue.h, issue_describe).
*/
#include "schema/issue/issue.h"
#include "schema/check/equal.h"

#define SHOWN_TEXT 60      /* bytes of a string that are shown */
#define SHOWN_NAMES 24     /* names or values listed in messages ... */
#define LISTED_VALUES 1000 /* ... and in params, if there are more */

/* The length of a string's start, cut between code points. */
static size_t shown_length(const char *s, size_t len) {
  size_t n = SHOWN_TEXT;
  if (len <= n) return len;
  while (n > 0 && ((unsigned char)s[n] & 0xC0) == 0x80) n--;
  return n;
}

static void push_quoted(lua_State *L, const char *s, size_t len) {
  size_t shown = shown_length(s, len);
  lua_pushliteral(L, "\"");
  lua_pushlstring(L, s, shown);
  lua_pushstring(L, shown < len ? "...\"" : "\"");
  lua_concat(L, 3);
}

void issue_push_value(lua_State *L, const core_State *core, int v) {
  const char *s;
  size_t len;
  switch (lua_type(L, v)) {
  case LUA_TSTRING:
    s = lua_tolstring(L, v, &len);
    push_quoted(L, s, len);
    break;
  case LUA_TNUMBER: integer_push_text(L, core, v); break;
  case LUA_TBOOLEAN:
    lua_pushstring(L, lua_toboolean(L, v) ? "true" : "false");
    break;
  case LUA_TTABLE: {
    bool empty;
    lua_pushnil(L);
    empty = lua_next(L, v) == 0;
    if (!empty) lua_pop(L, 2);
    lua_pushfstring(L, "%s%s", empty ? "an empty " : "an ",
                    value_type_name(L, core, v));
    break;
  }
  default:
    if (!integer_push_text(L, core, v))
      lua_pushstring(L, value_type_name(L, core, v));
    break;
  }
}

/* Joins the last `n` strings on the stack as a, b or c; needs three slots. */
static void join(lua_State *L, int n) {
  int first = lua_gettop(L) - n + 1, i;
  if (n == 0) {
    lua_pushliteral(L, "nothing");
    return;
  }
  lua_pushvalue(L, first);
  for (i = 1; i < n; i++) {
    lua_pushstring(L, i == n - 1 ? " or " : ", ");
    lua_pushvalue(L, first + i);
    lua_concat(L, 3);
  }
  lua_replace(L, first);
  lua_settop(L, first);
}

static const struct {
  uint16_t mask;
  const char *name;
} type_names[] = {
    {TYPE_STRING, "string"},   {TYPE_NUMBER, "number"},
    {TYPE_INTEGER, "integer"}, {TYPE_BOOLEAN, "boolean"},
    {TYPE_ARRAY, "array"},     {TYPE_OBJECT, "object"},
    {TYPE_NULL, "null"},
};

static int push_each_type(lua_State *L, uint16_t types) {
  size_t i;
  int n = 0;
  for (i = 0; i < sizeof(type_names) / sizeof(type_names[0]); i++) {
    uint16_t mask = type_names[i].mask;
    if ((types & mask) != mask) continue;
    types &= (uint16_t)~mask;
    lua_pushstring(L, type_names[i].name);
    n++;
  }
  return n;
}

void issue_push_types(lua_State *L, uint16_t types) {
  if ((types & TYPE_ANY) == TYPE_ANY) lua_pushliteral(L, "a JSON value");
  else join(L, push_each_type(L, types));
}

void issue_describe_type(issue_List *list, uint16_t types, int v) {
  lua_State *L = list->m.L;
  int top = lua_gettop(L), i, n;
  issue_push_types(L, types);
  lua_pushfstring(L, "expected %s, got %s", lua_tostring(L, -1),
                  value_describe(L, list->m.core, v));
  lua_replace(L, top + 1);
  lua_createtable(L, 0, 1);
  lua_newtable(L);
  core_push_array_mt(L);
  lua_setmetatable(L, -2);
  n = push_each_type(L, types);
  for (i = n; i > 0; i--) ops_rawseti(L, top + 3, (size_t)i);
  lua_setfield(L, top + 2, "type");
}

/* Replaces the value on top of the stack by { field = value }. */
static void wrap(lua_State *L, const char *field) {
  lua_createtable(L, 0, 1);
  lua_insert(L, -2);
  lua_setfield(L, -2, field);
}

static void push_bound(lua_State *L, const core_State *core,
                       const schema_Op *op) {
  integer_Value n;
  if (program_integer_bound(op, &n)) integer_push(L, core, n);
  else lua_pushnumber(L, op->u.d);
}

static const char *plural(size_t n) {
  return n == 1 ? "" : "s";
}

static const char *plural_y(size_t n) {
  return n == 1 ? "y" : "ies";
}

static void push_size(lua_State *L, size_t n) {
  core_push_integer(L, (int64_t)n);
}

/* "expected at most 20 characters, got 34" */
static void describe_count(lua_State *L, const char *least_or_most,
                           const char *noun, const char *ending, size_t limit,
                           size_t got) {
  push_size(L, limit);
  push_size(L, got);
  lua_pushfstring(L, "expected at %s %s %s%s, got %s", least_or_most,
                  lua_tostring(L, -2), noun, ending, lua_tostring(L, -1));
  push_size(L, limit);
  wrap(L, "limit");
}

static void describe_bound(const issue_List *list, const schema_Op *op, int v,
                           const char *phrase) {
  lua_State *L = list->m.L;
  push_bound(L, list->m.core, op);
  integer_push_text(L, list->m.core, -1);
  integer_push_text(L, list->m.core, v);
  lua_pushfstring(L, "expected a number %s %s, got %s", phrase,
                  lua_tostring(L, -2), lua_tostring(L, -1));
  push_bound(L, list->m.core, op);
  wrap(L, op->code == CODE_MULTIPLE_OF ? "multipleOf" : "limit");
}

/* "expected a string of format date, got \"x\"": the constant has the name. */
static void describe_named(issue_List *list, int32_t name, int v,
                           const char *phrase, const char *field) {
  lua_State *L = list->m.L;
  ops_rawgeti(L, list->m.constants, (size_t)name);
  issue_push_value(L, list->m.core, v);
  lua_pushfstring(L, "expected a %s %s, got %s", phrase, lua_tostring(L, -2),
                  lua_tostring(L, -1));
  lua_pushvalue(L, -3);
  wrap(L, field);
}

static void describe_string(issue_List *list, const schema_Op *op, int v) {
  lua_State *L = list->m.L;
  size_t len, n;
  const char *s = lua_tolstring(L, v, &len);
  n = schema_text_length(s, len);
  switch (op->code) {
  case CODE_MIN_LENGTH:
    describe_count(L, "least", "character", plural(op->u.n), op->u.n, n);
    break;
  case CODE_MAX_LENGTH:
    describe_count(L, "most", "character", plural(op->u.n), op->u.n, n);
    break;
  case CODE_PATTERN:
    describe_named(list, op->b, v, "string that matches", "pattern");
    break;
  default: describe_named(list, op->a, v, "string of format", "format"); break;
  }
}

static void describe_number(issue_List *list, const schema_Op *op, int v) {
  switch (op->code) {
  case CODE_MINIMUM: describe_bound(list, op, v, "of at least"); break;
  case CODE_MAXIMUM: describe_bound(list, op, v, "of at most"); break;
  case CODE_ABOVE: describe_bound(list, op, v, "above"); break;
  case CODE_BELOW: describe_bound(list, op, v, "below"); break;
  case CODE_MULTIPLE_OF:
    describe_bound(list, op, v, "that is a multiple of");
    break;
  default: describe_named(list, op->a, v, "number of format", "format"); break;
  }
}

static void describe_contains(issue_List *list, const schema_Op *op, int v) {
  lua_State *L = list->m.L;
  size_t n = check_count_contained(&list->m, op, v, (size_t)-1);
  bool few = n < (size_t)op->b;
  lua_pushfstring(L, "expected at %s %d item%s of the contained kind, found %d",
                  few ? "least" : "most", (int)(few ? op->b : op->c),
                  plural((size_t)(few ? op->b : op->c)), (int)n);
  lua_pushinteger(L, few ? op->b : op->c);
  wrap(L, few ? "minContains" : "maxContains");
}

static void describe_array(issue_List *list, const schema_Op *op, int v) {
  lua_State *L = list->m.L;
  size_t n = ops_rawlen(L, v), first = 0, second = 0;
  switch (op->code) {
  case CODE_MIN_ITEMS:
    describe_count(L, "least", "item", plural(op->u.n), op->u.n, n);
    break;
  case CODE_MAX_ITEMS:
    describe_count(L, "most", "item", plural(op->u.n), op->u.n, n);
    break;
  case CODE_CONTAINS: describe_contains(list, op, v); break;
  default:
    schema_find_twins(&list->m, v, n, &first, &second);
    lua_pushfstring(L, "expected different items, %d and %d are equal",
                    (int)first - 1, (int)second - 1);
    lua_pushinteger(L, (lua_Integer)first - 1);
    wrap(L, "i");
    lua_pushinteger(L, (lua_Integer)second - 1);
    lua_setfield(L, -2, "j");
    break;
  }
}

static void describe_object(issue_List *list, const schema_Op *op, int v) {
  lua_State *L = list->m.L;
  size_t n = check_count_members(&list->m, v);
  describe_count(L, op->code == CODE_MIN_PROPERTIES ? "least" : "most",
                 "propert", plural_y(op->u.n), op->u.n, n);
}

static void describe_enum(issue_List *list, const schema_Op *op, int v) {
  lua_State *L = list->m.L;
  int top = lua_gettop(L), i, n = op->b;
  int shown = n > SHOWN_NAMES ? SHOWN_NAMES : n;
  luaL_checkstack(L, shown + 16, "message");
  for (i = 0; i < shown; i++) {
    ops_rawgeti(L, list->m.constants,
                (size_t)program_member(list->m.s, op->a + i)->value);
    issue_push_value(L, list->m.core, lua_gettop(L));
    lua_remove(L, -2);
  }
  if (shown < n) {
    lua_pushfstring(L, "%d more", n - shown);
    shown++;
  }
  join(L, shown);
  issue_push_value(L, list->m.core, v);
  if (lua_rawequal(L, top + 1, top + 2)) lua_pushliteral(L, "another one");
  lua_pushfstring(L,
                  n > 1 ? "expected one of %s, got %s" : "expected %s, got %s",
                  lua_tostring(L, top + 1), lua_tostring(L, -1));
  if (op->code == CODE_CONST) {
    ops_rawgeti(L, list->m.constants,
                (size_t)program_member(list->m.s, op->a)->value);
    wrap(L, "allowedValue");
    return;
  }
  n = n < LISTED_VALUES ? n : LISTED_VALUES;
  lua_createtable(L, n, 0);
  core_push_array_mt(L);
  lua_setmetatable(L, -2);
  for (i = 0; i < n; i++) {
    ops_rawgeti(L, list->m.constants,
                (size_t)program_member(list->m.s, op->a + i)->value);
    ops_rawseti(L, -2, (size_t)i + 1);
  }
  wrap(L, "allowedValues");
}

void issue_push_tags(issue_List *list, const schema_Union *u) {
  lua_State *L = list->m.L;
  const schema_Tag *tag = program_tag(list->m.s, u->tag);
  int shown = u->tags < SHOWN_NAMES ? u->tags : SHOWN_NAMES;
  int listed = u->tags < LISTED_VALUES ? u->tags : LISTED_VALUES, i;
  luaL_checkstack(L, SHOWN_NAMES + 8, "message");
  for (i = 0; i < shown; i++) push_quoted(L, tag[i].text, tag[i].len);
  if (shown < u->tags) {
    lua_pushfstring(L, "%d more", (int)u->tags - shown);
    shown++;
  }
  join(L, shown);
  lua_createtable(L, listed, 0);
  for (i = 0; i < listed; i++) {
    lua_pushlstring(L, tag[i].text, tag[i].len);
    ops_rawseti(L, -2, (size_t)i + 1);
  }
}

void issue_push_names(issue_List *list, const schema_Object *object) {
  lua_State *L = list->m.L;
  int i, declared = 0, shown;
  luaL_checkstack(L, SHOWN_NAMES + 8, "message");
  list->m.left -= object->count / CHECK_STEP_ITEMS;
  for (i = 0; i < object->count; i++) {
    const schema_Property *p = program_property(list->m.s, object->first + i);
    if (p->declared && declared++ < SHOWN_NAMES)
      push_quoted(L, p->name, p->len);
  }
  shown = declared < SHOWN_NAMES ? declared : SHOWN_NAMES;
  if (shown < declared) {
    lua_pushfstring(L, "%d more", declared - shown);
    shown++;
  }
  join(L, shown);
}

void issue_describe(issue_List *list, const schema_Op *op, int v,
                    uint16_t type) {
  lua_State *L = list->m.L;
  schema_Code code = (schema_Code)op->code;
  if (code == CODE_ENUM || code == CODE_CONST) {
    describe_enum(list, op, v);
  } else if (code == CODE_NOT) {
    lua_pushliteral(L, "expected a value that does not fit the schema of not");
    lua_pushnil(L);
  } else if (code < CODE_MINIMUM) {
    describe_string(list, op, v);
  } else if (code < CODE_MIN_ITEMS) {
    describe_number(list, op, v);
  } else if (type == TYPE_ARRAY) {
    describe_array(list, op, v);
  } else {
    describe_object(list, op, v);
  }
}
