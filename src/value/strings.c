#include "value/strings.h"

void strings_open(lua_State *L) {
  core_State *core = core_state(L);
  core->strings = (strings_Set *)lua_newuserdata(L, sizeof(strings_Set));
  *core->strings = (strings_Set){.slots = {{.s = NULL}}};
  /* A complete array part: setting an item allocates nothing. */
  lua_createtable(L, STRINGS_SLOTS + 1, 0);
  lua_insert(L, -2);
  ops_rawseti(L, -2, STRINGS_SLOTS + 1);
  ops_rawsetp(L, LUA_REGISTRYINDEX, core->strings);
}

/* A finalizer that reads JSON may run when Lua makes a string, and change the
** slots. */
void strings_push_missed(lua_State *L, strings_Set *set, int table, size_t i,
                         const strings_Ends *e, const char *s, size_t len) {
  strings_Slot *slot = &set->slots[i];
  uint32_t seen = (uint32_t)e->hash;
  lua_pushlstring(L, s, len);
  if (len > STRINGS_MAX_LEN) return;
  if (slot->s != NULL) {
    bool again = slot->seen == seen;
    slot->seen = seen;
    if (set->slots[i ^ 1].s == NULL) slot = &set->slots[i ^= 1];
    else if (!again) return;
  }
  lua_pushvalue(L, -1);
  ops_rawseti(L, table, i + 1);
  slot->first = e->first;
  slot->last = e->last;
  slot->len = (uint32_t)len;
  slot->s = lua_tolstring(L, -1, NULL);
}
