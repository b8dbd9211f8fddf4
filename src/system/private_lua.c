/*
** private_lua.c - files and directories that only their owner can use, and
*locks
** between processes.  Checks owner and mode of what it opens, follows no link
*to
** it.
*/
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include "system/system.h"

/* Why others may reach it, or NULL. */
static const char *exposure_of(const struct stat *st) {
  if (st->st_uid != geteuid()) return "it belongs to another user";
  return (st->st_mode & 077) != 0 ? "others may use it (its mode)" : NULL;
}

/* Opens a regular file that only we can use, not by a link.  Returns a message,
** or NULL. */
static const char *open_private(system_File *file, const char *path,
                                int flags) {
  struct stat st;
  file->fd =
      open(path, flags | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY | O_CLOEXEC, 0600);
  if (file->fd < 0 || fstat(file->fd, &st) != 0) return strerror(errno);
  return S_ISREG(st.st_mode) ? exposure_of(&st) : "not a regular file";
}

/* system.read_private(path, most) -> text | nil, message
** As read_regular, for a file that only we can use, not by a link. */
static int system_read_private(lua_State *L) {
  const char *path = system_path(L, 1);
  lua_Number most = luaL_checknumber(L, 2);
  system_File *file = system_new_file(L);
  const char *problem = open_private(file, path, O_RDONLY);
  if (problem == NULL) problem = system_push_text(L, file->fd, (size_t)most);
  system_close_file(file);
  return problem == NULL ? 1 : system_problem(L, path, problem);
}

/* system.check_private_directory(path) -> true | nil, message
** Can only we use the directory? */
static int system_check_private_directory(lua_State *L) {
  const char *path = system_path(L, 1), *problem;
  struct stat st;
  if (stat(path, &st) != 0) return system_failure(L, path, errno);
  if (!S_ISDIR(st.st_mode)) return system_failure(L, path, ENOTDIR);
  problem = exposure_of(&st);
  if (problem != NULL) return system_problem(L, path, problem);
  lua_pushboolean(L, 1);
  return 1;
}

/* Is the open file still the one of its name?  Its last holder removed it. */
static bool is_current(int fd, const char *path) {
  struct stat own, named;
  return fstat(fd, &own) == 0 && lstat(path, &named) == 0 &&
         own.st_dev == named.st_dev && own.st_ino == named.st_ino;
}

/* system.lock(path) -> lock | false when another holds it | nil, message
** A lock between processes, and between the locks of one, by a private file.
** It ends with `unlock`, the process, or the collection of `lock`. */
static int system_lock(lua_State *L) {
  const char *path = system_path(L, 1);
  system_File *file = system_new_file(L);
  const char *problem = open_private(file, path, O_RDWR | O_CREAT);
  if (problem == NULL && flock(file->fd, LOCK_EX | LOCK_NB) == 0) {
    if (is_current(file->fd, path)) return 1;
    errno = EWOULDBLOCK;
  }
  if (problem == NULL && errno == EWOULDBLOCK) {
    system_close_file(file);
    lua_pushboolean(L, 0);
    return 1;
  }
  if (problem == NULL) problem = strerror(errno);
  system_close_file(file);
  return system_problem(L, path, problem);
}

/* system.unlock(lock, path): removes the file, and releases the lock */
static int system_unlock(lua_State *L) {
  system_File *file = (system_File *)luaL_checkudata(L, 1, SYSTEM_FILE_NAME);
  const char *path = system_path(L, 2);
  if (file->fd >= 0) unlink(path);
  return system_close_file(file);
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

/* Replaces the file atomically: writes under another name, then renames.
** Returns 0 or errno. */
static int replace_file(const char *path, char *draft, const char *text,
                        size_t n) {
  int error = 0, fd = mkostemp(draft, O_CLOEXEC); /* mode 0600 */
  if (fd == -1) return errno;
  if (!write_all(fd, text, n) || fsync(fd) != 0) error = errno;
  if (close(fd) != 0 && error == 0) error = errno;
  if (error == 0 && rename(draft, path) != 0) error = errno;
  if (error != 0) unlink(draft);
  return error;
}

/* system.write_private(path, text) -> true | nil, message
** Makes or replaces a file that only its owner can read (mode 0600). */
static int system_write_private(lua_State *L) {
  size_t n;
  const char *path = system_path(L, 1);
  const char *text = luaL_checklstring(L, 2, &n);
  char draft[PATH_MAX];
  int error;
  if (snprintf(draft, sizeof(draft), "%s.XXXXXX", path) >= (int)sizeof(draft))
    return system_failure(L, path, ENAMETOOLONG);
  error = replace_file(path, draft, text, n);
  if (error != 0) return system_failure(L, path, error);
  lua_pushboolean(L, 1);
  return 1;
}

/* Makes a directory and its parents, each mode 0700.  Returns 0 or errno. */
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
** Existing directories are unchanged. */
static int system_make_private_directory(lua_State *L) {
  const char *path = system_path(L, 1);
  char copy[PATH_MAX];
  int error;
  luaL_argcheck(L, *path != '\0', 1, "path expected");
  if (snprintf(copy, sizeof(copy), "%s", path) >= (int)sizeof(copy))
    return system_failure(L, path, ENAMETOOLONG);
  error = make_directories(copy);
  if (error != 0) return system_failure(L, path, error);
  lua_pushboolean(L, 1);
  return 1;
}

static const luaL_Reg private_functions[] = {
    {"read_private", system_read_private},
    {"check_private_directory", system_check_private_directory},
    {"lock", system_lock},
    {"unlock", system_unlock},
    {"write_private", system_write_private},
    {"make_private_directory", system_make_private_directory},
    {NULL, NULL},
};

void system_private_open(lua_State *L) {
  ops_setfuncs(L, private_functions, 0);
}
