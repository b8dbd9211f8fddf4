/*
** request_lua.c - the reader of HTTP requests for Lua.
*/
#include "http/request.h"
#include "server/server.h"

#define PARSER_NAME "operations.http_server.parser"

/* Stack of parser_read. */
enum { BYTES = 2, FROM, EVENT, NEXT };

typedef struct Box {
  request_Parser *parser; /* owned; NULL before it is made */
  bool ended;             /* the next read begins another request */
} Box;

static size_t check_limit(lua_State *L, int index) {
  lua_Number n = luaL_checknumber(L, index);
  luaL_argcheck(L, n >= 1 && n <= (lua_Number)OPS_MAX_SAFE_INTEGER, index,
                "a limit from 1 expected");
  return n >= (lua_Number)(SIZE_MAX / 8) ? SIZE_MAX / 8 : (size_t)n;
}

/* http_server.parser(head, fields, target, body) -> parser; limits: bytes, and
** how many fields */
static int parser_create(lua_State *L) {
  request_Limits limits;
  ops_Alloc alloc;
  Box *box;
  limits.head = check_limit(L, 1);
  limits.fields = check_limit(L, 2);
  limits.target = check_limit(L, 3);
  limits.body = check_limit(L, 4);
  box = (Box *)lua_newuserdata(L, sizeof(*box));
  memset(box, 0, sizeof(*box));
  luaL_getmetatable(L, PARSER_NAME);
  lua_setmetatable(L, -2);
  alloc.fn = lua_getallocf(L, &alloc.ud);
  box->parser = request_new(&alloc, &limits);
  if (box->parser == NULL) return luaL_error(L, "not enough memory");
  return 1;
}

static int parser_gc(lua_State *L) {
  Box *box = (Box *)luaL_checkudata(L, 1, PARSER_NAME);
  request_free(box->parser);
  box->parser = NULL;
  return 0;
}

static void push_headers(lua_State *L, const request_Head *head) {
  size_t i;
  lua_createtable(L, 0, (int)head->field_count);
  for (i = 0; i < head->field_count; i++) {
    const request_Field *field = &head->fields[i];
    lua_pushlstring(L, head->text + field->name, field->name_length);
    lua_pushlstring(L, head->text + field->value, field->value_length);
    lua_rawset(L, -3);
  }
}

/* The bytes that are not yet read. */
typedef struct Input {
  const char *at, *end;
} Input;

/* A failure takes no bytes: if it was found behind a part of the body, the next
** read finds it again. */
static request_Event step_on(Box *box, Input *in, request_Step *step) {
  request_read(box->parser, in->at, (size_t)(in->end - in->at), step);
  if (step->event != REQUEST_FAILED) in->at += step->taken;
  box->ended = step->event == REQUEST_END;
  return step->event;
}

/* Pushes the part of the body that has arrived as one string, beginning with
** the piece in `step`, if there is one. */
static void push_body(lua_State *L, Box *box, Input *in, request_Step *step) {
  luaL_Buffer buffer;
  luaL_buffinit(L, &buffer);
  do {
    luaL_addlstring(&buffer, step->body != NULL ? step->body : "",
                    step->body_length);
  } while (step_on(box, in, step) == REQUEST_BODY);
  luaL_pushresult(&buffer);
}

/* Pushes the record of a head.  The parser forgets the head when it reads on,
** so the part of the body that has come is read last. */
static int push_head(lua_State *L, Box *box, Input *in, request_Step *step) {
  const request_Head *head = request_head(box->parser);
  lua_createtable(L, 0, 8);
  lua_pushlstring(L, head->method, head->method_length);
  lua_setfield(L, -2, "method");
  lua_pushlstring(L, head->target, head->target_length);
  lua_setfield(L, -2, "target");
  push_headers(L, head);
  lua_setfield(L, -2, "headers");
  lua_pushboolean(L, head->keep_alive);
  lua_setfield(L, -2, "keep_alive");
  lua_pushinteger(L, head->minor);
  lua_setfield(L, -2, "minor");
  lua_pushboolean(L, head->expects);
  lua_setfield(L, -2, "expects");
  if (head->has_body) {
    push_body(L, box, in, step);
  } else {
    (void)step_on(box, in, step);
    lua_pushliteral(L, "");
  }
  lua_setfield(L, -2, "body");
  lua_pushboolean(L, box->ended);
  lua_setfield(L, -2, "ended");
  return 3;
}

static int push_failure(lua_State *L, const Box *box) {
  const char *reason;
  int status = request_failure(box->parser, &reason);
  lua_pushinteger(L, status);
  lua_pushstring(L, reason);
  return 4;
}

static int push_event(lua_State *L, Box *box, Input *in, request_Step *step) {
  switch (step->event) {
  case REQUEST_MORE: lua_pushliteral(L, "more"); break;
  case REQUEST_HEAD: lua_pushliteral(L, "head"); break;
  case REQUEST_BODY: lua_pushliteral(L, "body"); break;
  case REQUEST_END: lua_pushliteral(L, "end"); break;
  case REQUEST_FAILED: lua_pushliteral(L, "error"); break;
  case REQUEST_NO_MEMORY: return luaL_error(L, "not enough memory");
  }
  lua_pushnil(L); /* the position, once it is known */
  if (step->event == REQUEST_HEAD) return push_head(L, box, in, step);
  if (step->event == REQUEST_FAILED) return push_failure(L, box);
  if (step->event != REQUEST_BODY) return 2;
  push_body(L, box, in, step);
  lua_pushboolean(L, box->ended);
  return 4;
}

/* parser:read(bytes, from) -> event, next, ...: reads from the byte `from` on;
** `next` is the first byte that was not read
**   "head", next, { method, target, headers, keep_alive, minor, expects, body,
**     ended }: a request; minor: of its version; expects: its sender waits for
**     "100 Continue"; body: what of it has come; ended: that is all of it
**   "body", next, bytes, ended
**   "end", next: of a body of which nothing more came
**   "more", next: all was read
**   "error", next, status, reason: again for every further read
** The read after the end of a request begins the next one. */
static int parser_read(lua_State *L) {
  Box *box = (Box *)ops_self(L, PARSER_NAME);
  size_t length;
  const char *bytes = luaL_checklstring(L, BYTES, &length);
  lua_Number from = luaL_checknumber(L, FROM);
  request_Step step;
  Input in;
  int count;
  luaL_argcheck(L, box->parser != NULL, 1, "the parser was collected");
  luaL_argcheck(L, from >= 1 && from <= (lua_Number)length + 1, FROM,
                "not a place in the bytes");
  in.at = bytes + (size_t)from - 1;
  in.end = bytes + length;
  if (box->ended) request_go_on(box->parser);
  lua_settop(L, FROM);
  (void)step_on(box, &in, &step);
  count = push_event(L, box, &in, &step);
  lua_pushinteger(L, (lua_Integer)(in.at - bytes) + 1);
  lua_replace(L, NEXT);
  return count;
}

static const luaL_Reg methods[] = {
    {"read", parser_read},
    {NULL, NULL},
};

void server_open_request(lua_State *L) {
  ops_new_type(L, PARSER_NAME, methods, parser_gc);
  lua_pushcfunction(L, parser_create);
  lua_setfield(L, -2, "parser");
}
