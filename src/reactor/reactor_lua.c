/*
** reactor_lua.c - luaopen_operations_reactor.  Lua starts ops, holds their
** handles and pulls events; nothing here calls Lua.
*/
#include "reactor/reactor_lua.h"
#include "lua/build.h"

#include <errno.h>

/* The reactor at index 1, which may be closed. */
static reactor_Reactor *to_reactor(lua_State *L) {
  return (reactor_Reactor *)ops_self(L, REACTOR_NAME);
}

/* Handles by their address, weak: dropping a handle cancels it. */
static void push_handles(lua_State *L) {
  lua_newtable(L);
  lua_createtable(L, 0, 1);
  lua_pushliteral(L, "v");
  lua_setfield(L, -2, "__mode");
  lua_setmetatable(L, -2);
}

/* reactor.new(usual?) -> reactor | nil, message; `usual`: default options
** (numbers and flags) of HTTP requests, read when the first one starts */
static int reactor_create(lua_State *L) {
  reactor_Reactor *r;
  ops_Alloc alloc;
  lua_settop(L, 1);
  r = (reactor_Reactor *)ops_newuserdata(L, sizeof(*r), REACTOR_SLOTS);
  *r = (reactor_Reactor){.poller.fd = -1};
  luaL_getmetatable(L, REACTOR_NAME);
  lua_setmetatable(L, -2);
  lua_insert(L, 1);
  push_handles(L);
  ops_setslot(L, 1, REACTOR_HANDLES);
  if (!lua_isnil(L, 2)) {
    luaL_checktype(L, 2, LUA_TTABLE);
    ops_setslot(L, 1, REACTOR_USUAL);
  }
  lua_settop(L, 1);
  alloc.fn = lua_getallocf(L, &alloc.ud);
  if (reactor_init(r, alloc)) return 1;
  lua_pushnil(L);
  lua_pushfstring(L, POLLER_CALL ": %s", strerror(errno));
  return 2;
}

static int push_nothing(lua_State *L, reactor_Op *op, reactor_Event event) {
  (void)L, (void)op, (void)event;
  return 0;
}

static const reactor_Face timer_face = {push_nothing, NULL};

/* reactor:timer(ms, owner?) -> handle; says "timer" once */
static int reactor_lua_timer(lua_State *L) {
  reactor_Reactor *r = reactor_check(L);
  lua_Number ms = luaL_checknumber(L, 2);
  reactor_Op *op;
  luaL_argcheck(L, ms == ms, 2, "not a number");
  lua_settop(L, 3);
  op = (reactor_Op *)reactor_new_handle(L, sizeof(*op), &timer_face);
  if (!reactor_timer_start(r, op, ms))
    return luaL_error(L, "not enough memory for a timer");
  return 1;
}

/* reactor:fd() -> integer; readable when step has work, provided that flush was
** called before */
static int reactor_lua_fd(lua_State *L) {
  lua_pushinteger(L, reactor_check(L)->poller.fd);
  return 1;
}

/* reactor:step(timeout_ms): waits for events (-1: without limit) and collects
** them; returns early on a signal */
static int reactor_lua_step(lua_State *L) {
  reactor_Reactor *r = reactor_check(L);
  lua_Number timeout = luaL_checknumber(L, 2);
  luaL_argcheck(L, timeout == timeout, 2, "not a number");
  if (timeout > 1e9) timeout = 1e9;
  reactor_step(r, timeout < 0 ? -1 : (int)timeout);
  return 0;
}

/* reactor:flush(soon?): prepares the descriptor for another loop that polls it;
** with `soon` it is readable at once */
static int reactor_lua_flush(lua_State *L) {
  if (!reactor_flush(reactor_check(L), lua_toboolean(L, 2)))
    return luaL_error(L, "alarm: %s", strerror(errno));
  return 0;
}

/* reactor:hold() -> boolean: gathers what streams send, small pieces in one
** write, until release, step or flush.  True when an op is active or an event
** is pending. */
static int reactor_lua_hold(lua_State *L) {
  reactor_Reactor *r = to_reactor(L);
  reactor_hold(r);
  lua_pushboolean(L, r->active_count > 0 || r->ready_first != NULL);
  return 1;
}

/* reactor:release(): sends what was gathered */
static int reactor_lua_release(lua_State *L) {
  reactor_release(reactor_check(L));
  return 0;
}

static const struct {
  reactor_Event event;
  const char *name;
} event_names[] = {
    {REACTOR_HEAD, "head"},   {REACTOR_DATA, "data"},   {REACTOR_DONE, "done"},
    {REACTOR_ERROR, "error"}, {REACTOR_TIMER, "timer"}, {REACTOR_LOG, "log"},
    {REACTOR_DRAIN, "drain"}, {REACTOR_EXIT, "exit"},   {REACTOR_WANT, "want"},
};

/* Pushes the handle of an op; false when it is being collected. */
static bool push_handle(lua_State *L, reactor_Op *op) {
  ops_getslot(L, 1, REACTOR_HANDLES);
  ops_rawgetp(L, -1, op);
  lua_remove(L, -2);
  if (lua_isuserdata(L, -1)) return true;
  lua_pop(L, 1);
  return false;
}

/* Pulls the next event: pushes the handle, or its owner, then the event's name
** and values. */
static int pull(lua_State *L, bool owner) {
  reactor_Reactor *r = to_reactor(L); /* a closed reactor has no events */
  reactor_Op *op;
  lua_settop(L, 1);
  while ((op = reactor_ready(r)) != NULL) {
    int i = 0, n;
    while (!(op->pending & event_names[i].event)) i++;
    if (push_handle(L, op)) {
      if (owner) ops_getslot(L, 2, REACTOR_OWNER); /* the handle stays below */
      lua_pushstring(L, event_names[i].name);
      n = ((const reactor_Face *)op->face)->push(L, op, event_names[i].event);
      reactor_pulled(op, event_names[i].event);
      return n + 2;
    }
    reactor_stop(op);
  }
  return 0;
}

/* reactor:next() -> handle, kind, ... | nil when no event is pending */
static int reactor_lua_next(lua_State *L) {
  return pull(L, false);
}

/* reactor:next_for() -> owner, kind, ... | nil; the same with the owner in
** place of the handle */
static int reactor_lua_next_for(lua_State *L) {
  return pull(L, true);
}

/* reactor:due() -> ms until the reactor has work without an event | nil */
static int reactor_lua_due(lua_State *L) {
  reactor_Time due = reactor_due(reactor_check(L)), now = reactor_now();
  if (due == REACTOR_NEVER) return 0;
  lua_pushnumber(L, due > now ? (lua_Number)(due - now) / 1e6 : 0);
  return 1;
}

/* reactor:inflight() -> integer; the number of handles that may have more
** events */
static int reactor_lua_inflight(lua_State *L) {
  reactor_Reactor *r = to_reactor(L);
  lua_pushinteger(L, (lua_Integer)r->active_count);
  return 1;
}

/* reactor:pending() -> boolean; are there events that were not pulled? */
static int reactor_lua_pending(lua_State *L) {
  lua_pushboolean(L, reactor_ready(to_reactor(L)) != NULL);
  return 1;
}

/* reactor:usable() -> boolean; open, and made by this process */
static int reactor_lua_usable(lua_State *L) {
  lua_pushboolean(L, reactor_usable(to_reactor(L)));
  return 1;
}

/* reactor:close(): cancels everything; closing twice does nothing */
static int reactor_lua_close(lua_State *L) {
  reactor_close(to_reactor(L));
  return 0;
}

/* handle:cancel(); a handle that is over ignores it */
static int handle_cancel(lua_State *L) {
  reactor_stop(reactor_check_handle(L));
  return 0;
}

/* handle:cancelled() -> boolean; also true when it was collected, its reactor
** was closed, or it belongs to the process that this one was forked from: no
** events follow */
static int handle_cancelled(lua_State *L) {
  const reactor_Reactor *r = reactor_check_handle(L)->reactor;
  lua_pushboolean(L, r == NULL || !reactor_usable(r));
  return 1;
}

/* handle:owner() -> the value given when it was started, or nil */
static int handle_owner(lua_State *L) {
  reactor_check_handle(L);
  ops_getslot(L, 1, REACTOR_OWNER);
  return 1;
}

static const luaL_Reg reactor_methods[] = {
    {"process", reactor_lua_process},
    {"listen", reactor_lua_listen},
    {"accept", reactor_lua_accept},
    {"connect_path", reactor_lua_connect_path},
    {"stdin", reactor_lua_stdin},
    {"stdout", reactor_lua_stdout},
    {"timer", reactor_lua_timer},
    {"relay", reactor_lua_relay},
    {"fd", reactor_lua_fd},
    {"step", reactor_lua_step},
    {"flush", reactor_lua_flush},
    {"due", reactor_lua_due},
    {"next", reactor_lua_next},
    {"next_for", reactor_lua_next_for},
    {"inflight", reactor_lua_inflight},
    {"pending", reactor_lua_pending},
    {"usable", reactor_lua_usable},
    {"hold", reactor_lua_hold},
    {"release", reactor_lua_release},
    {"close", reactor_lua_close},
    {NULL, NULL},
};

static const luaL_Reg handle_methods[] = {
    {"cancel", handle_cancel},
    {"cancelled", handle_cancelled},
    {"owner", handle_owner},
    {NULL, NULL},
};

BUILD_SHOWN int luaopen_operations_reactor(lua_State *L);

int luaopen_operations_reactor(lua_State *L) {
  build_check(L, "operations.reactor");
  ops_new_type(L, REACTOR_NAME, reactor_methods, reactor_lua_close);
  ops_new_type(L, REACTOR_HANDLE_NAME, handle_methods, handle_cancel);
  reactor_relay_open(L);
  reactor_process_open(L);
  reactor_stream_open(L);
  lua_newtable(L);
  lua_pushcfunction(L, reactor_create);
  lua_setfield(L, -2, "new");
  lua_pushcfunction(L, reactor_lua_environment);
  lua_setfield(L, -2, "environment");
  return 1;
}
