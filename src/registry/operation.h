/*
** operation.h - one registered operation: a userdata that holds its spec, its
** handler and its compiled schemas.  Programs get copies of the spec, never
** the table itself.
*/
#ifndef OPERATIONS_OPERATION_H
#define OPERATIONS_OPERATION_H

#include "registry/envelope.h"
#include "schema/schema.h"

#define REGISTRY_TYPE "operations.registry"
#define OPERATION_TYPE "operations.operation"
#define TRUST_TYPE "operations.trust"

/* Upvalues of the functions in src/registry: the core state, then the strings
** of an envelope. */
enum { UP_CORE = 1, UP_KEYS };
#define UP_COUNT (UP_KEYS - 1 + ENVELOPE_KEYS)
#define KEYS lua_upvalueindex(UP_KEYS)

/* The values that an operation owns; nil where it has none. */
enum {
  OPERATION_ID = 1,
  OPERATION_SPEC,
  OPERATION_ACCESS, /* the spec's accessControl */
  OPERATION_HANDLER,
  OPERATION_INPUT,  /* compiled schema */
  OPERATION_OUTPUT, /* compiled schema */
  OPERATION_FLAW,   /* the error object when the schemas cannot be compiled */
  OPERATION_SLOTS = OPERATION_FLAW
};

typedef enum operation_Kind {
  KIND_QUERY,
  KIND_MUTATION,
  KIND_SUBSCRIPTION
} operation_Kind;

/* Which values a schema accepts as they are. */
typedef enum operation_Accepts {
  ACCEPTS_ANY,
  ACCEPTS_OBJECTS, /* every object; other values must be checked */
  ACCEPTS_CHECKED
} operation_Accepts;

/* Which defaults of its input's schema are filled in. */
typedef enum operation_Fill {
  FILLS_ALL,
  FILLS_REQUIRED, /* the others are left to the receiver */
  FILLS_NONE
} operation_Fill;

/* What an input that does not fit means. */
typedef enum operation_Checks {
  CHECKS_ON,   /* the call fails */
  CHECKS_WARN, /* a warning */
  CHECKS_OFF   /* nothing: inputs are not checked */
} operation_Checks;

typedef struct operation_Operation {
  const void *tag; /* operation_tag */
  size_t place;    /* position in the registry's order, from 1; 0: not in one */
  uint8_t kind;    /* operation_Kind */
  uint8_t mode;    /* schema_Mode of its results */
  uint8_t input, output; /* operation_Accepts */
  uint8_t fill;          /* operation_Fill */
  uint8_t checks;        /* operation_Checks */
  bool made;             /* its schemas are compiled */
  bool exposed;          /* others may see it */
  bool restricted;       /* accessControl requires something */
  bool has_handler;
  bool takes_context; /* the handler has a second parameter */
  bool tells_changes; /* the list of changes is wanted */
  bool fails;         /* a result that does not fit is an error */
  bool finishes_all;  /* results from other processes are finished too */
} operation_Operation;

extern const char operation_tag[];

/* The userdata at `i` of `size` bytes whose first field is `tag`; raises for
** other values.  Comparing metatables would take more API calls, which are most
** of the cost under LuaJIT. */
static inline void *operation_tagged(lua_State *L, int i, const void *tag,
                                     size_t size, const char *name) {
  void *p = lua_touserdata(L, i);
  if (p == NULL || ops_rawlen(L, i) != size || *(const void **)p != tag)
    return luaL_checkudata(L, i, name);
  return p;
}

static inline operation_Operation *operation_check(lua_State *L, int i) {
  return (operation_Operation *)operation_tagged(
      L, i, operation_tag, sizeof(operation_Operation), OPERATION_TYPE);
}

/* Pushes OPERATION_PUSHES values; the last is the one in a slot of the
** operation at `i`.  Leaving the other one on the stack saves a call. */
#define OPERATION_PUSHES (LUA_VERSION_NUM >= 504 ? 1 : 2)
static inline void operation_push_slot(lua_State *L, int i, int slot) {
#if LUA_VERSION_NUM >= 504
  lua_getiuservalue(L, i, slot);
#else
  ops_getuservalue(L, i);
  lua_rawgeti(L, -1, slot);
#endif
}

/* Is the value at `i`, of Lua type `t`, accepted without a check by a schema
** that accepts `accepts`?  A table with a metatable counts only if it is marked
** as our object. */
static inline bool operation_accepts(lua_State *L, int i, int t, int accepts) {
  if (accepts == ACCEPTS_ANY) return true;
  if (accepts != ACCEPTS_OBJECTS || t != LUA_TTABLE) return false;
  if (lua_getmetatable(L, i)) {
    bool is_object = lua_topointer(L, -1) == core_state(L)->object_mt;
    lua_pop(L, 1);
    return is_object;
  }
  return ops_rawlen(L, i) == 0; /* no value at [1] */
}

/* Pushes a new operation with a copy of the spec at `spec` and the compiled
** schemas at `input` and `output` (nil: everything fits).  Unless the spec says
** otherwise, results are normalized by `mode`, and `fails` says whether misfits
** fail. */
operation_Operation *operation_new(lua_State *L, int spec, int input,
                                   int output, schema_Mode mode, bool fails);

/* The methods of an operation for Lua, except finish. */
extern const luaL_Reg operation_methods[];

/* Pushes the first issue at `issues`, and how many more there are, as one line.
** `whole` is shown as the path of the whole value. */
void operation_push_summary(lua_State *L, int issues, const char *whole);

/* operation:finish(value) -> envelope, warning, changes | nil, err */
int operation_finish(lua_State *L);
int operation_ahead(lua_State *L);

#endif
