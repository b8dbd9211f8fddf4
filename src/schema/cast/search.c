/*
** search.c - the last resort of force: what must not be (`not`, a second
** branch of oneOf, an if) says little of what may be, so whatever the schema
** mentions is tried, alone and within a table (schema/cast/cast.h,
*cast_search).
*/
#include "schema/cast/cast.h"
#include "schema/cast/fill.h"
#include "schema/check/equal.h"

#include <math.h>
#include <stdlib.h>

#define SEARCH_BUDGET 16000 /* values tried in one cast */
#define MAX_HINTS 96
#define MAX_NAMES 24
#define MAX_OPS 512 /* instructions that are read for hints */
#define MAX_SIZE 32 /* of tables and strings made to miss a bound */

typedef struct Search {
  cast_Machine *c;
  const int32_t *nodes;
  int count;
} Search;

/* Moves the value on top of the stack to the list at `list`. */
static void add(lua_State *L, int list, size_t most) {
  size_t n = ops_rawlen(L, list);
  if (n < most) ops_rawseti(L, list, n + 1);
  else lua_pop(L, 1);
}

static void add_hint(cast_Machine *c) {
  add(c->m.L, c->hints, MAX_HINTS);
}

static void add_number(cast_Machine *c, double d) {
  if (d == floor(d) && fabs(d) < 9007199254740992.0)
    core_push_integer(c->m.L, (int64_t)d);
  else lua_pushnumber(c->m.L, d);
  add_hint(c);
}

static void add_text(cast_Machine *c, size_t n) {
  char text[MAX_SIZE];
  if (n > sizeof(text)) return;
  memset(text, 'a', sizeof(text));
  lua_pushlstring(c->m.L, text, n);
  add_hint(c);
}

/* An array of n items, which are all equal or all different. */
static void add_array(cast_Machine *c, size_t n, bool equal) {
  lua_State *L = c->m.L;
  size_t i;
  if (n > MAX_SIZE) return;
  lua_createtable(L, (int)n, 0);
  cast_mark_array(c);
  for (i = 1; i <= n; i++) {
    core_push_integer(L, equal ? 0 : (int64_t)i);
    ops_rawseti(L, -2, i);
  }
  add_hint(c);
}

static void add_object(cast_Machine *c, size_t n) {
  lua_State *L = c->m.L;
  size_t i;
  if (n > MAX_SIZE) return;
  lua_createtable(L, 0, (int)n);
  core_push_object_mt(L);
  lua_setmetatable(L, -2);
  for (i = 1; i <= n; i++) {
    lua_pushfstring(L, "property%d", (int)i);
    core_push_integer(L, (int64_t)i);
    lua_rawset(L, -3);
  }
  add_hint(c);
}

static void add_members(cast_Machine *c, const schema_Op *op) {
  int32_t i;
  for (i = 0; i < op->b && i < 8; i++) {
    const schema_Member *member = program_member(c->m.s, op->a + i);
    ops_rawgeti(c->m.L, c->m.constants, (size_t)member->value);
    add_hint(c);
  }
}

static void add_name(cast_Machine *c, int32_t key) {
  ops_rawgeti(c->m.L, c->m.constants, (size_t)key);
  add(c->m.L, c->hints + 1, MAX_NAMES);
}

/* Pushes text that a pattern may match, read without its choices and repeats:
** "^x\\d$" gives "x1".  Whether it does is found out by trying. */
static void push_sample(lua_State *L, const char *s) {
  char text[MAX_SIZE];
  size_t n = 0;
  for (; *s != '\0' && *s != '|' && n < sizeof(text); s++) {
    const char *end = *s == '[' || *s == '{' ? strpbrk(s, "]}") : NULL;
    if (*s == '\\' && s[1] != '\0') {
      s++;
      if (*s != 'b' && *s != 'B')
        text[n++] = *s == 'd'                ? '1'
                    : strchr("wpSD", *s)     ? 'a'
                    : *s == 's' || *s == 'W' ? ' '
                                             : *s;
      if (*s == 'p' && s[1] == '{' && strchr(s, '}') != NULL)
        s = strchr(s, '}');
    } else if (*s == '{' && n > 0) {
      size_t more = (size_t)strtoul(s + 1, NULL, 10);
      for (; more > 1 && n < sizeof(text); more--, n++) text[n] = text[n - 1];
    } else if (*s == '[') {
      text[n++] = s[1] == '\\' ? '1' : s[1] == '^' ? '~' : s[1];
    } else if (strchr("^$()?*+", *s) == NULL) {
      text[n++] = *s == '.' ? 'a' : *s;
    }
    if (end != NULL) s = end;
  }
  lua_pushlstring(L, text, n);
}

static void push_pattern_sample(cast_Machine *c, int32_t source) {
  lua_State *L = c->m.L;
  ops_rawgeti(L, c->m.constants, (size_t)source);
  push_sample(L, lua_tostring(L, -1));
  lua_remove(L, -2);
}

/* What is at an instruction's bound, and beyond it. */
static void read_op(cast_Machine *c, const schema_Op *op) {
  double d = program_bound(op);
  switch (op->code) {
  case CODE_CONST:
  case CODE_ENUM: add_members(c, op); break;
  case CODE_MINIMUM:
  case CODE_MAXIMUM:
  case CODE_ABOVE:
  case CODE_BELOW:
    add_number(c, d);
    add_number(c, d + 1);
    add_number(c, d - 1);
    break;
  case CODE_MULTIPLE_OF: add_number(c, d / 2); break;
  case CODE_MIN_LENGTH:
  case CODE_MAX_LENGTH: add_text(c, op->u.n + 1); break;
  case CODE_MIN_ITEMS:
  case CODE_MAX_ITEMS:
    add_array(c, op->u.n, false);
    add_array(c, op->u.n + 1, false);
    add_array(c, op->u.n + 1, true);
    break;
  case CODE_MIN_PROPERTIES:
  case CODE_MAX_PROPERTIES:
    add_object(c, op->u.n);
    add_object(c, op->u.n + 1);
    break;
  case CODE_PATTERN:
    push_pattern_sample(c, op->b);
    add_hint(c);
    break;
  case CODE_DEPENDENT_REQUIRED:
  case CODE_DEPENDENT_SCHEMA: add_name(c, op->c); break;
  default: break;
  }
}

/* What every search tries. */
static void add_common(cast_Machine *c) {
  static const double numbers[] = {0, 1, -1, 0.5, 1e300};
  static const char *const texts[] = {"",  "a",        "1",
                                      " ", "\xC3\xA4", "1970-01-01"};
  size_t i;
  lua_pushlightuserdata(c->m.L, NULL);
  add_hint(c);
  for (i = 0; i < 2; i++) {
    lua_pushboolean(c->m.L, (int)i);
    add_hint(c);
    add_object(c, i);
    add_array(c, i, false);
  }
  add_array(c, 2, true);
  for (i = 0; i < sizeof(numbers) / sizeof(numbers[0]); i++)
    add_number(c, numbers[i]);
  for (i = 0; i < sizeof(texts) / sizeof(texts[0]); i++) {
    lua_pushstring(c->m.L, texts[i]);
    add_hint(c);
  }
}

static void add_names(cast_Machine *c) {
  static const char *const names[] = {"", "a", "property1", "1", " "};
  size_t i;
  for (i = 0; i < c->m.s->properties.count && i < MAX_NAMES / 2; i++)
    add_name(c, program_property(c->m.s, (int32_t)i)->key);
  for (i = 0; i < c->m.s->patterns.count && i < MAX_NAMES / 2; i++) {
    push_pattern_sample(c, program_pattern(c->m.s, (int32_t)i)->source);
    add(c->m.L, c->hints + 1, MAX_NAMES);
  }
  for (i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
    lua_pushstring(c->m.L, names[i]);
    add(c->m.L, c->hints + 1, MAX_NAMES);
  }
}

static void collect(cast_Machine *c) {
  lua_State *L = c->m.L;
  size_t i;
  if (!lua_isnil(L, c->hints)) return;
  for (i = 0; i < 2; i++) {
    lua_newtable(L);
    lua_replace(L, c->hints + (int)i);
  }
  add_common(c);
  for (i = 0; i < c->m.s->ops.count && i < MAX_OPS; i++)
    read_op(c, program_op(c->m.s, (int32_t)i));
  add_names(c);
}

/* Leaves the value on top of the stack if it conforms, else pops it. */
static bool keep(Search *s) {
  lua_State *L = s->c->m.L;
  if (++s->c->searched <= SEARCH_BUDGET &&
      cast_conforms(s->c, s->nodes, s->count, lua_gettop(L)))
    return true;
  lua_pop(L, 1);
  return false;
}

static void push_hint(Search *s, size_t i) {
  lua_State *L = s->c->m.L;
  ops_rawgeti(L, s->c->hints, i);
  if (lua_type(L, -1) != LUA_TTABLE) return;
  fill_push_copy(&s->c->m, lua_gettop(L));
  lua_remove(L, -2);
}

/* A copy of the table at `base`, or an empty one (0). */
static void push_base(Search *s, int base, bool array) {
  lua_State *L = s->c->m.L;
  if (base != 0) {
    fill_push_copy(&s->c->m, base);
  } else {
    lua_newtable(L);
  }
  if (array) core_push_array_mt(L);
  else core_push_object_mt(L);
  lua_setmetatable(L, -2);
}

/* A table with the hint as item `at`, alone or followed by its twin. */
static bool try_items(Search *s, int base, size_t hint) {
  lua_State *L = s->c->m.L;
  size_t at, end = base != 0 ? ops_rawlen(L, base) + 1 : 1;
  for (at = 1; at <= end && at <= 4; at++) {
    push_base(s, base, true);
    push_hint(s, hint);
    ops_rawseti(L, -2, at);
    if (keep(s)) return true;
  }
  push_base(s, base, true);
  push_hint(s, hint);
  ops_rawseti(L, -2, end);
  push_hint(s, hint);
  ops_rawseti(L, -2, end + 1);
  return keep(s);
}

static bool try_members(Search *s, int base, size_t hint) {
  lua_State *L = s->c->m.L;
  size_t n = ops_rawlen(L, s->c->hints + 1), i;
  for (i = 1; i <= n; i++) {
    push_base(s, base, false);
    ops_rawgeti(L, s->c->hints + 1, i);
    push_hint(s, hint);
    lua_rawset(L, -3);
    if (keep(s)) return true;
  }
  return false;
}

/* Each hint within the table at `base`. */
static bool try_within(Search *s, int base, bool array) {
  size_t n = ops_rawlen(s->c->m.L, s->c->hints), i;
  for (i = 1; i <= n && s->c->searched < SEARCH_BUDGET; i++) {
    if (array ? try_items(s, base, i) : try_members(s, base, i)) return true;
  }
  return false;
}

/* A table with the hint as every property that `object` asks for. */
static bool try_required(Search *s, int base, const schema_Object *object,
                         size_t hint) {
  lua_State *L = s->c->m.L;
  int32_t i;
  push_base(s, base, false);
  for (i = 0; i < object->required; i++) {
    ops_rawgeti(L, s->c->m.constants, (size_t)object->properties[i].key);
    push_hint(s, hint);
    lua_rawset(L, -3);
  }
  return keep(s);
}

/* What some object of the schema must have, all at once. */
static bool try_objects(Search *s, int base) {
  const schema_Schema *schema = s->c->m.s;
  size_t n = ops_rawlen(s->c->m.L, s->c->hints), i, j;
  for (i = 0; i < schema->objects.count && i < MAX_NAMES; i++) {
    const schema_Object *object = program_object(schema, (int32_t)i);
    if (object->required < 2) continue; /* one is tried as any other */
    for (j = 1; j <= n && s->c->searched < SEARCH_BUDGET; j++) {
      if (try_required(s, base, object, j)) return true;
    }
  }
  return false;
}

/* The same in a hint that is a table itself. */
static bool try_within_hint(Search *s, size_t hint) {
  lua_State *L = s->c->m.L;
  int base = lua_gettop(L) + 1;
  push_hint(s, hint);
  if (lua_type(L, base) == LUA_TTABLE) {
    bool array = value_kind(L, s->c->m.core, base) == VALUE_ARRAY;
    if (try_within(s, base, array)) {
      lua_remove(L, base);
      return true;
    }
  }
  lua_settop(L, base - 1);
  return false;
}

bool cast_search(cast_Machine *c, const int32_t *nodes, int count, int base) {
  lua_State *L = c->m.L;
  Search s = {c, nodes, count};
  size_t n, i;
  bool array = base != 0 && value_kind(L, c->m.core, base) == VALUE_ARRAY;
  if (c->hints == 0 || !ops_checkstack(L, 16)) return false;
  collect(c);
  n = ops_rawlen(L, c->hints);
  for (i = 1; i <= n; i++) {
    push_hint(&s, i);
    if (keep(&s)) return true;
  }
  if (base != 0 && try_within(&s, base, array)) return true;
  if (base != 0 && !array && try_objects(&s, base)) return true;
  if (try_objects(&s, 0)) return true;
  for (i = 1; i <= n && c->searched < SEARCH_BUDGET; i++) {
    if (try_within_hint(&s, i)) return true;
  }
  return false;
}
