/*
** reactor_lua.h - the reactor in Lua: handles, how each kind of handle is
** started, and how its events are pushed.
*/
#ifndef OPERATIONS_REACTOR_LUA_H
#define OPERATIONS_REACTOR_LUA_H

#include "lua/compat.h"
#include "reactor/reactor.h"

#define REACTOR_NAME "operations.reactor"
#define REACTOR_HANDLE_NAME "operations.handle"

/* The slots of a reactor and of a handle. */
enum { REACTOR_HANDLES = 1, REACTOR_USUAL = 2 };
enum { REACTOR_OWNER = 1, REACTOR_BODY = 2 };
enum { REACTOR_SLOTS = 2 };

/* How events of one kind of handle, whose userdata begins with its reactor_Op,
** are pushed: op->face points to one. */
typedef struct reactor_Face {
  /* Pushes the event's values after its name; returns how many.  The handle is
  ** at index 2.  May raise: the event then stays pending. */
  int (*push)(lua_State *L, reactor_Op *op, reactor_Event event);
  /* The stream that the handle is; NULL while it is not one.  A NULL function:
  ** it never is. */
  struct stream_Stream *(*stream)(reactor_Op *op);
} reactor_Face;

/* reactor/handle_lua.c */

/* The open reactor at index 1; raises when it is closed or belongs to another
** process. */
reactor_Reactor *reactor_check(lua_State *L);

/* The handle at index 1. */
reactor_Op *reactor_check_handle(lua_State *L);

/* Pushes a new, complete, not yet started handle of `size` bytes, zeroed, whose
** owner is the value at index 3. */
void *reactor_new_handle(lua_State *L, size_t size, const reactor_Face *face);

/* As reactor_new_handle, but reuses the handle in the option `handle` if there
** is one; that one must be over. */
void *reactor_used_handle(lua_State *L, size_t size, const reactor_Face *face);

/* Adds methods to a type that ops_new_type has made. */
void reactor_add_methods(lua_State *L, const char *type,
                         const luaL_Reg *methods);

/* reactor/option_lua.c: fields of the table at index 2.  Each leaves its value
** on the stack, and raises when that has a wrong type. */

/* Not negative; `absent` when the option is absent. */
double reactor_number_option(lua_State *L, const char *name, double absent);

#define OPTION_UNLIMITED (SIZE_MAX / 4) /* a limit that no size reaches */

/* At most OPTION_UNLIMITED, which is also that of an absent option. */
size_t reactor_size_option(lua_State *L, const char *name);

/* Any value but false and nil is true. */
bool reactor_flag_option(lua_State *L, const char *name);

/* NULL when the option is absent. */
const char *reactor_string_option(lua_State *L, const char *name,
                                  size_t *length);

/* As reactor_string_option; raises when the string contains a NUL. */
const char *reactor_text_option(lua_State *L, const char *name);

/* Reads many options of the table at `index` at once into the fields of
** `record`; a name NULL ends the list.  The table keeps the strings alive. */
typedef enum reactor_OptionKind {
  OPTION_NUMBER, /* double */
  OPTION_SIZE,   /* size_t */
  OPTION_FLAG,   /* bool */
  OPTION_TEXT    /* const char * */
} reactor_OptionKind;

typedef struct reactor_Option {
  const char *name;
  size_t length;
  reactor_OptionKind kind;
  size_t offset; /* in the record */
} reactor_Option;

void reactor_options(lua_State *L, int index, const reactor_Option *list,
                     void *record);

/* The text on top of the stack, which belongs to the option `name`. */
const char *reactor_text_at_top(lua_State *L, const char *name);

/* reactor/relay_lua.c: a method of the reactor, and the type of its results */
int reactor_lua_relay(lua_State *L);
void reactor_relay_open(lua_State *L);

/* reactor/process_lua.c: the same for processes */
int reactor_lua_process(lua_State *L);
int reactor_lua_environment(lua_State *L);
void reactor_process_open(lua_State *L); /* adds to the handle's methods */

/* reactor/stream_lua.c: the same for streams */
int reactor_lua_listen(lua_State *L);
int reactor_lua_accept(lua_State *L);
int reactor_lua_connect_path(lua_State *L);
int reactor_lua_stdin(lua_State *L);
int reactor_lua_stdout(lua_State *L);
void reactor_stream_open(lua_State *L);

#endif
