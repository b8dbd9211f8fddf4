#include "json_strings.h"

void strings_open(lua_State *L) {
  core_State *core = core_state(L);
  core->strings = (strings_Set *)lua_newuserdata(L, sizeof(strings_Set));
  memset(core->strings, 0, sizeof(strings_Set));
  /* Its array part is complete: to set an item of it takes no memory. */
  lua_createtable(L, STRINGS_SLOTS + 1, 0);
  lua_insert(L, -2);
  ops_rawseti(L, -2, STRINGS_SLOTS + 1);
  ops_rawsetp(L, LUA_REGISTRYINDEX, core->strings);
}

/* Nothing is known of the slot once Lua made a string: a finalizer may have run
** that reads JSON too. */
void strings_push_missed(lua_State *L, strings_Slot *slot, int table,
                         const strings_Ends *e, const char *s, size_t len) {
  uint32_t seen = (uint32_t)e->hash;
  size_t place = (size_t)(e->hash >> (64 - STRINGS_BITS)) + 1;
  lua_pushlstring(L, s, len);
  if (len > STRINGS_MAX_LEN) return;
  if (slot->seen == seen) {
    lua_pushvalue(L, -1);
    ops_rawseti(L, table, place);
    slot->first = e->first;
    slot->last = e->last;
    slot->len = (uint32_t)len;
    slot->s = lua_tolstring(L, -1, NULL);
  }
  slot->seen = seen;
}
