#include "schema/check/check.h"
#include "schema/check/equal.h"

#include <math.h>

#define CHECK_COUNT_DEPTH 256
#define LEFT_BLOCK 16 /* slots that a loop fills before it pops them */

static void push_constants(check_Machine *m, int schema) {
  ops_getuservalue(m->L, schema);
  m->constants = ++m->top;
}

void check_start_root(check_Machine *m, lua_State *L, const schema_Schema *s,
                      int schema, int top, int room) {
  m->L = L;
  m->s = s;
  m->core = s->core;
  m->scope = NULL;
  m->constants = 0;
  m->top = top;
  m->room = room;
  m->depth = 0;
  m->too_deep = false;
  m->extended = s->max_steps > 0;
  m->left = s->max_steps > 0 ? s->max_steps : CHECK_STEPS;
  if (!s->keyless) push_constants(m, schema);
}

void check_start(check_Machine *m, lua_State *L, int schema, int value) {
  check_start_root(m, L, (const schema_Schema *)lua_touserdata(L, schema),
                   schema, lua_gettop(L), 0);
  m->value = value;
  if (m->constants == 0) push_constants(m, schema);
}

/* Adds the number of values in the one at `v` to `n`; a long string counts as
** several.  Stops at CHECK_VALUES, as a table may contain itself. */
static int64_t count_values(lua_State *L, int v, int depth, int64_t n) {
  if (lua_type(L, v) == LUA_TSTRING)
    return n + (int64_t)(ops_rawlen(L, v) / CHECK_STEP_BYTES);
  if (lua_type(L, v) != LUA_TTABLE || depth > CHECK_COUNT_DEPTH ||
      !ops_checkstack(L, 4))
    return n;
  lua_pushnil(L);
  while (lua_next(L, v)) {
    if (++n < CHECK_VALUES) n = count_values(L, lua_gettop(L), depth + 1, n);
    lua_pop(L, 1);
    if (n < CHECK_VALUES) continue;
    lua_pop(L, 1);
    return n;
  }
  return n;
}

int64_t check_count_values(const check_Machine *m) {
  return count_values(m->L, m->value, 0, 0);
}

bool check_go_on(check_Machine *m) {
  if (m->too_deep || m->extended) return check_too_deep(m);
  m->extended = true;
  m->left += check_count_values(m) * CHECK_VALUE_STEPS;
  return m->left > 0;
}

static bool check_table(check_Machine *m, const schema_Node *n, int v, int t);
static bool check_other_table(check_Machine *m, const schema_Node *n, int v);

/* Has the text at least `n` code points? */
static bool has_characters(const char *s, size_t len, size_t n) {
  if (len / 4 >= n) return true; /* a code point has at most four bytes */
  return len >= n && schema_text_length(s, len) >= n;
}

bool check_text_op(check_Machine *m, const schema_Op *op, const char *s,
                   size_t len) {
  switch ((schema_Code)op->code) {
  case CODE_MIN_LENGTH: return has_characters(s, len, op->u.n);
  case CODE_MAX_LENGTH:
    return len <= op->u.n || schema_text_length(s, len) <= op->u.n;
  case CODE_PATTERN:
    return check_match(m, *program_regex(m->s, op->a), s, len) > 0;
  case CODE_FORMAT:
    return op->u.format(s, len);
  CASES_BUT_STRING:
    break;
  }
  return false;
}

static COLD bool check_text(check_Machine *m, const schema_Node *n, int v) {
  size_t len;
  const char *s = lua_tolstring(m->L, v, &len);
  const schema_Bounds *bounds = n->bounds;
  const schema_Op *op, *end;
  check_read(m, len);
  if (len > bounds->longest && schema_text_length(s, len) > bounds->longest)
    return false;
  if (!has_characters(s, len, bounds->shortest)) return false;
  op = program_op(m->s, n->texts);
  end = program_op(m->s, n->numbers);
  for (; op < end; op++) {
    if (!check_text_op(m, op, s, len)) return false;
  }
  op = program_op(m->s, n->every);
  end = program_op(m->s, n->end);
  for (; op < end; op++) {
    if (check_find_member(m, op->a, op->b, op->u.index, 0, v, TYPE_STRING) < 0)
      return false;
  }
  return true;
}

/* Checks bounds of length; the number of bytes is often enough. */
static inline bool check_length(check_Machine *m, const schema_Node *n, int v) {
  const schema_Bounds *bounds = n->bounds;
  size_t len = ops_rawlen(m->L, v);
  return (len <= bounds->longest && len / 4 >= bounds->shortest) ||
         check_text(m, n, v);
}

static COLD bool check_pattern(check_Machine *m, const schema_Node *n, int v) {
  size_t len;
  const char *s = lua_tolstring(m->L, v, &len);
  return check_match(m, n->pattern, s, len) > 0;
}

/* Interned strings are equal when their addresses are. */
static inline bool check_tag(check_Machine *m, const schema_Node *n, int v) {
  const void *address = lua_topointer(m->L, v);
  const schema_Member *member = n->tags, *end = member + n->tag_count;
  for (; member < end; member++) {
    if (member->address == address) return true;
  }
  return false;
}

/* Is the number exact as a double: within 2^53? */
static inline bool is_small(lua_Number d) {
  return fabs(d) < (double)OPS_MAX_SAFE_INTEGER;
}

static inline bool check_small(const schema_Node *n, lua_Number d) {
  const schema_Bounds *bounds = n->bounds;
  return d >= bounds->low && d <= bounds->high &&
         ((n->types & TYPE_FRACTION) || (double)(int64_t)d == d);
}

/* Checks the node's types and all its instructions. */
static COLD bool check_rest(check_Machine *m, const schema_Node *n, int v,
                            int t) {
  uint16_t type = schema_type_of(m->L, m->core, v, t, n->types);
  if (t == INTEGER_WIDE_TYPE) check_forget_room(m);
  return (type & n->types) != 0 && (n->simple || check_ops(m, n, v, t, type));
}

static inline bool check_double(check_Machine *m, const schema_Node *n, int v) {
  lua_Number d = lua_tonumber(m->L, v);
  return check_small(n, d) ||
         (!is_small(d) && check_rest(m, n, v, LUA_TNUMBER));
}

static inline bool check_integer(check_Machine *m, const schema_Node *n,
                                 int v) {
#if OPS_INTEGERS
  if (!n->bounded && lua_isinteger(m->L, v)) return true;
#endif
  return check_double(m, n, v);
}

/* Checks the value at `v`, of Lua type `t`, against a node that is a target.
** Leaves pushed values on the stack, with m->top above them. */
static HOT bool check_here(check_Machine *m, const schema_Node *n, int v,
                           int t) {
  schema_Act act = (schema_Act)n->acts[t];
  if (act == ACT_ACCEPT) return true; /* the usual case */
  switch (act) {
  case ACT_REFUSE: return false;
  case ACT_NULL: return lua_touserdata(m->L, v) == NULL;
  case ACT_LENGTH: return check_length(m, n, v);
  case ACT_TEXT: return check_text(m, n, v);
  case ACT_PATTERN: return check_pattern(m, n, v);
  case ACT_TAG: return check_tag(m, n, v);
  case ACT_INTEGER: return check_integer(m, n, v);
  case ACT_NUMBER: return check_double(m, n, v);
  default: return check_table(m, n, v, t);
  }
}

/* As check_here, out of line. */
static COLD bool check_scalar(check_Machine *m, const schema_Node *n, int v,
                              int t) {
  return check_here(m, n, v, t);
}

/* Pops the values above `top`. */
static inline void drop(check_Machine *m, int top) {
  if (m->top == top) return;
  m->top = top;
  lua_settop(m->L, top);
}

bool check_inner(check_Machine *m, int32_t node, int v, int t) {
  int top = m->top;
  bool ok = check_here(m, program_target(m->s, node), v, t);
  drop(m, top);
  return ok;
}

/* Looks up known names and ignores others.  `decided` is a property that was
** checked already, or NULL. */
static HOT bool check_known_members(check_Machine *m,
                                    const schema_Object *object, int v,
                                    const schema_Property *decided) {
  lua_State *L = m->L;
  const schema_Property *p = object->properties, *end = p + object->count;
  int top = m->top;
  if (object->count >= CHECK_STEP_ITEMS &&
      !check_steps(m, object->count / CHECK_STEP_ITEMS))
    return false;
  for (; p < end; p++) {
    int t;
    if (p == decided) continue;
    if (!check_reserve(m, 8)) return false;
    ops_rawgeti(L, m->constants, (size_t)p->key);
    t = ops_rawget(L, v);
    m->top++;
    if (t == LUA_TNIL) {
      if (p->required) return false;
    } else if (!check_here(m, p->check, m->top, t)) {
      return false;
    }
    if (m->top >= top + LEFT_BLOCK) drop(m, top);
  }
  return true;
}

/* As check_every_member, when names are found by their addresses and there are
** no patterns. */
static bool check_closed_members(check_Machine *m, const schema_Object *object,
                                 int v) {
  lua_State *L = m->L;
  int key = m->top + 1;
  int32_t required = object->required;
  size_t n = 0;
  if (!check_reserve(m, 8)) return false;
  lua_pushnil(L);
  m->top = key + 1;
  while (lua_next(L, v)) {
    const schema_Property *p =
        program_find_address(object, lua_topointer(L, key));
    check_walked(m, ++n);
    if (p == NULL) {
      if (!check_odd_member(m, object, key, &required)) return false;
    } else {
      required -= p->required;
      if (!check_here(m, p->check, key + 1, lua_type(L, key + 1))) return false;
      drop(m, key + 1);
    }
    lua_pop(L, 1);
  }
  m->top = key - 1;
  return required == 0;
}

static inline bool check_all_members(check_Machine *m,
                                     const schema_Object *object, int v) {
  return object->entries != NULL ? check_closed_members(m, object, v)
                                 : check_every_member(m, object, v);
}

bool check_object(check_Machine *m, const schema_Object *object, int v) {
  return object->whole ? check_all_members(m, object, v)
                       : check_known_members(m, object, v, NULL);
}

/* Checks an object of which only members matter. */
static HOT bool check_shape(check_Machine *m, const schema_Object *object,
                            int v, const schema_Property *decided) {
  bool ok;
  if (m->depth >= CHECK_MAX_DEPTH) return check_too_deep(m);
  m->depth++;
  ok = object->whole ? check_all_members(m, object, v)
                     : check_known_members(m, object, v, decided);
  m->depth--;
  return ok;
}

bool check_items(check_Machine *m, const schema_Op *op, int v, size_t n) {
  size_t i, tuple = (size_t)op->b;
  int top = m->top;
  if (op->c < 0 && tuple < n) n = tuple;
  m->left -= (int64_t)(n / CHECK_STEP_ITEMS);
  for (i = 0; i < n; i++) {
    int32_t node = i < tuple ? *program_link(m->s, op->a + (int32_t)i) : op->c;
    int t;
    if (!check_reserve(m, 8)) return false;
    t = ops_rawgeti(m->L, v, i + 1);
    m->top++;
    if (!check_here(m, program_target(m->s, node), m->top, t)) return false;
    if (m->top >= top + LEFT_BLOCK) drop(m, top);
  }
  return true;
}

/* Pushes index `i` and its item by continuing the table's traversal from the
** previous item; false when the traversal yields another key.  Pops the values
** above `top`; with `on`, the key to continue from is on the stack. */
static bool walk_to(check_Machine *m, int v, size_t i, int top, bool on) {
  lua_State *L = m->L;
  drop(m, on ? top + 1 : top);
  if (i == 1) lua_pushnil(L);
  else if (!on) lua_pushinteger(L, (lua_Integer)(i - 1));
  m->top = top;
  if (!lua_next(L, v)) return false;
  m->top = top + 2;
  if (value_is_index(L, top + 1, i)) return true;
  drop(m, top);
  return false;
}

/* Does the traversal end after the key at `key`?  Pops it.  Of an empty list
** there is none yet: nil, to begin with. */
static bool walk_ends(check_Machine *m, int v, int key) {
  bool ends;
  drop(m, key);
  ends = !lua_next(m->L, v);
  if (!ends) lua_pop(m->L, 2);
  m->top = key - 1;
  return ends;
}

/* Checks the items of a table, which has `n` and no other keys, against one
** node.  Traversal takes twice the time of indexing, so it is used only for
** the first and the last two items (value_glance_length says what that may
** miss). */
static HOT bool check_each_item(check_Machine *m, const schema_Node *item,
                                int v, size_t n) {
  size_t i, walked = 0, stop = 1;
  int top = m->top;
  for (i = 1; i <= n; i++) {
    int t;
    if (!check_reserve(m, 8)) return false;
    if (i == stop && walk_to(m, v, i, top, walked > 0 && walked == i - 1)) {
      walked = i;
      stop = i + 2 < n ? n - 1 : i + 1;
      t = lua_type(m->L, m->top);
    } else {
      t = ops_rawgeti(m->L, v, i);
      m->top++;
    }
    if (!check_here(m, item, m->top, t)) return false;
    if (m->top >= top + LEFT_BLOCK) drop(m, top + 2);
  }
  return (walked == n && walk_ends(m, v, top + 1)) ||
         (check_reserve(m, 8) && value_array_length(m->L, v) == (ptrdiff_t)n);
}

/* Finds the tag that the value of property `key` equals, or NULL, also without
** a key.  Leaves one value on the stack. */
static const schema_Tag *find_among(check_Machine *m, int32_t key,
                                    int32_t first, int32_t count,
                                    schema_Index index, int v) {
  const char *s;
  size_t len;
  ops_rawgeti(m->L, m->constants, (size_t)key);
  if (ops_rawget(m->L, v) != LUA_TSTRING) return NULL;
  if (index.mask == 0) {
    const schema_Tag *tag = program_tag(m->s, first), *end = tag + count;
    const void *address = lua_topointer(m->L, -1);
    for (; tag < end; tag++) {
      if (tag->address == address) return tag;
    }
    if (ops_rawlen(m->L, -1) <= PROGRAM_INTERNED) return NULL;
  }
  s = lua_tolstring(m->L, -1, &len);
  check_read(m, len);
  return program_find_tag(m->s, first, count, index, s, len);
}

static const schema_Tag *find_tag(check_Machine *m, const schema_Union *u,
                                  int v) {
  return find_among(m, u->key, u->tag, u->tags, u->tag_index, v);
}

int32_t check_tagged_branch(check_Machine *m, const schema_Union *u, int v) {
  const schema_Tag *tag;
  if (lua_type(m->L, v) != LUA_TTABLE) return -1;
  tag = find_tag(m, u, v);
  lua_pop(m->L, 1);
  return tag == NULL ? -1 : tag->branch;
}

int32_t check_const_branch(check_Machine *m, const schema_Union *u, int v) {
  uint16_t type = schema_type_of(m->L, m->core, v, lua_type(m->L, v), TYPE_ANY);
  int32_t found =
      check_find_member(m, u->member, u->count, u->member_index, 0, v, type);
  return found < 0 ? -1 : found - u->member;
}

int32_t check_hinted_branch(check_Machine *m, const schema_Union *u, int v) {
  const schema_Tag *tag;
  if (lua_type(m->L, v) != LUA_TTABLE) return -1;
  tag = find_among(m, u->hint_key, u->hint, u->hints, u->hint_index, v);
  lua_pop(m->L, 1);
  return tag == NULL ? -1 : tag->branch;
}

static bool check_branches(check_Machine *m, const schema_Union *u, bool any_of,
                           int v, int t) {
  const int32_t *branch = program_link(m->s, u->first);
  int32_t i, matches = 0;
  if (u->count >= CHECK_STEP_ITEMS &&
      !check_steps(m, u->count / CHECK_STEP_ITEMS))
    return false;
  for (i = 0; i < u->count; i++) {
    if (!check_inner(m, branch[i], v, t)) continue;
    if (any_of) return true;
    if (++matches > 1) return false;
  }
  return matches == 1;
}

/* As check_union, when all branches are consts. */
static bool check_consts(check_Machine *m, const schema_Union *u, bool any_of,
                         int v, uint16_t type) {
  int32_t found =
      check_find_member(m, u->member, u->count, u->member_index, 0, v, type);
  return found >= 0 &&
         (any_of || check_find_member(m, u->member, u->count, u->member_index,
                                      found - u->member + 1, v, type) < 0);
}

/* Checks the branch of a tag, which takes objects. */
static HOT bool check_tagged(check_Machine *m, const schema_Tag *tag, int v) {
  const schema_Object *shape = tag->check->shape;
  if (shape != NULL) return check_shape(m, shape, v, tag->decided);
  return check_ops(m, tag->check, v, LUA_TTABLE, TYPE_OBJECT);
}

bool check_union(check_Machine *m, const schema_Op *op, int v, int t,
                 uint16_t type) {
  const schema_Union *u = program_union(m->s, op->a);
  const schema_Tag *tag = NULL;
  bool any_of = op->code == CODE_ANY_OF;
  if (u->member != 0) return check_consts(m, u, any_of, v, type);
  if (u->key != 0 && type == TYPE_OBJECT) {
    tag = find_tag(m, u, v);
    m->top++;
  }
  return tag != NULL ? check_tagged(m, tag, v)
                     : check_branches(m, u, any_of, v, t);
}

/* The only branch of a node's union for values of Lua type `t`. */
static const schema_Node *branch_for(const schema_Node *n, int t) {
  static const uint8_t picks[ACT_TYPES] = {
      [LUA_TBOOLEAN] = PICK_BOOLEAN, [LUA_TLIGHTUSERDATA] = PICK_NULL,
      [LUA_TNUMBER] = PICK_NUMBER,   [LUA_TSTRING] = PICK_STRING,
      [LUA_TTABLE] = PICK_TABLE,
  };
  return n->choice->picks[picks[t]];
}

/* The type by the mark of a table; its metatable is on top of the stack and
** stays. */
static COLD uint16_t marked_type(check_Machine *m, const schema_Node *n,
                                 int v) {
  const void *mt = lua_topointer(m->L, ++m->top);
  if (mt == m->core->array_mt) return TYPE_ARRAY;
  if (mt == m->core->object_mt) return TYPE_OBJECT;
  check_forget_room(m);
  return schema_type_of(m->L, m->core, v, LUA_TTABLE, n->types);
}

static uint16_t table_type(check_Machine *m, const schema_Node *n, int v) {
  if (lua_getmetatable(m->L, v)) return marked_type(m, n, v);
  /* Every member will be visited, so numeric keys are found. */
  if (n->whole) return TYPE_OBJECT;
  return schema_type_of_unmarked(m->L, v, n->types);
}

/* table_type() == TYPE_OBJECT for a node that takes objects but not arrays.
** Leaves a value on the stack. */
static HOT bool is_object(check_Machine *m, const schema_Node *n, int v) {
  if (lua_getmetatable(m->L, v)) return marked_type(m, n, v) == TYPE_OBJECT;
  if (n->whole) return true;
  m->top++;
  return ops_rawgeti(m->L, v, 1) == LUA_TNIL;
}

static bool check_members_act(check_Machine *m, const schema_Node *n, int v) {
  return check_reserve(m, 8) && is_object(m, n, v) &&
         check_shape(m, n->shape, v, NULL);
}

static bool check_items_act(check_Machine *m, const schema_Node *n, int v) {
  const schema_Bounds *bounds = n->bounds;
  size_t length;
  bool ok;
  if (!check_reserve(m, 8)) return false;
  if (lua_getmetatable(m->L, v) && marked_type(m, n, v) != TYPE_ARRAY)
    return false;
  length = ops_rawlen(m->L, v);
  if (length < bounds->fewest_items || length > bounds->most_items)
    return false;
  if (m->depth >= CHECK_MAX_DEPTH) return check_too_deep(m);
  m->left -= (int64_t)(length / CHECK_STEP_ITEMS);
  m->depth++;
  ok = check_each_item(m, n->item, v, length);
  m->depth--;
  return ok;
}

static COLD bool check_other_table(check_Machine *m, const schema_Node *n,
                                   int v) {
  uint16_t type;
  if (!check_reserve(m, 8)) return false;
  type = table_type(m, n, v);
  if ((type & n->types) == 0) return false;
  if (n->accepts_all) return check_says_json(m, v);
  if (n->simple)
    return type != TYPE_ARRAY || schema_sequence_length(m->L, v) >= 0;
  if (n->shape != NULL && type == TYPE_OBJECT)
    return check_shape(m, n->shape, v, NULL);
  return check_ops(m, n, v, LUA_TTABLE, type);
}

static bool check_tagged_act(check_Machine *m, const schema_Node *n, int v) {
  const schema_Tag *tag;
  if (!check_reserve(m, 8)) return false;
  if (table_type(m, n, v) != TYPE_OBJECT) return check_other_table(m, n, v);
  tag = find_tag(m, n->choice, v);
  m->top++;
  return tag != NULL ? check_tagged(m, tag, v) : check_other_table(m, n, v);
}

/* Checks values that are not scalars or need their node's instructions. */
static COLD bool check_table(check_Machine *m, const schema_Node *n, int v,
                             int t) {
  if (n->acts[t] == ACT_BRANCH) n = branch_for(n, t);
  switch ((schema_Act)n->acts[t]) {
  case ACT_MEMBERS: return check_members_act(m, n, v);
  case ACT_ITEMS: return check_items_act(m, n, v);
  case ACT_TAGGED: return check_tagged_act(m, n, v);
  case ACT_REST:
    return t == LUA_TTABLE ? check_other_table(m, n, v)
                           : check_rest(m, n, v, t);
  default: return check_scalar(m, n, v, t);
  }
}

bool check_quick(check_Machine *m, const schema_Node *n, int v, int t) {
  lua_Number d;
  if (n->acts[t] == ACT_BRANCH) n = branch_for(n, t);
  switch ((schema_Act)n->acts[t]) {
  case ACT_ACCEPT: return true;
  case ACT_NULL: return lua_touserdata(m->L, v) == NULL;
  case ACT_LENGTH: return check_length(m, n, v);
  case ACT_TEXT: return check_text(m, n, v);
  case ACT_PATTERN: return check_pattern(m, n, v);
  case ACT_TAG: return check_tag(m, n, v);
  case ACT_INTEGER:
  case ACT_NUMBER: d = lua_tonumber(m->L, v); return check_small(n, d);
  default: return false;
  }
}

/* Restarts after other code may have pushed and popped values. */
static int enter(check_Machine *m) {
  int top = m->top;
  m->top = lua_gettop(m->L);
  m->room = 0;
  return top;
}

bool check_node(check_Machine *m, int32_t node, int v, int t) {
  int top = enter(m);
  bool ok = check_inner(m, node, v, t);
  m->top = top;
  return ok;
}

bool check_op(check_Machine *m, int32_t node, const schema_Op *op, int v,
              uint16_t type) {
  int top = enter(m);
  int height = m->top;
  bool ok = check_reserve(m, 8) &&
            check_one_op(m, program_node(m->s, node), op, v, type);
  drop(m, height);
  m->top = top;
  return ok;
}

bool check_value(check_Machine *m, int32_t node, int v) {
  return check_node(m, node, v, lua_type(m->L, v)) && !m->too_deep;
}

bool check_root(check_Machine *m, int v, int t) {
  m->value = v;
  return check_here(m, program_target(m->s, m->s->root), v, t) && !m->too_deep;
}
