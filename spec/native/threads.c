/*
** threads.c - a Lua module: a program in many threads, each with a state of its
** own, at once.
*/
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include <lauxlib.h>
#include <lua.h>
#include <lualib.h>

#define MOST 64

typedef struct Thread {
  pthread_t id;
  pthread_barrier_t *start;
  const char *program, *path, *cpath;
  int number;
  char *error; /* NULL: it ran */
} Thread;

static void set_path(lua_State *L, const char *field, const char *path) {
  lua_getglobal(L, "package");
  lua_pushstring(L, path);
  lua_setfield(L, -2, field);
  lua_pop(L, 1);
}

static char *copy(const char *text) {
  size_t size = strlen(text) + 1;
  char *new = (char *)malloc(size);
  return new == NULL ? NULL : (char *)memcpy(new, text, size);
}

static void *run(void *ud) {
  Thread *thread = (Thread *)ud;
  lua_State *L = luaL_newstate();
  luaL_openlibs(L);
  set_path(L, "path", thread->path);
  set_path(L, "cpath", thread->cpath);
  (void)pthread_barrier_wait(thread->start);
  if (luaL_loadstring(L, thread->program) == 0) {
    lua_pushinteger(L, thread->number);
    if (lua_pcall(L, 1, 0, 0) == 0) {
      lua_close(L);
      return NULL;
    }
  }
  thread->error = copy(lua_tostring(L, -1) ? lua_tostring(L, -1) : "?");
  lua_close(L);
  return NULL;
}

/* threads.run(count, program, path, cpath) -> the first error | nil
** Each thread calls the program, a text in Lua, with its number from 1. */
static int threads_run(lua_State *L) {
  Thread threads[MOST];
  pthread_barrier_t start;
  int count = (int)luaL_checkinteger(L, 1), i;
  luaL_argcheck(L, count >= 1 && count <= MOST, 1, "1 to 64 expected");
  if (pthread_barrier_init(&start, NULL, (unsigned)count) != 0)
    return luaL_error(L, "no barrier");
  for (i = 0; i < count; i++) {
    threads[i] = (Thread){.start = &start,
                          .program = luaL_checkstring(L, 2),
                          .path = luaL_checkstring(L, 3),
                          .cpath = luaL_checkstring(L, 4),
                          .number = i + 1};
    if (pthread_create(&threads[i].id, NULL, run, &threads[i]) != 0)
      abort(); /* the others wait at the barrier */
  }
  lua_settop(L, 0);
  for (i = 0; i < count; i++) {
    (void)pthread_join(threads[i].id, NULL);
    if (threads[i].error != NULL && lua_gettop(L) == 0)
      lua_pushstring(L, threads[i].error);
    free(threads[i].error);
  }
  (void)pthread_barrier_destroy(&start);
  if (lua_gettop(L) == 0) lua_pushnil(L);
  return 1;
}

int luaopen_threads(lua_State *L);

int luaopen_threads(lua_State *L) {
  lua_newtable(L);
  lua_pushcfunction(L, threads_run);
  lua_setfield(L, -2, "run");
  return 1;
}
