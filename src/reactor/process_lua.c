/*
** process_lua.c - reactor:process, and the methods and events of its handles.
*/
#include "reactor/reactor_lua.h"
#include "reactor/process.h"

#include <errno.h>
#include <string.h>
#include <unistd.h>

static int push_end(lua_State *L, const process_Process *p) {
  static const char *const names[] = {"runs", "code", "signal", "unknown"};
  lua_pushstring(L, names[p->end]);
  lua_pushinteger(L, p->status);
  return 2;
}

static int push_event(lua_State *L, reactor_Op *op, reactor_Event event) {
  process_Process *p = (process_Process *)op;
  if (event == REACTOR_EXIT) return push_end(L, p);
  if (event == REACTOR_DRAIN) {
    lua_pushboolean(L, process_is_lost(p));
    return 1;
  }
  if (event != REACTOR_LOG) return 0;
  lua_pushlstring(L, p->log.data, p->log.len);
  process_log_pulled(p);
  return 1;
}

static const reactor_Face process_face = {push_event, NULL};

/* Options */

/* options[name] as an array for exec, left on the stack: the table keeps the
** strings. */
static char **strings_option(lua_State *L, const char *name) {
  size_t i, n;
  char **list;
  lua_getfield(L, 2, name);
  if (!lua_istable(L, -1))
    luaL_error(L, "bad option '%s' (table expected, got %s)", name,
               luaL_typename(L, -1));
  n = ops_rawlen(L, -1);
  list = (char **)lua_newuserdata(L, (n + 1) * sizeof(*list));
  for (i = 0; i < n; i++) {
    ops_rawgeti(L, -2, i + 1);
    list[i] = (char *)reactor_text_at_top(L, name);
    lua_pop(L, 1);
  }
  list[n] = NULL;
  return list;
}

static void read_options(lua_State *L, process_Options *o) {
  o->window = reactor_size_option(L, "window");
  o->max_line = reactor_size_option(L, "max_line");
  o->queue = reactor_size_option(L, "queue");
  o->spawn.no_pidfd = reactor_flag_option(L, "no_pidfd");
  o->spawn.files = strings_option(L, "files");
  o->spawn.arguments = strings_option(L, "arguments");
  o->spawn.environment = strings_option(L, "environment");
  o->spawn.directory = reactor_text_option(L, "cwd");
}

/* reactor:process(options, owner?) -> handle | nil, step, message
** options: files (tried in turn), arguments, environment ("NAME=value"), cwd,
** window, max_line, queue (bytes), no_pidfd.  Events: "data": handle:chunk() or
** handle:line() has more; "log", bytes of stderr; "drain", is_lost:
** handle:send() may be tried again, or never will be taken; "exit",
** "code"|"signal"|"unknown", number. */
int reactor_lua_process(lua_State *L) {
  reactor_Reactor *r = reactor_check(L);
  process_Options options;
  process_Process *p;
  luaL_checktype(L, 2, LUA_TTABLE);
  lua_settop(L, 3);
  p = (process_Process *)reactor_new_handle(L, sizeof(*p), &process_face);
  read_options(L, &options);
  if (process_start(r, p, &options)) {
    lua_settop(L, 4);
    return 1;
  }
  lua_pushnil(L);
  lua_pushstring(L, p->failure.step);
  lua_pushstring(L, strerror(p->failure.error));
  return 3;
}

static process_Process *check_process(lua_State *L) {
  reactor_Op *op = reactor_check_handle(L);
  if (op->face != &process_face) luaL_argerror(L, 1, "not a process");
  return (process_Process *)op;
}

/* Pushes the result of process_chunk or process_line: the text, or nil and the
** reason. */
static int push_got(lua_State *L, process_Process *p, process_Got got,
                    const process_Text *text) {
  static const char *const names[] = {NULL, "wait", "over", "too long"};
  if (got == PROCESS_GOT) {
    lua_pushlstring(L, text->bytes, text->length);
    process_take(p, text->whole);
    return 1;
  }
  if (got == PROCESS_STARVED) return luaL_error(L, "not enough memory");
  lua_pushnil(L);
  lua_pushstring(L, names[got]);
  return 2;
}

/* handle:chunk() -> bytes, again | nil, "wait"|"over"; all unread bytes of
** stdout.  When `again` is false, there is no more for now. */
static int process_lua_chunk(lua_State *L) {
  process_Process *p = check_process(L);
  process_Text text;
  process_Got got = process_chunk(p, &text);
  int count = push_got(L, p, got, &text);
  if (got != PROCESS_GOT) return count;
  lua_pushboolean(L, p->starved || p->child.out == -1);
  return 2;
}

/* handle:line() -> line | nil, "wait"|"over"|"too long" */
static int process_lua_line(lua_State *L) {
  process_Process *p = check_process(L);
  process_Text text;
  process_Got got = process_line(p, &text);
  return push_got(L, p, got, &text);
}

/* handle:send(bytes, more?) -> "sent"|"full"|"closed" */
static int process_lua_send(lua_State *L) {
  static const char *const names[] = {"sent", "full", "closed"};
  process_Sent sent;
  process_Process *p = check_process(L);
  size_t length, more_length;
  const char *bytes = luaL_checklstring(L, 2, &length);
  const char *more = luaL_optlstring(L, 3, "", &more_length);
  sent = process_send(p, bytes, length, more, more_length);
  if (sent == PROCESS_MEMORY) return luaL_error(L, "not enough memory");
  lua_pushstring(L, names[sent]);
  return 1;
}

/* handle:close_input(): closes stdin after the queued bytes */
static int process_lua_close_input(lua_State *L) {
  process_close_input(check_process(L));
  return 0;
}

/* handle:finish(signal): ends the process and the rest of its group */
static int process_lua_finish(lua_State *L) {
  process_end(check_process(L), (int)luaL_checkinteger(L, 2));
  return 0;
}

/* handle:pid() -> integer */
static int process_lua_pid(lua_State *L) {
  lua_pushinteger(L, check_process(L)->child.pid);
  return 1;
}

static const luaL_Reg process_methods[] = {
    {"chunk", process_lua_chunk},
    {"line", process_lua_line},
    {"send", process_lua_send},
    {"close_input", process_lua_close_input},
    {"finish", process_lua_finish},
    {"pid", process_lua_pid},
    {NULL, NULL},
};

void reactor_process_open(lua_State *L) {
  luaL_getmetatable(L, REACTOR_HANDLE_NAME);
  lua_getfield(L, -1, "__index");
  ops_setfuncs(L, process_methods, 0);
  lua_pop(L, 2);
}

/* reactor.environment() -> array of "NAME=value" */
int reactor_lua_environment(lua_State *L) {
  char *const *environment = platform_environment();
  size_t i;
  lua_newtable(L);
  for (i = 0; environment != NULL && environment[i] != NULL; i++) {
    lua_pushstring(L, environment[i]);
    ops_rawseti(L, -2, i + 1);
  }
  return 1;
}
