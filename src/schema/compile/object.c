/*
** object.c - compiles the keywords of objects (schema/compile/emit.h).
*/
#include "schema/check/equal.h"
#include "schema/compile/emit.h"

#define FEW_NAMES 12 /* so few get a hash without collisions */
#define MANY_FACTORS 64

static bool is_required(const compile_State *c, int32_t key) {
  return c->required[key] / 2 == c->node + 1;
}

/* Is the distance from a string's address to its bytes the same for all
** strings?  It is where a string is one block of memory, but Lua does not
** promise it. */
static void check_address(compile_State *c, const char *name, int32_t key) {
  schema_Schema *s = c->s;
  uintptr_t offset;
  ops_rawgeti(c->L, c->t->constants, (size_t)key);
  offset = (uintptr_t)name - (uintptr_t)lua_topointer(c->L, -1);
  lua_pop(c->L, 1);
  if (s->properties.count == 1) {
    s->name_offset = (ptrdiff_t)offset;
    s->by_address = true;
  } else if (s->name_offset != (ptrdiff_t)offset) {
    s->by_address = false;
  }
}

static void add_property(compile_State *c, int32_t key, int32_t node,
                         bool required, bool declared) {
  schema_Schema *s = c->s;
  schema_Property *p =
      program_property(s, schema_vector_add(c->L, &s->alloc, &s->properties,
                                            sizeof(schema_Property), 1));
  p->name = tree_text(c->L, c->t, key, &p->len);
  check_address(c, p->name, key);
  p->key = key;
  p->node = node;
  p->required = required;
  p->declared = declared;
}

static void add_declared(compile_State *c, bool required) {
  const tree_Keyword *k = c->k[KEYWORD_PROPERTIES];
  int32_t i;
  for (i = 0; k != NULL && i < k->count; i++) {
    const tree_Child *child = tree_child(c->t, k->first + i);
    if (is_required(c, child->key) != required) continue;
    add_property(c, child->key, child->node, required, true);
    c->required[child->key] |= 1;
  }
}

/* Adds names that only `required` lists. */
static void add_undeclared(compile_State *c) {
  const tree_Keyword *k = c->k[KEYWORD_REQUIRED];
  int32_t i;
  for (i = 0; k != NULL && i < k->count; i++) {
    int32_t key = tree_child(c->t, k->first + i)->key;
    if (c->required[key] & 1) continue;
    add_property(c, key, c->true_node, true, false);
    c->required[key] |= 1;
  }
}

static void note_required(compile_State *c) {
  const tree_Keyword *k = c->k[KEYWORD_REQUIRED];
  int32_t i;
  for (i = 0; k != NULL && i < k->count; i++)
    c->required[tree_child(c->t, k->first + i)->key] = 2 * (c->node + 1);
}

/* Names that are not interned are looked up by their text. */
static void add_texts(compile_State *c, schema_Object *object) {
  size_t size = (size_t)object->count * sizeof(uint64_t);
  uint64_t *hashes = (uint64_t *)lua_newuserdata(c->L, size);
  int32_t i;
  for (i = 0; i < object->count; i++) {
    const schema_Property *p = program_property(c->s, object->first + i);
    hashes[i] = schema_hash_text(c->s->core, p->name, p->len);
  }
  program_index(c->L, c->s, &object->texts, hashes, sizeof(uint64_t),
                object->count);
  lua_pop(c->L, 1);
}

/* Puts the names into the slots; returns the number of collisions. */
static int32_t fill_slots(const schema_Schema *s, const schema_Object *object) {
  int32_t *slots = program_slot(s, object->slots);
  int32_t i, taken = 0;
  memset(slots, 0, ((size_t)object->mask + 1) * sizeof(*slots));
  for (i = 0; i < object->count; i++) {
    const schema_Property *p = program_property(s, object->first + i);
    uint32_t at = program_slot_of(object, program_address_of(s, p->name));
    taken += slots[at] != 0;
    while (slots[at] != 0) at = (at + 1) & object->mask;
    slots[at] = i + 1;
  }
  return taken;
}

/* Addresses differ from run to run, so a factor is searched for. */
static void add_slots(compile_State *c, schema_Object *object) {
  schema_Schema *s = c->s;
  uint32_t size = 4;
  int32_t i;
  while (size < (uint32_t)object->count * 2) size *= 2;
  if (object->count <= FEW_NAMES) size *= 2;
  object->slots =
      schema_vector_add(c->L, &s->alloc, &s->slots, sizeof(int32_t), size);
  object->mask = size - 1;
  object->factor = UINT64_C(0x9E3779B97F4A7C15);
  for (i = 0; fill_slots(s, object) > 0 && i < MANY_FACTORS &&
              object->count <= FEW_NAMES;
       i++)
    object->factor = object->factor * UINT64_C(6364136223846793005) + 2;
  for (i = 0; i < object->count; i++) {
    if (program_property(s, object->first + i)->len > PROGRAM_INTERNED)
      object->long_names = 1;
  }
  if (object->long_names) add_texts(c, object);
}

static void add_patterns(compile_State *c, schema_Object *object) {
  const tree_Keyword *k = c->k[KEYWORD_PATTERN_PROPERTIES];
  schema_Schema *s = c->s;
  int32_t i;
  if (k == NULL) return;
  object->pattern = schema_vector_add(c->L, &s->alloc, &s->patterns,
                                      sizeof(schema_Pattern), (size_t)k->count);
  object->patterns = k->count;
  for (i = 0; i < k->count; i++) {
    const tree_Child *child = tree_child(c->t, k->first + i);
    int32_t regex = compile_regex(c, child->key, KEYWORD_PATTERN_PROPERTIES);
    schema_Pattern *pattern = program_pattern(s, object->pattern + i);
    pattern->regex = regex;
    pattern->node = child->node;
    pattern->source = child->key;
  }
}

static bool is_true(const compile_State *c, int32_t node) {
  const tree_Node *n = tree_node(c->t, node);
  return !n->is_false && n->first < 0;
}

static bool has_children(const compile_State *c, schema_KeywordId id) {
  return c->k[id] != NULL && c->k[id]->count > 0;
}

static void emit_members(compile_State *c) {
  schema_Schema *s = c->s;
  int32_t i, additional = compile_only_child(c, KEYWORD_ADDITIONAL_PROPERTIES);
  schema_Object object = {
      .first = (int32_t)s->properties.count,
      .additional = additional,
      .open = c->k[KEYWORD_PROPERTIES] == NULL &&
              c->k[KEYWORD_PATTERN_PROPERTIES] == NULL,
  };
  if (!has_children(c, KEYWORD_PROPERTIES) && c->k[KEYWORD_REQUIRED] == NULL &&
      !has_children(c, KEYWORD_PATTERN_PROPERTIES) && additional < 0)
    return;
  note_required(c);
  add_declared(c, true);
  add_undeclared(c);
  object.required = (int32_t)s->properties.count - object.first;
  add_declared(c, false);
  object.count = (int32_t)s->properties.count - object.first;
  add_slots(c, &object);
  add_patterns(c, &object);
  object.whole =
      object.patterns > 0 || (additional >= 0 && !is_true(c, additional));
  i = schema_vector_add(c->L, &s->alloc, &s->objects, sizeof(object), 1);
  *program_object(s, i) = object;
  program_node(s, c->node)->object = i;
  compile_op(c, CODE_MEMBERS, KEYWORD_PROPERTIES)->a = i;
}

static void emit_dependent_names(compile_State *c, schema_KeywordId id,
                                 const tree_Child *child) {
  schema_Schema *s = c->s;
  int32_t first = schema_vector_add(c->L, &s->alloc, &s->links, sizeof(int32_t),
                                    (size_t)child->count);
  schema_Op *op = compile_op(c, CODE_DEPENDENT_REQUIRED, id);
  int32_t i;
  op->a = first;
  op->b = child->count;
  op->c = child->key;
  for (i = 0; i < child->count; i++)
    *program_link(s, first + i) = tree_child(c->t, child->first + i)->key;
}

static void emit_dependencies(compile_State *c, schema_KeywordId id) {
  const tree_Keyword *k = c->k[id];
  int32_t i;
  for (i = 0; k != NULL && i < k->count; i++) {
    const tree_Child *child = tree_child(c->t, k->first + i);
    if (child->node < 0) {
      emit_dependent_names(c, id, child);
    } else {
      schema_Op *op = compile_op(c, CODE_DEPENDENT_SCHEMA, id);
      op->a = child->node;
      op->c = child->key;
    }
  }
}

void compile_object(compile_State *c) {
  compile_count(c, KEYWORD_MIN_PROPERTIES, CODE_MIN_PROPERTIES);
  compile_count(c, KEYWORD_MAX_PROPERTIES, CODE_MAX_PROPERTIES);
  emit_members(c);
  if (c->k[KEYWORD_PROPERTY_NAMES] != NULL)
    compile_op(c, CODE_PROPERTY_NAMES, KEYWORD_PROPERTY_NAMES)->a =
        compile_only_child(c, KEYWORD_PROPERTY_NAMES);
  emit_dependencies(c, KEYWORD_DEPENDENT_REQUIRED);
  emit_dependencies(c, KEYWORD_DEPENDENT_SCHEMAS);
  emit_dependencies(c, KEYWORD_DEPENDENCIES);
}
