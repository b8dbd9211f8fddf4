/*
** default.c - finds the nodes that have defaults at or below them, once all
** nodes of a program exist (compile.h).
*/
#include "schema/compile/compile.h"

/* The default of a node, its own or through `$ref` and `allOf`; 0 without one.
** Visits each node once: `asked` differs for each call, and nodes keep it in
** `self`, which is set later (dispatch.c). */
static int32_t default_of(const schema_Schema *s, int32_t node, int32_t asked,
                          int depth) {
  schema_Node *n = program_node(s, node);
  int32_t i;
  if (n->default_value != 0 || depth > 32 || n->self == asked)
    return n->default_value;
  n->self = asked;
  for (i = n->every; i < n->end; i++) {
    const schema_Op *op = program_op(s, i);
    int32_t found;
    if (op->code != CODE_CALL) continue;
    found = default_of(s, op->a, asked, depth + 1);
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

/* For each node the nodes directly above it, to walk up from the defaults. */
typedef struct Above {
  int32_t *starts;  /* start of each node's run in `nodes`, one extra */
  int32_t *nodes;   /* NULL while counting */
  int32_t *waiting; /* nodes that fill and whose parents were not marked */
  int32_t count;    /* the length of `waiting` */
} Above;

static void add_below(Above *above, int32_t node, int32_t below) {
  if (below < 0) return;
  if (above->nodes == NULL) above->starts[below]++;
  else above->nodes[--above->starts[below]] = node;
}

static void add_object_below(const schema_Schema *s, Above *above, int32_t node,
                             const schema_Object *object) {
  int32_t i;
  for (i = 0; i < object->count; i++)
    add_below(above, node, program_property(s, object->first + i)->node);
  for (i = 0; i < object->patterns; i++)
    add_below(above, node, program_pattern(s, object->pattern + i)->node);
  add_below(above, node, object->additional);
}

static void add_union_below(const schema_Schema *s, Above *above, int32_t node,
                            const schema_Union *u) {
  int32_t i;
  for (i = 0; i < u->count; i++)
    add_below(above, node, *program_link(s, u->first + i));
}

static void add_all_below(const schema_Schema *s, Above *above, int32_t node) {
  const schema_Node *n = program_node(s, node);
  int32_t i, j;
  for (i = n->strings; i < n->end; i++) {
    const schema_Op *op = program_op(s, i);
    switch ((schema_Code)op->code) {
    case CODE_CALL:
    case CODE_DYNAMIC: add_below(above, node, op->a); break;
    case CODE_ANY_OF:
    case CODE_ONE_OF:
      add_union_below(s, above, node, program_union(s, op->a));
      break;
    case CODE_IF:
      add_below(above, node, op->b);
      add_below(above, node, op->c);
      break;
    case CODE_MEMBERS:
      add_object_below(s, above, node, program_object(s, op->a));
      break;
    case CODE_ITEMS:
      for (j = 0; j < op->b; j++)
        add_below(above, node, *program_link(s, op->a + j));
      add_below(above, node, op->c);
      break;
    case CODE_NOT:
    case CODE_DEPENDENT_SCHEMA:
    case CODE_CONTAINS:
    case CODE_PROPERTY_NAMES:
    case CODE_UNEVALUATED_ITEMS:
    case CODE_UNEVALUATED_PROPERTIES:
    CASES_ALONE:
      break;
    }
  }
}

static void set_fills(schema_Schema *s, Above *above, int32_t node) {
  schema_Node *n = program_node(s, node);
  if (n->fills) return;
  n->fills = 1;
  above->waiting[above->count++] = node;
}

static bool has_default(const schema_Schema *s, const schema_Node *n) {
  const schema_Object *object;
  int32_t i;
  if (n->object < 0) return false;
  object = program_object(s, n->object);
  for (i = 0; i < object->count; i++) {
    if (program_property(s, object->first + i)->default_value != 0) return true;
  }
  return false;
}

int32_t *compile_block(lua_State *L, size_t n) {
  int32_t *block = (int32_t *)lua_newuserdata(L, n * sizeof(int32_t));
  memset(block, 0, n * sizeof(int32_t));
  return block;
}

/* Pushes the blocks `starts` and `nodes`. */
static void push_above(lua_State *L, const schema_Schema *s, Above *above) {
  int32_t n = (int32_t)s->nodes.count, i;
  above->starts = compile_block(L, (size_t)n + 1);
  for (i = 0; i < n; i++) add_all_below(s, above, i);
  for (i = 1; i <= n; i++) above->starts[i] += above->starts[i - 1];
  above->nodes = compile_block(L, (size_t)above->starts[n]);
  for (i = 0; i < n; i++)
    add_all_below(s, above, i); /* from their ends backwards */
}

static void mark_fills(lua_State *L, schema_Schema *s) {
  int32_t i;
  Above above = {.waiting = compile_block(L, s->nodes.count)};
  push_above(L, s, &above);
  for (i = 0; i < (int32_t)s->nodes.count; i++) {
    if (has_default(s, program_node(s, i))) set_fills(s, &above, i);
  }
  while (above.count > 0) {
    int32_t node = above.waiting[--above.count];
    for (i = above.starts[node]; i < above.starts[node + 1]; i++)
      set_fills(s, &above, above.nodes[i]);
  }
}

void compile_defaults(lua_State *L, schema_Schema *s) {
  bool any = false;
  int32_t i;
  for (i = 0; i < (int32_t)s->properties.count; i++) {
    schema_Property *p = program_property(s, i);
    p->default_value = default_of(s, p->node, i + 1, 0);
    p->fixed = fixed_value(s, p->node);
    any = any || p->default_value != 0;
  }
  if (any) mark_fills(L, s);
}
