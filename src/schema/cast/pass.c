/*
** pass.c - casts until the result no longer changes; then force replaces
** misfits, in one pass (schema/cast/cast.h, cast_value).
*/
#include "schema/cast/cast.h"
#include "schema/cast/fill.h"
#include "schema/check/equal.h"

#define MAX_PASSES 6 /* until another cast changes nothing */

static bool cast_once(cast_Machine *c, int32_t node, int slot) {
  bool fits;
  c->changed = 0;
  fits = cast_slot(c, node, slot, lua_type(c->m.L, slot));
  return fits && !c->m.too_deep;
}

bool cast_until_stable(cast_Machine *c, int32_t node, int slot) {
  lua_State *L = c->m.L;
  bool fits = cast_once(c, node, slot);
  int pass;
  for (pass = 1;
       pass < MAX_PASSES && c->chosen && c->changed > 0 && !c->m.too_deep;
       pass++) {
    bool same;
    lua_pushvalue(L, slot);
    fits = cast_once(c, node, slot);
    same = schema_equal(&c->m, slot, lua_gettop(L));
    lua_pop(L, 1);
    if (same) break;
  }
  return fits;
}

/* Restores the slot and the list of changes. */
static void start_again(cast_Machine *c, int slot, int v) {
  lua_State *L = c->m.L;
  size_t i;
  lua_pushvalue(L, v);
  lua_replace(L, slot);
  c->chosen = false;
  c->m.made = 0;
  if (c->changes == 0) return;
  for (i = ops_rawlen(L, c->changes); i > c->said; i--) {
    lua_pushnil(L);
    ops_rawseti(L, c->changes, i);
  }
}

/* Casts with restrictions: 1 fills in nothing, 2 also strips nothing. */
static bool cast_less(cast_Machine *c, int slot, int v, int keep) {
  c->keep = keep;
  check_resume(&c->m);
  start_again(c, slot, v);
  return cast_until_stable(c, c->m.s->root, slot);
}

/* Casts without making a conforming value wrong: a default may not fit,
** stripping may violate minProperties, and the mark of an empty table may
** violate minItems.  Defaults may also continue without end. */
static bool cast_gently(cast_Machine *c, int slot, int v) {
  bool fits = cast_until_stable(c, c->m.s->root, slot);
  if (c->m.too_deep) {
    fill_stop(&c->m, NULL, c->m.s->root, FILL_LONG);
    fits = cast_less(c, slot, v, 1);
  }
  if (fits || c->m.too_deep || !check_value(&c->m, c->m.s->root, v))
    return fits;
  while (!fits && c->keep < 2) fits = cast_less(c, slot, v, c->keep + 1);
  if (!fits) start_again(c, slot, v);
  return true;
}

/* Replaces misfits in the cast value; at a limit the cast value stays.  Leaves
** that value on the stack. */
static bool force_once(cast_Machine *c, int slot) {
  int before = lua_gettop(c->m.L) + 1;
  bool fits;
  lua_pushvalue(c->m.L, slot);
  if (c->changes != 0) c->said = ops_rawlen(c->m.L, c->changes);
  c->force = true;
  fits = cast_once(c, c->m.s->root, slot);
  if (c->m.too_deep) {
    if (c->m.kept <= 0) fill_stop(&c->m, NULL, c->m.s->root, FILL_LONG);
    start_again(c, slot, before);
  }
  return fits;
}

static bool cast_by_mode(cast_Machine *c, int slot, int v, int mode) {
  bool fits;
  if (mode == SCHEMA_OFF) return check_value(&c->m, c->m.s->root, slot);
  fits = cast_gently(c, slot, v);
  if (c->m.too_deep) start_again(c, slot, v);
  if (mode != SCHEMA_FORCE || fits || c->m.too_deep) return fits;
  return force_once(c, slot);
}

bool cast_value(lua_State *L, int schema, int v, int mode, bool changes,
                int ahead) {
  int slot = lua_gettop(L) + 1;
  cast_Machine c = {.m = {.problem = slot + 2}};
  bool fits;
  luaL_checkstack(L, 40, "schema");
  lua_pushvalue(L, v);
  lua_settop(L, slot + 2);
  if (changes) {
    lua_newtable(L);
    core_push_array_mt(L);
    lua_setmetatable(L, -2);
    lua_replace(L, slot + 1);
    c.changes = slot + 1;
  }
  if (!changes && ahead != 0 && !lua_isnil(L, ahead)) c.ahead = ahead;
  check_start(&c.m, L, schema, v);
  fits = cast_by_mode(&c, slot, v, mode);
  lua_settop(L, slot + 2);
  return fits;
}
