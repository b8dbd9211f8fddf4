#include "schema/compile/tree.h"

#include <stdarg.h>

#define TREE_NAME "operations.schema.tree"
#define TEXT_MAX (1024 * 1024) /* bytes of one URI or pointer */

static int tree_gc(lua_State *L) {
  tree_Tree *t = (tree_Tree *)lua_touserdata(L, 1);
  schema_vector_free(&t->alloc, &t->nodes, sizeof(tree_Node));
  schema_vector_free(&t->alloc, &t->keywords, sizeof(tree_Keyword));
  schema_vector_free(&t->alloc, &t->children, sizeof(tree_Child));
  schema_vector_free(&t->alloc, &t->resources, sizeof(tree_Resource));
  schema_vector_free(&t->alloc, &t->anchors, sizeof(tree_DynamicAnchor));
  schema_vector_free(&t->alloc, &t->references, sizeof(tree_Reference));
  buffer_free(&t->text);
  return 0;
}

static int new_table(lua_State *L) {
  lua_newtable(L);
  return lua_gettop(L);
}

tree_Tree *tree_new(lua_State *L, const core_State *core, int constants,
                    int documents) {
  tree_Tree *t = (tree_Tree *)lua_newuserdata(L, sizeof(*t));
  memset(t, 0, sizeof(*t));
  t->alloc = core_alloc(L);
  t->core = core;
  buffer_init(&t->text, t->alloc, TEXT_MAX);
  if (luaL_newmetatable(L, TREE_NAME)) {
    lua_pushcfunction(L, tree_gc);
    lua_setfield(L, -2, "__gc");
  }
  lua_setmetatable(L, -2);
  luaL_checkstack(L, 32, "schema");
  t->constants = constants;
  t->documents = documents;
  core_push_array_mt(L);
  tree_constant(L, t); /* PROGRAM_ARRAY_MT */
  t->interned = new_table(L);
  t->memo = new_table(L);
  t->shared = new_table(L);
  t->by_uri = new_table(L);
  t->by_anchor = new_table(L);
  t->roots = new_table(L);
  t->issues = new_table(L);
  t->unresolved = new_table(L);
  return t;
}

int32_t tree_constant(lua_State *L, tree_Tree *t) {
  ops_rawseti(L, t->constants, (size_t)++t->constants_count);
  return t->constants_count;
}

int32_t tree_string(lua_State *L, tree_Tree *t, const char *s, size_t len) {
  int32_t constant;
  lua_pushlstring(L, s, len);
  lua_pushvalue(L, -1);
  if (ops_rawget(L, t->interned) == LUA_TNUMBER) {
    constant = (int32_t)lua_tointeger(L, -1);
    lua_pop(L, 2);
    return constant;
  }
  lua_pop(L, 1);
  lua_pushvalue(L, -1);
  constant = tree_constant(L, t);
  lua_pushinteger(L, constant);
  lua_rawset(L, t->interned);
  return constant;
}

const char *tree_text(lua_State *L, const tree_Tree *t, int32_t constant,
                      size_t *len) {
  const char *s;
  ops_rawgeti(L, t->constants, (size_t)constant);
  s = lua_tolstring(L, -1, len);
  lua_pop(L, 1); /* the constants keep it alive */
  return s;
}

static const schema_Location *location_of(const void *tree, int32_t node) {
  return &tree_node((const tree_Tree *)tree, node)->location;
}

void tree_issue(lua_State *L, tree_Tree *t, int32_t node,
                schema_KeywordId keyword, const char *message, ...) {
  va_list arguments;
  if (ops_rawlen(L, t->issues) == TREE_MAX_ISSUES) return;
  luaL_checkstack(L, 64, "schema");
  lua_createtable(L, 0, 4);
  schema_push_location(L, t->constants, location_of, t, node, keyword);
  lua_pushvalue(L, -1);
  lua_setfield(L, -3, "path");
  lua_setfield(L, -2, "schemaPath");
  if (keyword != KEYWORD_NONE) {
    lua_pushstring(L, schema_keywords[keyword].name);
    lua_setfield(L, -2, "keyword");
  }
  va_start(arguments, message);
  lua_pushvfstring(L, message, arguments);
  va_end(arguments);
  lua_setfield(L, -2, "message");
  ops_rawseti(L, t->issues, ops_rawlen(L, t->issues) + 1);
}

/* Pushes the string field `name` of the schema table at `schema`; NULL, with
** nothing pushed, without one. */
static const char *string_field(lua_State *L, int schema, const char *name,
                                size_t *len) {
  lua_pushstring(L, name);
  if (ops_rawget(L, schema) == LUA_TSTRING) return lua_tolstring(L, -1, len);
  lua_pop(L, 1);
  return NULL;
}

void tree_unresolved(lua_State *L, const tree_Tree *t, const char *uri,
                     size_t len) {
  lua_pushlstring(L, uri, schema_uri_fragment(uri, len));
  ops_rawseti(L, t->unresolved, ops_rawlen(L, t->unresolved) + 1);
}

/* Reads `$vocabulary` of the metaschema on top of the stack. */
static void read_vocabularies(lua_State *L, tree_Tree *t,
                              schema_Dialect *dialect) {
  lua_pushliteral(L, "$vocabulary");
  if (ops_rawget(L, -2) == LUA_TTABLE) {
    dialect->vocabulary = VOCABULARY_CORE;
    lua_pushnil(L);
    while (lua_next(L, -2)) {
      if (lua_type(L, -2) == LUA_TSTRING) {
        uint8_t bits = schema_vocabulary_by_uri(lua_tostring(L, -2));
        dialect->vocabulary |= bits;
        if (bits == 0 && lua_toboolean(L, -1))
          tree_issue(L, t, -1, KEYWORD_SCHEMA,
                     "needs vocabulary %s, which is not supported",
                     lua_tostring(L, -2));
      }
      lua_pop(L, 1);
    }
  }
  lua_pop(L, 1);
}

/* Finds the dialect of a custom metaschema `uri` in the documents; one that
** declares none keeps the given one. */
static bool custom_dialect(lua_State *L, tree_Tree *t, const char *uri,
                           schema_Dialect *dialect, int depth) {
  size_t len;
  const char *base;
  bool known;
  luaL_checkstack(L, 16, "schema");
  lua_pushlstring(L, uri, schema_dialect_uri_len(uri));
  if (depth > 8 || ops_rawget(L, t->documents) != LUA_TTABLE) {
    lua_pop(L, 1);
    tree_unresolved(L, t, uri, strlen(uri));
    return false;
  }
  base = string_field(L, lua_gettop(L), "$schema", &len);
  known = base == NULL || schema_dialect_by_uri(base, dialect) ||
          custom_dialect(L, t, base, dialect, depth + 1);
  if (base != NULL) lua_pop(L, 1);
  if (known) read_vocabularies(L, t, dialect);
  lua_pop(L, 1);
  return known;
}

/* The dialect declared by the table at `schema`, else the given one. */
static void read_dialect(lua_State *L, tree_Tree *t, int schema,
                         schema_Dialect *dialect) {
  size_t len;
  const char *uri = string_field(L, schema, "$schema", &len);
  if (uri == NULL) return;
  if (!schema_dialect_by_uri(uri, dialect) &&
      !custom_dialect(L, t, uri, dialect, 0))
    tree_issue(L, t, -1, KEYWORD_SCHEMA,
               "\"%s\" is an unknown dialect; expected the URI of "
               "draft 2020-12, 2019-09, 7, 6 or 4",
               uri);
  lua_pop(L, 1);
}

/* Adds a resource for the schema at `schema`; pops its URI from the top of the
** stack. */
static int32_t add_resource(lua_State *L, tree_Tree *t, int32_t outer,
                            int schema) {
  int32_t i;
  size_t len;
  const char *uri = lua_tolstring(L, -1, &len);
  tree_Resource *r;
  schema_Dialect dialect =
      outer < 0 ? t->dialect : tree_resource(t, outer)->dialect;
  if (lua_type(L, schema) == LUA_TTABLE) read_dialect(L, t, schema, &dialect);
  i = schema_vector_add(L, &t->alloc, &t->resources, sizeof(tree_Resource), 1);
  r = tree_resource(t, i);
  r->node = -1;
  r->dialect = dialect;
  r->uri = tree_string(L, t, uri, len);
  lua_pushinteger(L, i);
  lua_rawset(L, t->by_uri);
  lua_pushvalue(L, schema);
  ops_rawseti(L, t->roots, (size_t)i + 1);
  return i;
}

void tree_push_resolved(lua_State *L, tree_Tree *t, int32_t resource,
                        const char *ref, size_t len) {
  size_t base_len;
  const char *base =
      tree_text(L, t, tree_resource(t, resource)->uri, &base_len);
  t->text.len = 0;
  if (!schema_uri_resolve(&t->text, base, base_len, ref, len))
    luaL_error(L, "not enough memory");
  lua_pushlstring(L, t->text.data == NULL ? "" : t->text.data, t->text.len);
}

/* Is the table at `schema` the one that the resource was made of? */
static bool has_root(lua_State *L, const tree_Tree *t, int32_t resource,
                     int schema) {
  bool same;
  ops_rawgeti(L, t->roots, (size_t)resource + 1);
  same = lua_rawequal(L, -1, schema);
  lua_pop(L, 1);
  return same;
}

/* The resource that already has the URI on top of the stack, or -1. */
static int32_t known_resource(lua_State *L, const tree_Tree *t, int schema) {
  int32_t i = -1;
  lua_pushvalue(L, -1);
  if (ops_rawget(L, t->by_uri) == LUA_TNUMBER) {
    i = (int32_t)lua_tointeger(L, -1);
    if (!has_root(L, t, i, schema)) i = -1;
  }
  lua_pop(L, 1);
  return i;
}

static bool has_field(lua_State *L, int schema, const char *name) {
  bool found;
  lua_pushstring(L, name);
  found = ops_rawget(L, schema) != LUA_TNIL;
  lua_pop(L, 1);
  return found;
}

/* Drafts in which `$ref` hides its siblings. */
static bool ref_hides(const schema_Dialect *dialect) {
  return (dialect->draft & (DRAFT_2019 | DRAFT_2020)) == 0;
}

int32_t tree_enter(lua_State *L, tree_Tree *t, int32_t outer, int schema) {
  schema_Dialect dialect = tree_resource(t, outer)->dialect;
  const char *id;
  size_t len;
  size_t issues = ops_rawlen(L, t->issues);
  int32_t resource = outer;
  int top = lua_gettop(L);
  read_dialect(L, t, schema, &dialect);
  while (ops_rawlen(L, t->issues) > issues) { /* add_resource reports them */
    lua_pushnil(L);
    ops_rawseti(L, t->issues, ops_rawlen(L, t->issues));
  }
  if (ref_hides(&dialect) && has_field(L, schema, "$ref")) return outer;
  if (schema_keyword_applies(KEYWORD_ID, &dialect))
    id = string_field(L, schema, "$id", &len);
  else if (schema_keyword_applies(KEYWORD_ID_4, &dialect))
    id = string_field(L, schema, "id", &len);
  else return outer;
  if (id == NULL) return outer;
  len = schema_uri_fragment(id, len);
  if (len > 0 &&
      !(tree_resource(t, outer)->declared && has_root(L, t, outer, schema))) {
    tree_push_resolved(L, t, outer, id, len);
    resource = known_resource(L, t, schema);
    if (resource < 0) resource = add_resource(L, t, outer, schema);
    tree_resource(t, resource)->declared = true;
  }
  lua_settop(L, top);
  return resource;
}

static void add_anchor(lua_State *L, tree_Tree *t, int32_t node,
                       const char *name) {
  size_t len;
  const char *uri = tree_text(
      L, t, tree_resource(t, tree_node(t, node)->resource)->uri, &len);
  lua_pushfstring(L, "%s#%s", uri, name);
  lua_pushinteger(L, node);
  lua_rawset(L, t->by_anchor);
}

static void add_dynamic(lua_State *L, tree_Tree *t, int32_t node,
                        int32_t name) {
  int32_t i = schema_vector_add(L, &t->alloc, &t->anchors,
                                sizeof(tree_DynamicAnchor), 1);
  tree_DynamicAnchor *anchor = tree_anchor(t, i);
  anchor->resource = tree_node(t, node)->resource;
  anchor->name = name;
  anchor->node = node;
  tree_node(t, node)->anchor = name;
}

/* `$id: "#name"` in old drafts. */
static void read_id_anchor(lua_State *L, tree_Tree *t, int32_t node, int schema,
                           const char *keyword) {
  size_t len, at;
  const char *id = string_field(L, schema, keyword, &len);
  if (id == NULL) return;
  at = schema_uri_fragment(id, len);
  if (at < len) add_anchor(L, t, node, id + at + 1);
  lua_pop(L, 1);
}

static void read_anchors(lua_State *L, tree_Tree *t, int32_t node, int schema) {
  const schema_Dialect *dialect =
      &tree_resource(t, tree_node(t, node)->resource)->dialect;
  uint8_t draft = dialect->draft;
  const char *name;
  size_t len;
  if (draft & (DRAFT_6 | DRAFT_7)) read_id_anchor(L, t, node, schema, "$id");
  if (draft & DRAFT_4) read_id_anchor(L, t, node, schema, "id");
  if ((draft & (DRAFT_2019 | DRAFT_2020)) &&
      (name = string_field(L, schema, "$anchor", &len)) != NULL) {
    add_anchor(L, t, node, name);
    lua_pop(L, 1);
  }
  if ((draft & DRAFT_2020) &&
      (name = string_field(L, schema, "$dynamicAnchor", &len)) != NULL) {
    add_anchor(L, t, node, name);
    add_dynamic(L, t, node, tree_string(L, t, name, len));
    lua_pop(L, 1);
  }
  if (draft & DRAFT_2019) {
    lua_pushliteral(L, "$recursiveAnchor");
    lua_rawget(L, schema);
    if (lua_toboolean(L, -1)) add_dynamic(L, t, node, 0);
    lua_pop(L, 1);
  }
}

/* The keywords of the schema table, as a set of bits. */
static uint64_t present_keywords(lua_State *L, tree_Tree *t, int32_t node,
                                 int schema, const schema_Dialect *dialect) {
  uint64_t set = 0;
  lua_pushnil(L);
  while (lua_next(L, schema)) {
    lua_pop(L, 1);
    if (lua_type(L, -1) == LUA_TSTRING) {
      size_t len;
      const char *name = lua_tolstring(L, -1, &len);
      schema_KeywordId id = schema_keyword_find(name, len);
      if (id != KEYWORD_NONE && schema_keyword_applies(id, dialect))
        set |= UINT64_C(1) << id;
    } else {
      tree_issue(L, t, node, KEYWORD_NONE,
                 "the keys of a schema are strings, got a %s",
                 luaL_typename(L, -1));
    }
  }
  if (ref_hides(dialect) && (set & (UINT64_C(1) << KEYWORD_REF)))
    set &= UINT64_C(1) << KEYWORD_REF | UINT64_C(1) << KEYWORD_DEFINITIONS;
  return set;
}

static int32_t add_keyword(lua_State *L, tree_Tree *t, int32_t node,
                           schema_KeywordId id) {
  int32_t i =
      schema_vector_add(L, &t->alloc, &t->keywords, sizeof(tree_Keyword), 1);
  tree_Node *n = tree_node(t, node);
  tree_Keyword *k = tree_keyword(t, i);
  k->id = (uint8_t)id;
  k->next = n->first;
  n->first = i;
  return i;
}

static void read_keywords(lua_State *L, tree_Tree *t, int32_t node, int schema,
                          int depth) {
  schema_Dialect dialect =
      tree_resource(t, tree_node(t, node)->resource)->dialect;
  uint64_t set = present_keywords(L, t, node, schema, &dialect);
  int id;
  for (id = 0; set != 0; id++, set >>= 1) {
    if ((set & 1) == 0) continue;
    lua_pushstring(L, schema_keywords[id].name);
    lua_rawget(L, schema);
    tree_read_value(L, t, node, add_keyword(L, t, node, (schema_KeywordId)id),
                    depth);
    lua_settop(L, schema);
  }
}

static int32_t add_node(lua_State *L, tree_Tree *t, const schema_Location *at,
                        int32_t resource) {
  int32_t i = schema_vector_add(L, &t->alloc, &t->nodes, sizeof(tree_Node), 1);
  tree_Node *n = tree_node(t, i);
  n->first = -1;
  n->location = *at;
  n->resource = n->outer = resource;
  n->anchor = -1;
  return i;
}

/* The last node that was read from the table at `schema`, or -1. */
static int32_t last_read(lua_State *L, const tree_Tree *t, int schema) {
  int32_t node = -1;
  lua_pushvalue(L, schema);
  if (ops_rawget(L, t->memo) == LUA_TNUMBER)
    node = (int32_t)lua_tointeger(L, -1);
  lua_pop(L, 1);
  return node;
}

static void push_place(lua_State *L, int schema, int32_t resource) {
  lua_pushfstring(L, "%p %d", lua_topointer(L, schema), (int)resource);
}

static void keep_place(lua_State *L, const tree_Tree *t, int schema,
                       int32_t resource, int32_t node) {
  push_place(L, schema, resource);
  lua_pushinteger(L, node);
  lua_rawset(L, t->shared);
}

/* Keeps a node of a table that is read again. */
static void keep_shared(lua_State *L, const tree_Tree *t, int schema,
                        int32_t node) {
  keep_place(L, t, schema, tree_node(t, node)->outer, node);
  keep_place(L, t, schema, tree_node(t, node)->resource, node);
}

/* The node that was read from the table at `schema` for a resource, or -1;
** `last` is the last one that was read from it. */
static int32_t read_for(lua_State *L, tree_Tree *t, int schema, int32_t last,
                        int32_t resource) {
  int32_t node = -1;
  if (last < 0 || tree_node(t, last)->outer == resource ||
      tree_node(t, last)->resource == resource)
    return last;
  if (t->looked == TREE_MAX_SHARED) return last; /* an issue says so */
  if (++t->looked == TREE_MAX_SHARED)
    tree_issue(L, t, last, KEYWORD_NONE,
               "a table that too many schemas with an $id share");
  push_place(L, schema, resource);
  if (ops_rawget(L, t->shared) == LUA_TNUMBER)
    node = (int32_t)lua_tointeger(L, -1);
  lua_pop(L, 1);
  return node;
}

static int32_t parse_table(lua_State *L, tree_Tree *t,
                           const schema_Location *at, int32_t outer,
                           int depth) {
  int schema = lua_gettop(L);
  int32_t last = last_read(L, t, schema), resource;
  int32_t node = read_for(L, t, schema, last, outer);
  if (node >= 0) return node;
  node = add_node(L, t, at, outer);
  lua_pushvalue(L, schema);
  lua_pushinteger(L, node);
  lua_rawset(L, t->memo);
  resource = tree_enter(L, t, outer, schema);
  tree_node(t, node)->resource = resource;
  if (resource != outer) tree_resource(t, resource)->node = node;
  if (last >= 0) {
    keep_shared(L, t, schema, last);
    keep_shared(L, t, schema, node);
  }
  read_anchors(L, t, node, schema);
  read_keywords(L, t, node, schema, depth);
  return node;
}

int32_t tree_parse(lua_State *L, tree_Tree *t, const schema_Location *at,
                   int32_t resource, int depth) {
  int32_t node;
  value_Kind kind = value_kind(L, t->core, -1);
  luaL_checkstack(L, 16, "schema");
  if ((kind == VALUE_OBJECT || kind == VALUE_EMPTY) &&
      depth <= SCHEMA_MAX_DEPTH && ops_rawlen(L, t->issues) < TREE_MAX_ISSUES)
    return parse_table(L, t, at, resource, depth);
  node = add_node(L, t, at, resource);
  if (kind == VALUE_BOOLEAN)
    tree_node(t, node)->is_false = !lua_toboolean(L, -1);
  else if (depth > SCHEMA_MAX_DEPTH)
    tree_issue(L, t, node, KEYWORD_NONE,
               "schemas within schemas deeper than %d levels",
               SCHEMA_MAX_DEPTH);
  else
    tree_issue(L, t, node, KEYWORD_NONE,
               "expected a schema (a table or a boolean), got %s",
               value_type_name(L, t->core, -1));
  return node;
}

int32_t tree_add_document(lua_State *L, tree_Tree *t, int document) {
  return add_resource(L, t, -1, document);
}

int32_t tree_build(lua_State *L, tree_Tree *t, int i, const char *uri) {
  static const schema_Location root = {.parent = -1};
  int32_t resource, node;
  lua_pushstring(L, uri);
  resource = add_resource(L, t, -1, i);
  lua_pushvalue(L, i);
  node = tree_parse(L, t, &root, resource, 1);
  lua_pop(L, 1);
  tree_resource(t, resource)->node = node;
  tree_resource(t, resource)->whole = true;
  tree_resolve(L, t);
  return node;
}
