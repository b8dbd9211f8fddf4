/*
** core.h - shared by the Lua-facing parts of operations.core: one state per Lua
** state (core.c), and reading a Lua value as a JSON value (value.c).
*/
#ifndef OPERATIONS_CORE_H
#define OPERATIONS_CORE_H

#include <stdbool.h>

#include "base/alloc.h"
#include "lua/compat.h"

#define CORE_ERROR_NAME "operations.base.error"

/* Addresses of values that the module table keeps alive.  A full userdata owned
** by Lua, upvalue 1 of every function of operations.core. */
typedef struct core_State {
  const void *array_mt, *object_mt, *error_mt;
  const void *foreign_null; /* vim.NIL, or NULL */
  void *wide;               /* value/integer.c: a metatable, or LuaJIT's box */
  int foreign_marks;        /* how many foreign metatables are known */
  struct strings_Set *strings; /* of JSON texts; kept alive by the registry */
  struct core_Random *random;  /* NULL: ask the system each time */
  uint64_t seed;               /* of hashes; differs in each Lua state */
} core_State;

static inline core_State *core_state(lua_State *L) {
  return (core_State *)lua_touserdata(L, lua_upvalueindex(1));
}

/* The Lua state's own allocator, for pure C code. */
ops_Alloc core_alloc(lua_State *L);

/* Sets `funcs` in the table on top of the stack, each with the core state as
** its upvalue 1. */
void core_setfuncs(lua_State *L, const luaL_Reg *funcs);

/* Makes a userdata type: its methods, each with the core state as upvalue 1,
** and its __gc; both may be NULL. */
void core_new_type(lua_State *L, const char *name, const luaL_Reg *methods,
                   lua_CFunction gc);

/* Pushes array_mt or object_mt. */
void core_push_array_mt(lua_State *L);
void core_push_object_mt(lua_State *L);

/* Pushes an error object { code, message, details }; details is the value at
** index `details`, or absent when that is 0. */
void core_push_error(lua_State *L, const char *code, const char *message,
                     int details);

/* Milliseconds since the Unix epoch. */
int64_t core_now(void);

/* Pushes a count as an exact number, an integer on Lua 5.4.  On LuaJIT it must
** be within +-2^53; see integer_push otherwise. */
void core_push_integer(lua_State *L, int64_t n);

/* Pushes the table `properties` of a schema -> list of their names in the order
** of the document; its keys are weak. */
void core_push_property_order(lua_State *L);

/* Makes error_mt, array_mt, object_mt and the table of foreign marks, in the
** Lua registry and the module table on top of the stack. */
void core_open_marks(lua_State *L);

/* Sets the metatable that marks arrays made by decoding and casting. */
void core_set_array_mark(lua_State *L, int metatable);

/* Accepts the metatable at `metatable` as a mark. */
void core_add_foreign_mark(lua_State *L, int metatable, int mark);

typedef enum value_Kind {
  VALUE_NULL, /* lightuserdata NULL, or vim.NIL */
  VALUE_BOOLEAN,
  VALUE_NUMBER, /* wide integers too; may be NaN or infinite */
  VALUE_STRING,
  VALUE_ARRAY,  /* marked as one, or has a value at [1] */
  VALUE_OBJECT, /* marked as one, or not empty and without [1] */
  VALUE_EMPTY,  /* an unmarked empty table: array or object, as the reader likes
                 */
  VALUE_OTHER   /* nil, a function, a thread, another userdata */
} value_Kind;

/* The JSON kind of the value at `i`.  Never raises, ignores metamethods.  An
** unmarked table with [1] and string keys is VALUE_ARRAY here;
** value_array_length finds the stray keys. */
value_Kind value_kind(lua_State *L, const core_State *core, int i);

typedef enum value_Mark { MARK_NONE, MARK_ARRAY, MARK_OBJECT } value_Mark;

/* The mark of the table at `i`: our metatables, registered foreign ones
** (cjson.array_mt, vim.empty_dict's), or a __jsontype field. */
value_Mark value_mark(lua_State *L, const core_State *core, int i);

/* Is the table at `i` an array: marked as one, or unmarked with a value at
** [1]? */
bool value_is_array(lua_State *L, const core_State *core, int i);

/* The length of the array at `i`, or -1 when it has other keys than 1..n
** (holes, string keys).  Visits every key: Lua does not tell which keys are in
** the hash part, where n may come last although other keys come before. */
ptrdiff_t value_array_length(lua_State *L, int i);

/* The same in constant time, from the first and last keys of the traversal; it
** is complete for up to three items.  Callers find holes themselves.  With more
** items in the hash part, where they are only when a program sets indices out
** of order, a stray key may be missed: do not use it to copy or write. */
ptrdiff_t value_glance_length(lua_State *L, int i);

/* Is the value at `i` the number n? */
static inline bool value_is_index(lua_State *L, int i, size_t n) {
#if OPS_INTEGERS
  return lua_isinteger(L, i) && lua_tointeger(L, i) == (lua_Integer)n;
#else
  return lua_type(L, i) == LUA_TNUMBER && lua_tonumber(L, i) == (lua_Number)n;
#endif
}

/* Where Lua code can reach a table, it may change at every call that allocates:
** the collector runs finalizers, and empties weak tables.  So the core counts
** and fills in one go, or from a list of its own; points only to strings that
** the stack, a list or a program holds; and takes members that are gone for
** absent.  A walk by lua_next then is safe.  It may raise Lua's own "invalid
** key to 'next'", as pairs() does, when the key that it has reached was removed
** and the table was rehashed. */

typedef struct value_Name {
  const char *s; /* borrowed from the block */
  size_t len;
} value_Name;

/* Pushes a block with the string keys that the table at `i` has now, in byte
** order, and sets their number, so that results are the same in every process.
** The block keeps the strings alive. */
value_Name *value_sorted_names(lua_State *L, int i, size_t *count);

/* Pushes the member of the table at `i`; false, with nothing pushed, when it is
** gone. */
bool value_push_named(lua_State *L, int i, const value_Name *name);

/* The name of a kind for messages: "null", "boolean", "integer", "number",
** "string", "array", "object", or the Lua type of other values. */
const char *value_type_name(lua_State *L, const core_State *core, int i);

/* As value_type_name, but "NaN" and "infinity" for numbers that JSON lacks. */
const char *value_describe(lua_State *L, const core_State *core, int i);

/* Pushes raw t[key] of the table at `t`, nil when it is not a table; its
** type. */
int value_push_field(lua_State *L, int t, const char *key);

/* Pushes the value at `i`, or a deep copy of a table: any depth, one copy of
** each table however often it occurs.  Metatables are kept. */
void value_push_copy(lua_State *L, int i);

#endif
