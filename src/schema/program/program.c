#include "schema/program/value.h"

#define SCHEMA_NAME "operations.schema"

const char program_kind[] = SCHEMA_NAME;

schema_Schema *program_new(lua_State *L, const core_State *core) {
  schema_Schema *s = (schema_Schema *)lua_newuserdata(L, sizeof(*s));
  memset(s, 0, sizeof(*s));
  s->kind = program_kind;
  s->alloc = core_alloc(L);
  s->core = core;
  luaL_getmetatable(L, SCHEMA_NAME);
  lua_setmetatable(L, -2);
  lua_newtable(L);
  ops_setuservalue(L, -2);
  return s;
}

#define VECTOR(field, Type)                                                    \
  { offsetof(schema_Schema, field), sizeof(Type) }

static const struct {
  size_t offset, item_size;
} vectors[] = {
    VECTOR(nodes, schema_Node),
    VECTOR(ops, schema_Op),
    VECTOR(properties, schema_Property),
    VECTOR(patterns, schema_Pattern),
    VECTOR(objects, schema_Object),
    VECTOR(members, schema_Member),
    VECTOR(unions, schema_Union),
    VECTOR(tags, schema_Tag),
    VECTOR(links, int32_t),
    VECTOR(slots, int32_t),
    VECTOR(entries, schema_Entry),
    VECTOR(regexes, regex_Regex *),
    VECTOR(dynamics, schema_Dynamic),
    VECTOR(bounds, schema_Bounds),
};

static void each_vector(schema_Schema *s,
                        void (*visit)(const ops_Alloc *, schema_Vector *,
                                      size_t)) {
  size_t i;
  for (i = 0; i < sizeof(vectors) / sizeof(vectors[0]); i++)
    visit(&s->alloc, (schema_Vector *)(void *)((char *)s + vectors[i].offset),
          vectors[i].item_size);
}

void program_trim(schema_Schema *s) {
  each_vector(s, schema_vector_trim);
}

static int program_gc(lua_State *L) {
  schema_Schema *s = (schema_Schema *)lua_touserdata(L, 1);
  size_t i;
  s->kind = NULL;
  for (i = 0; i < s->regexes.count; i++)
    regex_free(*program_regex(s, (int32_t)i));
  each_vector(s, schema_vector_free);
  return 0;
}

void program_open(lua_State *L, const luaL_Reg *methods) {
  core_new_type(L, SCHEMA_NAME, methods, program_gc);
}

void program_index(lua_State *L, schema_Schema *s, schema_Index *index,
                   const uint64_t *hashes, size_t stride, int32_t count) {
  uint32_t size = 1; /* at most half of the slots are used: short searches */
  int32_t i, *slots;
  index->mask = 0;
  if (count <= PROGRAM_FEW_ITEMS) return;
  while (size < 2 * (uint32_t)count) size *= 2;
  index->slots =
      schema_vector_add(L, &s->alloc, &s->slots, sizeof(int32_t), size);
  index->mask = size - 1;
  slots = program_slot(s, index->slots);
  for (i = 0; i < count; i++) {
    uint32_t at =
        (uint32_t) * (const uint64_t *)(const void *)((const char *)hashes +
                                                      (size_t)i * stride);
    while (slots[at & index->mask] != 0) at++;
    slots[at & index->mask] = i + 1;
  }
}

void program_index_tags(lua_State *L, schema_Schema *s, schema_Index *index,
                        int32_t first, int32_t count) {
  if (count == 0) return; /* the union may have no tags */
  program_index(L, s, index, &program_tag(s, first)->hash, sizeof(schema_Tag),
                count);
}

void program_index_members(lua_State *L, schema_Schema *s, schema_Index *index,
                           int32_t first, int32_t count) {
  if (count == 0) return;
  program_index(L, s, index, &program_member(s, first)->hash,
                sizeof(schema_Member), count);
}

static bool is_text(const char *a, size_t a_len, const char *b, size_t b_len) {
  return a_len == b_len && memcmp(a, b, a_len) == 0;
}

const schema_Tag *program_find_tag(const schema_Schema *s, int32_t first,
                                   int32_t count, schema_Index index,
                                   const char *text, size_t len) {
  const schema_Tag *tags = program_tag(s, first);
  const int32_t *slots;
  uint32_t at;
  int32_t i;
  for (i = 0; index.mask == 0 && i < count; i++) {
    if (is_text(text, len, tags[i].text, tags[i].len)) return &tags[i];
  }
  if (index.mask == 0) return NULL;
  slots = program_slot(s, index.slots);
  at = (uint32_t)schema_hash_text(s->core, text, len);
  for (; slots[at & index.mask] != 0; at++) {
    i = slots[at & index.mask] - 1;
    if (is_text(text, len, tags[i].text, tags[i].len)) return &tags[i];
  }
  return NULL;
}

/* Finds a name that Lua does not intern, so that equal ones have several
** addresses. */
static const schema_Property *find_long(const schema_Schema *s,
                                        const schema_Object *object,
                                        const char *name, size_t len) {
  const schema_Property *p = program_property(s, object->first);
  const int32_t *slots = program_slot(s, object->texts.slots);
  uint32_t mask = object->texts.mask, at;
  int32_t i;
  for (i = 0; mask == 0 && i < object->count; i++) {
    if (is_text(name, len, p[i].name, p[i].len)) return &p[i];
  }
  if (mask == 0) return NULL;
  at = (uint32_t)schema_hash_text(s->core, name, len);
  for (; slots[at & mask] != 0; at++) {
    i = slots[at & mask] - 1;
    if (is_text(name, len, p[i].name, p[i].len)) return &p[i];
  }
  return NULL;
}

const schema_Property *program_find(const schema_Schema *s,
                                    const schema_Object *object,
                                    const char *name, size_t len) {
  const int32_t *slots = program_slot(s, object->slots);
  uint32_t i;
  for (i = program_slot_of(object, program_address_of(s, name)); slots[i] != 0;
       i = (i + 1) & object->mask) {
    const schema_Property *p =
        program_property(s, object->first + slots[i] - 1);
    if (p->name == name) return p;
  }
  if (len > PROGRAM_INTERNED && object->long_names)
    return find_long(s, object, name, len);
  return NULL;
}
