/*
** schema_cast_quick.c - casts what most tables are, in one pass: objects of
** named members, arrays of one kind of items, tagged unions of objects
** (schema_cast.h, cast_quickly).  Nothing is listed or forced here.
*/
#include "schema_cast.h"

#define ROOM 16 /* stack slots for one value, besides its members */

/* A scalar that stays as it is. */
static inline bool stays(cast_Machine *c, const schema_Node *n, int slot,
                         int t) {
  schema_Act act = (schema_Act)n->acts[t];
#if OPS_INTEGERS
  if (t == LUA_TNUMBER) {
    if (!lua_isinteger(c->m.L, slot)) {
      if (act != ACT_NUMBER) return false;
    } else if (n->bounds == 0 && (act == ACT_INTEGER || act == ACT_NUMBER)) {
      return true;
    }
  }
#endif
  return act == ACT_ACCEPT || check_quick(&c->m, n, slot, t);
}

/* Casts the value in `slot`, which is no scalar that stays. */
static bool cast_other(cast_Machine *c, const schema_Node *n, int slot, int t) {
  bool fits;
  if (n->accepts_all) return true;
  if (t == LUA_TTABLE && cast_quickly(c, n, slot, &fits)) return fits;
  if (n->acts[t] == ACT_REFUSE && !n->merges)
    return cast_convert(c, &n->self, 1, slot, n->types);
  return cast_fully(c, n->self, slot, t);
}

static inline bool cast_one(cast_Machine *c, const schema_Node *n, int slot,
                            int t) {
  return stays(c, n, slot, t) || cast_other(c, n, slot, t);
}

/* Puts a table of the keys and values above `base` in the slot. */
static void store(lua_State *L, int slot, int base, int top) {
  lua_createtable(L, 0, (top - base) / 2);
  if (top == base) {
    core_push_object_mt(L);
    lua_setmetatable(L, -2);
  }
  lua_replace(L, slot);
  for (; top > base; top -= 2) lua_rawset(L, slot);
}

static bool cast_object(cast_Machine *c, const schema_Object *object,
                        int slot) {
  lua_State *L = c->m.L;
  const schema_Property *p = object->properties, *end = p + object->count;
  int base = lua_gettop(L), top = base;
  bool fits = true;
  for (; p < end; p++) {
    int t;
    ops_rawgeti(L, c->m.constants, (size_t)p->key);
    lua_pushvalue(L, top + 1);
    t = ops_rawget(L, slot);
    if (t != LUA_TNIL) {
      if (!cast_one(c, p->check, top + 2, t)) fits = false;
      top += 2;
    } else if (!p->required && p->default_value == 0) {
      lua_settop(L, top);
    } else {
      lua_settop(L, top + 1);
      if (cast_push_missing(c, p, &fits)) top += 2;
      else lua_settop(L, top);
    }
  }
  store(L, slot, base, top);
  return fits;
}

/* The keys must come as 1, 2, ...: false, and nothing done, when they do not.
 */
static bool cast_array(cast_Machine *c, const schema_Node *item, int slot,
                       size_t n, bool *fits) {
  lua_State *L = c->m.L;
  int out = lua_gettop(L) + 1, changed = c->changed;
  bool chosen = c->chosen;
  size_t i = 0;
  lua_createtable(L, (int)n, 0);
  cast_mark_array(c);
  lua_pushnil(L);
  while (lua_next(L, slot)) {
    if (!value_is_index(L, out + 1, ++i)) {
      c->changed = changed;
      c->chosen = chosen;
      lua_settop(L, out - 1);
      return false;
    }
    if (!cast_one(c, item, out + 2, lua_type(L, out + 2))) *fits = false;
    ops_rawseti(L, out, i);
  }
  lua_replace(L, slot);
  return true;
}

/* The type that the mark of the table in `slot` says, TYPE_ANY when it has
** none, 0 when that takes a longer look. */
static uint16_t glance_type(cast_Machine *c, int slot) {
  const void *mt;
  if (!lua_getmetatable(c->m.L, slot)) return TYPE_ANY;
  mt = lua_topointer(c->m.L, -1);
  lua_pop(c->m.L, 1);
  if (mt == c->m.core->array_mt) return TYPE_ARRAY;
  return mt == c->m.core->object_mt ? TYPE_OBJECT : 0;
}

static bool is_object(cast_Machine *c, int slot) {
  uint16_t type = glance_type(c, slot);
  return type == TYPE_OBJECT ||
         (type == TYPE_ANY && ops_rawlen(c->m.L, slot) == 0);
}

static bool cast_members(cast_Machine *c, const schema_Node *n, int slot,
                         bool *fits) {
  if (n->shape == NULL || !n->shape->named || !is_object(c, slot)) return false;
  *fits = cast_object(c, n->shape, slot);
  return true;
}

static bool cast_items(cast_Machine *c, const schema_Node *n, int slot,
                       bool *fits) {
  const schema_Bounds *bounds = program_bounds(c->m.s, n->bounds);
  size_t length = ops_rawlen(c->m.L, slot);
  if (n->merges || (glance_type(c, slot) & TYPE_ARRAY) == 0) return false;
  *fits = length >= bounds->fewest_items && length <= bounds->most_items;
  return cast_array(c, n->item, slot, length, fits);
}

static bool cast_tagged(cast_Machine *c, const schema_Node *n, int slot,
                        bool *fits) {
  const schema_Union *u = n->choice;
  int32_t branch = check_tagged_branch(&c->m, u, slot);
  bool ok;
  if (branch < 0) return false;
  c->m.depth++; /* of the union itself */
  ok = cast_members(
      c, program_target(c->m.s, *program_link(c->m.s, u->first + branch)), slot,
      fits);
  c->m.depth--;
  return ok;
}

bool cast_quickly(cast_Machine *c, const schema_Node *n, int slot, bool *fits) {
  bool done;
  if (c->changes != 0 || c->force || c->keep > 0 ||
      c->m.depth + 1 >= CAST_MAX_DEPTH ||
      !ops_checkstack(c->m.L, 2 * CAST_PAIRS + ROOM))
    return false;
  c->m.depth++;
  switch ((schema_Act)n->acts[LUA_TTABLE]) {
  case ACT_MEMBERS: done = cast_members(c, n, slot, fits); break;
  case ACT_ITEMS: done = cast_items(c, n, slot, fits); break;
  case ACT_TAGGED: done = cast_tagged(c, n, slot, fits); break;
  default: done = false; break;
  }
  c->m.depth--;
  return done;
}
