/*
** build.h - builds Lua values from the reader's events, on a Lua stack.
*/
#ifndef OPERATIONS_JSON_BUILD_H
#define OPERATIONS_JSON_BUILD_H

#include "value/core.h"
#include "json/json.h"
#include "value/strings.h"

#define BUILD_INLINE_LEVELS 32

/* Stack slots for a container's waiting items: at most, and when it begins.
** Even numbers. */
#define BUILD_WAITING 128
#define BUILD_FIRST 16

/* A container being read (the first one stands for the whole text).  Its items
** wait on the stack above slot `table`.  Its table is put there when their
** number is known, or as soon as too many wait: `stored` counts the items that
** are in it. */
typedef struct build_Level {
  int table;
  int waiting; /* slots; a pair takes two */
  int room;    /* at this many: more room, or they are stored */
  int stored;
  bool made, is_object;
  bool repeats;  /* a waiting key may occur twice */
  bool ordered;  /* the order of its members is kept */
  uint64_t keys; /* a bit for each waiting key, by its hash */
} build_Level;

/* Bytes of build_alloc's first block, which does not come from Lua. */
#define BUILD_SMALL 512

/* Usually on the C stack; its further memory belongs to Lua. */
typedef struct build_Builder {
  lua_State *L;
  int array_mt, scratch, strings; /* stack indices, made by build_init */
  int ensured;                    /* Lua has stack slots up to here */
  int order; /* stack index of core_push_property_order, or 0: none is kept */
  strings_Set *set;
  const core_State *core;
  bool all_ordered;      /* the order of all objects is kept */
  bool integers_as_text; /* those outside +-2^53; false after build_init */
  bool unique;           /* an object that names a member twice stops the
                            reader; false after build_init */
  bool repeated;         /* it stopped because a member occurred twice */
  build_Level *levels, *level, *levels_end;
  bool small_used;
  build_Level inline_levels[BUILD_INLINE_LEVELS];
  char small[BUILD_SMALL];
} build_Builder;

extern const json_Handlers build_handlers;

/* Pushes BUILD_SLOTS values that the builder needs for its lifetime.  Values
** that it builds come above them, the outermost first.  Raises when the stack
** cannot grow. */
#define BUILD_SLOTS 3
void build_init(build_Builder *b, lua_State *L);

/* Keeps the order of the members of all objects, or of those that are members
** named "properties" (core_push_property_order).  Pushes a value; call it
** before the first value is built. */
void build_keep_order(build_Builder *b, bool all);

/* Builds the next value above the current top of the stack. */
void build_restart(build_Builder *b);

/* Pushes a string without adding it to a container. */
static inline void build_push_string(const build_Builder *b, const char *s,
                                     size_t len) {
  if (len <= STRINGS_MAX_LEN) {
    strings_Ends ends = strings_ends(s, len);
    strings_push(b->L, b->set, b->strings, &ends, s, len);
  } else {
    lua_pushlstring(b->L, s, len);
  }
}

/* Tells the builder that its values were moved to another stack, or to that of
** another call, with BUILD_WAITING free slots. */
void build_move(build_Builder *b, lua_State *L);

/* An allocator whose blocks Lua collects; the table that build_init pushed
** keeps them alive.  Raises Lua's memory error instead of returning NULL. */
ops_Alloc build_alloc(build_Builder *b);

#endif
