/*
** reactor_lua.h - the Lua face of the reactor: handles and how each kind of
** them is started and says what happened.
*/
#ifndef OPERATIONS_REACTOR_LUA_H
#define OPERATIONS_REACTOR_LUA_H

#include "lua/compat.h"
#include "reactor/reactor.h"

#define REACTOR_NAME "operations.reactor"
#define REACTOR_HANDLE_NAME "operations.handle"

/* The slots of a reactor, and those of a handle. */
enum { REACTOR_HANDLES = 1, REACTOR_USUAL = 2 };
enum { REACTOR_OWNER = 1, REACTOR_BODY = 2 };
enum { REACTOR_SLOTS = 2 };

/* How one kind of handle, whose userdata begins with its reactor_Op, talks to
** Lua: op->face points to one. */
typedef struct reactor_Face {
  /* Pushes what follows the event's name; returns how many values.  May raise:
  ** the event is then still there. */
  int (*push)(lua_State *L, reactor_Op *op, reactor_Event event);
  /* The stream that the handle is, or NULL while it is none; NULL: never. */
  struct stream_Stream *(*stream)(reactor_Op *op);
} reactor_Face;

/* reactor/handle_lua.c */

/* The open reactor at index 1; raises when it is closed, or another process's.
 */
reactor_Reactor *reactor_check(lua_State *L);

/* The handle at index 1. */
reactor_Op *reactor_check_handle(lua_State *L);

/* Pushes a new, complete, not yet started handle of `size` bytes, zeroed, whose
** owner is the value at index 3. */
void *reactor_new_handle(lua_State *L, size_t size, const reactor_Face *face);

/* Likewise, but the one that is the option `handle`, if there is one: it must
** be over. */
void *reactor_used_handle(lua_State *L, size_t size, const reactor_Face *face);

/* Adds methods to a type that ops_new_type has made. */
void reactor_add_methods(lua_State *L, const char *type,
                         const luaL_Reg *methods);

/* reactor/option_lua.c: fields of the table at index 2.  All raise when the
** value is of a wrong type; strings stay on the stack, as does their nil. */

/* Not negative; `absent` when there is none. */
double reactor_number_option(lua_State *L, const char *name, double absent);

/* As good as no limit when there is none. */
size_t reactor_size_option(lua_State *L, const char *name);

/* False when there is none; raises for no value. */
bool reactor_flag_option(lua_State *L, const char *name);

/* NULL when there is none. */
const char *reactor_string_option(lua_State *L, const char *name,
                                  size_t *length);

/* Likewise; raises when a NUL is in it. */
const char *reactor_text_option(lua_State *L, const char *name);

/* Many at once, of the table at `index`: fills in the fields of `record` for
** which there is an option; the list ends with a name NULL.  The table keeps
** the texts. */
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

/* reactor/relay_lua.c: a method of the reactor, and the type that it makes */
int reactor_lua_relay(lua_State *L);
void reactor_relay_open(lua_State *L);

/* reactor/process_lua.c: likewise */
int reactor_lua_process(lua_State *L);
int reactor_lua_environment(lua_State *L);
void reactor_process_open(lua_State *L); /* adds to the handle's methods */

/* reactor/stream_lua.c: likewise */
int reactor_lua_listen(lua_State *L);
int reactor_lua_accept(lua_State *L);
int reactor_lua_connect_path(lua_State *L);
int reactor_lua_stdin(lua_State *L);
int reactor_lua_stdout(lua_State *L);
void reactor_stream_open(lua_State *L);

#endif
