/*
** strings.h - short strings that JSON texts repeat, above all their keys:
** pushed from here, they need no hashing and no search by Lua.
**
** One set per Lua state, of at most STRINGS_SLOTS strings of at most
** STRINGS_MAX_LEN bytes.  A string has two slots beside each other to be in.
** When both are in use it gets the first when it comes the second time in a row
** there; so texts without repetition push nothing out.
*/
#ifndef OPERATIONS_JSON_STRINGS_H
#define OPERATIONS_JSON_STRINGS_H

#include "value/core.h"

#define STRINGS_BITS 10
#define STRINGS_SLOTS (1 << STRINGS_BITS)
#define STRINGS_MAX_LEN 40

/* `s` is a string's in Lua, and not moved or collected while the table of the
** set holds it at the slot's index + 1. */
typedef struct strings_Slot {
  uint64_t first, last; /* bytes at both ends; all of them up to 16 */
  const char *s;        /* NULL when empty */
  uint32_t len;
  uint32_t seen; /* hash of the string that was missed here last */
} strings_Slot;

typedef struct strings_Set {
  strings_Slot slots[STRINGS_SLOTS];
} strings_Set;

/* Makes the set of this Lua state; core_state(L)->strings is it from then on.
 */
void strings_open(lua_State *L);

/* Pushes the table that strings_push needs. */
static inline void strings_push_table(lua_State *L) {
  ops_rawgetp(L, LUA_REGISTRYINDEX, core_state(L)->strings);
}

/* Up to eight bytes from each end of a string: together with the length they
** tell strings of up to 16 bytes apart. */
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

/* Pushes the string of which `e` are the ends; `table` is the stack index of
** what strings_push_table pushed. */
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
