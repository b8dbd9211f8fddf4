/*
** quick.c - casts what most tables are, in one pass: objects of
** named members, arrays of one kind of items, tagged unions of objects
** (schema/cast/cast.h, cast_quickly).  Nothing is listed or forced here.
*/
#include "schema/cast/cast.h"
#include "schema/cast/fill.h"

#define ROOM 16        /* stack slots for one value, besides its members */
#define STACK_BLOCK 64 /* slots asked for in advance */
#define ABSENT 8       /* so many are missing: are few of the others there? */

/* Slots of the stack that may be taken this way: LuaJIT has few. */
#define MOST_SLOTS (OPS_STACK_SLOTS / 4)

#if OPS_INTEGERS
/* 1.0 may have to become 1. */
static HOT bool number_stays(cast_Machine *c, const schema_Node *n, int slot,
                             schema_Act act) {
  if (!lua_isinteger(c->m.L, slot))
    return act == ACT_NUMBER && cast_within(n, lua_tonumber(c->m.L, slot));
  if (act != ACT_INTEGER && act != ACT_NUMBER)
    return check_quick(&c->m, n, slot, LUA_TNUMBER);
  return !n->bounded || cast_within(n, (double)lua_tointeger(c->m.L, slot));
}
#endif

/* At least one character is what texts are asked for most. */
static HOT bool text_stays(cast_Machine *c, const schema_Node *n, int slot) {
  const schema_Bounds *bounds = n->bounds;
  size_t len;
  const char *s = lua_tolstring(c->m.L, slot, &len);
  return (bounds->shortest <= 1 && len > 0 && len <= bounds->longest &&
          (s[0] & 0xC0) != 0x80) ||
         check_quick(&c->m, n, slot, LUA_TSTRING);
}

/* A scalar that stays as it is. */
static HOT bool stays(cast_Machine *c, const schema_Node *n, int slot, int t) {
  schema_Act act = (schema_Act)n->acts[t];
  if (act == ACT_ACCEPT) return true;
#if OPS_INTEGERS
  if (t == LUA_TNUMBER) return number_stays(c, n, slot, act);
#endif
  if (act == ACT_LENGTH) return text_stays(c, n, slot);
  return t != LUA_TTABLE && act != ACT_REFUSE && check_quick(&c->m, n, slot, t);
}

/* Casts the value on top of the stack, which is no scalar that stays. */
static COLD bool cast_other(cast_Machine *c, const schema_Node *n, int slot,
                            int t) {
  bool fits;
  if (n->accepts_all) return true;
  if (t == LUA_TTABLE && cast_quickly(c, n, slot, &fits)) return fits;
  if (n->acts[t] == ACT_REFUSE && !n->merges)
    return cast_convert_quickly(c, n, slot, t);
  return cast_fully(c, n->self, slot, t);
}

static HOT bool cast_one(cast_Machine *c, const schema_Node *n, int slot,
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

/* The key of a property that is missing is on top of the stack: its value comes
** above it, or it goes. */
static COLD bool add_missing(cast_Machine *c, const schema_Property *p,
                             bool *fits) {
  lua_State *L = c->m.L;
  int key = lua_gettop(L), t;
  if (p->default_value != 0) {
    t = ops_rawgeti(L, c->m.constants, (size_t)p->default_value);
    if (t != LUA_TTABLE) {
      c->changed++;
      if (!fill_count(&c->m, 1)) *fits = cast_stop(c, p);
      else if (!cast_one(c, p->check, key + 1, t)) *fits = false;
      return true;
    }
    lua_settop(L, key);
  }
  if (cast_push_missing(c, p, fits)) return true;
  lua_settop(L, key - 1);
  return false;
}

static const schema_Property *
find_property(cast_Machine *c, const schema_Object *object, int key) {
  size_t len;
  const char *name;
  if (lua_type(c->m.L, key) != LUA_TSTRING) return NULL;
  name = lua_tolstring(c->m.L, key, &len);
  return program_find(c->m.s, object, name, len);
}

/* The properties from `from` on, by a walk over the members: few are there. */
static int cast_few(cast_Machine *c, const schema_Object *object, int slot,
                    const schema_Property *from, bool *fits) {
  lua_State *L = c->m.L;
  const schema_Property *p, *end = object->properties + object->count;
  bool seen[PROGRAM_FEW] = {false};
  int top = lua_gettop(L);
  lua_pushnil(L);
  while (lua_next(L, slot)) {
    p = find_property(c, object, top + 1);
    if (p == NULL || p < from) {
      lua_settop(L, top + 1);
      continue;
    }
    seen[p - object->properties] = true;
    if (!cast_one(c, p->check, top + 2, lua_type(L, top + 2))) *fits = false;
    top += 2;
    lua_pushvalue(L, top - 1);
  }
  for (p = from; p < end; p++) {
    if (seen[p - object->properties] || (!p->required && p->default_value == 0))
      continue;
    ops_rawgeti(L, c->m.constants, (size_t)p->key);
    if (add_missing(c, p, fits)) top += 2;
  }
  return top;
}

/* Is it likely that few of the properties after `p` are there? */
static bool are_few(const schema_Property *p, const schema_Property *end,
                    int absent, int present) {
  return absent == ABSENT && present <= ABSENT / 2 && end - p > 2 * ABSENT;
}

/* `tag`: the property whose key and value are on the stack, or NULL. */
static bool cast_object(cast_Machine *c, const schema_Object *object, int slot,
                        const schema_Property *tag) {
  lua_State *L = c->m.L;
  const schema_Property *p = object->properties, *end = p + object->count;
  int top = lua_gettop(L), base = tag == NULL ? top : top - 2, absent = 0;
  bool fits = true;
  c->m.left -= object->count / CHECK_STEP_ITEMS;
  for (; p < end; p++) {
    int t;
    if (p == tag) continue;
    ops_rawgeti(L, c->m.constants, (size_t)p->key);
    lua_pushvalue(L, top + 1);
    t = ops_rawget(L, slot);
    if (t != LUA_TNIL) {
      if (!cast_one(c, p->check, top + 2, t)) fits = false;
      top += 2;
    } else if (p->required || p->default_value != 0) {
      lua_settop(L, top + 1);
      if (add_missing(c, p, &fits)) top += 2;
    } else {
      lua_settop(L, top);
      if (!are_few(p, end, ++absent, (top - base) / 2)) continue;
      top = cast_few(c, object, slot, p + 1, &fits);
      break;
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

/* Room for `n` more values and what is done with them. */
static bool has_room(cast_Machine *c, int n) {
  int need = lua_gettop(c->m.L) + n + ROOM;
  if (need <= c->room) return true;
  if (need > MOST_SLOTS || !ops_checkstack(c->m.L, n + ROOM + STACK_BLOCK))
    return false;
#if OPS_STACK_STAYS
  c->room = need + STACK_BLOCK;
#endif
  return true;
}

static bool cast_members(cast_Machine *c, const schema_Node *n, int slot,
                         bool *fits) {
  if (n->shape == NULL || !n->shape->named || !is_object(c, slot) ||
      !has_room(c, 2 * n->shape->count))
    return false;
  *fits = cast_object(c, n->shape, slot, NULL);
  return true;
}

/* An object of which nothing is said: a copy. */
static bool copy_members(cast_Machine *c, int slot) {
  lua_State *L = c->m.L;
  int base = lua_gettop(L), top = base;
  if (!is_object(c, slot) || !has_room(c, 2 * CAST_PAIRS)) return false;
  lua_pushnil(L);
  while (lua_next(L, slot)) {
    top += 2;
    if (top > base + 2 * CAST_PAIRS) {
      lua_settop(L, base);
      return false;
    }
    lua_pushvalue(L, top - 1);
  }
  store(L, slot, base, top);
  return true;
}

static bool cast_items(cast_Machine *c, const schema_Node *n, int slot,
                       bool *fits) {
  const schema_Bounds *bounds = n->bounds;
  size_t length = ops_rawlen(c->m.L, slot);
  if (n->merges || (glance_type(c, slot) & TYPE_ARRAY) == 0 || !has_room(c, 0))
    return false;
  *fits = length >= bounds->fewest_items && length <= bounds->most_items;
  return cast_array(c, n->item, slot, length, fits);
}

/* The tag whose key and value are pushed, or NULL. */
static const schema_Tag *push_tag(cast_Machine *c, const schema_Union *u,
                                  int slot) {
  lua_State *L = c->m.L;
  ops_rawgeti(L, c->m.constants, (size_t)u->key);
  lua_pushvalue(L, -1);
  if (ops_rawget(L, slot) != LUA_TSTRING) return NULL;
  return check_find_tag(&c->m, u->tag, u->tags, u->tag_index);
}

static bool cast_tagged(cast_Machine *c, const schema_Union *u, int slot,
                        bool *fits) {
  int top = lua_gettop(c->m.L);
  const schema_Tag *tag;
  const schema_Object *shape;
  if (!is_object(c, slot) || !has_room(c, 2)) return false;
  tag = push_tag(c, u, slot);
  shape = tag == NULL ? NULL : tag->check->shape;
  if (shape == NULL || !shape->named || !has_room(c, 2 * shape->count)) {
    lua_settop(c->m.L, top);
    return false;
  }
  if (tag->decided == NULL) lua_settop(c->m.L, top);
  c->m.depth++; /* of the union itself */
  *fits = cast_object(c, shape, slot, tag->decided);
  c->m.depth--;
  return true;
}

static bool cast_table(cast_Machine *c, const schema_Node *n, int slot,
                       bool *fits) {
  switch ((schema_Act)n->acts[LUA_TTABLE]) {
  case ACT_MEMBERS: return cast_members(c, n, slot, fits);
  case ACT_ITEMS: return cast_items(c, n, slot, fits);
  case ACT_TAGGED: return cast_tagged(c, n->choice, slot, fits);
  default:
    *fits = true;
    return n->simple &&
           (n->types & (TYPE_ARRAY | TYPE_OBJECT)) == TYPE_OBJECT &&
           copy_members(c, slot);
  }
}

/* A union that has one branch for tables, which is no union. */
static bool cast_picked(cast_Machine *c, const schema_Node *n, int slot,
                        bool *fits) {
  bool done;
  c->m.depth++;
  done = cast_table(c, n->choice->picks[PICK_TABLE], slot, fits);
  c->m.depth--;
  return done;
}

bool cast_quickly(cast_Machine *c, const schema_Node *n, int slot, bool *fits) {
  bool done;
  if (c->changes != 0 || c->force || c->keep > 0 ||
      c->m.depth + 1 >= CAST_MAX_DEPTH)
    return false;
  c->m.depth++;
  done = n->acts[LUA_TTABLE] == ACT_BRANCH ? cast_picked(c, n, slot, fits)
                                           : cast_table(c, n, slot, fits);
  c->m.depth--;
  return done;
}
