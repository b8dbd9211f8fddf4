/*
** oom.c - runs Lua scripts while allocations fail.  A script prepares and
** returns a function; that function is called again and again, with the first,
** the second, ... allocation failing, until none is left to fail.
**
** Each script runs three times.  At first only the n-th allocation fails: Lua
** collects all garbage and tries again, so the function must do its work as
** ever.  Then the second attempt fails as well, and then every allocation from
** the n-th on: the function must raise "not enough memory", or do its work
** without.  After each, the function runs undisturbed and must do its work, and
** in the end no byte and no block may be left.
*/
#include <lauxlib.h>
#include <lua.h>
#include <lualib.h>

#include <limits.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#if defined(__SANITIZE_ADDRESS__)
/* Of libasan; gcc comes without the header. */
int __sanitizer_install_malloc_and_free_hooks(
    void (*on_malloc)(const volatile void *p, size_t size),
    void (*on_free)(const volatile void *p));
#endif

#define MAX_ALLOCATIONS 200000

typedef struct oom_Heap {
  size_t bytes;     /* in use */
  long allocations; /* since the counter was set */
  long fail_at;     /* 0: none fails */
  long failures;    /* how many fail in a row */
  bool failed;
} oom_Heap;

static long blocks; /* of malloc, in use, whoever allocated them */

#if defined(__SANITIZE_ADDRESS__)
static void on_malloc(const volatile void *p, size_t size) {
  (void)size;
  if (p != NULL) blocks++;
}

static void on_free(const volatile void *p) {
  if (p != NULL) blocks--;
}
#endif

static bool must_fail(oom_Heap *heap) {
  heap->allocations++;
  if (heap->fail_at == 0 || heap->allocations < heap->fail_at) return false;
  if (heap->allocations - heap->fail_at >= heap->failures) return false;
  heap->failed = true;
  return true;
}

/* A lua_Alloc.  Shrinking never fails. */
static void *allocate(void *ud, void *p, size_t old_size, size_t new_size) {
  oom_Heap *heap = (oom_Heap *)ud;
  void *grown;
  if (p == NULL) old_size = 0;
  if (new_size == 0) {
    free(p);
    heap->bytes -= old_size;
    return NULL;
  }
  if (new_size > old_size && must_fail(heap)) return NULL;
  grown = realloc(p, new_size);
  if (grown != NULL) heap->bytes += new_size - old_size;
  return grown;
}

static void inject(oom_Heap *heap, long n, long failures) {
  heap->allocations = 0;
  heap->failed = false;
  heap->failures = failures;
  heap->fail_at = n;
}

/* Calls the script's function (index 1) with the n-th allocation failing.
** Returns 0 or what lua_pcall said; then the error is on the stack. */
static int call_function(lua_State *L, oom_Heap *heap, long n, long failures) {
  int status;
  lua_settop(L, 1);
  lua_gc(L, LUA_GCCOLLECT, 0);
  lua_pushvalue(L, 1);
  inject(heap, n, failures);
  status = lua_pcall(L, 0, 0, 0);
  heap->fail_at = 0;
  return status;
}

/* luaL_checkstack has only one message for a stack that cannot grow. */
static bool is_memory_error(lua_State *L) {
  const char *message = luaL_tolstring(L, -1, NULL);
  return strstr(message, "memory") != NULL ||
         strstr(message, "stack overflow") != NULL;
}

static const char *way_name(long failures) {
  if (failures == 1) return "one failure";
  return failures == 2 ? "two failures" : "only failures";
}

static bool complain(lua_State *L, const char *script, long n, long failures,
                     const char *what) {
  fprintf(stderr, "%s: ", script);
  if (n > 0)
    fprintf(stderr, "%s from allocation %ld on: ", way_name(failures), n);
  fprintf(stderr, "%s: %s\n", what, luaL_tolstring(L, -1, NULL));
  return false;
}

/* Fails each allocation in turn.  Returns how many there were, -1 when the
** script did not stand it. */
static long fail_each(lua_State *L, oom_Heap *heap, const char *script,
                      long failures) {
  long n;
  for (n = 1; n < MAX_ALLOCATIONS; n++) {
    int status = call_function(L, heap, n, failures);
    bool failed = heap->failed;
    if (status != LUA_OK && !(failed && is_memory_error(L))) {
      complain(L, script, n, failures, "wrong error");
      return -1;
    }
    if (!failed) return n - 1;
    if (call_function(L, heap, 0, 0) != LUA_OK) {
      complain(L, script, n, failures, "the next call fails");
      return -1;
    }
  }
  fprintf(stderr, "%s: no end after %ld allocations\n", script, n);
  return -1;
}

/* Returns the number of allocations, -1 after a failure. */
static long run_in_state(oom_Heap *heap, const char *script, long failures) {
  lua_State *L = lua_newstate(allocate, heap);
  long n = -1;
  if (L == NULL) return -1;
  luaL_openlibs(L);
  if (luaL_loadfile(L, script) != LUA_OK || lua_pcall(L, 0, 1, 0) != LUA_OK)
    fprintf(stderr, "%s\n", luaL_tolstring(L, -1, NULL));
  else if (call_function(L, heap, 0, 0) != LUA_OK)
    complain(L, script, 0, false, "without any failure");
  else n = fail_each(L, heap, script, failures);
  lua_close(L);
  return n;
}

/* One script, one way of failing.  The blocks are counted from the second state
** on: the first one has the dynamic linker keep some. */
static bool run(const char *script, long failures) {
  oom_Heap heap = {0, 0, 0, 0, false};
  long before = blocks;
  long n = run_in_state(&heap, script, failures);
  if (n < 0) return false;
  if (heap.bytes != 0) {
    fprintf(stderr, "%s: %zu bytes of Lua's are left\n", script, heap.bytes);
    return false;
  }
  if (blocks != before) {
    fprintf(stderr, "%s: %ld blocks of malloc are left\n", script,
            blocks - before);
    return false;
  }
  printf("%-32s %-13s %6ld allocations\n", script, way_name(failures), n);
  return true;
}

/* Loads the script's modules once, so that what their libraries keep for the
** process is there before anything is counted. */
static void warm_up(const char *script) {
  oom_Heap heap = {0, 0, 0, 0, false};
  lua_State *L = lua_newstate(allocate, &heap);
  if (L == NULL) return;
  luaL_openlibs(L);
  if (luaL_loadfile(L, script) == LUA_OK && lua_pcall(L, 0, 1, 0) == LUA_OK) {
    call_function(L, &heap, 0, 0);
    call_function(L, &heap, 1, LONG_MAX);
  }
  lua_close(L);
}

int main(int argc, char **argv) {
  static const long ways[] = {1, 2, LONG_MAX};
  int i, passed = 0, failed = 0;
#if defined(__SANITIZE_ADDRESS__)
  __sanitizer_install_malloc_and_free_hooks(on_malloc, on_free);
#endif
  for (i = 1; i < argc; i++) {
    size_t way;
    warm_up(argv[i]);
    warm_up(argv[i]); /* opening a library again allocates once more */
    for (way = 0; way < sizeof(ways) / sizeof(ways[0]); way++) {
      if (run(argv[i], ways[way])) passed++;
      else failed++;
    }
  }
  printf("%d passed, %d failed\n", passed, failed);
  fflush(stdout);
  return failed == 0 ? EXIT_SUCCESS : EXIT_FAILURE;
}
