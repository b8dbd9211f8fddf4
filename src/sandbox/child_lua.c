/*
** child_lua.c - operations.sandbox_child: the process of one program.  Reads
** the program from descriptor 0, makes a fresh Lua state for it, confines the
** process and runs it; then carries lines between the state and the host.  The
** globals of programs and the meaning of the lines are in
** lua/operations/sandbox/inside.lua.
*/
#include <dlfcn.h>
#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/time.h>
#include <time.h>
#include <unistd.h>

#include "base/buffer.h"
#include "lua/build.h"
#include "lua/compat.h"
#include "platform/platform.h"
#include "value/integer.h"
#include "value/json_lua.h"

#include <lualib.h>

#define HOOK_INSTRUCTIONS 10000
/* How often a program whose time is over is looked at, and after how many times
** it ends without its line: it is inside one long function of the language. */
#define TICK_US 20000
#define PATIENCE 10
#define READ_SIZE 65536
#define LEAST_MEMORY 65536 /* a state without its libraries has room in it */
#define BEGUN "{\"begun\":true}\n"
#define MEMORY "{\"end\":{\"kind\":\"memory\"}}\n"

/* One process has one program: its signal handler needs this. */
static struct {
  volatile sig_atomic_t ticks;   /* since the processor time was over */
  volatile sig_atomic_t sending; /* a line is written right now */
  buffer_Buffer input;
  size_t taken; /* bytes of it */
  size_t memory, memory_used;
} child;

/* The order of the fields of the first line that the host sends. */
typedef struct child_Request {
  size_t memory;    /* bytes */
  size_t line;      /* the longest line, bytes */
  size_t processor; /* ms */
  size_t config, code;
} child_Request;

/* Lines */

/* The host has ended, or this program has. */
static void leave(void) {
  _exit(0);
}

static void write_all(const char *bytes, size_t n) {
  while (n > 0) {
    ssize_t written = write(STDOUT_FILENO, bytes, n);
    if (written < 0 && errno != EINTR) leave();
    if (written > 0) {
      bytes += written;
      n -= (size_t)written;
    }
  }
}

/* Ends the program by its last line.  Also called by a signal handler. */
static void end_with(const char *line) {
  write_all(line, strlen(line));
  leave();
}

/* Reads some more bytes. */
static void fill(void) {
  ssize_t n;
  if (!buffer_reserve(&child.input, READ_SIZE)) end_with(MEMORY);
  do n = read(STDIN_FILENO, child.input.data + child.input.len, READ_SIZE);
  while (n < 0 && errno == EINTR);
  if (n <= 0) leave();
  child.input.len += (size_t)n;
}

static void take(size_t n) {
  child.taken += n;
  if (child.taken < child.input.len) return;
  child.taken = child.input.len = 0;
}

/* The next line, borrowed until the next call. */
static const char *read_line(size_t *length) {
  size_t seen = child.taken;
  const char *start, *stop;
  if (child.taken > 0 && child.taken >= child.input.len / 2) {
    child.input.len -= child.taken;
    memmove(child.input.data, child.input.data + child.taken, child.input.len);
    seen = child.taken = 0;
  }
  while (child.input.len == seen ||
         (stop = memchr(child.input.data + seen, '\n',
                        child.input.len - seen)) == NULL) {
    seen = child.input.len;
    fill();
  }
  start = child.input.data + child.taken;
  *length = (size_t)(stop - start);
  take(*length + 1);
  return start;
}

static const char *read_bytes(size_t n) {
  const char *start;
  while (child.input.len - child.taken < n) fill();
  start = child.input.data + child.taken;
  take(n);
  return start;
}

/* Time */

static void on_tick(int number) {
  (void)number;
  child.ticks = child.ticks + 1;
  if (child.ticks > PATIENCE && !child.sending)
    end_with("{\"end\":{\"kind\":\"processor\"}}\n");
}

/* The line of the program that runs, 0 when none does. */
static int line_of(lua_State *L) {
  lua_Debug ar;
  int level;
  for (level = 0; lua_getstack(L, level, &ar); level++) {
    if (lua_getinfo(L, "Sl", &ar) && strcmp(ar.source, "=program") == 0)
      return ar.currentline;
  }
  return 0;
}

/* Ends the program in a way that it cannot catch. */
static void on_count(lua_State *L, lua_Debug *ar) {
  char line[96];
  (void)ar;
  if (child.ticks == 0) return;
  snprintf(line, sizeof(line),
           "{\"end\":{\"kind\":\"processor\",\"line\":%d}}\n", line_of(L));
  end_with(line);
}

static void start_clock(size_t ms) {
  const struct itimerval timer = {
      {0, TICK_US}, {(time_t)(ms / 1000), (suseconds_t)(ms % 1000) * 1000}};
  struct sigaction action;
  memset(&action, 0, sizeof(action));
  action.sa_handler = on_tick;
  action.sa_flags = SA_RESTART;
  (void)sigaction(SIGPROF, &action, NULL);
  (void)setitimer(ITIMER_PROF, &timer, NULL);
}

/* Memory: of the program's state, so that it gets Lua's own error. */

static void *allocate(void *ud, void *block, size_t before, size_t size) {
  void *made;
  (void)ud;
  if (block == NULL) before = 0; /* Lua says what it is for */
  if (size == 0) {
    free(block);
    child.memory_used -= before;
    return NULL;
  }
  if (size > before && size - before > child.memory - child.memory_used)
    return NULL;
  made = realloc(block, size);
  if (made != NULL) child.memory_used += size - before;
  return made;
}

static void *allocate_input(void *ud, void *block, size_t before, size_t size) {
  (void)ud;
  (void)before;
  if (size > 0) return realloc(block, size);
  free(block);
  return NULL;
}

/* Functions of the state */

/* child.send(line): writes a line to the host. */
static int child_send(lua_State *L) {
  size_t n;
  const char *line = luaL_checklstring(L, 1, &n);
  child.sending = 1;
  write_all(line, n);
  write_all("\n", 1);
  child.sending = 0;
  return 0;
}

/* child.receive() -> the next line of the host; waits */
static int child_receive(lua_State *L) {
  size_t n;
  const char *line = read_line(&n);
  lua_pushlstring(L, line, n);
  return 1;
}

/* Runs with a core state as upvalue 1; returns the table of functions. */
static int open_functions(lua_State *L) {
  static const luaL_Reg functions[] = {
      {"send", child_send},
      {"receive", child_receive},
      {NULL, NULL},
  };
  lua_newtable(L);
  core_open_marks(L);
  integer_open(L);
  lua_pushlightuserdata(L, NULL);
  lua_setfield(L, -2, "null");
  json_open(L);
  ops_setfuncs(L, functions, 0);
  return 1;
}

static void push_functions(lua_State *L) {
  core_State *core = (core_State *)lua_newuserdata(L, sizeof(core_State));
  *core = (core_State){.seed = 0};
  (void)platform_random(&core->seed, sizeof(core->seed));
  lua_pushcclosure(L, open_functions, 1);
  lua_call(L, 0, 1);
}

/* A program in a fresh state: opens it, then runs
** inside(functions, config, code), which does not return. */
typedef struct child_Program {
  const char *inside; /* path */
  const child_Request *request;
  const char *config, *code;
} child_Program;

static int raise_once(lua_State *L) {
  return luaL_error(L, "once");
}

/* Loads a file under a name that tells no path to the program. */
static int load_unnamed(lua_State *L, const char *path) {
  luaL_Buffer text;
  FILE *file = fopen(path, "rb");
  char piece[4096];
  size_t n;
  if (file == NULL) return luaL_error(L, "%s: %s", path, strerror(errno));
  luaL_buffinit(L, &text);
  while ((n = fread(piece, 1, sizeof(piece), file)) > 0)
    luaL_addlstring(&text, piece, n);
  fclose(file);
  luaL_pushresult(&text);
  n = ops_rawlen(L, -1);
  if (luaL_loadbuffer(L, lua_tostring(L, -1), n, "=(sandbox)") != 0)
    return lua_error(L);
  lua_remove(L, -2);
  return 1;
}

static int open_state(lua_State *L) {
  const child_Program *program = (const child_Program *)lua_touserdata(L, 1);
  luaL_openlibs(L);
#if LUA_VERSION_NUM == 501
  lua_getglobal(L, "jit");
  lua_getfield(L, -1, "off");
  lua_call(L, 0, 0);
#endif
  /* The first error makes a system call (LuaJIT's unwinder). */
  lua_pushcfunction(L, raise_once);
  (void)lua_pcall(L, 0, 0, 0);
  lua_settop(L, 1);
  (void)load_unnamed(L, program->inside);
  push_functions(L);
  lua_pushlstring(L, program->config, program->request->config);
  lua_pushlstring(L, program->code, program->request->code);
  return 4;
}

static lua_State *new_state(void) {
  lua_State *L = ops_newstate(allocate, NULL);
  return L != NULL ? L : luaL_newstate(); /* LuaJIT without GC64 */
}

static int fail(lua_State *L, const char *what, const char *why) {
  return luaL_error(L, "%s: %s", what, why);
}

/* Lua's own error, or that of a C function. */
static bool is_memory_error(lua_State *L) {
  const char *message = lua_tostring(L, -1);
  return message != NULL && strstr(message, "not enough memory") != NULL;
}

static child_Request read_request(lua_State *L) {
  child_Request q;
  size_t n;
  char line[128];
  const char *text = read_line(&n);
  if (n >= sizeof(line)) fail(L, "the first line", "too long");
  memcpy(line, text, n);
  line[n] = '\0';
  if (sscanf(line, "%zu %zu %zu %zu %zu", &q.memory, &q.line, &q.processor,
             &q.config, &q.code) != 5)
    fail(L, "the first line", "five numbers expected");
  return q;
}

/* serve(inside): runs the program that the host sends; `inside` is the path of
** inside.lua.  Does not return. */
static int child_serve(lua_State *L) {
  const ops_Alloc memory = {allocate_input, NULL};
  child_Program program = {.inside = luaL_checkstring(L, 1)};
  child_Request request;
  const char *failed;
  lua_State *state;
  buffer_init(&child.input, memory, BUFFER_UNLIMITED);
  request = read_request(L);
  child.input.max = child.input.len + request.config + request.code +
                    2 * (request.line + READ_SIZE);
  child.memory = request.memory;
  program.request = &request;
  program.config = read_bytes(request.config + request.code);
  program.code = program.config + request.config;
  if (request.memory < LEAST_MEMORY) end_with(MEMORY);
  state = new_state();
  if (state == NULL) return fail(L, "the program's state", "not enough memory");
  lua_pushcfunction(state, open_state);
  lua_pushlightuserdata(state, &program);
  if (lua_pcall(state, 1, LUA_MULTRET, 0) != 0) {
    if (is_memory_error(state)) end_with(MEMORY);
    return fail(L, "the program's state", lua_tostring(state, -1));
  }
  lua_sethook(state, on_count, LUA_MASKCOUNT, HOOK_INSTRUCTIONS);
  tzset(); /* later it would read files */
  start_clock(request.processor);
  failed = platform_confine(request.memory + 3 * request.line,
                            (unsigned)(request.processor / 1000) + 2);
  if (failed != NULL) return fail(L, failed, strerror(errno));
  write_all(BEGUN, sizeof(BEGUN) - 1);
  (void)lua_pcall(state, 3, 0, 0);
  end_with(is_memory_error(state) ? MEMORY : "{\"end\":{}}\n");
  return 0;
}

/* path() -> the path of this module, as it was loaded */
static int child_path(lua_State *L) {
  static const char here;
  Dl_info info;
  if (dladdr(&here, &info) == 0) return 0;
  lua_pushstring(L, info.dli_fname);
  return 1;
}

/* cannot_confine() -> why this system has no sandbox | nil */
static int child_cannot_confine(lua_State *L) {
  lua_pushstring(L, platform_cannot_confine());
  return 1;
}

/* confine(memory, seconds): confines this process, without a program. */
static int child_confine(lua_State *L) {
  const char *failed = platform_confine((size_t)luaL_checkinteger(L, 1),
                                        (unsigned)luaL_checkinteger(L, 2));
  return failed == NULL ? 0 : fail(L, failed, strerror(errno));
}

BUILD_SHOWN int luaopen_operations_sandbox_child(lua_State *L);

int luaopen_operations_sandbox_child(lua_State *L) {
  static const luaL_Reg functions[] = {
      {"serve", child_serve},
      {"path", child_path},
      {"cannot_confine", child_cannot_confine},
      {"confine", child_confine},
      {NULL, NULL},
  };
  build_check(L, "operations.sandbox_child");
  lua_newtable(L);
  ops_setfuncs(L, functions, 0);
  return 1;
}
