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

/* What has a short text, else the type: "x" in quotes, 7, object. */
static void push_got(lua_State *L, const core_State *core, int v) {
  const char *type = value_describe(L, core, v);
  value_Kind kind = value_kind(L, core, v);
  if (kind == VALUE_STRING || kind == VALUE_BOOLEAN ||
      (kind == VALUE_NUMBER && type == value_type_name(L, core, v)))
    issue_push_value(L, core, v);
  else lua_pushstring(L, type); /* of NaN and infinity, too */
}

void issue_describe_type(issue_List *list, uint16_t types, int v) {
  lua_State *L = list->m.L;
  int top = lua_gettop(L), i, n;
  issue_push_types(L, types);
  push_got(L, list->m.core, v);
  lua_pushfstring(L, "expected %s, got %s", lua_tostring(L, -2),
                  lua_tostring(L, -1));
  lua_replace(L, top + 1);
  lua_settop(L, top + 1);
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
static void describe_count(issue_List *list, const schema_Op *op, int v,
                           const char *least_or_most) {
  lua_State *L = list->m.L;
  const char *noun, *text, *ending = plural(op->u.n);
  size_t got, len;
  switch (schema_codes[op->code].kind) {
  case TYPE_STRING:
    noun = "character";
    text = lua_tolstring(L, v, &len);
    got = schema_text_length(text, len);
    break;
  case TYPE_ARRAY:
    noun = "item";
    got = ops_rawlen(L, v);
    break;
  default:
    noun = "propert";
    ending = plural_y(op->u.n);
    got = check_count_members(&list->m, v);
    break;
  }
  push_size(L, op->u.n);
  push_size(L, got);
  lua_pushfstring(L, "expected at %s %s %s%s, got %s", least_or_most,
                  lua_tostring(L, -2), noun, ending, lua_tostring(L, -1));
  push_size(L, op->u.n);
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
static void describe_name(issue_List *list, const schema_Op *op, int v,
                          const char *phrase) {
  lua_State *L = list->m.L;
  ops_rawgeti(L, list->m.constants, (size_t)op->b);
  issue_push_value(L, list->m.core, v);
  lua_pushfstring(L, "expected a %s %s, got %s", phrase, lua_tostring(L, -2),
                  lua_tostring(L, -1));
  lua_pushvalue(L, -3);
  wrap(L, schema_keywords[op->keyword].name);
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

static void describe_twins(issue_List *list, int v) {
  lua_State *L = list->m.L;
  size_t first = 0, second = 0;
  schema_find_twins(&list->m, v, ops_rawlen(L, v), &first, &second);
  lua_pushfstring(L, "expected different items, %d and %d are equal",
                  (int)first - 1, (int)second - 1);
  lua_pushinteger(L, (lua_Integer)first - 1);
  wrap(L, "i");
  lua_pushinteger(L, (lua_Integer)second - 1);
  lua_setfield(L, -2, "j");
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

/* --- the property that was meant ------------------------------------------ */

#define LONGEST_NAME 64 /* bytes of names that are compared */
#define MOST_EDITS 2    /* one for three letters */
#define SHORTENED 3     /* letters of a name that begins another */

/* Copies a name without case and punctuation; returns its length, or 0 when it
** is too long. */
static size_t plain_name(char *out, const char *s, size_t len) {
  size_t i, n = 0;
  if (len > LONGEST_NAME) return 0;
  for (i = 0; i < len; i++) {
    unsigned char c = (unsigned char)s[i];
    if (c >= 'A' && c <= 'Z') c = (unsigned char)(c - 'A' + 'a');
    if (c >= 0x80 || (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9'))
      out[n++] = (char)c;
  }
  return n;
}

static size_t least(size_t a, size_t b) {
  return a < b ? a : b;
}

/* The letters to insert, delete, replace or swap with the next one to turn one
** name into the other. */
static size_t edits(const char *a, size_t a_len, const char *b, size_t b_len) {
  size_t rows[3][LONGEST_NAME + 1], i, j;
  for (j = 0; j <= b_len; j++) rows[0][j] = j;
  for (i = 1; i <= a_len; i++) {
    size_t *row = rows[i % 3], *above = rows[(i + 2) % 3];
    row[0] = i;
    for (j = 1; j <= b_len; j++) {
      row[j] = least(least(above[j], row[j - 1]) + 1,
                     above[j - 1] + (a[i - 1] != b[j - 1]));
      if (i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1])
        row[j] = least(row[j], rows[(i + 1) % 3][j - 2] + 1);
    }
  }
  return rows[a_len % 3][b_len];
}

/* The edits between two plain names; too many of them: MOST_EDITS + 1.  One may
** be the beginning of the other. */
static size_t distance_of(const char *a, size_t a_len, const char *b,
                          size_t b_len) {
  size_t most = least(MOST_EDITS, a_len / 3), distance = MOST_EDITS + 1;
  if (b_len <= a_len + most && a_len <= b_len + most)
    distance = edits(a, a_len, b, b_len);
  if (distance <= most) return distance;
  if (a_len >= SHORTENED && a_len <= b_len && memcmp(a, b, a_len) == 0)
    return MOST_EDITS;
  return MOST_EDITS + 1;
}

void issue_push_meant(issue_List *list, const schema_Object *object,
                      const char *name, size_t len) {
  char wanted[LONGEST_NAME], known[LONGEST_NAME];
  size_t n = plain_name(wanted, name, len), best = MOST_EDITS + 1;
  const schema_Property *meant = NULL;
  int i;
  for (i = 0; n > 0 && i < object->count; i++) {
    const schema_Property *p = program_property(list->m.s, object->first + i);
    size_t m = p->declared ? plain_name(known, p->name, p->len) : 0;
    size_t distance = m > 0 ? distance_of(wanted, n, known, m) : best;
    list->m.left -= (int64_t)(n * m / CHECK_STEP_ITEMS);
    if (distance >= best) continue;
    best = distance;
    meant = p;
  }
  if (meant == NULL) {
    lua_pushliteral(list->m.L, "");
    return;
  }
  lua_pushlstring(list->m.L, meant->name, meant->len);
  lua_pushfstring(list->m.L, " (did you mean %s?)",
                  lua_tostring(list->m.L, -1));
  lua_remove(list->m.L, -2);
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

void issue_describe(issue_List *list, const schema_Op *op, int v) {
  const schema_CodeTraits *traits = &schema_codes[op->code];
  switch ((schema_Message)traits->message) {
  case MESSAGE_MEMBERS: describe_enum(list, op, v); break;
  case MESSAGE_COUNT: describe_count(list, op, v, traits->words); break;
  case MESSAGE_NAME: describe_name(list, op, v, traits->words); break;
  case MESSAGE_BOUND: describe_bound(list, op, v, traits->words); break;
  case MESSAGE_CONTAINS: describe_contains(list, op, v); break;
  case MESSAGE_TWINS: describe_twins(list, v); break;
  case MESSAGE_NOT:
    lua_pushliteral(list->m.L,
                    "expected a value that does not fit the schema of not");
    lua_pushnil(list->m.L);
    break;
  case MESSAGE_PLAIN:
    lua_pushfstring(list->m.L, "does not fit the keyword %s",
                    schema_keywords[op->keyword].name);
    lua_pushnil(list->m.L);
    break;
  }
}
