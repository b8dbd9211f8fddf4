/*
** build.h - the reader's events become Lua values on a Lua stack.
*/
#ifndef OPERATIONS_JSON_BUILD_H
#define OPERATIONS_JSON_BUILD_H

#include "value/core.h"
#include "json/json.h"
#include "value/strings.h"

#define BUILD_INLINE_LEVELS 32

/* Stack slots that one container's waiting items may take, and those that it
** has when it begins: even numbers. */
#define BUILD_WAITING 128
#define BUILD_FIRST 16

/* A container that is being read (the first one stands for the whole text).
** Its items wait on the stack above slot `table`, where its table is put when
** their number is known, or as soon as there are too many to wait: then
** `stored` items are in it. */
typedef struct build_Level {
  int table;
  int waiting; /* slots; a pair takes two */
  int room;    /* at so many there is to be more room, or they are stored */
  int stored;
  bool made, is_object;
  bool repeats;  /* a key that waits may be there twice */
  bool ordered;  /* the order of its members is kept */
  uint64_t keys; /* a bit for each key that waits, by its hash */
} build_Level;

/* Bytes of the first block that build_alloc gives without asking Lua. */
#define BUILD_SMALL 512

/* Usually on the C stack; its memory beyond that belongs to Lua. */
typedef struct build_Builder {
  lua_State *L;
  int array_mt, scratch, strings; /* stack indices, made by build_init */
  int ensured;                    /* Lua has stack slots up to here */
  int order; /* stack index of core_push_property_order, or 0: none is kept */
  strings_Set *set;
  const core_State *core;
  bool integers_as_text; /* those outside +-2^53; false after build_init */
  bool unique;           /* an object that names a member twice stops the
                            reader; false after build_init */
  bool repeated;         /* that is why it stopped */
  build_Level *levels, *level, *levels_end;
  bool small_used;
  build_Level inline_levels[BUILD_INLINE_LEVELS];
  char small[BUILD_SMALL];
} build_Builder;

extern const json_Handlers build_handlers;

/* Pushes BUILD_SLOTS values that the builder needs for as long as it lives. The
** values that it builds come above them, the outermost first.  Raises when the
** stack cannot grow. */
#define BUILD_SLOTS 3
void build_init(build_Builder *b, lua_State *L);

/* Pushes what it takes to keep the order of the members of those objects that
** are members called "properties" (core_push_property_order), before the first
** value is built. */
void build_keep_order(build_Builder *b);

/* The next value is built above what is on the stack now. */
void build_restart(build_Builder *b);

/* Pushes a string; the builder is none the wiser. */
static inline void build_push_string(const build_Builder *b, const char *s,
                                     size_t len) {
  if (len <= STRINGS_MAX_LEN) {
    strings_Ends ends = strings_ends(s, len);
    strings_push(b->L, b->set, b->strings, &ends, s, len);
  } else {
    lua_pushlstring(b->L, s, len);
  }
}

/* The values of the builder are on another stack, or on that of another call;
** it has BUILD_WAITING free slots. */
void build_move(build_Builder *b, lua_State *L);

/* An allocator whose blocks are Lua's to collect, all kept alive by the table
** that build_init pushed. Raises Lua's memory error instead of returning NULL.
*/
ops_Alloc build_alloc(build_Builder *b);

#endif
