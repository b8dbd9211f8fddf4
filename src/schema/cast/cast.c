#include "schema/cast/ahead.h"
#include "schema/cast/fill.h"
#include "schema/check/equal.h"

void cast_record(cast_Machine *c, const char *kind, int old, int fresh) {
  lua_State *L = c->m.L;
  c->changed++;
  if (c->changes == 0) return;
  luaL_checkstack(L, 8, "changes");
  lua_createtable(L, 0, 4);
  schema_push_path(L, c->at);
  lua_setfield(L, -2, "path");
  lua_pushstring(L, kind);
  lua_setfield(L, -2, "kind");
  if (old != 0) {
    lua_pushvalue(L, old);
    lua_setfield(L, -2, "old");
  }
  if (fresh != 0) {
    lua_pushvalue(L, fresh);
    lua_setfield(L, -2, "new");
  }
  ops_rawseti(L, c->changes, ops_rawlen(L, c->changes) + 1);
}

void cast_mark_array(cast_Machine *c) {
  ops_rawgeti(c->m.L, c->m.constants, PROGRAM_ARRAY_MT);
  lua_setmetatable(c->m.L, -2);
}

bool cast_conforms(cast_Machine *c, const int32_t *nodes, int count, int slot) {
  int i;
  for (i = 0; i < count; i++) {
    if (!check_node(&c->m, nodes[i], slot, lua_type(c->m.L, slot)))
      return false;
  }
  return true;
}

/* Fast test for a value that stays as it is: a scalar that conforms.  1.0 may
** have to become 1. */
static inline bool stays_quickly(cast_Machine *c, const schema_Node *n,
                                 int slot, int t) {
#if OPS_INTEGERS
  if (t == LUA_TNUMBER && n->acts[t] != ACT_NUMBER &&
      !lua_isinteger(c->m.L, slot))
    return false;
#endif
  return check_quick(&c->m, n, slot, t);
}

/* Casts the member at `step`. */
static bool cast_at(cast_Machine *c, int32_t node, int slot, int t,
                    const schema_Step *step) {
  bool fits;
  c->at = step;
  fits = cast_slot(c, node, slot, t);
  c->at = step->outer;
  return fits;
}

static bool cast_property(cast_Machine *c, const schema_Property *p, int slot,
                          int t) {
  schema_Step step = {.outer = c->at, .name = p->name, .len = p->len};
  return cast_at(c, p->node, slot, t, &step);
}

static bool cast_item(cast_Machine *c, int32_t node, int slot, int t,
                      size_t index) {
  schema_Step step = {.outer = c->at, .index = index};
  return cast_at(c, node, slot, t, &step);
}

static void record_at(cast_Machine *c, const char *kind, int old, int fresh,
                      const char *name, size_t len) {
  schema_Step step = {.outer = c->at, .name = name, .len = len};
  c->at = &step;
  cast_record(c, kind, old, fresh);
  c->at = step.outer;
}

/* An object being made.  Its members wait on the stack until their number is
** known, so that the table gets its exact size. */
typedef struct Members {
  int out;   /* stack index of the table, or of the nil in its place */
  int pairs; /* keys with values above it */
  bool any;  /* it has properties, stored or not */
  bool odd;  /* a required property has no schema of its own */
  int hint;  /* expected number of members */
} Members;

static void store(lua_State *L, Members *members, int size) {
  if (lua_isnil(L, members->out)) {
    lua_createtable(L, 0, size);
    lua_replace(L, members->out);
  }
  for (; members->pairs > 0; members->pairs--) lua_rawset(L, members->out);
}

/* Counts a pushed pair; returns the new stack height. */
static int add_pair(lua_State *L, Members *members) {
  members->any = true;
  if (++members->pairs >= CAST_PAIRS) store(L, members, members->hint);
  return members->out + 2 * members->pairs;
}

/* Is the member handled by its name?  A name that only `required` lists is not
** when patterns or additionalProperties also apply. */
static bool by_name(const schema_Object *object, const schema_Property *p) {
  return p->declared || (object->patterns == 0 && object->additional < 0);
}

/* Stops because defaults made too many values before that of `p`. */
static bool stop_at(cast_Machine *c, const schema_Property *p) {
  schema_Step step = {.outer = c->at, .name = p->name, .len = p->len};
  return fill_stop(&c->m, &step, p->node, FILL_MANY);
}

/* Pushes the value for a missing property: its default, or the only value
** allowed if it is required; or pushes nothing.  Its key is on top of the
** stack. */
static bool push_missing(cast_Machine *c, const schema_Property *p,
                         bool *fits) {
  lua_State *L = c->m.L;
  int32_t constant = p->default_value;
  if (constant == 0 && p->required) constant = p->fixed;
  if (constant == 0 || c->keep >= 1) {
    if (p->required) *fits = false;
    return false;
  }
  if (!fill_push_default(&c->m, constant)) return *fits = stop_at(c, p);
  c->filling++;
  if (!stays_quickly(c, p->check, lua_gettop(L), lua_type(L, -1)) &&
      !cast_property(c, p, lua_gettop(L), lua_type(L, -1)))
    *fits = false;
  c->filling--;
  record_at(c, "defaulted", 0, lua_gettop(L), p->name, p->len);
  return true;
}

/* Is there something to do when the property is missing: has it a default, or
** is it required? */
static bool misses(const cast_Machine *c, const schema_Property *p) {
  return p->required || (p->default_value != 0 && c->keep < 1);
}

static void add_missing(cast_Machine *c, const schema_Object *object,
                        const schema_Property *p, Members *members,
                        bool *fits) {
  if (push_missing(c, p, fits)) add_pair(c->m.L, members);
  else lua_pop(c->m.L, 1);
  if (p->required && !by_name(object, p)) *fits = false;
}

static void cast_properties(cast_Machine *c, const schema_Object *object,
                            int slot, Members *members, bool *fits) {
  lua_State *L = c->m.L;
  const schema_Property *p = object->properties, *end = p + object->count;
  int top = members->out; /* the top of the stack */
  c->m.left -= object->count / CHECK_STEP_ITEMS;
  for (; p < end; p++) {
    int t;
    ops_rawgeti(L, c->m.constants, (size_t)p->key);
    lua_pushvalue(L, top + 1);
    t = ops_rawget(L, slot);
    if (t == LUA_TNIL && misses(c, p)) {
      lua_settop(L, top + 1);
      add_missing(c, object, p, members, fits);
      top = lua_gettop(L);
    } else if (t == LUA_TNIL) {
      lua_settop(L, top);
    } else if (!by_name(object, p)) {
      members->odd = true;
      lua_settop(L, top);
    } else {
      if (!stays_quickly(c, p->check, top + 2, t) &&
          !cast_property(c, p, top + 2, t))
        *fits = false;
      top = add_pair(L, members);
    }
  }
}

/* Casts the member `key`, `value` on top of the stack, which `properties` does
** not name.  True: it is kept as a pair. */
static bool cast_other(cast_Machine *c, const schema_Object *object, int key,
                       bool *fits) {
  lua_State *L = c->m.L;
  const schema_Schema *s = c->m.s;
  int32_t nodes[CAST_VIEWS];
  int count = 0, value = key + 1;
  bool known = false;
  size_t len;
  const char *name = lua_tolstring(L, key, &len);
  int32_t i;
  for (i = 0; i < object->patterns; i++) {
    const schema_Pattern *pattern = program_pattern(s, object->pattern + i);
    if (check_match(&c->m, *program_regex(s, pattern->regex), name, len) <= 0)
      continue;
    known = true;
    if (count < CAST_VIEWS) nodes[count++] = pattern->node;
  }
  if (!known && object->additional >= 0) {
    nodes[count++] = object->additional;
    known = c->shared > 0 || !program_node(s, object->additional)->is_false;
  } else if (!known) {
    known = object->open || cast_keeps(c);
  }
  if (known && count > 0) {
    schema_Step step = {.outer = c->at, .name = name, .len = len};
    c->at = &step;
    if (!cast_slot_by(c, nodes, count, value)) *fits = false;
    c->at = step.outer;
  } else if (!known) {
    const schema_Property *p = program_find(s, object, name, len);
    if (p != NULL && p->required) *fits = false; /* required and not allowed */
    record_at(c, "stripped", value, 0, name, len);
  }
  return known;
}

static bool is_named(const cast_Machine *c, const schema_Object *object,
                     int key) {
  size_t len;
  const char *name = lua_tolstring(c->m.L, key, &len);
  const schema_Property *p = program_find(c->m.s, object, name, len);
  return p != NULL && by_name(object, p);
}

/* May the result have other members than the properties? */
static bool keeps_others(const cast_Machine *c, const schema_Object *object) {
  if (object->patterns > 0 || cast_keeps(c)) return true;
  if (object->additional < 0) return object->open;
  return !program_node(c->m.s, object->additional)->is_false;
}

/* Casts the member `key`, `value` on top of the stack, whose key cannot be
** JSON.  True: it is kept, as other members are, unless it must conform. */
static bool cast_odd(cast_Machine *c, const schema_Object *object, int key,
                     bool *fits) {
  lua_State *L = c->m.L;
  const char *name;
  size_t len;
  if (keeps_others(c, object)) {
    if (object->whole) *fits = false;
    return true;
  }
  if (lua_type(L, key) == LUA_TNUMBER) lua_pushvalue(L, key);
  else if (lua_type(L, key) == LUA_TBOOLEAN)
    lua_pushstring(L, lua_toboolean(L, key) ? "true" : "false");
  else lua_pushstring(L, luaL_typename(L, key));
  name = ops_text(L, -1, &len);
  record_at(c, "stripped", key + 1, 0, name, len);
  return false;
}

/* Casts members by patternProperties and additionalProperties, and omits
** others. */
static void cast_others(cast_Machine *c, const schema_Object *object, int slot,
                        Members *members, bool *fits) {
  lua_State *L = c->m.L;
  int top;
  store(L, members, object->count);
  top = lua_gettop(L);
  lua_pushnil(L);
  while (lua_next(L, slot)) {
    if (lua_type(L, top + 1) != LUA_TSTRING
            ? cast_odd(c, object, top + 1, fits)
            : !is_named(c, object, top + 1) &&
                  cast_other(c, object, top + 1, fits)) {
      lua_pushvalue(L, top + 1);
      lua_pushvalue(L, top + 2);
      lua_rawset(L, members->out);
    }
    lua_settop(L, top + 1);
  }
}

static void copy_table(lua_State *L, int slot) {
  int copy;
  lua_createtable(L, (int)ops_rawlen(L, slot), 0);
  copy = lua_gettop(L);
  lua_pushnil(L);
  while (lua_next(L, slot)) {
    lua_pushvalue(L, copy + 1);
    lua_insert(L, copy + 2);
    lua_rawset(L, copy);
  }
}

void cast_mark_empty(cast_Machine *c, int slot, int out, uint16_t types) {
  lua_State *L = c->m.L;
  lua_pushnil(L);
  if (lua_next(L, out)) {
    lua_pop(L, 2);
  } else if ((types & TYPE_ARRAY) == 0 ||
             value_kind(L, c->m.core, slot) == VALUE_OBJECT) {
    core_push_object_mt(L);
    lua_setmetatable(L, out);
  }
}

static bool cast_object(cast_Machine *c, const schema_Node *n, int slot) {
  lua_State *L = c->m.L;
  const schema_Object *object;
  Members members = {.out = lua_gettop(L) + 1};
  bool fits = true;
  int32_t i;
  if (n->object < 0) {
    copy_table(L, slot);
  } else {
    object = program_object(c->m.s, n->object);
    members.hint = object->count;
    lua_pushnil(L);
    cast_properties(c, object, slot, &members, &fits);
    if (members.odd || c->changes != 0 || keeps_others(c, object))
      cast_others(c, object, slot, &members, &fits);
    else store(L, &members, members.pairs);
  }
  lua_settop(L, members.out);
  if (n->object < 0 || !members.any)
    cast_mark_empty(c, slot, members.out, n->types);
  lua_replace(L, slot);
  for (i = n->objects; i < n->every; i++) {
    const schema_Op *op = program_op(c->m.s, i);
    if (op->code != CODE_MEMBERS &&
        !check_op(&c->m, n->self, op, slot, TYPE_OBJECT))
      fits = false;
  }
  return fits;
}

/* Takes the items that were cast ahead; returns how many, from the first
** one. */
static COLD size_t take_items(cast_Machine *c, const schema_Op *op, int slot,
                              int out, size_t n, bool *fits) {
  lua_State *L = c->m.L;
  const ahead_List *list;
  size_t i;
  if (c->keep > 0 || c->force || c->first || op->b != 0) return 0;
  list = ahead_find(L, c->ahead, slot, op->c);
  if (list == NULL) return 0;
  for (i = 0; i < n && i < list->done; i++) {
    if (ops_rawgeti(L, out + 1, i + 1) == LUA_TNIL) break;
    ops_rawseti(L, out, i + 1);
    if (list->misfits) {
      lua_rawgeti(L, out + 1, -(int)(i + 1));
      if (lua_toboolean(L, -1)) *fits = false;
      lua_pop(L, 1);
    }
  }
  lua_settop(L, out);
  c->changed++; /* possibly */
  return i;
}

static bool cast_items(cast_Machine *c, const schema_Op *op, int slot, int out,
                       size_t n) {
  lua_State *L = c->m.L;
  bool fits = true;
  size_t i = c->ahead == 0 ? 0 : take_items(c, op, slot, out, n, &fits);
  for (; i < n; i++) {
    int32_t node = op->c;
    int t = ops_rawgeti(L, slot, i + 1);
    if (i < (size_t)op->b) node = *program_link(c->m.s, op->a + (int32_t)i);
    if (node >= 0 &&
        !stays_quickly(c, program_target(c->m.s, node), out + 1, t) &&
        !cast_item(c, node, out + 1, t, i))
      fits = false;
    ops_rawseti(L, out, i + 1);
  }
  return fits;
}

static void copy_items(lua_State *L, int slot, int out, size_t n) {
  size_t i;
  for (i = 1; i <= n; i++) {
    ops_rawgeti(L, slot, i);
    ops_rawseti(L, out, i);
  }
}

/* Does the new array of length `n` satisfy the instructions besides its
** items? */
static bool cast_array_op(cast_Machine *c, int32_t node, const schema_Op *op,
                          int slot, size_t n) {
  switch (op->code) {
  case CODE_ITEMS: return true;
  case CODE_MIN_ITEMS: return n >= op->u.n;
  case CODE_MAX_ITEMS: return n <= op->u.n;
  default: return check_op(&c->m, node, op, slot, TYPE_ARRAY);
  }
}

static bool cast_array(cast_Machine *c, const schema_Node *n, int slot) {
  lua_State *L = c->m.L;
  ptrdiff_t length = value_array_length(L, slot);
  bool fits = true;
  int out;
  int32_t i;
  if (length < 0) return false;
  lua_createtable(L, (int)length, 0);
  out = lua_gettop(L);
  cast_mark_array(c);
  if (n->items >= 0)
    fits =
        cast_items(c, program_op(c->m.s, n->items), slot, out, (size_t)length);
  else copy_items(L, slot, out, (size_t)length);
  lua_replace(L, slot);
  for (i = n->arrays; i < n->objects; i++) {
    if (!cast_array_op(c, n->self, program_op(c->m.s, i), slot, (size_t)length))
      fits = false;
  }
  return fits;
}

/* 1.0 becomes 1 where only integers are allowed. */
static void cast_integer(cast_Machine *c, const schema_Node *n, int slot) {
#if OPS_INTEGERS
  lua_State *L = c->m.L;
  integer_Value i;
  if ((n->types & TYPE_NUMBER) != TYPE_INTEGER || lua_isinteger(L, slot) ||
      lua_type(L, slot) != LUA_TNUMBER || !integer_read(L, c->m.core, slot, &i))
    return;
  integer_push(L, c->m.core, i);
  cast_record(c, "converted", slot, lua_gettop(L));
  lua_replace(L, slot);
#else
  (void)c;
  (void)n;
  (void)slot;
#endif
}

static bool check_run(cast_Machine *c, int32_t node, int32_t first, int32_t end,
                      int slot, uint16_t type) {
  for (; first < end; first++) {
    if (!check_op(&c->m, node, program_op(c->m.s, first), slot, type))
      return false;
  }
  return true;
}

/* Casts by a node to which no other applies: one pass is enough. */
static bool cast_plain(cast_Machine *c, int32_t node, const schema_Node *n,
                       int slot, uint16_t type) {
  bool fits;
  switch (type) {
  case TYPE_OBJECT: fits = cast_object(c, n, slot); break;
  case TYPE_ARRAY: fits = cast_array(c, n, slot); break;
  case TYPE_STRING:
    fits = check_run(c, node, n->strings, n->numbers, slot, type);
    break;
  case TYPE_INTEGER: cast_integer(c, n, slot); /* fall through */
  case TYPE_FRACTION:
    fits = check_run(c, node, n->numbers, n->arrays, slot, type);
    break;
  default: fits = true; break;
  }
  if (fits) fits = check_run(c, node, n->every, n->end, slot, type);
  if (!fits && (type & (TYPE_OBJECT | TYPE_ARRAY)) == 0)
    fits = cast_convert(c, &node, 1, slot, n->types);
  return fits;
}

/* Is it a scalar that conforms and so stays?  1.0 may have to become 1. */
static bool stays(cast_Machine *c, int32_t node, int slot, int t) {
#if OPS_INTEGERS
  if (t == LUA_TNUMBER && !lua_isinteger(c->m.L, slot)) return false;
#endif
  return check_node(&c->m, node, slot, t);
}

/* Is it a scalar that conforms to all nodes and so stays? */
static bool cast_merging_scalar(cast_Machine *c, int32_t node, int slot,
                                int t) {
  bool chosen = c->chosen;
  if (stays(c, node, slot, t)) return true;
  cast_merged(c, &node, 1, slot);
  if (!check_node(&c->m, node, slot, lua_type(c->m.L, slot))) return false;
  c->chosen = chosen;
  return true;
}

static bool cast_typed(cast_Machine *c, int32_t node, int slot, int t,
                       uint16_t type);

/* Casts by a node when others apply to the same value: by a single one where
** the value rules out the rest. */
static bool cast_merging(cast_Machine *c, int32_t node, const schema_Node *n,
                         int slot, int t) {
  int32_t branch;
  uint16_t type = 0;
  if (t != LUA_TTABLE) return cast_merging_scalar(c, node, slot, t);
  branch = cast_only_branch(c, n, slot, &type);
  if (branch >= 0) return cast_typed(c, branch, slot, t, type);
  return cast_merged(c, &node, 1, slot);
}

static bool cast_node(cast_Machine *c, int32_t node, int slot, int t,
                      uint16_t type) {
  const schema_Node *n = program_node(c->m.s, node);
  if (n->accepts_all) return check_node(&c->m, node, slot, t);
  if (c->force) return cast_merged(c, &node, 1, slot);
  if (n->merges) return cast_merging(c, node, n, slot, t);
  if (type == 0) type = schema_type_of(c->m.L, c->m.core, slot, t, n->types);
  if (type & n->types) return cast_plain(c, node, n, slot, type);
  return cast_convert(c, &node, 1, slot, n->types);
}

/* Stops at a limit, which a default or a replacement may have reached. */
static bool give_up(cast_Machine *c, int32_t node, fill_Reason reason) {
  return c->filling + c->making > 0 ? fill_stop(&c->m, c->at, node, reason)
                                    : check_too_deep(&c->m);
}

/* `type`: the value's TYPE_ bit, 0 when it is not known yet. */
static bool cast_typed(cast_Machine *c, int32_t node, int slot, int t,
                       uint16_t type) {
  check_Scope scope;
  bool fits;
  node = program_node(c->m.s, node)->target;
  if (c->m.too_deep) return false;
  if (c->m.depth >= CAST_MAX_DEPTH ||
      !ops_checkstack(c->m.L, 2 * CAST_PAIRS + 16))
    return give_up(c, node, FILL_DEEP);
  if (!check_steps(&c->m, 1 + CAST_STEPS)) return give_up(c, node, FILL_LONG);
  scope.outer = c->m.scope;
  scope.resource = program_node(c->m.s, node)->resource;
  if (c->m.s->has_dynamic) c->m.scope = &scope;
  c->m.depth++;
  fits = cast_node(c, node, slot, t, type);
  c->m.depth--;
  c->m.scope = scope.outer;
  return fits;
}

bool cast_slot(cast_Machine *c, int32_t node, int slot, int t) {
  return cast_typed(c, node, slot, t, 0);
}
