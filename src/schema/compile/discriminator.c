/*
** discriminator.c - OpenAPI's `discriminator` (schema/compile/compile.h): the
** property whose value names a branch of a union, by `mapping` or by the last
** part of the branch's `$ref`.  It does not change which values conform.
*/
#include "schema/compile/compile.h"
#include "schema/check/equal.h"

typedef struct Hints {
  lua_State *L;
  schema_Schema *s;
  tree_Tree *t;
  int32_t u;
  int branches; /* stack index of a table: last part of a reference -> branch */
} Hints;

typedef struct Text {
  const char *s;
  size_t len;
} Text;

/* The part after the last slash: the name of the schema in a `$ref`. */
static Text last_part(Text text) {
  size_t at = text.len;
  Text part;
  while (at > 0 && text.s[at - 1] != '/') at--;
  part.s = text.s + at;
  part.len = text.len - at;
  return part;
}

/* The reference of the branch; empty without one. */
static Text reference_of(const Hints *h, int32_t branch) {
  const schema_Union *u = program_union(h->s, h->u);
  int32_t node = *program_link(h->s, u->first + branch);
  Text text = {"", 0};
  int32_t i;
  for (i = tree_node(h->t, node)->first; i >= 0;
       i = tree_keyword(h->t, i)->next) {
    const tree_Keyword *k = tree_keyword(h->t, i);
    if (k->id == KEYWORD_REF)
      text.s = tree_text(h->L, h->t, k->value, &text.len);
  }
  return text;
}

static void add_hint(Hints *h, Text name, int32_t branch) {
  int32_t constant = tree_string(h->L, h->t, name.s, name.len);
  int32_t i =
      schema_vector_add(h->L, &h->s->alloc, &h->s->tags, sizeof(schema_Tag), 1);
  schema_Tag *tag = program_tag(h->s, i);
  tag->text = tree_text(h->L, h->t, constant, &tag->len);
  ops_rawgeti(h->L, h->t->constants, (size_t)constant);
  tag->address = lua_topointer(h->L, -1);
  tag->hash = schema_hash_text(h->s->core, tag->text, tag->len);
  lua_pop(h->L, 1);
  tag->branch = branch;
  program_union(h->s, h->u)->hints++;
}

/* Adds one entry of `mapping`: a reference or the name of a schema. */
static void add_mapped(Hints *h, Text name, Text reference) {
  Text last = last_part(reference);
  lua_pushlstring(h->L, last.s, last.len);
  if (ops_rawget(h->L, h->branches) == LUA_TNUMBER)
    add_hint(h, name, (int32_t)lua_tointeger(h->L, -1));
  lua_pop(h->L, 1);
}

/* Pushes the branches by the last parts of their references; the first wins. */
static void push_branches(Hints *h) {
  lua_State *L = h->L;
  int32_t i, count = program_union(h->s, h->u)->count;
  lua_newtable(L);
  h->branches = lua_gettop(L);
  for (i = count - 1; i >= 0; i--) {
    Text reference = reference_of(h, i), last = last_part(reference);
    if (reference.len == 0) continue;
    lua_pushlstring(L, last.s, last.len);
    lua_pushinteger(L, i);
    lua_rawset(L, h->branches);
  }
}

/* Pushes the string member `name` of the table on top of the stack. */
static bool push_member(lua_State *L, const char *name, int type) {
  lua_pushstring(L, name);
  return ops_rawget(L, -2) == type;
}

static void add_mapping(Hints *h) {
  lua_State *L = h->L;
  if (push_member(L, "mapping", LUA_TTABLE)) {
    int mapping = lua_gettop(L);
    lua_pushnil(L);
    while (lua_next(L, mapping)) {
      Text name, reference;
      if (lua_type(L, -2) == LUA_TSTRING && lua_type(L, -1) == LUA_TSTRING) {
        name.s = lua_tolstring(L, -2, &name.len);
        reference.s = lua_tolstring(L, -1, &reference.len);
        add_mapped(h, name, reference);
      }
      lua_pop(L, 1);
    }
  }
  lua_pop(L, 1);
}

static void add_names(Hints *h) {
  int32_t i, count = program_union(h->s, h->u)->count;
  for (i = 0; i < count; i++) {
    Text name = last_part(reference_of(h, i));
    if (name.len > 0) add_hint(h, name, i);
  }
}

void compile_hints(lua_State *L, schema_Schema *s, tree_Tree *t, int32_t u,
                   int32_t discriminator) {
  Hints h = {L, s, t, u, 0};
  int top = lua_gettop(L);
  push_branches(&h);
  ops_rawgeti(L, t->constants, (size_t)discriminator);
  if (lua_type(L, -1) == LUA_TTABLE &&
      push_member(L, "propertyName", LUA_TSTRING)) {
    size_t len;
    const char *name = lua_tolstring(L, -1, &len);
    program_union(s, u)->hint_key = tree_string(L, t, name, len);
    program_union(s, u)->hint = (int32_t)s->tags.count;
    lua_pop(L, 1);
    add_mapping(&h);
    add_names(&h);
    program_index_tags(L, s, &program_union(s, u)->hint_index,
                       program_union(s, u)->hint, program_union(s, u)->hints);
  }
  lua_settop(L, top);
}
