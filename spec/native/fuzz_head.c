/*
** fuzz_head.c - the head of an HTTP answer, line by line as libcurl gives it:
** taken or refused with a reason, kept within its limit, and what is kept of it
** reads as fields whose values have no line ends.
**
** The first byte of the input says how large a head may be; the rest are lines.
*/
#include <stdlib.h>

#include <lauxlib.h>
#include <lua.h>

#include "transfer/http.h"

int LLVMFuzzerTestOneInput(const unsigned char *data, size_t size);
int luaopen_operations_core(lua_State *L);

static void *allocate(void *ud, void *p, size_t old_size, size_t new_size) {
  (void)ud;
  (void)old_size;
  if (new_size > 0) return realloc(p, new_size);
  free(p);
  return NULL;
}

static void require(int truth) {
  if (!truth) abort();
}

/* No timers run here. */
void http_head_end(http_Transfer *t) {
  require(t->head_complete);
}

/* Leaves core.http_fields at index 1. */
static lua_State *open_state(void) {
  lua_State *L = luaL_newstate();
  require(L != NULL);
  lua_pushcfunction(L, luaopen_operations_core);
  lua_call(L, 0, 1);
  lua_getfield(L, -1, "http_fields");
  lua_replace(L, 1);
  return L;
}

static void check_value(lua_State *L, int i) {
  size_t length;
  const char *value = lua_tolstring(L, i, &length);
  require(memchr(value, '\n', length) == NULL);
  require(memchr(value, '\r', length) == NULL);
}

static void check_fields(lua_State *L, const http_Transfer *t) {
  lua_settop(L, 1);
  lua_pushvalue(L, 1);
  lua_pushlstring(L, t->head.data, t->head.len);
  lua_call(L, 1, 1);
  for (lua_pushnil(L); lua_next(L, 2); lua_settop(L, 3)) {
    size_t i, n = lua_istable(L, 4) ? lua_rawlen(L, 4) : 0;
    if (n == 0) check_value(L, 4);
    for (i = 1; i <= n; i++) {
      lua_rawgeti(L, 4, (lua_Integer)i);
      check_value(L, 5);
      lua_settop(L, 4);
    }
  }
}

static void check_head(lua_State *L, const http_Transfer *t, bool taken) {
  require(taken || (t->kind != NULL && t->reason != NULL));
  require(!taken || t->head_bytes <= t->max_headers);
  require(!taken || t->trailers <= t->max_headers);
  require(t->length >= -1 && t->status >= 0);
  require(t->type <= t->head.len && t->type_len <= t->head.len - t->type);
  check_fields(L, t);
}

int LLVMFuzzerTestOneInput(const unsigned char *data, size_t size) {
  static lua_State *L;
  const char *s = (const char *)data + 1, *end = (const char *)data + size;
  ops_Alloc alloc = {allocate, NULL};
  reactor_Reactor reactor;
  http_Easy easy;
  http_Transfer t;
  bool taken = true;
  if (size < 1) return 0;
  if (L == NULL) L = open_state();
  memset(&reactor, 0, sizeof(reactor));
  memset(&easy, 0, sizeof(easy));
  memset(&t, 0, sizeof(t));
  reactor.alloc = alloc;
  t.op.reactor = &reactor;
  t.easy = &easy;
  t.decode = true;
  t.length = -1;
  t.max_headers = (size_t)data[0] * 8;
  buffer_init(&t.head, alloc, SIZE_MAX);
  while (s < end && taken) {
    const char *stop = memchr(s, '\n', (size_t)(end - s));
    size_t length = stop == NULL ? (size_t)(end - s) : (size_t)(stop + 1 - s);
    char *line = malloc(length); /* so that a read behind it is seen */
    require(line != NULL);
    memcpy(line, s, length);
    taken = http_head_line(&t, line, length);
    free(line);
    s += length;
  }
  check_head(L, &t, taken);
  lua_settop(L, 1);
  lua_gc(L, LUA_GCCOLLECT, 0); /* else libFuzzer looks for leaks */
  coding_end(&t.coding);
  buffer_free(&t.head);
  return 0;
}
