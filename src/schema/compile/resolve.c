/*
** resolve.c - finds the targets of `$ref`s, in the resources read so far and
** the caller's documents (schema/compile/tree.h, tree_resolve).
*/
#include "base/pointer.h"
#include "schema/compile/tree.h"

static void parse_root(lua_State *L, tree_Tree *t, int32_t resource) {
  schema_Location at = {.parent = -1, .key = tree_resource(t, resource)->uri};
  int32_t node;
  if (tree_resource(t, resource)->whole) return;
  tree_resource(t, resource)->whole = true;
  ops_rawgeti(L, t->roots, (size_t)resource + 1);
  node = tree_parse(L, t, &at, resource, 1);
  tree_resource(t, resource)->node = node;
  lua_pop(L, 1);
}

/* Reads resources that were left out; false when there were none.  Visits each
** resource once, as every unresolved reference calls this. */
static bool parse_everything(lua_State *L, tree_Tree *t) {
  bool any = false;
  for (; t->read < t->resources.count; t->read++) {
    const tree_Resource *r = tree_resource(t, (int32_t)t->read);
    if (r->node >= 0) continue;
    parse_root(L, t, (int32_t)t->read);
    any = true;
  }
  return any;
}

/* The resource with the URI on top of the stack, which is popped; -1 when
** neither a resource nor a document has it. */
static int32_t find_resource(lua_State *L, tree_Tree *t) {
  int32_t i = -1;
  lua_pushvalue(L, -1);
  if (ops_rawget(L, t->by_uri) == LUA_TNUMBER) {
    i = (int32_t)lua_tointeger(L, -1);
  } else {
    lua_pop(L, 1);
    lua_pushvalue(L, -1);
    if (ops_rawget(L, t->documents) == LUA_TNIL) {
      lua_pop(L, 1);
      lua_pushfstring(L, "%s#", lua_tostring(L, -1));
      lua_rawget(L, t->documents);
    }
    if (!lua_isnil(L, -1)) {
      lua_pushvalue(L, -2);
      i = tree_add_document(L, t, lua_gettop(L) - 1);
    }
  }
  lua_pop(L, 2);
  return i;
}

/* Steps from the value on top of the stack to its member `token`. */
static void step(lua_State *L, const char *token, size_t len) {
  size_t index;
  lua_pushlstring(L, token, len);
  if (ops_rawget(L, -2) == LUA_TNIL && pointer_is_index(token, len, &index)) {
    lua_pop(L, 1);
    ops_rawgeti(L, -1, index + 1);
  }
  lua_remove(L, -2);
}

/* Unescapes ~0 and ~1 in place; returns the new length.  After `len` bytes
** comes a slash or a NUL. */
static size_t unescape(char *s, size_t len) {
  size_t i, n = 0;
  for (i = 0; i < len; i++) {
    if (s[i] == '~' && (s[i + 1] == '0' || s[i + 1] == '1'))
      s[n++] = s[++i] == '0' ? '~' : '/';
    else s[n++] = s[i];
  }
  return n;
}

static int32_t enter_on_the_way(lua_State *L, tree_Tree *t, int32_t resource) {
  int schema = lua_gettop(L);
  lua_pushvalue(L, schema);
  if (ops_rawget(L, t->memo) == LUA_TNUMBER)
    resource = tree_node(t, (int32_t)lua_tointeger(L, -1))->resource;
  else resource = tree_enter(L, t, resource, schema);
  lua_settop(L, schema);
  return resource;
}

/* The node at a JSON Pointer (a copy, modified here). */
static int32_t follow(lua_State *L, tree_Tree *t, int32_t resource,
                      char *pointer, const char *end, int32_t location) {
  schema_Location at = {.parent = -1, .key = location};
  ops_rawgeti(L, t->roots, (size_t)resource + 1);
  while (pointer < end) {
    char *token = pointer + 1, *stop = token;
    if (lua_type(L, -1) != LUA_TTABLE) return -1;
    resource = enter_on_the_way(L, t, resource);
    while (stop < end && *stop != '/') stop++;
    step(L, token, unescape(token, (size_t)(stop - token)));
    pointer = stop;
  }
  if (lua_type(L, -1) != LUA_TTABLE && lua_type(L, -1) != LUA_TBOOLEAN)
    return -1;
  return tree_parse(L, t, &at, resource, 1);
}

static int32_t find_pointer(lua_State *L, tree_Tree *t, int32_t resource,
                            const char *fragment, size_t len,
                            int32_t location) {
  int top = lua_gettop(L);
  char *copy;
  size_t n;
  int32_t node;
  t->text.len = 0;
  if (!schema_uri_decode(&t->text, fragment, len))
    luaL_error(L, "not enough memory");
  n = t->text.len;
  copy = (char *)lua_newuserdata(L, n + 1);
  memcpy(copy, t->text.data, n);
  copy[n] = '\0';
  node = follow(L, t, resource, copy, copy + n, location);
  lua_settop(L, top);
  return node;
}

/* Finds it by the URI with its fragment, pushed as a key; -1 when it was not
** read. */
static int32_t known_anchor(lua_State *L, tree_Tree *t, int32_t resource,
                            const char *fragment, size_t len) {
  size_t uri_len;
  const char *uri = tree_text(L, t, tree_resource(t, resource)->uri, &uri_len);
  int32_t root = tree_resource(t, resource)->node, node = -1;
  if (root >= 0) /* a document may declare another URI */
    uri = tree_text(L, t, tree_resource(t, tree_node(t, root)->resource)->uri,
                    &uri_len);
  lua_pushfstring(L, "%s#", uri);
  lua_pushlstring(L, fragment, len);
  lua_concat(L, 2);
  if (ops_rawget(L, t->by_anchor) == LUA_TNUMBER)
    node = (int32_t)lua_tointeger(L, -1);
  lua_pop(L, 1);
  return node;
}

static int32_t find_anchor(lua_State *L, tree_Tree *t, int32_t resource,
                           const char *fragment, size_t len) {
  int32_t node = known_anchor(L, t, resource, fragment, len);
  if (node >= 0) return node;
  parse_root(L, t, resource);
  return known_anchor(L, t, resource, fragment, len);
}

/* The node at the absolute URI; -1 when it points nowhere, -2 when its document
** is missing. */
static int32_t find_target(lua_State *L, tree_Tree *t, const char *uri,
                           size_t len, int32_t location) {
  size_t at = schema_uri_fragment(uri, len);
  size_t rest = at < len ? len - at - 1 : 0;
  int32_t resource;
  lua_pushlstring(L, uri, at);
  resource = find_resource(L, t);
  if (resource < 0 && parse_everything(L, t)) {
    lua_pushlstring(L, uri, at);
    resource = find_resource(L, t);
  }
  if (resource < 0) return -2;
  if (rest == 0) {
    parse_root(L, t, resource);
    return tree_resource(t, resource)->node;
  }
  if (uri[at + 1] == '/' || uri[at + 1] == '%')
    return find_pointer(L, t, resource, uri + at + 1, rest, location);
  return find_anchor(L, t, resource, uri + at + 1, rest);
}

static void resolve(lua_State *L, tree_Tree *t, tree_Reference reference) {
  int32_t uri_constant, target;
  size_t len;
  const char *uri;
  schema_KeywordId id =
      (schema_KeywordId)tree_keyword(t, reference.keyword)->id;
  uri = tree_text(L, t, tree_keyword(t, reference.keyword)->value, &len);
  tree_push_resolved(L, t, tree_node(t, reference.node)->resource, uri, len);
  uri = lua_tolstring(L, -1, &len);
  uri_constant = tree_string(L, t, uri, len);
  target = find_target(L, t, uri, len, uri_constant);
  if (target >= 0) {
    tree_child(t, tree_keyword(t, reference.keyword)->first)->node = target;
  } else if (target == -2) {
    tree_unresolved(L, t, uri, len);
    tree_issue(L, t, reference.node, id,
               "\"%s\" is not in any of the given documents", uri);
  } else {
    tree_issue(L, t, reference.node, id, "\"%s\" does not point to a schema",
               uri);
  }
  lua_pop(L, 1);
}

void tree_resolve(lua_State *L, tree_Tree *t) {
  size_t i = 0;
  do {
    for (; i < t->references.count; i++)
      resolve(L, t, *schema_vector_at(t->references, tree_Reference, i));
  } while (t->has_dynamic_ref && parse_everything(L, t));
}
