/*
** strings.h - a cache of short strings that JSON texts repeat, mostly keys:
** pushing one from here needs no hashing and no lookup by Lua.
**
** One set per Lua state, of at most STRINGS_SLOTS strings of at most
** STRINGS_MAX_LEN bytes.  A string can be in two neighbouring slots.  When both
** are taken it replaces the first one if it is missed there twice in a row; so
** texts without repetition displace nothing.
*/
#ifndef OPERATIONS_JSON_STRINGS_H
#define OPERATIONS_JSON_STRINGS_H

#include "value/core.h"

#define STRINGS_BITS 10
#define STRINGS_SLOTS (1 << STRINGS_BITS)
#define STRINGS_MAX_LEN 40

/* `s` points into a Lua string, which is not moved or collected while the table
** of the set holds it at the slot's index + 1. */
typedef struct strings_Slot {
  uint64_t first, last; /* bytes of both ends; all bytes if at most 16 */
  const char *s;        /* NULL when empty */
  uint32_t len;
  uint32_t seen; /* hash of the string last missed in this slot */
} strings_Slot;

typedef struct strings_Set {
  strings_Slot slots[STRINGS_SLOTS];
} strings_Set;

/* Makes the set of this Lua state; it is core_state(L)->strings from then
** on. */
void strings_open(lua_State *L);

/* Pushes the table that strings_push needs. */
static inline void strings_push_table(lua_State *L) {
  ops_rawgetp(L, LUA_REGISTRYINDEX, core_state(L)->strings);
}

/* Up to eight bytes of each end of a string.  With the length they identify
** strings of up to 16 bytes. */
typedef struct strings_Ends {
  uint64_t first, last, hash;
} strings_Ends;

static inline strings_Ends strings_ends(const char *s, size_t len) {
  strings_Ends e = {0, 0, 0};
  if (len >= 8) {
    memcpy(&e.first, s, 8);
    memcpy(&e.last, s + len - 8, 8);
  } else if (len >= 4) {
    uint32_t first, last;
    memcpy(&first, s, 4);
    memcpy(&last, s + len - 4, 4);
    e.first = first;
    e.last = last;
  } else if (len > 0) {
    e.first = (uint64_t)(unsigned char)s[0] |
              (uint64_t)(unsigned char)s[len / 2] << 8 |
              (uint64_t)(unsigned char)s[len - 1] << 16;
  }
  e.hash = (e.first + (e.last << 23 | e.last >> 41) + len) *
           UINT64_C(0x9E3779B97F4A7C15);
  e.hash ^= e.hash >> 32;
  e.hash *= UINT64_C(0x9E3779B97F4A7C15);
  return e;
}

/* Pushes a string that is not in the set; slot `i` is the first of its two. */
void strings_push_missed(lua_State *L, strings_Set *set, int table, size_t i,
                         const strings_Ends *e, const char *s, size_t len);

/* Is the string in this slot? */
static inline bool strings_holds(const strings_Slot *slot,
                                 const strings_Ends *e, const char *s,
                                 size_t len) {
  return slot->first == e->first && slot->last == e->last && slot->len == len &&
         slot->s != NULL &&
         (len <= 16 || memcmp(slot->s + 8, s + 8, len - 16) == 0);
}

/* Pushes the string whose ends are `e`; `table` is the stack index of the value
** that strings_push_table pushed. */
static inline void strings_push(lua_State *L, strings_Set *set, int table,
                                const strings_Ends *e, const char *s,
                                size_t len) {
  size_t i = (size_t)(e->hash >> (64 - STRINGS_BITS));
  if (strings_holds(&set->slots[i], e, s, len))
    (void)ops_rawgeti(L, table, i + 1);
  else if (strings_holds(&set->slots[i ^ 1], e, s, len))
    (void)ops_rawgeti(L, table, (i ^ 1) + 1);
  else strings_push_missed(L, set, table, i, e, s, len);
}

#endif
