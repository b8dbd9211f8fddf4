/*
** direct_lua.c - recognizes plain calls: requests whose path and query alone
** decide what is called.
*/
#include <string.h>

#include "http/target.h"
#include "server/server.h"

enum { PATHS = 1, HOST, OBJECT_MT }; /* of the table of plain calls */
enum { ROUTE = 1, KINDS };           /* of an entry in its paths */
enum { TEXT = 1, NUMBER, BOOLEAN };  /* of a member of the input */

#define MAX_DIGITS 15 /* of integers that a double holds exactly */

static bool is(const char *text, size_t length, const char *name) {
  return length == strlen(name) && memcmp(text, name, length) == 0;
}

/* Fields that have no effect on a call by GET. */
static bool is_idle(const char *name, size_t length) {
  static const char *const names[] = {
      "accept",          "user-agent",    "accept-encoding", "connection",
      "accept-language", "cache-control", "pragma",          "sec-fetch-mode"};
  size_t i;
  for (i = 0; i < sizeof(names) / sizeof(*names); i++)
    if (is(name, length, names[i])) return true;
  return false;
}

/* Is Host the string on top of the stack, and has no other field an effect? */
static bool is_plain(lua_State *L, const request_Head *head) {
  size_t i, length;
  const char *host = lua_tolstring(L, -1, &length);
  if (host == NULL || head->has_body || !head->keep_alive || head->minor != 1)
    return false;
  for (i = 0; i < head->field_count; i++) {
    const request_Field *field = &head->fields[i];
    const char *name = head->text + field->name;
    if (is(name, field->name_length, "host")) {
      if (field->value_length != length ||
          memcmp(head->text + field->value, host, length) != 0)
        return false;
    } else if (!is_idle(name, field->name_length)) {
      return false;
    }
  }
  return true;
}

/* Pushes the value of a text; false if it is invalid or not this simple. */
static bool push_value(lua_State *L, int kind, const char *text,
                       size_t length) {
  lua_Integer n = 0;
  size_t i;
  if (kind == TEXT) return server_push_decoded(L, text, length, true);
  if (kind == BOOLEAN) {
    bool yes = is(text, length, "true");
    if (yes || is(text, length, "false")) lua_pushboolean(L, yes);
    return yes || is(text, length, "false");
  }
  if (length == 0 || length > MAX_DIGITS || (*text == '0' && length > 1))
    return false;
  for (i = 0; i < length; i++) {
    if (text[i] < '0' || text[i] > '9') return false;
    n = n * 10 + (text[i] - '0');
  }
  lua_pushinteger(L, n);
  return true;
}

/* Adds a pair of the query to the input on top of the stack, above the kinds of
** its members. */
static bool add_pair(lua_State *L, const char *pair, size_t length) {
  size_t name = target_span(pair, length, '=');
  size_t value = name < length ? name + 1 : length;
  int input = lua_gettop(L), kind;
  if (!server_push_decoded(L, pair, name, true)) return false;
  lua_pushvalue(L, -1);
  lua_rawget(L, input - 1);
  kind = (int)lua_tointeger(L, -1); /* 0: unknown, or not this simple */
  lua_pop(L, 1);
  lua_pushvalue(L, -1);
  lua_rawget(L, input);
  if (kind == 0 || !lua_isnil(L, -1)) return false;
  lua_pop(L, 1);
  if (!push_value(L, kind, pair + value, length - value)) return false;
  lua_rawset(L, input);
  return true;
}

static bool push_input(lua_State *L, const char *query, size_t length) {
  size_t span;
  lua_createtable(L, 0, 1);
  for (; length > 0; query += span, length -= span) {
    span = target_span(query, length, '&');
    if (span > 0 && !add_pair(L, query, span)) return false;
    if (span < length) span++;
  }
  return true;
}

bool server_push_direct(lua_State *L, int calls, const request_Head *head) {
  size_t path = target_span(head->target, head->target_length, '?');
  size_t query = path < head->target_length ? path + 1 : path;
  int top = lua_gettop(L);
  (void)ops_rawgeti(L, calls, HOST);
  if (!is(head->method, head->method_length, "GET") || !is_plain(L, head))
    goto fail;
  (void)ops_rawgeti(L, calls, PATHS);
  lua_pushlstring(L, head->target, path);
  lua_rawget(L, -2);
  if (!lua_istable(L, -1)) goto fail;
  (void)ops_rawgeti(L, -1, ROUTE);
  (void)ops_rawgeti(L, -2, KINDS);
  if (!push_input(L, head->target + query, head->target_length - query))
    goto fail;
  (void)ops_rawgeti(L, calls, OBJECT_MT);
  lua_setmetatable(L, -2);
  lua_remove(L, -2); /* the kinds: route and input are left on top */
  lua_replace(L, top + 2);
  lua_replace(L, top + 1);
  lua_settop(L, top + 2);
  return true;
fail:
  lua_settop(L, top);
  return false;
}
