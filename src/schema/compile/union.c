/*
** union.c - what is known of a program once all its nodes are there:
** discriminators of unions, defaults (schema/compile/compile.h).
*/
#include "schema/compile/compile.h"

int32_t compile_target(const schema_Schema *s, int32_t node) {
  int hops;
  for (hops = 0; hops < 32; hops++) {
    const schema_Node *n = program_node(s, node);
    const schema_Op *op = program_op(s, n->strings);
    if (n->end != n->strings + 1 || op->code != CODE_CALL ||
        n->types != TYPE_ANY)
      break;
    node = op->a;
  }
  return node;
}

/* The instruction that lists the only strings which `node` accepts, or NULL. */
static const schema_Op *string_tags(const schema_Schema *s, int32_t node) {
  const schema_Node *n = program_node(s, compile_target(s, node));
  int32_t i, j;
  for (i = n->every; i < n->end; i++) {
    const schema_Op *op = program_op(s, i);
    if (op->code != CODE_ENUM && op->code != CODE_CONST) continue;
    for (j = 0; j < op->b; j++) {
      if (program_member(s, op->a + j)->text == NULL) return NULL;
    }
    return op->b > 0 ? op : NULL;
  }
  return NULL;
}

static const schema_Property *
required_property(const schema_Schema *s, const schema_Node *n, int32_t key) {
  const schema_Object *object;
  int32_t i;
  if (n->object < 0) return NULL;
  object = program_object(s, n->object);
  for (i = 0; i < object->required; i++) {
    const schema_Property *p = program_property(s, object->first + i);
    if (p->key == key) return p;
  }
  return NULL;
}

static bool has_tag(const schema_Schema *s, const schema_Union *u,
                    const schema_Member *m) {
  int32_t i;
  for (i = u->tag; i < (int32_t)s->tags.count; i++) {
    const schema_Tag *tag = program_tag(s, i);
    if (tag->len == m->len && memcmp(tag->text, m->text, m->len) == 0)
      return true;
  }
  return false;
}

/* Adds the strings by which branch `i` is known; false when it has none, or
** another branch has one of them. */
static bool add_tags(lua_State *L, schema_Schema *s, const schema_Union *u,
                     int32_t i, int32_t key) {
  const schema_Node *n =
      program_node(s, compile_target(s, *program_link(s, u->first + i)));
  const schema_Property *p;
  const schema_Op *op;
  int32_t j;
  if ((n->types & TYPE_OBJECT) == 0) return true;
  if (n->types != TYPE_OBJECT) return false;
  p = required_property(s, n, key);
  op = p == NULL ? NULL : string_tags(s, p->node);
  if (op == NULL) return false;
  for (j = 0; j < op->b; j++) {
    const schema_Member *m = program_member(s, op->a + j);
    schema_Tag *tag;
    if (has_tag(s, u, m)) return false;
    tag = program_tag(
        s, schema_vector_add(L, &s->alloc, &s->tags, sizeof(schema_Tag), 1));
    tag->text = m->text;
    tag->len = m->len;
    tag->address = m->address;
    tag->branch = i;
  }
  return true;
}

static bool try_key(lua_State *L, schema_Schema *s, schema_Union *u,
                    int32_t key) {
  int32_t i;
  u->tag = (int32_t)s->tags.count;
  for (i = 0; i < u->count; i++) {
    if (!add_tags(L, s, u, i, key)) {
      s->tags.count = (size_t)u->tag;
      return false;
    }
  }
  u->tags = (int32_t)s->tags.count - u->tag;
  return true;
}

static void find_key(lua_State *L, schema_Schema *s, schema_Union *u) {
  const schema_Object *object = NULL;
  int32_t i;
  for (i = 0; i < u->count && object == NULL; i++) {
    const schema_Node *n =
        program_node(s, compile_target(s, *program_link(s, u->first + i)));
    if ((n->types & TYPE_OBJECT) == 0) continue;
    if (n->object < 0) return;
    object = program_object(s, n->object);
  }
  for (i = 0; object != NULL && i < object->required; i++) {
    int32_t key = program_property(s, object->first + i)->key;
    if (try_key(L, s, u, key)) {
      u->key = key;
      return;
    }
  }
}

/* The only value that `node` accepts, where it says no more than that: the
** index of the member; or -1. */
static int32_t only_member(const schema_Schema *s, int32_t node) {
  const schema_Node *n = program_node(s, compile_target(s, node));
  const schema_Op *op = program_op(s, n->strings);
  bool only = n->end == n->strings + 1 && n->every == n->strings &&
              (op->code == CODE_CONST || op->code == CODE_ENUM) && op->b == 1;
  return only && (program_member(s, op->a)->type & ~n->types) == 0 ? op->a : -1;
}

/* Unions of consts are lists of members. */
static void find_members(lua_State *L, schema_Schema *s, schema_Union *u) {
  int32_t i, first;
  for (i = 0; i < u->count; i++) {
    if (only_member(s, *program_link(s, u->first + i)) < 0) return;
  }
  first = schema_vector_add(L, &s->alloc, &s->members, sizeof(schema_Member),
                            (size_t)u->count);
  for (i = 0; i < u->count; i++)
    *program_member(s, first + i) =
        *program_member(s, only_member(s, *program_link(s, u->first + i)));
  u->member = first;
}

void compile_unions(lua_State *L, schema_Schema *s) {
  int32_t i;
  for (i = 0; i < (int32_t)s->unions.count; i++) {
    find_key(L, s, program_union(s, i));
    find_members(L, s, program_union(s, i));
  }
}

/* The default of a node, its own or by `$ref` and `allOf`; 0 when none. */
static int32_t default_of(const schema_Schema *s, int32_t node, int depth) {
  const schema_Node *n = program_node(s, node);
  int32_t i;
  if (n->default_value != 0 || depth > 32) return n->default_value;
  for (i = n->every; i < n->end; i++) {
    const schema_Op *op = program_op(s, i);
    int32_t found;
    if (op->code != CODE_CALL) continue;
    found = default_of(s, op->a, depth + 1);
    if (found != 0) return found;
  }
  return 0;
}

/* The constant of a const, or of an enum with one member. */
static int32_t fixed_value(const schema_Schema *s, int32_t node) {
  const schema_Node *n = program_node(s, compile_target(s, node));
  int32_t i;
  for (i = n->every; i < n->end; i++) {
    const schema_Op *op = program_op(s, i);
    if ((op->code == CODE_CONST || op->code == CODE_ENUM) && op->b == 1)
      return program_member(s, op->a)->value;
  }
  return 0;
}

static bool object_fills(const schema_Schema *s, const schema_Object *object) {
  int32_t i;
  for (i = 0; i < object->count; i++) {
    const schema_Property *p = program_property(s, object->first + i);
    if (p->default_value != 0 || program_node(s, p->node)->fills) return true;
  }
  for (i = 0; i < object->patterns; i++) {
    if (program_node(s, program_pattern(s, object->pattern + i)->node)->fills)
      return true;
  }
  return object->additional >= 0 && program_node(s, object->additional)->fills;
}

static bool op_fills(const schema_Schema *s, const schema_Op *op) {
  int32_t i;
  switch (op->code) {
  case CODE_CALL:
  case CODE_DYNAMIC: return program_node(s, op->a)->fills;
  case CODE_MEMBERS: return object_fills(s, program_object(s, op->a));
  case CODE_ITEMS:
    for (i = 0; i < op->b; i++) {
      if (program_node(s, *program_link(s, op->a + i))->fills) return true;
    }
    return op->c >= 0 && program_node(s, op->c)->fills;
  default: return false;
  }
}

static bool update_fills(schema_Schema *s, schema_Node *n) {
  int32_t i;
  if (n->fills) return false;
  for (i = n->strings; i < n->end; i++) {
    if (op_fills(s, program_op(s, i))) {
      n->fills = 1;
      return true;
    }
  }
  return false;
}

void compile_defaults(schema_Schema *s) {
  bool changed = true;
  int32_t i;
  for (i = 0; i < (int32_t)s->properties.count; i++) {
    schema_Property *p = program_property(s, i);
    p->default_value = default_of(s, p->node, 0);
    p->fixed = fixed_value(s, p->node);
  }
  while (changed) {
    changed = false;
    for (i = (int32_t)s->nodes.count - 1; i >= 0; i--)
      changed = update_fills(s, program_node(s, i)) || changed;
  }
}
