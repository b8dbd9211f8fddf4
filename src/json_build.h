/*
** json_build.h - the reader's events become Lua values on a Lua stack.
*/
#ifndef OPERATIONS_JSON_BUILD_H
#define OPERATIONS_JSON_BUILD_H

#include "core.h"
#include "json.h"

#define BUILD_INLINE_LEVELS 32

/* A container that is being read.  Its items wait on the stack above `base`,
** so that its table is made when their number is known; `stored` of them are
** in the table at `base` already when there were too many to wait. */
typedef struct build_Level {
  int base;
  int stored;
  bool made, is_object;
} build_Level;

/* Lives on the C stack; its memory beyond that belongs to Lua. */
typedef struct build_Builder {
  lua_State *L;
  int array_mt, scratch; /* stack indices, made by build_init */
  build_Level *levels;
  int depth, capacity;
  build_Level inline_levels[BUILD_INLINE_LEVELS];
} build_Builder;

extern const json_Handlers build_handlers;

/* Pushes two values that the builder needs for as long as it lives. */
void build_init(build_Builder *b, lua_State *L);

/* An allocator whose blocks are Lua's to collect, all kept alive by the table
** that build_init pushed. Raises Lua's memory error instead of returning NULL.
*/
ops_Alloc build_alloc(build_Builder *b);

#endif
