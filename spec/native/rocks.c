/*
** rocks.c - what busted and the specs use of the rocks luafilesystem, luasystem
** and lua-term, for a Lua for which they are not packaged.
*/
#include <dirent.h>
#include <errno.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include <lauxlib.h>
#include <lua.h>

int luaopen_lfs(lua_State *L);
int luaopen_system_core(lua_State *L);
int luaopen_term_core(lua_State *L);

static int failed(lua_State *L, const char *path) {
  const int error = errno;
  lua_pushnil(L);
  lua_pushfstring(L, "%s: %s", path, strerror(error));
  lua_pushinteger(L, error);
  return 3;
}

static int done(lua_State *L, int result) {
  if (result != 0) return failed(L, lua_tostring(L, 1));
  lua_pushboolean(L, 1);
  return 1;
}

static const char *mode_of(mode_t mode) {
  return S_ISREG(mode)    ? "file"
         : S_ISDIR(mode)  ? "directory"
         : S_ISLNK(mode)  ? "link"
         : S_ISSOCK(mode) ? "socket"
         : S_ISFIFO(mode) ? "named pipe"
                          : "other";
}

static void push_permissions(lua_State *L, mode_t mode) {
  char text[] = "rwxrwxrwx";
  int i;
  for (i = 0; i < 9; i++)
    if ((mode & (0400u >> i)) == 0) text[i] = '-';
  lua_pushstring(L, text);
}

/* lfs.attributes(path [, name]) -> table, or the field of the name | nil,
** message, errno */
static int lfs_attributes(lua_State *L) {
  struct stat st;
  const char *path = luaL_checkstring(L, 1);
  lua_settop(L, 2);
  if (stat(path, &st) != 0) return failed(L, path);
  lua_createtable(L, 0, 3);
  lua_pushstring(L, mode_of(st.st_mode));
  lua_setfield(L, 3, "mode");
  push_permissions(L, st.st_mode);
  lua_setfield(L, 3, "permissions");
  lua_pushinteger(L, st.st_size);
  lua_setfield(L, 3, "size");
  if (!lua_isnil(L, 2)) lua_getfield(L, 3, luaL_checkstring(L, 2));
  return 1;
}

/* lfs.chdir(path) -> true | nil, message, errno */
static int lfs_chdir(lua_State *L) {
  return done(L, chdir(luaL_checkstring(L, 1)));
}

/* lfs.mkdir(path) -> true | nil, message, errno */
static int lfs_mkdir(lua_State *L) {
  return done(L, mkdir(luaL_checkstring(L, 1), 0777));
}

/* lfs.rmdir(path) -> true | nil, message, errno */
static int lfs_rmdir(lua_State *L) {
  return done(L, rmdir(luaL_checkstring(L, 1)));
}

/* lfs.currentdir() -> path */
static int lfs_currentdir(lua_State *L) {
  char path[4096];
  if (getcwd(path, sizeof path) == NULL) return failed(L, ".");
  lua_pushstring(L, path);
  return 1;
}

static int next_name(lua_State *L) {
  const lua_Integer i = lua_tointeger(L, lua_upvalueindex(2)) + 1;
  lua_pushinteger(L, i);
  lua_replace(L, lua_upvalueindex(2));
  lua_rawgeti(L, lua_upvalueindex(1), i);
  return 1;
}

/* lfs.dir(path) -> iterator of the names in a directory */
static int lfs_dir(lua_State *L) {
  const char *path = luaL_checkstring(L, 1);
  const struct dirent *entry;
  lua_Integer n = 0;
  DIR *dir = opendir(path);
  if (dir == NULL)
    return luaL_error(L, "cannot open %s: %s", path, strerror(errno));
  lua_newtable(L);
  while ((entry = readdir(dir)) != NULL) {
    lua_pushstring(L, entry->d_name);
    lua_rawseti(L, -2, ++n);
  }
  closedir(dir);
  lua_pushinteger(L, 0);
  lua_pushcclosure(L, next_name, 2);
  return 1;
}

static int push_seconds(lua_State *L, clockid_t clock) {
  struct timespec now;
  (void)clock_gettime(clock, &now);
  lua_pushnumber(L, (lua_Number)now.tv_sec + (lua_Number)now.tv_nsec / 1e9);
  return 1;
}

/* system.gettime() -> seconds since the Unix epoch */
static int system_gettime(lua_State *L) {
  return push_seconds(L, CLOCK_REALTIME);
}

/* system.monotime() -> seconds of a clock that is never set */
static int system_monotime(lua_State *L) {
  return push_seconds(L, CLOCK_MONOTONIC);
}

/* system.sleep(seconds) */
static int system_sleep(lua_State *L) {
  const lua_Number seconds = luaL_checknumber(L, 1);
  struct timespec rest;
  rest.tv_sec = (time_t)seconds;
  rest.tv_nsec = (long)((seconds - (lua_Number)rest.tv_sec) * 1e9);
  while (nanosleep(&rest, &rest) != 0 && errno == EINTR) continue;
  return 0;
}

/* term.isatty(file) -> boolean */
static int term_isatty(lua_State *L) {
  const luaL_Stream *file =
      (luaL_Stream *)luaL_checkudata(L, 1, LUA_FILEHANDLE);
  lua_pushboolean(L, file->closef != NULL && isatty(fileno(file->f)));
  return 1;
}

static int push_library(lua_State *L, const luaL_Reg *functions) {
  lua_newtable(L);
  luaL_setfuncs(L, functions, 0);
  return 1;
}

int luaopen_lfs(lua_State *L) {
  static const luaL_Reg functions[] = {
      {"attributes", lfs_attributes},
      {"chdir", lfs_chdir},
      {"currentdir", lfs_currentdir},
      {"dir", lfs_dir},
      {"mkdir", lfs_mkdir},
      {"rmdir", lfs_rmdir},
      {NULL, NULL},
  };
  return push_library(L, functions);
}

int luaopen_system_core(lua_State *L) {
  static const luaL_Reg functions[] = {
      {"gettime", system_gettime},
      {"monotime", system_monotime},
      {"sleep", system_sleep},
      {NULL, NULL},
  };
  return push_library(L, functions);
}

int luaopen_term_core(lua_State *L) {
  static const luaL_Reg functions[] = {{"isatty", term_isatty}, {NULL, NULL}};
  return push_library(L, functions);
}
