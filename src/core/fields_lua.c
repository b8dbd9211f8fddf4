/*
** fields_lua.c - the header fields of an HTTP message for Lua, and its URL.
*/
#include "core/open.h"
#include "http/fields.h"
#include "http/target.h"

#define MAX_NAME 256
#define COOKIES "setCookie"

/* Appends a cookie to headers.setCookie.  Cookies cannot be joined, except that
** a folded line belongs to the cookie before it.  The size limit of a head (64
** KiB) bounds how often a cookie is copied. */
static void add_cookie(lua_State *L, int headers, const fields_Field *field) {
  size_t n;
  lua_getfield(L, headers, COOKIES);
  if (lua_isnil(L, -1)) {
    lua_pop(L, 1);
    lua_createtable(L, 1, 0);
    lua_pushvalue(L, -1);
    lua_setfield(L, headers, COOKIES);
  }
  n = ops_rawlen(L, -1);
  if (field->folded) {
    (void)ops_rawgeti(L, -1, n);
    lua_pushliteral(L, " ");
  }
  lua_pushlstring(L, field->value, field->value_len);
  if (field->folded) lua_concat(L, 3);
  ops_rawseti(L, -2, field->folded ? n : n + 1);
  lua_pop(L, 1);
}

static void append(lua_State *L, int list, const char *s, size_t len) {
  lua_pushlstring(L, s, len);
  ops_rawseti(L, list, ops_rawlen(L, list) + 1);
}

/* Sets headers[name] = value.  When the name occurred before, collects the
** values in a list that is joined at the end, so that many fields of one name
** cost linear time.  Says whether the entry is a list. */
static bool add_field(lua_State *L, int headers, const fields_Field *field,
                      bool first) {
  int top = lua_gettop(L), was = LUA_TNIL;
  lua_pushlstring(L, field->name, field->name_len);
  if (!first) {
    lua_pushvalue(L, -1);
    was = ops_rawget(L, headers);
    if (was == LUA_TNIL) lua_pop(L, 1);
  }
  if (was == LUA_TNIL) {
    lua_pushlstring(L, field->value, field->value_len);
    lua_rawset(L, headers);
    return false;
  }
  if (was == LUA_TSTRING) {
    lua_createtable(L, 4, 0);
    lua_insert(L, -2);
    ops_rawseti(L, -2, 1);
    lua_pushvalue(L, top + 1);
    lua_pushvalue(L, top + 2);
    lua_rawset(L, headers);
  }
  append(L, top + 2, field->folded ? " " : ", ", field->folded ? 1 : 2);
  append(L, top + 2, field->value, field->value_len);
  lua_settop(L, top);
  return true;
}

/* Joins the lists among the values, except that of cookies. */
static void join_lists(lua_State *L, int headers) {
  for (lua_pushnil(L); lua_next(L, headers); lua_settop(L, headers + 1)) {
    int list = headers + 2;
    luaL_Buffer b;
    size_t i, n = lua_istable(L, list) ? ops_rawlen(L, list) : 0;
    if (n == 0 || strcmp(lua_tostring(L, headers + 1), COOKIES) == 0) continue;
    luaL_buffinit(L, &b);
    for (i = 1; i <= n; i++) {
      ops_rawgeti(L, list, i);
      luaL_addvalue(&b);
    }
    luaL_pushresult(&b);
    lua_pushvalue(L, headers + 1);
    lua_insert(L, -2);
    lua_rawset(L, headers);
  }
}

static bool is_cookie(const fields_Field *field) {
  return field->name_len == 10 && memcmp(field->name, "set-cookie", 10) == 0;
}

/* A bit for the name; a name whose bit is not set is new. */
static uint64_t mark_of(const char *name, size_t length) {
  unsigned sum = (unsigned char)name[length - 1] * 5u + (unsigned)length +
                 (unsigned char)name[length / 2] * 3u;
  return UINT64_C(1) << (sum & 63);
}

/* Writes the field's name to `name` in lower case and makes the field refer to
** it. */
static void lower(fields_Field *field, char *name) {
  size_t i;
  if (field->name_len > MAX_NAME) field->name_len = MAX_NAME;
  for (i = 0; i < field->name_len; i++) {
    char c = field->name[i];
    name[i] = c >= 'A' && c <= 'Z' ? (char)(c | 0x20) : c;
  }
  field->name = name;
}

/* core.http_fields(text) -> table: values by lower-case names; values of one
** name are joined by ", ", cookies are an array under `setCookie` */
static int http_fields(lua_State *L) {
  size_t length, line, name_len = 0; /* of the previous field */
  const char *p = luaL_checklstring(L, 1, &length), *end = p + length;
  char name[MAX_NAME];
  fields_Field field;
  uint64_t seen = 0;
  bool lists = false;
  lua_settop(L, 1);
  lua_createtable(L, 0, 8);
  for (; p < end; p += line) {
    const char *stop = memchr(p, '\n', (size_t)(end - p));
    line = (size_t)((stop != NULL ? stop + 1 : end) - p);
    if (!fields_read(p, line, &field)) continue;
    if (field.folded) field.name = name, field.name_len = name_len;
    else lower(&field, name);
    name_len = field.name_len;
    if (name_len == 0) continue;
    if (is_cookie(&field)) {
      add_cookie(L, 2, &field);
    } else {
      uint64_t mark = mark_of(name, name_len);
      if (add_field(L, 2, &field, (seen & mark) == 0)) lists = true;
      seen |= mark;
    }
  }
  if (lists) join_lists(L, 2);
  return 1;
}

/* core.is_plain_url(text) -> boolean */
static int is_plain_url(lua_State *L) {
  size_t length;
  const char *url = luaL_checklstring(L, 1, &length);
  lua_pushboolean(L, target_is_plain_url(url, length));
  return 1;
}

static const luaL_Reg fields_functions[] = {
    {"http_fields", http_fields},
    {"is_plain_url", is_plain_url},
    {NULL, NULL},
};

void fields_open(lua_State *L) {
  core_setfuncs(L, fields_functions);
}
