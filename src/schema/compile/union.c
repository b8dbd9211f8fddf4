/*
** union.c - determines which branch of an anyOf or oneOf a value belongs to,
** once all nodes of a program exist (schema/compile/compile.h).
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

/* The instruction that lists the only strings accepted by `node`, or NULL. */
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

/* The required property with the name of `like`. */
static const schema_Property *required_property(const schema_Schema *s,
                                                const schema_Node *n,
                                                const schema_Property *like) {
  const schema_Property *p;
  if (n->object < 0) return NULL;
  p = program_find(s, program_object(s, n->object), like->name, like->len);
  return p != NULL && p->required ? p : NULL;
}

/* Adds the strings that identify branch `i`; false when there are none. */
static bool add_tags(lua_State *L, schema_Schema *s, const schema_Union *u,
                     int32_t i, const schema_Property *key) {
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
    schema_Tag *tag = program_tag(
        s, schema_vector_add(L, &s->alloc, &s->tags, sizeof(schema_Tag), 1));
    tag->text = m->text;
    tag->len = m->len;
    tag->hash = m->hash;
    tag->address = m->address;
    tag->branch = i;
  }
  return true;
}

/* Does each tag identify one branch? */
static bool are_different(const schema_Schema *s, const schema_Union *u) {
  int32_t i;
  for (i = u->tag; i < u->tag + u->tags; i++) {
    const schema_Tag *tag = program_tag(s, i);
    if (program_find_tag(s, u->tag, u->tags, u->tag_index, tag->text,
                         tag->len) != tag)
      return false;
  }
  return true;
}

static bool try_key(lua_State *L, schema_Schema *s, schema_Union *u,
                    const schema_Property *key) {
  size_t slots = s->slots.count;
  bool found = true;
  int32_t i;
  u->tag = (int32_t)s->tags.count;
  for (i = 0; found && i < u->count; i++) found = add_tags(L, s, u, i, key);
  u->tags = (int32_t)s->tags.count - u->tag;
  if (found) {
    program_index_tags(L, s, &u->tag_index, u->tag, u->tags);
    if (are_different(s, u)) return true;
  }
  s->tags.count = (size_t)u->tag;
  s->slots.count = slots;
  u->tags = 0;
  return false;
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
    const schema_Property *key = program_property(s, object->first + i);
    if (try_key(L, s, u, key)) {
      u->key = key->key;
      return;
    }
  }
}

/* The only value that `node` accepts, if it contains nothing else: the index of
** the member; or -1. */
static int32_t only_member(const schema_Schema *s, int32_t node) {
  const schema_Node *n = program_node(s, compile_target(s, node));
  const schema_Op *op = program_op(s, n->strings);
  bool only = n->end == n->strings + 1 &&
              (op->code == CODE_CONST || op->code == CODE_ENUM) && op->b == 1;
  return only && (program_member(s, op->a)->type & ~n->types) == 0 ? op->a : -1;
}

/* Unions of consts become lists of members. */
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
  program_index_members(L, s, &u->member_index, first, u->count);
}

void compile_unions(lua_State *L, schema_Schema *s) {
  int32_t i;
  for (i = 0; i < (int32_t)s->unions.count; i++) {
    find_key(L, s, program_union(s, i));
    find_members(L, s, program_union(s, i));
  }
}
