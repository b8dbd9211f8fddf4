/*
** system_lua.c - operations.system: what Lua's own library lacks of the
** operating system and the scanner, the command line and stores of secrets
** need.  Reads directories and file kinds, writes private files; keeps nothing
** open.
*/
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include "compat.h"

#define DIRECTORY_NAME "operations.system.directory"

/* Closed by __gc when an error cuts the listing short. */
typedef struct system_Directory {
  DIR *dir;
} system_Directory;

static const char *check_path(lua_State *L, int i) {
  size_t length;
  const char *path = luaL_checklstring(L, i, &length);
  luaL_argcheck(L, strlen(path) == length, i, "path with a zero byte");
  return path;
}

/* Returns nil, "PATH: what the system says" */
static int push_failure(lua_State *L, const char *path, int error) {
  lua_pushnil(L);
  lua_pushfstring(L, "%s: %s", path, strerror(error));
  return 2;
}

/* directory:__gc() */
static int directory_gc(lua_State *L) {
  system_Directory *directory =
      (system_Directory *)luaL_checkudata(L, 1, DIRECTORY_NAME);
  if (directory->dir != NULL) closedir(directory->dir);
  directory->dir = NULL;
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
  const char *path = check_path(L, 1);
  system_Directory *directory = new_directory(L);
  const struct dirent *entry;
  size_t n = 0;
  lua_newtable(L);
  directory->dir = opendir(path);
  if (directory->dir == NULL) return push_failure(L, path, errno);
  while ((errno = 0, entry = readdir(directory->dir)) != NULL) {
    if (is_dots(entry->d_name)) continue;
    lua_pushstring(L, entry->d_name);
    ops_rawseti(L, -2, ++n);
  }
  if (errno != 0) return push_failure(L, path, errno);
  closedir(directory->dir);
  directory->dir = NULL;
  return 1;
}

/* system.kind(path) -> "file" | "directory" | "other", identity | nil, message
** Follows links; two paths with one identity are the same file. */
static int system_kind(lua_State *L) {
  const char *path = check_path(L, 1);
  struct stat st;
  char identity[64];
  if (stat(path, &st) != 0) return push_failure(L, path, errno);
  lua_pushstring(L, S_ISDIR(st.st_mode)   ? "directory"
                    : S_ISREG(st.st_mode) ? "file"
                                          : "other");
  snprintf(identity, sizeof(identity), "%llx:%llx",
           (unsigned long long)st.st_dev, (unsigned long long)st.st_ino);
  lua_pushstring(L, identity);
  return 2;
}

/* system.is_terminal(descriptor) -> boolean */
static int system_is_terminal(lua_State *L) {
  lua_pushboolean(L, isatty((int)luaL_checkinteger(L, 1)));
  return 1;
}

static bool write_all(int fd, const char *text, size_t n) {
  while (n > 0) {
    ssize_t written = write(fd, text, n);
    if (written < 0 && errno != EINTR) return false;
    if (written > 0) {
      text += written;
      n -= (size_t)written;
    }
  }
  return true;
}

/* The whole file or none of it is there at any time: written under another
** name, then renamed.  Returns 0 or errno. */
static int replace_file(const char *path, char *draft, const char *text,
                        size_t n) {
  int error = 0, fd = mkostemp(draft, O_CLOEXEC); /* mode 0600 */
  if (fd < 0) return errno;
  if (!write_all(fd, text, n) || fsync(fd) != 0) error = errno;
  if (close(fd) != 0 && error == 0) error = errno;
  if (error == 0 && rename(draft, path) != 0) error = errno;
  if (error != 0) unlink(draft);
  return error;
}

/* system.write_private(path, text) -> true | nil, message
** The file is its owner's only (mode 0600), one that was there is replaced. */
static int system_write_private(lua_State *L) {
  size_t n;
  const char *path = check_path(L, 1);
  const char *text = luaL_checklstring(L, 2, &n);
  char draft[PATH_MAX];
  int error;
  if (snprintf(draft, sizeof(draft), "%s.XXXXXX", path) >= (int)sizeof(draft))
    return push_failure(L, path, ENAMETOOLONG);
  error = replace_file(path, draft, text, n);
  if (error != 0) return push_failure(L, path, error);
  lua_pushboolean(L, 1);
  return 1;
}

/* Makes a directory and those above it, each mode 0700.  Returns 0 or errno. */
static int make_directories(char *path) {
  char *slash = path;
  struct stat st;
  do {
    slash = strchr(slash + 1, '/');
    if (slash != NULL) *slash = '\0';
    if (mkdir(path, 0700) != 0 && errno != EEXIST) return errno;
    if (slash != NULL) *slash = '/';
  } while (slash != NULL);
  if (stat(path, &st) != 0) return errno;
  return S_ISDIR(st.st_mode) ? 0 : ENOTDIR;
}

/* system.make_private_directory(path) -> true | nil, message
** Those that are there are left as they are. */
static int system_make_private_directory(lua_State *L) {
  const char *path = check_path(L, 1);
  char copy[PATH_MAX];
  int error;
  luaL_argcheck(L, *path != '\0', 1, "path expected");
  if (snprintf(copy, sizeof(copy), "%s", path) >= (int)sizeof(copy))
    return push_failure(L, path, ENAMETOOLONG);
  error = make_directories(copy);
  if (error != 0) return push_failure(L, path, error);
  lua_pushboolean(L, 1);
  return 1;
}

static void on_broken_pipe(int number) {
  (void)number;
}

/* system.survive_broken_pipes(): writes to a pipe that nobody reads fail and no
** longer end the process.  A handler, as programs it starts inherit none. */
static int system_survive_broken_pipes(lua_State *L) {
  struct sigaction action;
  (void)L;
  memset(&action, 0, sizeof(action));
  action.sa_handler = on_broken_pipe;
  action.sa_flags = SA_RESTART;
  (void)sigemptyset(&action.sa_mask);
  (void)sigaction(SIGPIPE, &action, NULL);
  return 0;
}

static const luaL_Reg system_functions[] = {
    {"list", system_list},
    {"kind", system_kind},
    {"is_terminal", system_is_terminal},
    {"write_private", system_write_private},
    {"make_private_directory", system_make_private_directory},
    {"survive_broken_pipes", system_survive_broken_pipes},
    {NULL, NULL},
};

LUALIB_API int luaopen_operations_system(lua_State *L);

int luaopen_operations_system(lua_State *L) {
  lua_newtable(L);
  ops_setfuncs(L, system_functions, 0);
  return 1;
}
