#include "schema/program/location.h"

#define MAX_PARTS 32 /* strings on the stack before they are joined */

/* Pushes `text` with ~ and / escaped. */
static void push_token(lua_State *L, const char *text, size_t len) {
  luaL_Buffer token;
  const char *end = text + len;
  luaL_buffinit(L, &token);
  for (; text < end; text++) {
    if (*text == '~') luaL_addlstring(&token, "~0", 2);
    else if (*text == '/') luaL_addlstring(&token, "~1", 2);
    else luaL_addchar(&token, *text);
  }
  luaL_pushresult(&token);
}

/* Moves the string on top of the stack below the others. */
static int prepend(lua_State *L, int parts) {
  lua_insert(L, -(parts + 1));
  if (++parts < MAX_PARTS) return parts;
  lua_concat(L, parts);
  return 1;
}

static void push_step(lua_State *L, int constants, const schema_Location *at) {
  lua_pushfstring(L, "/%s", schema_keywords[at->keyword].name);
  if (at->position >= 0) {
    lua_pushfstring(L, "/%d", (int)at->position);
    lua_concat(L, 2);
  } else if (at->key != 0) {
    size_t len;
    const char *name;
    ops_rawgeti(L, constants, (size_t)at->key);
    name = lua_tolstring(L, -1, &len);
    lua_pop(L, 1);
    lua_pushliteral(L, "/");
    push_token(L, name, len);
    lua_concat(L, 3);
  }
}

void schema_push_location(lua_State *L, int constants, schema_LocationOf of,
                          const void *owner, int32_t node,
                          schema_KeywordId keyword) {
  int parts = 0;
  luaL_checkstack(L, MAX_PARTS + 16, "path");
  if (keyword != KEYWORD_NONE) {
    lua_pushfstring(L, "/%s", schema_keywords[keyword].name);
    parts = prepend(L, parts);
  }
  while (node >= 0) {
    const schema_Location *at = of(owner, node);
    if (at->parent >= 0) {
      push_step(L, constants, at);
      parts = prepend(L, parts);
    } else if (at->key != 0) {
      ops_rawgeti(L, constants, (size_t)at->key);
      parts = prepend(L, parts);
    }
    node = at->parent;
  }
  lua_concat(L, parts);
}

void schema_push_path(lua_State *L, const schema_Step *step) {
  int parts = 0;
  luaL_checkstack(L, MAX_PARTS + 16, "path");
  for (; step != NULL; step = step->outer) {
    if (step->name == NULL) {
      lua_pushfstring(L, "/%d", (int)step->index);
    } else {
      lua_pushliteral(L, "/");
      push_token(L, step->name, step->len);
      lua_concat(L, 2);
    }
    parts = prepend(L, parts);
  }
  lua_concat(L, parts);
}
