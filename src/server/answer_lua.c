/*
** answer_lua.c - the bytes of an answer, made in one call.  No field can end
** its line early: names and values are checked, also those of a request that
** another server has read.
*/
#include "base/buffer.h"
#include "server/server.h"

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <strings.h>
#include <time.h>

#define ANSWER_NAME "operations.http_server.answer"
#define KEPT 65536 /* bytes of room that stay for the next answer */

/* Stack of answer(). */
enum { STATUS = 1, HEADERS, BODY, DATE, CONNECTION, HEAD_ONLY };

/* Another status has no phrase: it may be empty (RFC 9112, 4). */
static const char *phrase_of(int status) {
  static const struct {
    int status;
    const char *phrase;
  } phrases[] = {
      {200, "OK"},
      {101, "Switching Protocols"},
      {201, "Created"},
      {202, "Accepted"},
      {204, "No Content"},
      {206, "Partial Content"},
      {301, "Moved Permanently"},
      {302, "Found"},
      {303, "See Other"},
      {304, "Not Modified"},
      {307, "Temporary Redirect"},
      {308, "Permanent Redirect"},
      {400, "Bad Request"},
      {401, "Unauthorized"},
      {403, "Forbidden"},
      {404, "Not Found"},
      {405, "Method Not Allowed"},
      {406, "Not Acceptable"},
      {408, "Request Timeout"},
      {409, "Conflict"},
      {410, "Gone"},
      {412, "Precondition Failed"},
      {413, "Content Too Large"},
      {414, "URI Too Long"},
      {415, "Unsupported Media Type"},
      {417, "Expectation Failed"},
      {421, "Misdirected Request"},
      {422, "Unprocessable Content"},
      {426, "Upgrade Required"},
      {428, "Precondition Required"},
      {429, "Too Many Requests"},
      {431, "Request Header Fields Too Large"},
      {499, "Client Closed Request"},
      {500, "Internal Server Error"},
      {501, "Not Implemented"},
      {502, "Bad Gateway"},
      {503, "Service Unavailable"},
      {504, "Gateway Timeout"},
      {505, "HTTP Version Not Supported"},
  };
  size_t i;
  for (i = 0; i < sizeof(phrases) / sizeof(*phrases); i++)
    if (phrases[i].status == status) return phrases[i].phrase;
  return "";
}

static bool has_no_body(int status) {
  return status < 200 || status == 204 || status == 304;
}

static void add(lua_State *L, buffer_Buffer *out, const char *s, size_t n) {
  if (!buffer_add(out, s, n)) luaL_error(L, "not enough memory");
}

static void add_text(lua_State *L, buffer_Buffer *out, const char *s) {
  add(L, out, s, strlen(s));
}

static bool is_name(const char *s, size_t length) {
  size_t i;
  for (i = 0; i < length; i++) {
    unsigned char c = (unsigned char)s[i];
    bool plain = (unsigned char)((c | 0x20) - 'a') < 26 || c == '-';
    if (plain) continue;
    if (c <= ' ' || c >= 0x7F || strchr("\"(),/:;<=>?@[\\]{}", c) != NULL)
      return false;
  }
  return length > 0;
}

/* The high bit of each byte of `w` below `n`, up to the first at least. */
#define EACH(byte) (UINT64_C(0x0101010101010101) * (byte))
#define BELOW(w, n) (((w)-EACH(n)) & ~(w)&EACH(0x80))

/* May one of these eight bytes be a control character? */
static bool is_suspect(const char *s) {
  uint64_t w;
  memcpy(&w, s, sizeof(w));
  return (BELOW(w, 0x20) | BELOW(w ^ EACH(0x7F), 1)) != 0;
}

static bool is_value(const char *s, size_t length) {
  size_t i = 0;
  while (length - i >= 8 && !is_suspect(s + i)) i += 8;
  for (; i < length; i++) {
    unsigned char c = (unsigned char)s[i];
    if ((c < ' ' && c != '\t') || c == 0x7F) return false;
  }
  return true;
}

/* The fields about connection and message length are made here only. */
static bool is_ours(const char *name, size_t length, int status, bool sized) {
  switch (length) {
  case 4: return strcasecmp(name, "date") == 0;
  case 10: return status != 101 && strcasecmp(name, "connection") == 0;
  case 14: return sized && strcasecmp(name, "content-length") == 0;
  case 17: return strcasecmp(name, "transfer-encoding") == 0;
  default: return false;
  }
}

/* Adds a line with the value on top of the stack, a string or a number; false
** for an invalid one. */
static bool add_field(lua_State *L, buffer_Buffer *out, const char *name,
                      size_t name_length) {
  size_t length;
  const char *value = ops_text(L, -1, &length);
  char *at;
  if (value == NULL || !is_value(value, length)) return false;
  if (!buffer_reserve(out, name_length + length + 4))
    luaL_error(L, "not enough memory");
  at = out->data + out->len;
  memcpy(at, name, name_length);
  at += name_length;
  *at++ = ':';
  *at++ = ' ';
  memcpy(at, value, length);
  at += length;
  *at++ = '\r';
  *at = '\n';
  out->len += name_length + length + 4;
  return true;
}

static bool add_values(lua_State *L, buffer_Buffer *out, const char *name,
                       size_t length) {
  size_t i, count;
  if (!lua_istable(L, -1)) return add_field(L, out, name, length);
  count = ops_rawlen(L, -1);
  for (i = 1; i <= count; i++) {
    bool added;
    (void)ops_rawgeti(L, -1, i);
    added = add_field(L, out, name, length);
    lua_pop(L, 1);
    if (!added) return false;
  }
  return true;
}

/* The name of an invalid field is left on top of the stack. */
static bool add_fields(lua_State *L, buffer_Buffer *out, int status,
                       bool sized) {
  if (lua_isnil(L, HEADERS)) return true;
  lua_pushnil(L);
  while (lua_next(L, HEADERS)) {
    size_t length;
    const char *name =
        lua_type(L, -2) == LUA_TSTRING ? lua_tolstring(L, -2, &length) : NULL;
    bool good = name != NULL && is_name(name, length);
    if (good && !is_ours(name, length, status, sized))
      good = add_values(L, out, name, length);
    lua_pop(L, 1);
    if (!good) return false;
  }
  return true;
}

/* snprintf would take a tenth of the time of a whole answer. */
static void add_number(lua_State *L, buffer_Buffer *out, size_t number) {
  char digits[24], *first = digits + sizeof(digits);
  do *--first = (char)('0' + number % 10);
  while ((number /= 10) > 0);
  add(L, out, first, (size_t)(digits + sizeof(digits) - first));
}

static void add_length(lua_State *L, buffer_Buffer *out, size_t length) {
  add_text(L, out, "Content-Length: ");
  add_number(L, out, length);
  add(L, out, "\r\n", 2);
}

/* The fields of our own and the end of the head. */
static void finish_head(lua_State *L, buffer_Buffer *out, int status) {
  add_text(L, out, "Date: ");
  add_text(L, out, luaL_checkstring(L, DATE));
  add(L, out, "\r\n", 2);
  if (lua_isstring(L, CONNECTION)) {
    add_text(L, out, "Connection: ");
    add_text(L, out, lua_tostring(L, CONNECTION));
    add(L, out, "\r\n", 2);
  }
  if (!has_no_body(status) && lua_type(L, BODY) == LUA_TSTRING)
    add_length(L, out, ops_rawlen(L, BODY));
  else if (!has_no_body(status) && lua_toboolean(L, BODY))
    add_text(L, out, "Transfer-Encoding: chunked\r\n");
  add(L, out, "\r\n", 2);
}

static void add_status(lua_State *L, buffer_Buffer *out, int status) {
  add_text(L, out, "HTTP/1.1 ");
  add_number(L, out, (size_t)status);
  add(L, out, " ", 1);
  add_text(L, out, phrase_of(status));
  add(L, out, "\r\n", 2);
}

/* http_server.answer(status, headers, body, date, connection, head_only)
**   -> bytes | nil, field
** headers: names -> string, number or array of strings; nil: none.  body: a
** string, which follows the head unless `head_only`; true: chunks will follow;
** false: bytes until the connection closes; nil: the headers may give its
** length.  connection: the value of that field, nil: none.  field: the name of
** an invalid field. */
static int answer(lua_State *L) {
  buffer_Buffer *out = (buffer_Buffer *)lua_touserdata(L, lua_upvalueindex(1));
  int status = (int)luaL_checkinteger(L, STATUS);
  size_t length;
  luaL_argcheck(L, status >= 100 && status <= 999, STATUS,
                "a status of three digits expected");
  if (!lua_isnil(L, HEADERS)) luaL_checktype(L, HEADERS, LUA_TTABLE);
  lua_settop(L, HEAD_ONLY);
  out->len = 0;
  add_status(L, out, status);
  if (!add_fields(L, out, status, !lua_isnil(L, BODY))) {
    lua_pushnil(L);
    lua_insert(L, -2);
    return 2;
  }
  finish_head(L, out, status);
  if (lua_type(L, BODY) == LUA_TSTRING && !lua_toboolean(L, HEAD_ONLY) &&
      !has_no_body(status)) {
    const char *body = lua_tolstring(L, BODY, &length);
    add(L, out, body, length);
  }
  lua_pushlstring(L, out->data, out->len);
  if (out->capacity > KEPT) buffer_free(out);
  return 1;
}

/* http_server.date(second) -> the value of the field Date (RFC 9110, 5.6.7);
** second: since the Unix epoch */
static int date(lua_State *L) {
  static const char days[] = "SunMonTueWedThuFriSat";
  static const char months[] = "JanFebMarAprMayJunJulAugSepOctNovDec";
  time_t second = (time_t)luaL_checknumber(L, 1);
  struct tm t;
  char text[64];
  luaL_argcheck(L, gmtime_r(&second, &t) != NULL, 1, "no time");
  (void)snprintf(text, sizeof(text), "%.3s, %02d %.3s %04d %02d:%02d:%02d GMT",
                 &days[t.tm_wday * 3], t.tm_mday, &months[t.tm_mon * 3],
                 t.tm_year + 1900, t.tm_hour, t.tm_min, t.tm_sec);
  lua_pushstring(L, text);
  return 1;
}

static int answer_gc(lua_State *L) {
  buffer_free((buffer_Buffer *)luaL_checkudata(L, 1, ANSWER_NAME));
  return 0;
}

static const luaL_Reg no_methods[] = {{NULL, NULL}};

static bool is_target(const char *s, size_t length) {
  size_t i;
  for (i = 0; i < length; i++) {
    unsigned char c = (unsigned char)s[i];
    if (c <= ' ' || c >= 0x7F) return false;
  }
  return true;
}

/* Name and value are the topmost values. */
static bool is_field(lua_State *L) {
  size_t length;
  const char *text;
  if (lua_type(L, -2) != LUA_TSTRING || lua_type(L, -1) != LUA_TSTRING)
    return false;
  text = lua_tolstring(L, -2, &length);
  if (!is_name(text, length)) return false;
  text = lua_tolstring(L, -1, &length);
  return is_value(text, length);
}

/* http_server.is_head(target, headers) -> boolean: may a request, which another
** server has read, have this target and these fields? */
static int is_head(lua_State *L) {
  size_t length;
  const char *target = luaL_checklstring(L, 1, &length);
  bool sound = is_target(target, length);
  luaL_checktype(L, 2, LUA_TTABLE);
  lua_settop(L, 2);
  for (lua_pushnil(L); sound && lua_next(L, 2); lua_pop(L, 1))
    sound = is_field(L);
  lua_pushboolean(L, sound);
  return 1;
}

void server_open_answer(lua_State *L) {
  ops_Alloc alloc;
  buffer_Buffer *out;
  ops_new_type(L, ANSWER_NAME, no_methods, answer_gc);
  out = (buffer_Buffer *)lua_newuserdata(L, sizeof(*out));
  alloc.fn = lua_getallocf(L, &alloc.ud);
  buffer_init(out, alloc, BUFFER_UNLIMITED);
  luaL_getmetatable(L, ANSWER_NAME);
  lua_setmetatable(L, -2);
  lua_pushcclosure(L, answer, 1);
  lua_setfield(L, -2, "answer");
  lua_pushcfunction(L, date);
  lua_setfield(L, -2, "date");
  lua_pushcfunction(L, is_head);
  lua_setfield(L, -2, "is_head");
}
