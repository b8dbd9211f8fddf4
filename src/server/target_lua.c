/*
** target_lua.c - the texts of a request's target for Lua.
*/
#include <stdbool.h>
#include <string.h>

#include "http/target.h"
#include "server/server.h"

#define SHORT 512 /* bytes that need no room on the heap */

/* Pushes the decoded text; false when it is malformed: then another value may
** be pushed. */
static bool push_decoded(lua_State *L, const char *text, size_t length,
                         bool plus) {
  char room[SHORT], *out = room;
  size_t n;
  if (length > SHORT) out = (char *)lua_newuserdata(L, length);
  n = target_decode(text, length, plus, out);
  if (n == TARGET_MALFORMED) return false;
  lua_pushlstring(L, out, n);
  if (length > SHORT) lua_remove(L, -2);
  return true;
}

/* http_server.decode(text) -> string, or nil when it is not percent-encoded
** UTF-8 */
static int decode(lua_State *L) {
  size_t length;
  const char *text = luaL_checklstring(L, 1, &length);
  if (!push_decoded(L, text, length, false)) lua_pushnil(L);
  return 1;
}

/* Appends name and value of the pair to the list on top; false when it is
** malformed. */
static bool add_pair(lua_State *L, const char *pair, size_t length, int *n) {
  size_t name = target_span(pair, length, '=');
  size_t value = name < length ? name + 1 : length;
  if (!push_decoded(L, pair, name, true)) return false;
  ops_rawseti(L, 2, ++*n);
  if (!push_decoded(L, pair + value, length - value, true)) return false;
  ops_rawseti(L, 2, ++*n);
  return true;
}

/* http_server.query(text) -> { name, value, ... }, or nil and the pair that is
** not percent-encoded UTF-8; empty pairs are passed over */
static int query(lua_State *L) {
  size_t length, span;
  const char *text = luaL_checklstring(L, 1, &length);
  int n = 0;
  lua_settop(L, 1);
  lua_createtable(L, 4, 0);
  for (; length > 0; text += span, length -= span) {
    span = target_span(text, length, '&');
    if (span > 0 && !add_pair(L, text, span, &n)) {
      lua_pushnil(L);
      lua_pushlstring(L, text, span);
      return 2;
    }
    if (span < length) span++;
  }
  return 1;
}

/* http_server.split(target) -> path, query: of a target in origin form or "*",
** raw; query: nil without "?".  nil: it has another form */
static int split(lua_State *L) {
  size_t length, path;
  const char *text = luaL_checklstring(L, 1, &length);
  if (*text != '/' && strcmp(text, "*") != 0) return 0;
  path = target_span(text, length, '?');
  lua_settop(L, 1);
  if (path == length) return 1;
  lua_pushlstring(L, text, path);
  lua_pushlstring(L, text + path + 1, length - path - 1);
  return 2;
}

void server_open_target(lua_State *L) {
  lua_pushcfunction(L, decode);
  lua_setfield(L, -2, "decode");
  lua_pushcfunction(L, query);
  lua_setfield(L, -2, "query");
  lua_pushcfunction(L, split);
  lua_setfield(L, -2, "split");
}
