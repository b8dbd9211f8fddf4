/*
** dispatch.c - decides each node's act for values of each Lua type
** (schema/compile/compile.h), so that most values need no instruction.
*/
#include "schema/compile/compile.h"

#include <math.h>

static const uint16_t pick_types[UNION_PICKS] = {
    TYPE_NULL, TYPE_BOOLEAN, TYPE_NUMBER, TYPE_STRING, TYPE_ARRAY | TYPE_OBJECT,
};

static const schema_Bounds no_bounds = {
    -INFINITY, INFINITY, 0, SIZE_MAX, 0, SIZE_MAX,
};

#define LARGEST (double)(OPS_MAX_SAFE_INTEGER - 1)

static void raise_low(schema_Bounds *bounds, double d) {
  bounds->low = fmax(bounds->low, d);
}

static void lower_high(schema_Bounds *bounds, double d) {
  bounds->high = fmin(bounds->high, d);
}

/* int64 only requires a whole number, float nothing. */
static bool limit_format(schema_Bounds *bounds, int32_t format,
                         uint16_t types) {
  if (format == NUMBER_FORMAT_FLOAT) return true;
  if (format == NUMBER_FORMAT_INT32) {
    raise_low(bounds, INT32_MIN);
    lower_high(bounds, INT32_MAX);
  }
  return (types & TYPE_FRACTION) == 0;
}

/* Narrows the bounds by an instruction for numbers; false where bounds cannot
** express it.  The acts leave numbers beyond 2^53 to the instructions, so a
** bound that is rounded to a double decides the others correctly. */
static bool limit_number(schema_Bounds *bounds, const schema_Op *op,
                         uint16_t types) {
  double d = program_bound(op);
  switch ((schema_Code)op->code) {
  case CODE_MINIMUM: raise_low(bounds, d); return true;
  case CODE_MAXIMUM: lower_high(bounds, d); return true;
  case CODE_ABOVE: raise_low(bounds, nextafter(d, INFINITY)); return true;
  case CODE_BELOW: lower_high(bounds, nextafter(d, -INFINITY)); return true;
  case CODE_NUMBER_FORMAT: return limit_format(bounds, op->a, types);
  case CODE_MULTIPLE_OF:
  CASES_BUT_NUMBER:
    break;
  }
  return false;
}

/* Are the node's instructions for numbers only bounds? */
static bool limit_numbers(const schema_Schema *s, const schema_Node *n,
                          schema_Bounds *bounds) {
  int32_t i;
  for (i = n->numbers; i < n->arrays; i++) {
    if (!limit_number(bounds, program_op(s, i), n->types)) return false;
  }
  return n->every == n->end;
}

/* As limit_numbers, for arrays; their items are checked separately. */
static bool limit_items(const schema_Schema *s, const schema_Node *n,
                        schema_Bounds *bounds) {
  bool items = false;
  int32_t i;
  for (i = n->arrays; i < n->objects; i++) {
    const schema_Op *op = program_op(s, i);
    switch ((schema_Code)op->code) {
    case CODE_MIN_ITEMS: bounds->fewest_items = op->u.n; break;
    case CODE_MAX_ITEMS: bounds->most_items = op->u.n; break;
    case CODE_ITEMS: items = op->b == 0; break;
    case CODE_CONTAINS:
    case CODE_UNIQUE_ITEMS:
    CASES_BUT_ARRAY:
      return false;
    }
  }
  return items && n->every == n->end && !s->has_dynamic;
}

static void limit_text(const schema_Schema *s, schema_Node *n,
                       schema_Bounds *bounds) {
  for (n->texts = n->strings; n->texts < n->numbers; n->texts++) {
    const schema_Op *op = program_op(s, n->texts);
    if (op->code == CODE_MIN_LENGTH) bounds->shortest = op->u.n;
    else if (op->code == CODE_MAX_LENGTH) bounds->longest = op->u.n;
    else break;
  }
}

static bool is_bounded(const schema_Bounds *b) {
  const schema_Bounds *none = &no_bounds;
  return b->low != none->low || b->high != none->high ||
         b->shortest != none->shortest || b->longest != none->longest ||
         b->fewest_items != none->fewest_items ||
         b->most_items != none->most_items;
}

static void add_bounds(lua_State *L, schema_Schema *s,
                       const schema_Bounds *bounds) {
  schema_Bounds *to = program_bounds(
      s, schema_vector_add(L, &s->alloc, &s->bounds, sizeof(*bounds), 1));
  *to = *bounds;
  to->low = fmax(to->low, -LARGEST);
  to->high = fmin(to->high, LARGEST);
}

/* Links bounds in the order of their addition; the first are for nodes
** without. */
static void link_bounds(schema_Schema *s) {
  int32_t i, at = 0;
  for (i = 0; i < (int32_t)s->nodes.count; i++) {
    schema_Node *n = program_node(s, i);
    n->bounds = program_bounds(s, n->bounded ? ++at : 0);
  }
}

static bool only_members(const schema_Schema *s, const schema_Node *n) {
  int32_t i;
  for (i = n->every; i < n->end; i++) {
    uint8_t code = program_op(s, i)->code;
    if (code != CODE_ENUM && code != CODE_CONST) return false;
  }
  return true;
}

/* Has the node only one list of few members, whose strings are interned? */
static bool has_tags(const schema_Schema *s, const schema_Node *n) {
  const schema_Op *op = program_op(s, n->every);
  int32_t i;
  if (n->numbers != n->strings || n->end != n->every + 1 ||
      op->u.index.mask != 0)
    return false;
  for (i = 0; i < op->b; i++) {
    if (program_member(s, op->a + i)->len > PROGRAM_INTERNED) return false;
  }
  return true;
}

static bool is_pattern(const schema_Schema *s, const schema_Node *n) {
  return n->numbers == n->strings + 1 && n->every == n->end &&
         program_op(s, n->strings)->code == CODE_PATTERN;
}

static schema_Act text_act(const schema_Schema *s, schema_Node *n) {
  if ((n->types & TYPE_STRING) == 0) return ACT_REFUSE;
  if (n->strings == n->numbers && n->every == n->end) return ACT_ACCEPT;
  if (!only_members(s, n)) return ACT_REST;
  if (n->texts == n->numbers && n->every == n->end) return ACT_LENGTH;
  if (is_pattern(s, n)) {
    n->pattern = *program_regex(s, program_op(s, n->strings)->a);
    return ACT_PATTERN;
  }
  if (!has_tags(s, n)) return ACT_TEXT;
  n->tags = program_member(s, program_op(s, n->every)->a);
  n->tag_count = program_op(s, n->every)->b;
  return ACT_TAG;
}

static schema_Act number_act(const schema_Node *n, bool bounded) {
  uint16_t types = n->types & TYPE_NUMBER;
  if (types == 0) return ACT_REFUSE;
  if (!bounded) return ACT_REST;
  return types == TYPE_NUMBER ? ACT_NUMBER : ACT_INTEGER;
}

static schema_Act table_act(const schema_Schema *s, schema_Node *n,
                            bool items) {
  uint16_t types = n->types & (TYPE_ARRAY | TYPE_OBJECT);
  if (types == 0) return ACT_REFUSE;
  if (types == TYPE_OBJECT && n->shape != NULL) return ACT_MEMBERS;
  if (types != TYPE_ARRAY || !items) return ACT_REST;
  n->item = program_target(s, program_op(s, n->items)->c);
  return ACT_ITEMS;
}

/* The act for types without instructions of their own. */
static schema_Act bare_act(const schema_Node *n, uint16_t type,
                           schema_Act act) {
  if ((n->types & type) == 0) return ACT_REFUSE;
  return n->every == n->end ? act : ACT_REST;
}

static void set_acts(lua_State *L, schema_Schema *s, schema_Node *n) {
  schema_Bounds bounds = no_bounds;
  limit_text(s, n, &bounds);
  n->acts[LUA_TNUMBER] = (uint8_t)number_act(n, limit_numbers(s, n, &bounds));
  n->acts[LUA_TTABLE] = (uint8_t)table_act(s, n, limit_items(s, n, &bounds));
  n->acts[LUA_TSTRING] = (uint8_t)text_act(s, n);
  n->acts[LUA_TBOOLEAN] = (uint8_t)bare_act(n, TYPE_BOOLEAN, ACT_ACCEPT);
  n->acts[LUA_TLIGHTUSERDATA] = (uint8_t)bare_act(n, TYPE_NULL, ACT_NULL);
  if (n->types & TYPE_NULL) n->acts[LUA_TUSERDATA] = ACT_REST;
  if (n->types & TYPE_INTEGER) n->acts[INTEGER_WIDE_TYPE] = ACT_REST;
  n->bounded = is_bounded(&bounds);
  if (n->bounded) add_bounds(L, s, &bounds);
}

/* The union of a node that consists of nothing else, or NULL. */
static schema_Union *only_union(const schema_Schema *s, const schema_Node *n) {
  const schema_Op *op = program_op(s, n->every);
  if (n->end != n->strings + 1 || n->end != n->every + 1) return NULL;
  if (op->code != CODE_ANY_OF && op->code != CODE_ONE_OF) return NULL;
  return s->has_dynamic ? NULL : program_union(s, op->a);
}

static bool has_only_members(const schema_Schema *s, const schema_Node *n) {
  return n->object >= 0 && n->end == n->objects + 1 && !s->has_dynamic;
}

static void link_object(const schema_Schema *s, schema_Object *object) {
  int32_t i;
  object->properties = program_property(s, object->first);
  for (i = object->first; i < object->first + object->count; i++) {
    schema_Property *p = program_property(s, i);
    p->check = program_target(s, p->node);
  }
}

static bool has_entries(const schema_Schema *s, const schema_Object *object) {
  return s->by_address && object->whole && object->patterns == 0;
}

/* Links the declared names only: no string has the address of the others. */
static void link_entries(const schema_Schema *s, schema_Object *object,
                         schema_Entry *entries) {
  const int32_t *slots = program_slot(s, object->slots);
  uint32_t i;
  object->entries = entries;
  for (i = 0; i <= object->mask; i++) {
    const schema_Property *p;
    if (slots[i] == 0) continue;
    p = object->properties + slots[i] - 1;
    entries[i].address = p->declared ? program_address_of(s, p->name) : p;
    entries[i].property = p;
  }
}

static void add_entries(lua_State *L, schema_Schema *s) {
  size_t count = 0;
  int32_t i;
  for (i = 0; i < (int32_t)s->objects.count; i++) {
    const schema_Object *object = program_object(s, i);
    if (has_entries(s, object)) count += (size_t)object->mask + 1;
  }
  schema_vector_add(L, &s->alloc, &s->entries, sizeof(schema_Entry), count);
  count = 0;
  for (i = 0; i < (int32_t)s->objects.count; i++) {
    schema_Object *object = program_object(s, i);
    if (!has_entries(s, object)) continue;
    link_entries(s, object, program_entry(s, (int32_t)count));
    count += (size_t)object->mask + 1;
  }
}

static void link_node(const schema_Schema *s, int32_t node) {
  schema_Node *n = program_node(s, node);
  n->self = node;
  n->target = compile_target(s, node);
  n->forwards = !s->has_dynamic;
  n->whole = (n->types & TYPE_ARRAY) == 0 && n->object >= 0 &&
             program_object(s, n->object)->whole;
  if (has_only_members(s, n)) n->shape = program_object(s, n->object);
  n->choice = only_union(s, n);
}

/* Sets the only branch that takes values of the types, NULL if there is none;
** false when there are several. */
static bool pick(const schema_Schema *s, const schema_Union *u, uint16_t types,
                 const schema_Node **only) {
  int32_t i;
  *only = NULL;
  for (i = 0; i < u->count; i++) {
    const schema_Node *n = program_target(s, *program_link(s, u->first + i));
    if ((n->types & types) == 0) continue;
    if (*only != NULL) return false;
    *only = n;
  }
  return true;
}

/* Where a single branch of a union takes a type of values, that branch decides.
** It is not itself a union, so that no cycle arises. */
static void choose(const schema_Schema *s, schema_Node *n, int t, int kind) {
  schema_Union *u = only_union(s, n);
  uint16_t types = pick_types[kind];
  const schema_Node *branch;
  if ((n->types & types) != types || n->acts[t] != ACT_REST) return;
  if (!pick(s, u, types, &branch)) return;
  if (branch == NULL) n->acts[t] = ACT_REFUSE;
  if (branch == NULL || branch->choice != NULL) return;
  u->picks[kind] = branch;
  n->acts[t] = ACT_BRANCH;
}

static void set_choice_acts(const schema_Schema *s, schema_Node *n) {
  choose(s, n, LUA_TLIGHTUSERDATA, PICK_NULL);
  choose(s, n, LUA_TBOOLEAN, PICK_BOOLEAN);
  choose(s, n, LUA_TNUMBER, PICK_NUMBER);
  choose(s, n, LUA_TSTRING, PICK_STRING);
  choose(s, n, LUA_TTABLE, PICK_TABLE);
  if (n->acts[LUA_TTABLE] == ACT_REST && (n->types & TYPE_OBJECT) &&
      n->choice->key != 0)
    n->acts[LUA_TTABLE] = ACT_TAGGED;
}

/* The property of the tag, which need not be checked again if its schema only
** lists the strings. */
static const schema_Property *find_decided(const schema_Union *u,
                                           const schema_Node *n) {
  const schema_Property *p;
  if (n->shape == NULL) return NULL;
  p = n->shape->properties;
  while (p->key != u->key) p++; /* each branch with tags requires it */
  return p->check->acts[LUA_TSTRING] == ACT_TAG ? p : NULL;
}

static void link_tags(const schema_Schema *s, const schema_Union *u) {
  int32_t i;
  for (i = u->tag; i < u->tag + u->tags; i++) {
    schema_Tag *tag = program_tag(s, i);
    tag->check = program_target(s, *program_link(s, u->first + tag->branch));
    tag->decided = find_decided(u, tag->check);
  }
}

/* Does no check need the table of constants?  Then no check has to fetch it
** from the uservalue.  Checks read it for the names of objects whose members
** are not all visited, for the key that tells a union's branches apart, for
** members of enums that are not strings, and in instructions that say so. */
static bool is_keyless(const schema_Schema *s) {
  int32_t i;
  for (i = 0; i < (int32_t)s->objects.count; i++) {
    if (!program_object(s, i)->whole) return false;
  }
  for (i = 0; i < (int32_t)s->unions.count; i++) {
    if (program_union(s, i)->key != 0) return false;
  }
  for (i = 0; i < (int32_t)s->members.count; i++) {
    if (program_member(s, i)->text == NULL) return false;
  }
  for (i = 0; i < (int32_t)s->ops.count; i++) {
    if (schema_codes[program_op(s, i)->code].reads_constants) return false;
  }
  return true;
}

void compile_acts(lua_State *L, schema_Schema *s) {
  int32_t i, nodes = (int32_t)s->nodes.count;
  add_bounds(L, s, &no_bounds);
  for (i = 0; i < nodes; i++) link_node(s, i);
  for (i = 0; i < (int32_t)s->objects.count; i++)
    link_object(s, program_object(s, i));
  add_entries(L, s);
  for (i = 0; i < nodes; i++) set_acts(L, s, program_node(s, i));
  schema_vector_trim(&s->alloc, &s->bounds, sizeof(schema_Bounds));
  link_bounds(s);
  for (i = 0; i < nodes; i++) {
    if (program_node(s, i)->choice != NULL)
      set_choice_acts(s, program_node(s, i));
  }
  for (i = 0; i < (int32_t)s->unions.count; i++)
    link_tags(s, program_union(s, i));
  s->keyless = is_keyless(s);
}
