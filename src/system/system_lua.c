/*
** system_lua.c - operations.system: functions of the operating system that
** Lua's library lacks, for the scanner, the command line and stores of secrets.
** Reads directories, file kinds and regular files, makes signals end a program
** in order; keeps nothing open.
*/
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/ioctl.h>
#include <sys/select.h>
#include <sys/stat.h>
#include <sys/time.h>
#include <unistd.h>

#include "lua/build.h"
#include "platform/platform.h"
#include "system/system.h"

#define DIRECTORY_NAME "operations.system.directory"

/* __gc closes it when an error interrupts the listing. */
typedef struct system_Directory {
  DIR *dir;
} system_Directory;

const char *system_path(lua_State *L, int i) {
  size_t length;
  const char *path = luaL_checklstring(L, i, &length);
  luaL_argcheck(L, strlen(path) == length, i, "path with a zero byte");
  return path;
}

/* Returns nil, "PATH: problem". */
int system_problem(lua_State *L, const char *path, const char *problem) {
  lua_pushnil(L);
  lua_pushfstring(L, "%s: %s", path, problem);
  return 2;
}

/* Returns nil, "PATH: message of the system". */
int system_failure(lua_State *L, const char *path, int error) {
  return system_problem(L, path, strerror(error));
}

/* directory:__gc() */
static int directory_gc(lua_State *L) {
  system_Directory *directory =
      (system_Directory *)luaL_checkudata(L, 1, DIRECTORY_NAME);
  if (directory->dir != NULL) closedir(directory->dir);
  return 0;
}

static system_Directory *new_directory(lua_State *L) {
  system_Directory *directory =
      (system_Directory *)lua_newuserdata(L, sizeof(*directory));
  directory->dir = NULL;
  if (luaL_newmetatable(L, DIRECTORY_NAME)) {
    lua_pushcfunction(L, directory_gc);
    lua_setfield(L, -2, "__gc");
  }
  lua_setmetatable(L, -2);
  return directory;
}

static bool is_dots(const char *name) {
  return strcmp(name, ".") == 0 || strcmp(name, "..") == 0;
}

/* system.list(path) -> array of the names in a directory, unsorted |
** nil, message */
static int system_list(lua_State *L) {
  const char *path = system_path(L, 1);
  system_Directory *directory = new_directory(L);
  const struct dirent *entry;
  size_t n = 0;
  lua_newtable(L);
  directory->dir = opendir(path);
  if (directory->dir == NULL) return system_failure(L, path, errno);
  while ((errno = 0, entry = readdir(directory->dir)) != NULL) {
    if (is_dots(entry->d_name)) continue;
    lua_pushstring(L, entry->d_name);
    ops_rawseti(L, -2, ++n);
  }
  if (errno != 0) return system_failure(L, path, errno);
  closedir(directory->dir);
  directory->dir = NULL;
  return 1;
}

/* system.kind(path) -> "file" | "directory" | "other", identity, version | nil,
** message
** Follows links.  Two paths with the same identity are the same file; its
** version changes when it is written to. */
static int system_kind(lua_State *L) {
  const char *path = system_path(L, 1);
  struct stat st;
  struct timespec modified;
  char identity[64], version[96];
  if (stat(path, &st) != 0) return system_failure(L, path, errno);
  modified = platform_modified(&st);
  lua_pushstring(L, S_ISDIR(st.st_mode)   ? "directory"
                    : S_ISREG(st.st_mode) ? "file"
                                          : "other");
  snprintf(identity, sizeof(identity), "%llx:%llx",
           (unsigned long long)st.st_dev, (unsigned long long)st.st_ino);
  snprintf(version, sizeof(version), "%lld.%09ld:%lld",
           (long long)modified.tv_sec, (long)modified.tv_nsec,
           (long long)st.st_size);
  lua_pushstring(L, identity);
  lua_pushstring(L, version);
  return 3;
}

int system_close_file(system_File *file) {
  if (file->fd >= 0) close(file->fd);
  file->fd = -1;
  return 0;
}

/* file:__gc() */
static int file_gc(lua_State *L) {
  return system_close_file(
      (system_File *)luaL_checkudata(L, 1, SYSTEM_FILE_NAME));
}

system_File *system_new_file(lua_State *L) {
  system_File *file = (system_File *)lua_newuserdata(L, sizeof(*file));
  file->fd = -1;
  if (luaL_newmetatable(L, SYSTEM_FILE_NAME)) {
    lua_pushcfunction(L, file_gc);
    lua_setfield(L, -2, "__gc");
  }
  lua_setmetatable(L, -2);
  return file;
}

/* Opens a regular file, whose kind is asked of the descriptor.  Does not wait
** for the writer of a FIFO.  Returns a message, or NULL. */
static const char *open_regular(system_File *file, const char *path) {
  struct stat st;
  file->fd = open(path, O_RDONLY | O_NONBLOCK | O_NOCTTY | O_CLOEXEC);
  if (file->fd < 0 || fstat(file->fd, &st) != 0) return strerror(errno);
  return S_ISREG(st.st_mode) ? NULL : "not a regular file";
}

/* Pushes the text; returns a message, or NULL. */
const char *system_push_text(lua_State *L, int fd, size_t most) {
  luaL_Buffer buffer;
  char bytes[4096];
  size_t total = 0;
  ssize_t n;
  luaL_buffinit(L, &buffer);
  while ((n = read(fd, bytes, sizeof(bytes))) > 0) {
    total += (size_t)n;
    if (total > most) return "too large";
    luaL_addlstring(&buffer, bytes, (size_t)n);
  }
  if (n < 0) return strerror(errno);
  luaL_pushresult(&buffer);
  return NULL;
}

/* system.read_regular(path, most) -> text | nil, message
** Reads a regular file of at most `most` bytes; refuses devices, FIFOs and
** directories without waiting for them. */
static int system_read_regular(lua_State *L) {
  const char *path = system_path(L, 1);
  lua_Number most = luaL_checknumber(L, 2);
  system_File *file = system_new_file(L);
  const char *problem = open_regular(file, path);
  if (problem == NULL) problem = system_push_text(L, file->fd, (size_t)most);
  system_close_file(file);
  return problem == NULL ? 1 : system_problem(L, path, problem);
}

/* system.readable(descriptor, ms) -> bytes that can be read, 0 at the end and
** where a device does not tell | nil when there are none in that time */
static int system_readable(lua_State *L) {
  int fd = (int)luaL_checkinteger(L, 1), ms = (int)luaL_checkinteger(L, 2);
  int bytes = 0;
  struct timeval time;
  fd_set set;
  luaL_argcheck(L, fd >= 0 && fd < FD_SETSIZE, 1, "descriptor expected");
  time.tv_sec = ms / 1000;
  time.tv_usec = ms % 1000 * 1000;
  FD_ZERO(&set);
  FD_SET(fd, &set);
  if (select(fd + 1, &set, NULL, NULL, &time) <= 0) return 0;
  if (ioctl(fd, FIONREAD, &bytes) != 0) bytes = 0; /* a device */
  lua_pushinteger(L, bytes);
  return 1;
}

/* system.has_ended(socket) -> has the peer sent its last byte, and all of them
** were read?  Does not wait. */
static int system_has_ended(lua_State *L) {
  lua_pushboolean(L, platform_has_ended((int)luaL_checkinteger(L, 1)));
  return 1;
}

/* system.read(descriptor) -> some bytes, "" at the end | nil, message */
static int system_read(lua_State *L) {
  int fd = (int)luaL_checkinteger(L, 1);
  char bytes[16384];
  ssize_t n = read(fd, bytes, sizeof(bytes));
  if (n >= 0) {
    lua_pushlstring(L, bytes, (size_t)n);
    return 1;
  }
  lua_pushnil(L);
  lua_pushstring(L, strerror(errno));
  return 2;
}

/* system.link(from, to) -> true | nil, message
** Gives a file a second name, which must not exist. */
static int system_link(lua_State *L) {
  const char *from = system_path(L, 1), *to = system_path(L, 2);
  if (link(from, to) != 0) return system_failure(L, to, errno);
  lua_pushboolean(L, 1);
  return 1;
}

/* system.open_standard_descriptors(): 0 to 2 are open from now on, those that
** were closed as /dev/null: a file or socket that got one of these numbers
** would be read as input, or written to. */
static int system_open_standard_descriptors(lua_State *L) {
  int fd;
  do fd = open("/dev/null", O_RDWR);
  while (fd >= 0 && fd <= 2);
  if (fd < 0) return luaL_error(L, "/dev/null: %s", strerror(errno));
  close(fd);
  return 0;
}

/* system.real_path(path) -> absolute path without links, "." and ".." | nil,
** message */
static int system_real_path(lua_State *L) {
  const char *path = system_path(L, 1);
  char found[PATH_MAX];
  if (realpath(path, found) == NULL) return system_failure(L, path, errno);
  lua_pushstring(L, found);
  return 1;
}

/* system.is_terminal(descriptor) -> boolean */
static int system_is_terminal(lua_State *L) {
  lua_pushboolean(L, isatty((int)luaL_checkinteger(L, 1)));
  return 1;
}

/* system.terminal_size(descriptor) -> columns, rows | nil when it is not a
** terminal or does not know its size */
static int system_terminal_size(lua_State *L) {
  struct winsize size;
  int fd = (int)luaL_checkinteger(L, 1);
  if (ioctl(fd, TIOCGWINSZ, &size) != 0 || size.ws_col == 0) {
    lua_pushnil(L);
    return 1;
  }
  lua_pushinteger(L, size.ws_col);
  lua_pushinteger(L, size.ws_row);
  return 2;
}

/* Sets a handler for a signal that interrupts no call. */
static void handle(int number, void (*handler)(int)) {
  const struct sigaction action = {.sa_handler = handler,
                                   .sa_flags = SA_RESTART};
  (void)sigaction(number, &action, NULL);
}

static void on_broken_pipe(int number) {
  (void)number;
}

/* system.survive_broken_pipes(): writes to a closed pipe fail and no longer end
** the process.  Sets a handler: started programs do not inherit handlers. */
static int system_survive_broken_pipes(lua_State *L) {
  (void)L;
  handle(SIGPIPE, on_broken_pipe);
  return 0;
}

/* Interruption.  There is one for the process, as there is one set of signals:
** at most one Lua state of the process owns it, from catch_signals until it
** releases them or closes.  Handlers run in any thread; they pass the signal on
** to the owner's, where alone a hook can be set. */

#define INTERRUPTION_NAME "operations.system.interruption"
#define ALARM_US 100000
#define PATIENCE 10 /* alarms */
#define NEVER 50    /* then the signal ends the process: Lua does not run */

/* SIGALRM comes first: it makes Lua raise the others when it waits in C. */
static const int caught_signals[] = {SIGALRM, SIGINT, SIGTERM, SIGHUP};
#define CAUGHT_SIGNALS (sizeof(caught_signals) / sizeof(*caught_signals))

static struct {
  const void *owner; /* state_of it; NULL: none.  Taken atomically */
  lua_State *L;      /* its main thread; NULL: signals are not caught */
  pthread_t thread;  /* that runs it */
  int busy;          /* handlers that run now, in all threads */
  volatile sig_atomic_t caught; /* the signal, until it is raised */
  volatile sig_atomic_t alarms; /* alarms since then; -1 before the first */
  volatile sig_atomic_t raised;
  int ending; /* the signal that is to end the process; 0: none */
  bool held, at_exit;
  struct sigaction before[CAUGHT_SIGNALS];
  lua_Hook hook; /* the program's, while `raise_anywhere` replaces it */
  int hook_mask, hook_count;
} interruption;

#define load(place) __atomic_load_n(place, __ATOMIC_SEQ_CST)
#define store(place, value) __atomic_store_n(place, value, __ATOMIC_SEQ_CST)

/* What all coroutines of a state have in common. */
static const void *state_of(lua_State *L) {
  return lua_topointer(L, LUA_REGISTRYINDEX);
}

static bool owns(lua_State *L) {
  return load(&interruption.owner) == state_of(L);
}

static void end_by(int number) {
  (void)signal(number, SIG_DFL);
  (void)raise(number);
}

static int raise_caught(lua_State *L) {
  interruption.raised = interruption.caught;
  interruption.caught = 0;
  lua_pushliteral(L, "interrupted!");
  return lua_error(L);
}

static void put_hook_back(lua_State *L) {
  lua_sethook(L, interruption.hook, interruption.hook_mask,
              interruption.hook_count);
}

/* LuaJIT calls the hook in any coroutine, Lua 5.4 only in the main thread. */
static void raise_anywhere(lua_State *L, lua_Debug *ar) {
  (void)ar;
  if (L != interruption.L || interruption.held) return;
  put_hook_back(L);
  if (interruption.caught != 0) (void)raise_caught(L);
}

static void set_hook(lua_State *L) {
  if (lua_gethook(L) != raise_anywhere) {
    interruption.hook = lua_gethook(L);
    interruption.hook_mask = lua_gethookmask(L);
    interruption.hook_count = lua_gethookcount(L);
  }
  lua_sethook(L, raise_anywhere, LUA_MASKCALL | LUA_MASKRET | LUA_MASKCOUNT, 1);
}

static void set_alarm(void) {
  struct itimerval once = {{0, 0}, {0, ALARM_US}};
  (void)setitimer(ITIMER_REAL, &once, NULL);
}

/* Does this thread run the owner's state?  Otherwise passes the signal on. */
static bool is_here(int number) {
  if (pthread_equal(pthread_self(), interruption.thread)) return true;
  (void)pthread_kill(interruption.thread, number);
  return false;
}

/* timeout(1) signals a process and then its group: two signals in quick
** succession count as one.  A signal that comes while Lua cannot raise the
** first one, for instance in a loop in C, ends the process. */
static void take_signal(int number) {
  if (interruption.alarms < 0) return;
  if (interruption.caught == 0) {
    interruption.caught = number;
    interruption.alarms = -1;
    set_alarm();
  } else if (interruption.alarms >= PATIENCE) {
    end_by(number);
  }
}

/* Also interrupts a wait that began just after the signal came. */
static void take_alarm(lua_State *L) {
  interruption.alarms++;
  if (interruption.caught == 0) return;
  if (interruption.alarms >= NEVER) end_by(interruption.caught);
  if (!interruption.held) set_hook(L);
  set_alarm();
}

/* release() waits until `busy` is 0. */
static void on_signal(int number) {
  lua_State *L;
  (void)__atomic_add_fetch(&interruption.busy, 1, __ATOMIC_SEQ_CST);
  L = load(&interruption.L);
  if (L != NULL && is_here(number)) {
    if (number == SIGALRM) take_alarm(L);
    else take_signal(number);
  }
  (void)__atomic_sub_fetch(&interruption.busy, 1, __ATOMIC_SEQ_CST);
}

/* Ignored signals stay ignored (nohup).  Interpreters handle INT themselves, in
** the main thread only; a handler of another signal belongs to the program. */
static bool is_free(int number, const struct sigaction *before) {
  return number == SIGALRM || before->sa_handler == SIG_DFL ||
         (number == SIGINT && before->sa_handler != SIG_IGN);
}

/* The alarm interrupts waits in C, so that Lua can raise. */
static void catch_one(size_t i) {
  int number = caught_signals[i];
  struct sigaction action;
  action.sa_handler = on_signal;
  action.sa_flags = number == SIGALRM ? 0 : SA_RESTART;
  (void)sigfillset(&action.sa_mask);
  (void)sigaction(number, NULL, &interruption.before[i]);
  if (is_free(number, &interruption.before[i]))
    (void)sigaction(number, &action, NULL);
}

/* Restores the handlers and gives up the ownership.  Returns the last signal
** that was caught and not raised, or 0. */
static int release(void) {
  struct itimerval never = {{0, 0}, {0, 0}};
  lua_State *L = interruption.L;
  int pending;
  size_t i;
  store(&interruption.L, NULL); /* from here on the handlers do nothing */
  (void)setitimer(ITIMER_REAL, &never, NULL);
  while (load(&interruption.busy) > 0) (void)sched_yield();
  (void)signal(SIGALRM, SIG_IGN); /* drops one that is on its way */
  for (i = 0; i < CAUGHT_SIGNALS; i++)
    (void)sigaction(caught_signals[i], &interruption.before[i], NULL);
  if (lua_gethook(L) == raise_anywhere) put_hook_back(L);
  pending = interruption.caught;
  interruption.caught = interruption.raised = 0;
  interruption.held = false;
  store(&interruption.owner, NULL);
  return pending;
}

/* Shells distinguish a program ended by a signal from one that exited, and then
** leave their loops. */
static void end_as_told(void) {
  if (interruption.ending == 0) return;
  (void)fflush(NULL);
  end_by(interruption.ending);
}

/* interruption:__gc(): the state closes.  Its other finalizers still run. */
static int interruption_gc(lua_State *L) {
  if (!owns(L)) return 0;
  interruption.ending = interruption.raised;
  (void)release();
  return 0;
}

/* Makes the one value of this state whose finalizer releases the signals. */
static void release_at_close(lua_State *L) {
  ops_rawgetp(L, LUA_REGISTRYINDEX, &interruption);
  if (lua_isnil(L, -1)) {
    (void)lua_newuserdata(L, 1);
    if (luaL_newmetatable(L, INTERRUPTION_NAME)) {
      lua_pushcfunction(L, interruption_gc);
      lua_setfield(L, -2, "__gc");
    }
    lua_setmetatable(L, -2);
    ops_rawsetp(L, LUA_REGISTRYINDEX, &interruption);
  }
  lua_pop(L, 1);
}

/* system.catch_signals() -> true | nothing when this state catches them already
** | false when another state of the process does
** From now on INT, TERM and HUP are raised as errors in this, the main, thread;
** if that takes too long, in any coroutine.  If signals are still caught when
** the process exits, a signal that was raised ends it. */
static int system_catch_signals(lua_State *L) {
  const void *owner = NULL;
  size_t i;
  release_at_close(L);
  if (owns(L)) return 0;
  if (!__atomic_compare_exchange_n(&interruption.owner, &owner, state_of(L),
                                   false, __ATOMIC_SEQ_CST, __ATOMIC_SEQ_CST)) {
    lua_pushboolean(L, 0);
    return 1;
  }
  interruption.thread = pthread_self();
  store(&interruption.L, L);
  for (i = 0; i < CAUGHT_SIGNALS; i++) catch_one(i);
  if (!interruption.at_exit) interruption.at_exit = atexit(end_as_told) == 0;
  lua_pushboolean(L, 1);
  return 1;
}

/* system.release_signals(): restores the previous handlers, and passes a signal
** that was not raised yet to them. */
static int system_release_signals(lua_State *L) {
  int pending;
  if (!owns(L)) return 0;
  pending = release();
  if (pending != 0) (void)raise(pending);
  return 0;
}

/* system.hold_signals(fn, ...) -> the results of `fn(...)`; meanwhile only
** `raise_signal` raises signals. */
static int system_hold_signals(lua_State *L) {
  bool owned = owns(L), before = owned && interruption.held;
  int status;
  luaL_checkany(L, 1);
  if (owned) interruption.held = true;
  status = lua_pcall(L, lua_gettop(L) - 1, LUA_MULTRET, 0);
  if (owned && owns(L)) interruption.held = before;
  return status == 0 ? lua_gettop(L) : lua_error(L);
}

/* system.raise_signal(): raises "interrupted!" when one was caught. */
static int system_raise_signal(lua_State *L) {
  return owns(L) && interruption.caught != 0 ? raise_caught(L) : 0;
}

/* system.interrupted() -> the number of the signal that was raised | nil */
static int system_interrupted(lua_State *L) {
  if (!owns(L) || interruption.raised == 0) lua_pushnil(L);
  else lua_pushinteger(L, interruption.raised);
  return 1;
}

/* HUP as a request instead of an end; also one for the process. */
static volatile sig_atomic_t hangups;

static void on_hangup(int number) {
  (void)number;
  hangups = hangups + 1;
}

/* system.hangups() -> the number of HUP signals since the first call.  From
** that call on HUP interrupts nothing, until signals are released. */
static int system_hangups(lua_State *L) {
  handle(SIGHUP, on_hangup);
  lua_pushinteger(L, hangups);
  return 1;
}

static const luaL_Reg system_functions[] = {
    {"list", system_list},
    {"kind", system_kind},
    {"read_regular", system_read_regular},
    {"readable", system_readable},
    {"has_ended", system_has_ended},
    {"read", system_read},
    {"link", system_link},
    {"open_standard_descriptors", system_open_standard_descriptors},
    {"real_path", system_real_path},
    {"is_terminal", system_is_terminal},
    {"terminal_size", system_terminal_size},
    {"survive_broken_pipes", system_survive_broken_pipes},
    {"catch_signals", system_catch_signals},
    {"release_signals", system_release_signals},
    {"hold_signals", system_hold_signals},
    {"raise_signal", system_raise_signal},
    {"interrupted", system_interrupted},
    {"hangups", system_hangups},
    {NULL, NULL},
};

BUILD_SHOWN int luaopen_operations_system(lua_State *L);

int luaopen_operations_system(lua_State *L) {
  build_check(L, "operations.system");
  lua_newtable(L);
  ops_setfuncs(L, system_functions, 0);
  system_private_open(L);
  return 1;
}
