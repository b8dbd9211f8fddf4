#include "registry/visible.h"

#include "registry/access.h"

bool visible_exposed(lua_State *L, int spec) {
  bool exposed;
  value_push_field(L, spec, "_meta");
  exposed = value_push_field(L, -1, "exposed") != LUA_TBOOLEAN ||
            lua_toboolean(L, -1);
  lua_pop(L, 2);
  return exposed;
}

/* Is filter[key] absent or the same as spec[key]? */
static bool same_field(lua_State *L, int spec, int filter, const char *key) {
  bool same = value_push_field(L, filter, key) == LUA_TNIL;
  value_push_field(L, spec, key);
  same = same || lua_rawequal(L, -1, -2);
  lua_pop(L, 2);
  return same;
}

static bool has_tag(lua_State *L, int spec, int filter) {
  int tag = lua_gettop(L) + 1, tags = tag + 1;
  bool has = value_push_field(L, filter, "tag") == LUA_TNIL;
  size_t i, n;
  if (!has && value_push_field(L, spec, "tags") == LUA_TTABLE) {
    n = ops_rawlen(L, tags);
    for (i = 1; i <= n && !has; i++) {
      ops_rawgeti(L, tags, i);
      has = lua_rawequal(L, -1, tag);
      lua_pop(L, 1);
    }
  }
  lua_settop(L, tag - 1);
  return has;
}

bool visible_matches(lua_State *L, int spec, int filter) {
  return lua_type(L, filter) != LUA_TTABLE ||
         (same_field(L, spec, filter, "namespace") &&
          same_field(L, spec, filter, "type") && has_tag(L, spec, filter));
}

const char *visible_to(lua_State *L, int spec, int identity, int filter) {
  int top = lua_gettop(L);
  bool allowed;
  if (!visible_exposed(L, spec) || !visible_matches(L, spec, filter))
    return "hidden";
  allowed = value_push_field(L, spec, "accessControl") != LUA_TTABLE ||
            !access_requires_anything(L, top + 1) ||
            access_allows(L, top + 1, identity, 0);
  return allowed ? "yes" : "denied";
}
