/*
** fields_lua.c - the head of an HTTP message as Lua sees it.
*/
#include "core/open.h"
#include "http/fields.h"

#define MAX_NAME 256

/* Adds a cookie to headers.setCookie: cookies cannot be joined, but what a line
** goes on with is of the one before. */
static void add_cookie(lua_State *L, int headers, const fields_Field *field) {
  bool goes_on;
  size_t n;
  lua_getfield(L, headers, "setCookie");
  if (lua_isnil(L, -1)) {
    lua_pop(L, 1);
    lua_createtable(L, 1, 0);
    lua_pushvalue(L, -1);
    lua_setfield(L, headers, "setCookie");
  }
  n = ops_rawlen(L, -1);
  goes_on = field->folded && n > 0;
  if (goes_on) {
    (void)ops_rawgeti(L, -1, n);
    lua_pushliteral(L, " ");
  }
  lua_pushlstring(L, field->value, field->value_len);
  if (goes_on) lua_concat(L, 3);
  ops_rawseti(L, -2, goes_on ? n : n + 1);
  lua_pop(L, 1);
}

/* headers[name] = value; joined to what is there, if something may be. */
static void add_field(lua_State *L, int headers, const fields_Field *field,
                      bool first) {
  lua_pushlstring(L, field->name, field->name_len);
  if (!first) lua_pushvalue(L, -1);
  if (first || ops_rawget(L, headers) == LUA_TNIL) {
    if (!first) lua_pop(L, 1);
    lua_pushlstring(L, field->value, field->value_len);
  } else {
    lua_pushstring(L, field->folded ? " " : ", ");
    lua_pushlstring(L, field->value, field->value_len);
    lua_concat(L, 3);
  }
  lua_rawset(L, headers);
}

static bool is_cookie(const fields_Field *field) {
  return field->name_len == 10 && memcmp(field->name, "set-cookie", 10) == 0;
}

/* A bit for the name: when it is new, the name is. */
static uint64_t mark_of(const char *name, size_t length) {
  unsigned sum = (unsigned char)name[length - 1] * 5u + (unsigned)length +
                 (unsigned char)name[length / 2] * 3u;
  return UINT64_C(1) << (sum & 63);
}

/* Has a field's name be `name`, where it is written in lower case. */
static void lower(fields_Field *field, char *name) {
  size_t i;
  if (field->name_len > MAX_NAME) field->name_len = MAX_NAME;
  for (i = 0; i < field->name_len; i++) {
    char c = field->name[i];
    name[i] = c >= 'A' && c <= 'Z' ? (char)(c | 0x20) : c;
  }
  field->name = name;
}

/* core.http_fields(text) -> table: values by lower-case names; of one name they
** are joined by ", ", but cookies an array under `setCookie` */
static int http_fields(lua_State *L) {
  size_t length, line, name_len = 0; /* of the field before */
  const char *p = luaL_checklstring(L, 1, &length), *end = p + length;
  char name[MAX_NAME];
  fields_Field field;
  uint64_t seen = 0;
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
      add_field(L, 2, &field, (seen & mark) == 0);
      seen |= mark;
    }
  }
  return 1;
}

static const luaL_Reg fields_functions[] = {
    {"http_fields", http_fields},
    {NULL, NULL},
};

void fields_open(lua_State *L) {
  core_setfuncs(L, fields_functions);
}
