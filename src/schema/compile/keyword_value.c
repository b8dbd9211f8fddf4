/*
** keyword_value.c - reads the values of keywords by their shape and reports
** errors in them (schema/compile/tree.h, tree_read_value).
*/
#include "schema/compile/tree.h"
#include "schema/program/value.h"

#include <math.h>
#include <stdlib.h>

static int32_t add_children(lua_State *L, tree_Tree *t, size_t n) {
  int32_t first =
      schema_vector_add(L, &t->alloc, &t->children, sizeof(tree_Child), n);
  size_t i;
  for (i = 0; i < n; i++) tree_child(t, first + (int32_t)i)->node = -1;
  return first;
}

static void set_range(tree_Tree *t, int32_t keyword, int32_t first,
                      size_t count) {
  tree_keyword(t, keyword)->first = first;
  tree_keyword(t, keyword)->count = (int32_t)count;
}

static schema_KeywordId id_of(const tree_Tree *t, int32_t keyword) {
  return (schema_KeywordId)tree_keyword(t, keyword)->id;
}

static void expected(lua_State *L, tree_Tree *t, int32_t node, int32_t keyword,
                     const char *what) {
  tree_issue(L, t, node, id_of(t, keyword), "expected %s, got %s", what,
             value_describe(L, t->core, -1));
}

#define CONSTANT_VALUES 100000 /* values visited within a constant */
#define CONSTANT_DEPTH 512     /* as in JSON texts */

typedef struct Outer {
  const struct Outer *outer;
  const void *table;
} Outer;

static bool is_among(const Outer *at, const void *table) {
  for (; at != NULL; at = at->outer) {
    if (at->table == table) return true;
  }
  return false;
}

/* Finds something in the value on top of the stack that JSON cannot express, or
** returns NULL.  Visits at most `left` values. */
static const char *find_no_json(lua_State *L, const core_State *core,
                                const Outer *outer, int depth, int *left) {
  const char *found = NULL;
  int t = lua_type(L, -1);
  Outer here;
  if (t == LUA_TSTRING || t == LUA_TBOOLEAN || --*left < 0) return NULL;
  if (t != LUA_TTABLE)
    return schema_type_of(L, core, lua_gettop(L), t, TYPE_ANY) != 0
               ? NULL
               : value_describe(L, core, -1);
  here.outer = outer;
  here.table = lua_topointer(L, -1);
  if (depth >= CONSTANT_DEPTH || !ops_checkstack(L, 8))
    return is_among(outer, here.table) ? "a table that contains itself" : NULL;
  for (lua_pushnil(L); found == NULL && lua_next(L, -2); lua_pop(L, 1))
    found = find_no_json(L, core, &here, depth + 1, left);
  if (found != NULL) lua_pop(L, 1);
  return found;
}

/* Adds an issue when JSON cannot express the constant on top of the stack: no
** value could equal it. */
static void check_constant(lua_State *L, tree_Tree *t, int32_t node,
                           int32_t keyword) {
  int left = CONSTANT_VALUES;
  const char *found = find_no_json(L, t->core, NULL, 0, &left);
  if (found != NULL)
    tree_issue(L, t, node, id_of(t, keyword), "%s is not a JSON value", found);
}

/* Reads the subschema on top of the stack as a child of `node`. */
static int32_t read_schema(lua_State *L, tree_Tree *t, int32_t node,
                           int32_t keyword, int32_t key, int32_t position,
                           int depth) {
  schema_Location at = {node, key, position, (uint8_t)id_of(t, keyword)};
  return tree_parse(L, t, &at, tree_node(t, node)->resource, depth + 1);
}

static void read_one(lua_State *L, tree_Tree *t, int32_t node, int32_t keyword,
                     int depth) {
  int32_t child = add_children(L, t, 1);
  int32_t parsed;
  tree_keyword(t, keyword)->first = child;
  parsed = read_schema(L, t, node, keyword, 0, -1, depth);
  tree_child(t, child)->node = parsed;
}

static bool is_list(lua_State *L, const tree_Tree *t) {
  value_Kind kind = value_kind(L, t->core, -1);
  return kind == VALUE_EMPTY ||
         (kind == VALUE_ARRAY && value_array_length(L, -1) >= 0);
}

/* Makes room for the items of the list on top of the stack; returns their
** number, 0 (and an issue) when it is not a list. */
static size_t add_items(lua_State *L, tree_Tree *t, int32_t node,
                        int32_t keyword, const char *what) {
  size_t n;
  if (!is_list(L, t)) {
    expected(L, t, node, keyword, what);
    return 0;
  }
  n = ops_rawlen(L, -1);
  set_range(t, keyword, add_children(L, t, n), n);
  return n;
}

static void read_array(lua_State *L, tree_Tree *t, int32_t node,
                       int32_t keyword, int depth) {
  size_t n = add_items(L, t, node, keyword, "an array of schemas"), i;
  for (i = 0; i < n; i++) {
    int32_t parsed;
    ops_rawgeti(L, -1, i + 1);
    parsed = read_schema(L, t, node, keyword, 0, (int32_t)i, depth);
    tree_child(t, tree_keyword(t, keyword)->first + (int32_t)i)->node = parsed;
    lua_pop(L, 1);
  }
}

static void read_items(lua_State *L, tree_Tree *t, int32_t node,
                       int32_t keyword, int depth) {
  uint8_t draft = tree_resource(t, tree_node(t, node)->resource)->dialect.draft;
  if ((draft & (DRAFT_2020 | DRAFT_OPENAPI)) == 0 &&
      value_kind(L, t->core, -1) == VALUE_ARRAY) {
    tree_keyword(t, keyword)->flag = 1;
    read_array(L, t, node, keyword, depth);
  } else {
    read_one(L, t, node, keyword, depth);
  }
}

/* Adds an issue for each key of the object on top of the stack that is not a
** string. */
static void report_odd_names(lua_State *L, tree_Tree *t, int32_t node,
                             int32_t keyword) {
  int map = lua_gettop(L);
  for (lua_pushnil(L); lua_next(L, map); lua_pop(L, 1)) {
    if (lua_type(L, -2) != LUA_TSTRING)
      tree_issue(L, t, node, id_of(t, keyword), "names are strings, got a %s",
                 lua_typename(L, lua_type(L, -2)));
  }
}

static bool is_map(lua_State *L, const tree_Tree *t) {
  value_Kind kind = value_kind(L, t->core, -1);
  return kind == VALUE_OBJECT || kind == VALUE_EMPTY;
}

/* Reads the array of strings on top of the stack as children with keys. */
static bool read_names(lua_State *L, tree_Tree *t, int32_t *first,
                       size_t *count) {
  size_t i, n;
  if (!is_list(L, t)) return false;
  n = ops_rawlen(L, -1);
  *first = add_children(L, t, n);
  *count = n;
  for (i = 0; i < n; i++) {
    bool is_string = ops_rawgeti(L, -1, i + 1) == LUA_TSTRING;
    if (is_string) {
      size_t len;
      const char *s = lua_tolstring(L, -1, &len);
      int32_t key = tree_string(L, t, s, len);
      tree_child(t, *first + (int32_t)i)->key = key;
    }
    lua_pop(L, 1);
    if (!is_string) return false;
  }
  return true;
}

/* Reads the value of one name in a map: a schema, or an array of names. */
static void read_member(lua_State *L, tree_Tree *t, int32_t node,
                        int32_t keyword, int32_t child, int depth) {
  uint8_t shape = schema_keywords[id_of(t, keyword)].shape;
  int32_t key = tree_child(t, child)->key;
  if (shape == SHAPE_NAME_MAP || (shape == SHAPE_DEPENDENCIES &&
                                  value_kind(L, t->core, -1) == VALUE_ARRAY)) {
    int32_t first;
    size_t count;
    if (!read_names(L, t, &first, &count)) {
      expected(L, t, node, keyword, "arrays of property names");
      return;
    }
    tree_child(t, child)->first = first;
    tree_child(t, child)->count = (int32_t)count;
  } else {
    int32_t parsed = read_schema(L, t, node, keyword, key, -1, depth);
    tree_child(t, child)->node = parsed;
  }
}

static void read_map(lua_State *L, tree_Tree *t, int32_t node, int32_t keyword,
                     int depth) {
  int map = lua_gettop(L);
  size_t n, i;
  value_Name *names;
  int32_t first;
  if (!is_map(L, t)) {
    expected(L, t, node, keyword, "an object");
    return;
  }
  report_odd_names(L, t, node, keyword);
  names = value_sorted_names(L, map, &n);
  first = add_children(L, t, n);
  set_range(t, keyword, first, n);
  for (i = 0; i < n; i++) {
    int32_t key = tree_string(L, t, names[i].s, names[i].len);
    tree_child(t, first + (int32_t)i)->key = key;
    lua_pushlstring(L, names[i].s, names[i].len);
    lua_rawget(L, map);
    read_member(L, t, node, keyword, first + (int32_t)i, depth);
    lua_pop(L, 1);
  }
  lua_pop(L, 1);
}

/* Reads the number on top of the stack; false when it is not one. */
static bool read_number(lua_State *L, const tree_Tree *t,
                        schema_Number *number) {
  int type = lua_type(L, -1);
  number->is_integer = integer_read(L, t->core, -1, &number->i);
  if (!number->is_integer && type != LUA_TNUMBER) return false;
  number->d =
      type == LUA_TNUMBER ? lua_tonumber(L, -1) : integer_to_double(number->i);
  return isfinite(number->d);
}

/* Is it an integer from 0?  One that is too large for an integer becomes the
** largest count. */
static bool is_count(schema_Number *number) {
  if (number->d >= 18446744073709551616.0) {
    number->is_integer = true;
    number->i = integer_of(INT64_MAX);
  }
  return number->is_integer && number->d >= 0;
}

static void read_numeric(lua_State *L, tree_Tree *t, int32_t node,
                         int32_t keyword) {
  uint8_t shape = schema_keywords[id_of(t, keyword)].shape;
  schema_Number number;
  if (!read_number(L, t, &number)) {
    expected(L, t, node, keyword,
             shape == SHAPE_COUNT ? "a non-negative integer" : "a number");
    return;
  }
  integer_push_text(L, t->core, -1);
  if (shape == SHAPE_COUNT && !is_count(&number))
    tree_issue(L, t, node, id_of(t, keyword),
               "expected a non-negative integer, got %s", lua_tostring(L, -1));
  else if (shape == SHAPE_POSITIVE && !(number.d > 0))
    tree_issue(L, t, node, id_of(t, keyword),
               "expected a number above 0, got %s", lua_tostring(L, -1));
  else tree_keyword(t, keyword)->number = number;
}

static void read_boolean(lua_State *L, tree_Tree *t, int32_t node,
                         int32_t keyword) {
  if (lua_type(L, -1) != LUA_TBOOLEAN)
    expected(L, t, node, keyword, "a boolean");
  else tree_keyword(t, keyword)->flag = (uint8_t)lua_toboolean(L, -1);
}

/* exclusiveMinimum: in old drafts a flag of `minimum`, later its own bound. */
static void read_limit(lua_State *L, tree_Tree *t, int32_t node,
                       int32_t keyword) {
  uint8_t draft = tree_resource(t, tree_node(t, node)->resource)->dialect.draft;
  if (draft & (DRAFT_4 | DRAFT_OPENAPI | DRAFT_SWAGGER))
    read_boolean(L, t, node, keyword);
  else read_numeric(L, t, node, keyword);
}

static uint16_t type_mask(const char *name, uint8_t draft) {
  static const struct {
    const char *name;
    uint16_t mask;
  } types[] = {
      {"null", TYPE_NULL},       {"boolean", TYPE_BOOLEAN},
      {"integer", TYPE_INTEGER}, {"number", TYPE_NUMBER},
      {"string", TYPE_STRING},   {"array", TYPE_ARRAY},
      {"object", TYPE_OBJECT},
  };
  size_t i;
  for (i = 0; i < sizeof(types) / sizeof(types[0]); i++) {
    if (strcmp(types[i].name, name) == 0) return types[i].mask;
  }
  return draft == DRAFT_SWAGGER && strcmp(name, "file") == 0 ? TYPE_ANY : 0;
}

/* Adds the type named by the string on top of the stack. */
static void read_type_name(lua_State *L, tree_Tree *t, int32_t node,
                           int32_t keyword) {
  uint8_t draft = tree_resource(t, tree_node(t, node)->resource)->dialect.draft;
  uint16_t mask;
  if (lua_type(L, -1) != LUA_TSTRING) {
    expected(L, t, node, keyword, "the name of a type, or an array of them");
    return;
  }
  mask = type_mask(lua_tostring(L, -1), draft);
  if (mask == 0)
    tree_issue(L, t, node, KEYWORD_TYPE,
               "unknown type \"%s\"; expected null, boolean, integer, number, "
               "string, array or object",
               lua_tostring(L, -1));
  tree_keyword(t, keyword)->mask |= mask;
}

static void read_type(lua_State *L, tree_Tree *t, int32_t node,
                      int32_t keyword) {
  size_t i, n;
  if (!is_list(L, t)) {
    read_type_name(L, t, node, keyword);
    return;
  }
  n = ops_rawlen(L, -1);
  for (i = 1; i <= n; i++) {
    ops_rawgeti(L, -1, i);
    read_type_name(L, t, node, keyword);
    lua_pop(L, 1);
  }
}

static void read_list(lua_State *L, tree_Tree *t, int32_t node,
                      int32_t keyword) {
  size_t n = add_items(L, t, node, keyword, "an array"), i;
  for (i = 0; i < n; i++) {
    int32_t value;
    ops_rawgeti(L, -1, i + 1);
    check_constant(L, t, node, keyword);
    value = tree_constant(L, t);
    tree_child(t, tree_keyword(t, keyword)->first + (int32_t)i)->key = value;
  }
}

static bool is_reference(schema_KeywordId id) {
  return id == KEYWORD_REF || id == KEYWORD_DYNAMIC_REF ||
         id == KEYWORD_RECURSIVE_REF;
}

static void add_reference(lua_State *L, tree_Tree *t, int32_t node,
                          int32_t keyword) {
  int32_t child = add_children(L, t, 1);
  int32_t i = schema_vector_add(L, &t->alloc, &t->references,
                                sizeof(tree_Reference), 1);
  tree_Reference *reference =
      schema_vector_at(t->references, tree_Reference, i);
  reference->node = node;
  reference->keyword = keyword;
  tree_keyword(t, keyword)->first = child;
  if (id_of(t, keyword) != KEYWORD_REF) t->has_dynamic_ref = true;
}

static void read_string(lua_State *L, tree_Tree *t, int32_t node,
                        int32_t keyword) {
  const char *s;
  size_t len;
  int32_t value;
  if (lua_type(L, -1) != LUA_TSTRING) {
    expected(L, t, node, keyword, "a string");
    return;
  }
  s = lua_tolstring(L, -1, &len);
  value = tree_string(L, t, s, len);
  tree_keyword(t, keyword)->value = value;
  if (is_reference(id_of(t, keyword))) add_reference(L, t, node, keyword);
}

static void read_required(lua_State *L, tree_Tree *t, int32_t node,
                          int32_t keyword) {
  int32_t first;
  size_t count;
  if (read_names(L, t, &first, &count)) set_range(t, keyword, first, count);
  else expected(L, t, node, keyword, "an array of property names");
}

static void read_constant(lua_State *L, tree_Tree *t, int32_t node,
                          int32_t keyword) {
  int32_t value;
  check_constant(L, t, node, keyword);
  lua_pushvalue(L, -1);
  value = tree_constant(L, t);
  tree_keyword(t, keyword)->value = value;
}

void tree_read_value(lua_State *L, tree_Tree *t, int32_t node, int32_t keyword,
                     int depth) {
  switch ((schema_Shape)schema_keywords[id_of(t, keyword)].shape) {
  case SHAPE_SCHEMA: read_one(L, t, node, keyword, depth); break;
  case SHAPE_SCHEMAS: read_array(L, t, node, keyword, depth); break;
  case SHAPE_MAP:
  case SHAPE_DEPENDENCIES:
  case SHAPE_NAME_MAP: read_map(L, t, node, keyword, depth); break;
  case SHAPE_ITEMS: read_items(L, t, node, keyword, depth); break;
  case SHAPE_COUNT:
  case SHAPE_NUMBER:
  case SHAPE_POSITIVE: read_numeric(L, t, node, keyword); break;
  case SHAPE_LIMIT: read_limit(L, t, node, keyword); break;
  case SHAPE_IDENTIFIER:
  case SHAPE_STRING: read_string(L, t, node, keyword); break;
  case SHAPE_BOOLEAN: read_boolean(L, t, node, keyword); break;
  case SHAPE_NAMES: read_required(L, t, node, keyword); break;
  case SHAPE_TYPE: read_type(L, t, node, keyword); break;
  case SHAPE_LIST: read_list(L, t, node, keyword); break;
  case SHAPE_ANY: read_constant(L, t, node, keyword); break;
  }
}
