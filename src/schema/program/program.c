#include "schema/program/program.h"

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

void program_free(schema_Schema *s) {
  size_t i;
  s->kind = NULL;
  for (i = 0; i < s->regexes.count; i++)
    regex_free(*program_regex(s, (int32_t)i));
  each_vector(s, schema_vector_free);
}

static int program_gc(lua_State *L) {
  program_free((schema_Schema *)lua_touserdata(L, 1));
  return 0;
}

void program_open(lua_State *L, const luaL_Reg *methods) {
  core_new_type(L, SCHEMA_NAME, methods, program_gc);
}

static const schema_Property *find_long(const schema_Schema *s,
                                        const schema_Object *object,
                                        const char *name, size_t len) {
  int32_t i;
  for (i = 0; i < object->count; i++) {
    const schema_Property *p = program_property(s, object->first + i);
    if (p->len == len && memcmp(p->name, name, len) == 0) return p;
  }
  return NULL;
}

const schema_Property *program_find(const schema_Schema *s,
                                    const schema_Object *object,
                                    const char *name, size_t len) {
  const int32_t *slots;
  uint32_t i;
  if (object->count == 0) return NULL;
  slots = program_slot(s, object->slots);
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
