/*
** system.h - the shared functions and the file handle of operations.system.
**
** Machine: system_lua.c private_lua.c.
*/
#ifndef OPERATIONS_SYSTEM_SYSTEM_H
#define OPERATIONS_SYSTEM_SYSTEM_H

#include "lua/compat.h"

#define SYSTEM_FILE_NAME "operations.system.file"

/* __gc closes it when an error interrupts its use. */
typedef struct system_File {
  int fd;
} system_File;

/* Pushes a closed one. */
system_File *system_new_file(lua_State *L);
int system_close_file(system_File *file);

/* Pushes at most `most` bytes of a file; returns a message, or NULL. */
const char *system_push_text(lua_State *L, int fd, size_t most);

/* The argument `i`, a path. */
const char *system_path(lua_State *L, int i);

/* Return nil, "PATH: problem"; the message of the system for `error`. */
int system_problem(lua_State *L, const char *path, const char *problem);
int system_failure(lua_State *L, const char *path, int error);

/* private_lua.c: adds its functions to the table on top of the stack. */
void system_private_open(lua_State *L);

#endif
