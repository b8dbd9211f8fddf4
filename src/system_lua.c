/*
** system_lua.c - operations.system: what Lua's own library lacks of the
** operating system and the scanner and the command line need.  Reads
** directories and file kinds; opens, writes and keeps nothing.
*/
#include <dirent.h>
#include <errno.h>
#include <stdbool.h>
#include <stdio.h>
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

static const luaL_Reg system_functions[] = {
    {"list", system_list},
    {"kind", system_kind},
    {"is_terminal", system_is_terminal},
    {NULL, NULL},
};

LUALIB_API int luaopen_operations_system(lua_State *L);

int luaopen_operations_system(lua_State *L) {
  lua_newtable(L);
  ops_setfuncs(L, system_functions, 0);
  return 1;
}
