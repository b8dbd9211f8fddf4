#include "schema/compile/compile.h"
#include "schema/check/equal.h"
#include "schema/compile/emit.h"

#define COMPILE_STEPS 4000000 /* about 50 ms */

schema_Op *compile_op(compile_State *c, schema_Code code, schema_KeywordId id) {
  schema_Schema *s = c->s;
  schema_Op *op = program_op(
      s, schema_vector_add(c->L, &s->alloc, &s->ops, sizeof(schema_Op), 1));
  op->code = (uint8_t)code;
  op->keyword = (uint8_t)id;
  return op;
}

int32_t compile_only_child(const compile_State *c, schema_KeywordId id) {
  const tree_Keyword *k = c->k[id];
  return k == NULL ? -1 : tree_child(c->t, k->first)->node;
}

static int32_t add_links(compile_State *c, const tree_Keyword *k) {
  schema_Schema *s = c->s;
  int32_t first = schema_vector_add(c->L, &s->alloc, &s->links, sizeof(int32_t),
                                    (size_t)k->count);
  int32_t i;
  for (i = 0; i < k->count; i++)
    *program_link(s, first + i) = tree_child(c->t, k->first + i)->node;
  return first;
}

/* A number of items; no table has more. */
static int32_t count_of(const tree_Keyword *k) {
  return k->number.d < INT32_MAX ? (int32_t)k->number.d : INT32_MAX;
}

void compile_count(compile_State *c, schema_KeywordId id, schema_Code code) {
  const tree_Keyword *k = c->k[id];
  if (k != NULL) compile_op(c, code, id)->u.n = (size_t)k->number.i.bits;
}

/* A pattern for a message: its first 200 bytes at most, whole characters. */
static const char *excerpt(const char *text, size_t len, char shown[204]) {
  size_t end = 200;
  if (len <= end) return text;
  while (end > 0 && ((unsigned char)text[end] & 0xC0) == 0x80) end--;
  memcpy(shown, text, end);
  memcpy(shown + end, "...", 4);
  return shown;
}

int32_t compile_regex(compile_State *c, int32_t source,
                      schema_KeywordId keyword) {
  schema_Schema *s = c->s;
  size_t len;
  char error[160], shown[204];
  const char *text = tree_text(c->L, c->t, source, &len);
  int32_t i =
      schema_vector_add(c->L, &s->alloc, &s->regexes, sizeof(regex_Regex *), 1);
  regex_Regex *regex =
      regex_compile(&s->alloc, text, len, error, sizeof(error));
  *program_regex(s, i) = regex; /* the schema frees it from here on */
  if (regex == NULL && strstr(error, "out of memory") == error)
    luaL_error(c->L, "not enough memory");
  if (regex == NULL)
    tree_issue(c->L, c->t, c->node, keyword,
               "\"%s\" is not a regular expression: %s",
               excerpt(text, len, shown), error);
  return i;
}

static bool formats_assert(const compile_State *c) {
  const tree_Resource *r =
      tree_resource(c->t, tree_node(c->t, c->node)->resource);
  return c->formats || (r->dialect.vocabulary & VOCABULARY_ASSERTION) != 0;
}

static void emit_string(compile_State *c) {
  const tree_Keyword *k;
  compile_count(c, KEYWORD_MAX_LENGTH, CODE_MAX_LENGTH);
  compile_count(c, KEYWORD_MIN_LENGTH, CODE_MIN_LENGTH);
  if ((k = c->k[KEYWORD_PATTERN]) != NULL) {
    int32_t regex = compile_regex(c, k->value, KEYWORD_PATTERN);
    schema_Op *op = compile_op(c, CODE_PATTERN, KEYWORD_PATTERN);
    op->a = regex;
    op->b = k->value;
  }
  if ((k = c->k[KEYWORD_FORMAT]) != NULL && formats_assert(c)) {
    size_t len;
    const char *name = tree_text(c->L, c->t, k->value, &len);
    format_Check check = format_find(name, len);
    if (check != NULL) {
      schema_Op *op = compile_op(c, CODE_FORMAT, KEYWORD_FORMAT);
      op->u.format = check;
      op->b = k->value;
    }
  }
}

static void emit_bound(compile_State *c, schema_KeywordId id,
                       schema_Code code) {
  const tree_Keyword *k = c->k[id];
  schema_Op *op;
  if (k == NULL) return;
  op = compile_op(c, code, id);
  if (k->number.is_integer) {
    op->flag = INTEGER_BOUND | (k->number.i.above ? UNSIGNED_BOUND : 0);
    op->u.i = (int64_t)k->number.i.bits;
  } else {
    op->u.d = k->number.d;
  }
}

static void emit_number_format(compile_State *c) {
  static const char *const names[] = {"int32", "int64", "float"};
  const tree_Keyword *k = c->k[KEYWORD_FORMAT];
  const char *name;
  size_t len, i;
  if (k == NULL || !formats_assert(c)) return;
  name = tree_text(c->L, c->t, k->value, &len);
  for (i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
    if (strcmp(names[i], name) == 0) {
      schema_Op *op = compile_op(c, CODE_NUMBER_FORMAT, KEYWORD_FORMAT);
      op->a = (int32_t)i;
      op->b = k->value;
    }
  }
}

/* In draft 4 and OpenAPI 3.0 `exclusiveMinimum` is a boolean that changes what
** `minimum` says. */
static void emit_number(compile_State *c) {
  uint8_t draft =
      tree_resource(c->t, tree_node(c->t, c->node)->resource)->dialect.draft;
  const tree_Keyword *above = c->k[KEYWORD_EXCLUSIVE_MINIMUM];
  const tree_Keyword *below = c->k[KEYWORD_EXCLUSIVE_MAXIMUM];
  if (draft & (DRAFT_4 | DRAFT_OPENAPI | DRAFT_SWAGGER)) {
    emit_bound(c, KEYWORD_MINIMUM,
               above != NULL && above->flag ? CODE_ABOVE : CODE_MINIMUM);
    emit_bound(c, KEYWORD_MAXIMUM,
               below != NULL && below->flag ? CODE_BELOW : CODE_MAXIMUM);
  } else {
    emit_bound(c, KEYWORD_MINIMUM, CODE_MINIMUM);
    emit_bound(c, KEYWORD_MAXIMUM, CODE_MAXIMUM);
    emit_bound(c, KEYWORD_EXCLUSIVE_MINIMUM, CODE_ABOVE);
    emit_bound(c, KEYWORD_EXCLUSIVE_MAXIMUM, CODE_BELOW);
  }
  emit_bound(c, KEYWORD_MULTIPLE_OF, CODE_MULTIPLE_OF);
  emit_number_format(c);
}

/* Before 2020-12 an array in `items` is the tuple, and `additionalItems`
** applies to the other items. */
static void emit_items(compile_State *c) {
  const tree_Keyword *items = c->k[KEYWORD_ITEMS];
  const tree_Keyword *tuple = c->k[KEYWORD_PREFIX_ITEMS];
  int32_t rest;
  schema_Op *op;
  if (items != NULL && items->flag) {
    tuple = items;
    rest = compile_only_child(c, KEYWORD_ADDITIONAL_ITEMS);
  } else {
    rest = compile_only_child(c, KEYWORD_ITEMS);
  }
  if ((tuple == NULL || tuple->count == 0) && rest < 0) return;
  program_node(c->s, c->node)->items = (int32_t)c->s->ops.count;
  op = compile_op(c, CODE_ITEMS, KEYWORD_ITEMS);
  op->c = rest;
  if (tuple == NULL) return;
  op->a = add_links(c, tuple);
  op->b = tuple->count;
}

static void emit_array(compile_State *c) {
  const tree_Keyword *least = c->k[KEYWORD_MIN_CONTAINS];
  const tree_Keyword *most = c->k[KEYWORD_MAX_CONTAINS];
  uint8_t draft =
      tree_resource(c->t, tree_node(c->t, c->node)->resource)->dialect.draft;
  compile_count(c, KEYWORD_MIN_ITEMS, CODE_MIN_ITEMS);
  compile_count(c, KEYWORD_MAX_ITEMS, CODE_MAX_ITEMS);
  emit_items(c);
  if (c->k[KEYWORD_CONTAINS] != NULL) {
    schema_Op *op = compile_op(c, CODE_CONTAINS, KEYWORD_CONTAINS);
    op->a = compile_only_child(c, KEYWORD_CONTAINS);
    op->b = least == NULL ? 1 : count_of(least);
    op->c = most == NULL ? -1 : count_of(most);
    op->flag = draft == DRAFT_2020; /* items that match count as evaluated */
  }
  if (c->k[KEYWORD_UNIQUE_ITEMS] != NULL && c->k[KEYWORD_UNIQUE_ITEMS]->flag)
    compile_op(c, CODE_UNIQUE_ITEMS, KEYWORD_UNIQUE_ITEMS);
}

/* Makes member `index` from the constant `value`. */
static void set_member(compile_State *c, int32_t index, int32_t value) {
  static const uint8_t types[VALUE_OTHER + 1] = {TYPE_NULL,
                                                 TYPE_BOOLEAN,
                                                 TYPE_NUMBER,
                                                 TYPE_STRING,
                                                 TYPE_ARRAY,
                                                 TYPE_OBJECT,
                                                 TYPE_ARRAY | TYPE_OBJECT};
  schema_Member *m = program_member(c->s, index);
  m->value = value;
  ops_rawgeti(c->L, c->t->constants, (size_t)value);
  m->type = types[value_kind(c->L, c->t->core, -1)];
  if (m->type == TYPE_STRING) {
    m->text = lua_tolstring(c->L, -1, &m->len);
    m->address = lua_topointer(c->L, -1);
  }
  m->hash = schema_hash(&c->steps, -1);
  lua_pop(c->L, 1);
}

static void emit_members_of(compile_State *c, schema_KeywordId id) {
  const tree_Keyword *k = c->k[id];
  schema_Schema *s = c->s;
  int32_t i, first, count;
  schema_Op *op;
  if (k == NULL) return;
  count = id == KEYWORD_ENUM ? k->count : 1;
  first = schema_vector_add(c->L, &s->alloc, &s->members, sizeof(schema_Member),
                            (size_t)count);
  for (i = 0; i < count; i++)
    set_member(c, first + i,
               id == KEYWORD_ENUM ? tree_child(c->t, k->first + i)->key
                                  : k->value);
  op = compile_op(c, id == KEYWORD_ENUM ? CODE_ENUM : CODE_CONST, id);
  op->a = first;
  op->b = count;
  if (c->steps.too_deep)
    tree_issue(c->L, c->t, c->node, id, "takes too many steps to compare");
  check_resume(&c->steps);
  program_index_members(c->L, s, &op->u.index, first, count);
}

static void emit_union(compile_State *c, schema_KeywordId id,
                       schema_Code code) {
  const tree_Keyword *k = c->k[id];
  schema_Schema *s = c->s;
  int32_t i, first;
  if (k == NULL) return;
  first = add_links(c, k);
  i = schema_vector_add(c->L, &s->alloc, &s->unions, sizeof(schema_Union), 1);
  program_union(s, i)->first = first;
  program_union(s, i)->count = k->count;
  if (c->k[KEYWORD_DISCRIMINATOR] != NULL)
    compile_hints(c->L, s, c->t, i, c->k[KEYWORD_DISCRIMINATOR]->value);
  compile_op(c, code, id)->a = i;
}

static void emit_reference(compile_State *c, schema_KeywordId id) {
  int32_t target = compile_only_child(c, id), name = 0;
  schema_Op *op;
  if (target < 0) return;
  if (id == KEYWORD_DYNAMIC_REF) {
    size_t len, at;
    const char *uri = tree_text(c->L, c->t, c->k[id]->value, &len);
    at = schema_uri_fragment(uri, len);
    if (at < len) name = tree_string(c->L, c->t, uri + at + 1, len - at - 1);
    else id = KEYWORD_REF;
  }
  if (id != KEYWORD_REF && tree_node(c->t, target)->anchor == name) {
    op = compile_op(c, CODE_DYNAMIC, id);
    op->b = name;
    c->s->has_dynamic = true;
  } else op = compile_op(c, CODE_CALL, id);
  op->a = target;
}

static void emit_all_of(compile_State *c) {
  const tree_Keyword *k = c->k[KEYWORD_ALL_OF];
  int32_t i;
  for (i = 0; k != NULL && i < k->count; i++)
    compile_op(c, CODE_CALL, KEYWORD_ALL_OF)->a =
        tree_child(c->t, k->first + i)->node;
}

static void emit_every(compile_State *c) {
  emit_members_of(c, KEYWORD_CONST);
  emit_members_of(c, KEYWORD_ENUM);
  emit_reference(c, KEYWORD_REF);
  emit_reference(c, KEYWORD_DYNAMIC_REF);
  emit_reference(c, KEYWORD_RECURSIVE_REF);
  emit_all_of(c);
  emit_union(c, KEYWORD_ANY_OF, CODE_ANY_OF);
  emit_union(c, KEYWORD_ONE_OF, CODE_ONE_OF);
  if (c->k[KEYWORD_NOT] != NULL)
    compile_op(c, CODE_NOT, KEYWORD_NOT)->a =
        compile_only_child(c, KEYWORD_NOT);
  if (c->k[KEYWORD_IF] != NULL) {
    schema_Op *op = compile_op(c, CODE_IF, KEYWORD_IF);
    op->a = compile_only_child(c, KEYWORD_IF);
    op->b = compile_only_child(c, KEYWORD_THEN);
    op->c = compile_only_child(c, KEYWORD_ELSE);
  }
  /* Last: they depend on what the other instructions have visited. */
  if (c->k[KEYWORD_UNEVALUATED_ITEMS] != NULL)
    compile_op(c, CODE_UNEVALUATED_ITEMS, KEYWORD_UNEVALUATED_ITEMS)->a =
        compile_only_child(c, KEYWORD_UNEVALUATED_ITEMS);
  if (c->k[KEYWORD_UNEVALUATED_PROPERTIES] != NULL)
    compile_op(c, CODE_UNEVALUATED_PROPERTIES, KEYWORD_UNEVALUATED_PROPERTIES)
        ->a = compile_only_child(c, KEYWORD_UNEVALUATED_PROPERTIES);
}

static uint16_t type_mask(const compile_State *c) {
  const tree_Keyword *type = c->k[KEYWORD_TYPE];
  const tree_Keyword *nullable = c->k[KEYWORD_NULLABLE];
  uint16_t mask = type == NULL ? TYPE_ANY : type->mask;
  if (nullable != NULL && nullable->flag) mask |= TYPE_NULL;
  return mask;
}

/* Does a pattern apply to a declared property?  True also when finding out
** takes too many steps: casting then uses the general path. */
static bool has_overlap(compile_State *c, const schema_Object *object) {
  const schema_Schema *s = c->s;
  int32_t i, j;
  for (i = 0; i < object->patterns; i++) {
    const schema_Pattern *pattern = program_pattern(s, object->pattern + i);
    const regex_Regex *regex = *program_regex(s, pattern->regex);
    for (j = 0; regex != NULL && j < object->count; j++) {
      const schema_Property *p = program_property(s, object->first + j);
      if (!p->declared) continue;
      if (c->match_steps < 0 ||
          regex_match(regex, p->name, p->len, &c->match_steps) != 0)
        return true;
    }
  }
  return false;
}

static bool has_merging(compile_State *c, const schema_Node *n) {
  const schema_Schema *s = c->s;
  int32_t i;
  if (n->object >= 0 && has_overlap(c, program_object(s, n->object)))
    return true;
  for (i = n->strings; i < n->end; i++) {
    if (schema_codes[program_op(s, i)->code].applies == APPLIES_SAME)
      return true;
  }
  return false;
}

static void compile_node(compile_State *c, int32_t node) {
  const tree_Node *from = tree_node(c->t, node);
  schema_Node *to = program_node(c->s, node); /* no nodes are added here */
  schema_Vector *ops = &c->s->ops;
  int32_t i;
  memset(c->k, 0, sizeof(c->k));
  for (i = from->first; i >= 0; i = tree_keyword(c->t, i)->next)
    c->k[tree_keyword(c->t, i)->id] = tree_keyword(c->t, i);
  c->node = node;
  to->location = from->location;
  to->resource = from->resource;
  to->items = to->object = -1;
  to->is_false = from->is_false;
  to->types = to->is_false ? 0 : type_mask(c);
  to->strings = (int32_t)ops->count;
  emit_string(c);
  to->numbers = (int32_t)ops->count;
  emit_number(c);
  to->arrays = (int32_t)ops->count;
  emit_array(c);
  to->objects = (int32_t)ops->count;
  compile_object(c);
  to->every = (int32_t)ops->count;
  emit_every(c);
  to->end = (int32_t)ops->count;
  to->simple = to->end == to->strings;
  to->accepts_all = to->simple && to->types == TYPE_ANY;
  to->merges = has_merging(c, to);
  if (c->k[KEYWORD_DEFAULT] != NULL)
    to->default_value = c->k[KEYWORD_DEFAULT]->value;
}

static void copy_anchors(compile_State *c) {
  schema_Schema *s = c->s;
  size_t n = c->t->anchors.count, i;
  schema_vector_add(c->L, &s->alloc, &s->dynamics, sizeof(schema_Dynamic), n);
  for (i = 0; i < n; i++) {
    const tree_DynamicAnchor *from = tree_anchor(c->t, (int32_t)i);
    schema_Dynamic *to = program_dynamic(s, (int32_t)i);
    to->resource = from->resource;
    to->name = from->name;
    to->node = from->node;
  }
}

void compile_program(lua_State *L, schema_Schema *s, tree_Tree *t, int32_t root,
                     bool formats) {
  static const schema_Location at = {.parent = -1};
  int32_t i;
  compile_State c = {
      .L = L,
      .s = s,
      .t = t,
      .formats = formats,
      .match_steps = COMPILE_STEPS,
      .steps = {.L = L, .core = t->core, .left = CHECK_STEPS, .extended = true},
  };
  lua_pushboolean(L, true);
  c.true_node = tree_parse(L, t, &at, 0, 0);
  c.required = compile_block(L, (size_t)t->constants_count + 1);
  s->root = root;
  schema_vector_add(L, &s->alloc, &s->nodes, sizeof(schema_Node),
                    t->nodes.count);
  for (i = 0; i < (int32_t)t->nodes.count; i++) compile_node(&c, i);
  copy_anchors(&c);
  compile_unions(L, s);
  compile_defaults(L, s);
  program_trim(s);
  compile_acts(L, s);
}
