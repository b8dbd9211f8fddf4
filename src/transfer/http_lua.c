/*
** http_lua.c - reactor:http and the events of its handles.
*/
#include "transfer/transfer_lua.h"

#include <stddef.h>

/* Larger sizes of a body are treated as unknown. */
#define MAX_UPLOAD 9007199254740992.0

/* The answer. */

/* Pushes the status and the text of the head. */
static void push_head(lua_State *L, const http_Transfer *t) {
  lua_pushinteger(L, t->status);
  lua_pushlstring(L, t->head.len > 0 ? t->head.data : "", t->head.len);
}

/* Pushes the value of Content-Type; nil when the head must be parsed for it. */
static void push_type(lua_State *L, const http_Transfer *t) {
  if (t->type_len == 0) lua_pushnil(L);
  else lua_pushlstring(L, t->head.data + t->type, t->type_len);
}

static void push_body(lua_State *L, const http_Transfer *t) {
  lua_pushlstring(L, t->body.len > 0 ? t->body.data : "", t->body.len);
}

static void push_reason(lua_State *L, const http_Transfer *t) {
  lua_pushstring(L, http_reason(t));
  if (t->limit == 0) return;
  lua_pushliteral(L, " (");
  lua_pushinteger(L, (lua_Integer)t->limit);
  lua_pushliteral(L, " bytes)");
  lua_concat(L, 4);
}

/* A transfer that has ended no longer reads the body of its request; its handle
** may stay unused for a long time. */
static void forget_body(lua_State *L) {
  lua_pushnil(L);
  ops_setslot(L, 2, REACTOR_BODY);
}

static int push_event(lua_State *L, reactor_Op *op, reactor_Event event) {
  http_Transfer *t = (http_Transfer *)op;
  if (event == REACTOR_DONE || event == REACTOR_ERROR) forget_body(L);
  switch (event) {
  case REACTOR_HEAD: push_head(L, t); return 2;
  case REACTOR_DONE:
    if (t->stream) return 0;
    push_head(L, t);
    push_body(L, t);
    push_type(L, t);
    buffer_free(&t->head);
    buffer_free(&t->body);
    return 4;
  case REACTOR_ERROR:
    lua_pushstring(L, t->kind);
    push_reason(L, t);
    lua_pushstring(L, t->phase);
    if (!t->stream) buffer_free(&t->body);
    buffer_free(&t->head);
    return 3;
  default: return 0;
  }
}

static const reactor_Face http_face = {push_event, NULL};

/* Options */

#define IDLE_CONNECTIONS 256 /* the default */

/* Stack index of options.headers, an array of lines, while a request starts. */
#define LINES 5

static void check_lines(lua_State *L) {
  size_t i, n;
  lua_getfield(L, 2, "headers");
  n = lua_istable(L, LINES) ? ops_rawlen(L, LINES) : 0;
  for (i = 1; i <= n; i++) {
    if (ops_rawgeti(L, LINES, i) != LUA_TSTRING)
      luaL_error(L, "bad option 'headers' (strings expected)");
    lua_pop(L, 1);
  }
}

/* The table of lines keeps the string alive. */
static const char *line_at(void *ud, size_t i) {
  lua_State *L = (lua_State *)ud;
  const char *line;
  ops_rawgeti(L, LINES, i + 1);
  line = lua_tostring(L, -1);
  lua_pop(L, 1);
  return line;
}

#define OPTION(name, kind)                                                     \
  { #name, sizeof(#name) - 1, kind, offsetof(http_Request, name) }

/* The most frequent options come first. */
const reactor_Option transfer_options[] = {
    OPTION(url, OPTION_TEXT),
    OPTION(method, OPTION_TEXT),
    OPTION(stream, OPTION_FLAG),
    OPTION(join, OPTION_FLAG),
    OPTION(decode, OPTION_FLAG),
    OPTION(once, OPTION_FLAG),
    OPTION(window, OPTION_SIZE),
    OPTION(max_body, OPTION_SIZE),
    OPTION(max_headers, OPTION_SIZE),
    OPTION(keep_alive, OPTION_NUMBER),
    OPTION(connection_age, OPTION_NUMBER),
    OPTION(dns_cache, OPTION_NUMBER),
    OPTION(idle_connections, OPTION_SIZE),
    OPTION(host_connections, OPTION_SIZE),
    OPTION(connections, OPTION_SIZE),
    OPTION(idle_timeout, OPTION_NUMBER),
    OPTION(connect_timeout, OPTION_NUMBER),
    OPTION(first_byte_timeout, OPTION_NUMBER),
    OPTION(timeout, OPTION_NUMBER),
    OPTION(deadline, OPTION_NUMBER),
    OPTION(proxy, OPTION_TEXT),
    OPTION(ca_file, OPTION_TEXT),
    OPTION(insecure, OPTION_FLAG),
    OPTION(cert_file, OPTION_TEXT),
    OPTION(key_file, OPTION_TEXT),
    OPTION(key_password, OPTION_TEXT),
    OPTION(unix_socket, OPTION_TEXT),
    OPTION(digest_user, OPTION_TEXT),
    OPTION(digest_password, OPTION_TEXT),
    OPTION(netrc, OPTION_TEXT),
    OPTION(public_only, OPTION_FLAG),
    OPTION(fresh, OPTION_FLAG),
    OPTION(timed, OPTION_FLAG),
    OPTION(upload, OPTION_FLAG),
    OPTION(upload_size, OPTION_NUMBER),
    {NULL, 0, OPTION_FLAG, 0},
};

static void no_options(http_Request *q) {
  memset(q, 0, sizeof(*q));
  q->max_headers = q->max_body = q->window = OPTION_UNLIMITED;
  q->upload_size = -1;
  q->idle_connections = IDLE_CONNECTIONS;
}

/* The field of a request that an option sets. */
static const char **text_of(http_Request *q, const reactor_Option *option) {
  return (const char **)((char *)q + option->offset);
}

/* Pushes the defaults of the reactor's requests, read by the first request. */
static const http_Request *push_usual(lua_State *L) {
  const reactor_Option *option = transfer_options;
  http_Request *q;
  ops_getslot(L, 1, REACTOR_USUAL);
  if (lua_isuserdata(L, -1)) return (http_Request *)lua_touserdata(L, -1);
  q = (http_Request *)lua_newuserdata(L, sizeof(*q));
  no_options(q);
  if (lua_istable(L, -2)) reactor_options(L, lua_gettop(L) - 1, option, q);
  for (; option->name != NULL; option++) /* texts would not be kept alive */
    if (option->kind == OPTION_TEXT) *text_of(q, option) = NULL;
  lua_replace(L, -2);
  lua_pushvalue(L, -1);
  ops_setslot(L, 1, REACTOR_USUAL);
  return q;
}

/* Sets the defaults; a stream has no limits by default. */
static void begin_request(lua_State *L, http_Request *q) {
  *q = *push_usual(L);
  lua_getfield(L, 2, "stream");
  if (lua_toboolean(L, -1)) {
    q->max_body = OPTION_UNLIMITED;
    q->idle_timeout = 0;
  }
  lua_pop(L, 2);
}

static void read_request(lua_State *L, http_Request *q) {
  begin_request(L, q);
  reactor_options(L, 2, transfer_options, q);
  if (q->upload_size > MAX_UPLOAD) q->upload_size = -1;
  if (q->url == NULL || q->method == NULL)
    luaL_error(L, "bad options ('url' and 'method' expected)");
  check_lines(L);
  if (lua_istable(L, LINES)) q->line = line_at, q->line_ud = L;
}

/* reactor:http(options, owner?) -> handle | nil, kind, message
** options: url, method, handle (to be reused), headers (lines), body, upload,
** upload_size, timeout, deadline, connect_timeout, first_byte_timeout,
** idle_timeout, keep_alive, connection_age, dns_cache (ms), max_headers,
*max_body, window (bytes), stream,
** join, decode, public_only, once, fresh, insecure, ca_file, cert_file,
** key_file, key_password, proxy, unix_socket, digest_user, digest_password,
** netrc, timed.
** Events: "done", status, head (for core.http_fields), body, content type (nil
** when the head must be parsed for it) | "error", kind, message, phase.  A
** stream has "head", status, head, then "data" whenever handle:read() has
** something, then "done"; with `join`, a single "done" as above when a small
** answer is complete.  With `upload`, "want" requests handle:write(). */
static int transfer_lua_http(lua_State *L) {
  reactor_Reactor *r = reactor_check(L);
  http_Request q;
  http_Transfer *t;
  luaL_checktype(L, 2, LUA_TTABLE);
  lua_settop(L, 3);
  t = (http_Transfer *)reactor_used_handle(L, sizeof(*t), &http_face);
  read_request(L, &q);
  q.body = reactor_string_option(L, "body", &q.body_len);
  ops_setslot(L, 4, REACTOR_BODY); /* keeps it alive: curl reads it there */
  if (http_start(r, t, &q)) {
    lua_settop(L, 4);
    return 1;
  }
  lua_pushnil(L);
  lua_pushstring(L, t->kind);
  lua_pushstring(L, http_reason(t));
  return 3;
}

static http_Transfer *check_transfer(lua_State *L) {
  reactor_Op *op = reactor_check_handle(L);
  if (op->face != &http_face) luaL_argerror(L, 1, "not a transfer");
  return (http_Transfer *)op;
}

/* handle:read() -> bytes | nil; the unread bytes of a stream's body */
static int transfer_lua_read(lua_State *L) {
  http_Transfer *t = check_transfer(L);
  size_t length;
  const char *bytes = http_lend(t, SIZE_MAX, &length);
  if (bytes == NULL) return 0;
  lua_pushlstring(L, bytes, length);
  (void)http_lend(t, 0, &length);
  return 1;
}

/* handle:lend(max) -> address, size | nil; the same bytes without a copy, valid
** until the handle is used again or the reactor takes a step */
static int transfer_lua_lend(lua_State *L) {
  http_Transfer *t = check_transfer(L);
  lua_Number max = luaL_checknumber(L, 2);
  size_t length;
  const char *bytes;
  luaL_argcheck(L, max >= 1 && max <= (lua_Number)INT32_MAX, 2, "out of range");
  bytes = http_lend(t, (size_t)max, &length);
  if (bytes == NULL) return 0;
  lua_pushlightuserdata(L, (void *)bytes);
  lua_pushinteger(L, (lua_Integer)length);
  return 2;
}

/* handle:write(bytes): the next piece of a body; "" ends it */
static int transfer_lua_write(lua_State *L) {
  http_Transfer *t = check_transfer(L);
  size_t length;
  const char *bytes = luaL_checklstring(L, 2, &length);
  if (!http_write(t, bytes, length))
    return luaL_error(L, "not enough memory for the body");
  return 0;
}

/* handle:phases() -> name, connect, tls, first byte (ms from the beginning), is
** the connection one that was there; of a request with `timed` */
static int transfer_lua_phases(lua_State *L) {
  http_Transfer *t = check_transfer(L);
  if (t->easy != NULL && reactor_usable(t->op.reactor)) http_note_phases(t);
  lua_pushnumber(L, t->phases.name);
  lua_pushnumber(L, t->phases.connect);
  lua_pushnumber(L, t->phases.tls);
  lua_pushnumber(L, t->phases.first_byte);
  lua_pushboolean(L, t->phases.reused);
  return 5;
}

/* handle:pause(): no more is read from the socket */
static int transfer_lua_pause(lua_State *L) {
  http_pause(check_transfer(L));
  return 0;
}

/* handle:resume() */
static int transfer_lua_resume(lua_State *L) {
  http_resume(check_transfer(L));
  return 0;
}

static const luaL_Reg reactor_methods[] = {{"http", transfer_lua_http},
                                           {NULL, NULL}};

static const luaL_Reg handle_methods[] = {
    {"read", transfer_lua_read},
    {"lend", transfer_lua_lend},
    {"pause", transfer_lua_pause},
    {"resume", transfer_lua_resume},
    {"write", transfer_lua_write},
    {"phases", transfer_lua_phases},
    {NULL, NULL},
};

void transfer_http_open(lua_State *L) {
  reactor_add_methods(L, REACTOR_NAME, reactor_methods);
  reactor_add_methods(L, REACTOR_HANDLE_NAME, handle_methods);
}
