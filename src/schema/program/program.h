/*
** program.h - a compiled schema: nodes with instructions, and their constants
** in a Lua table.  Runs no machine.
*/
#ifndef OPERATIONS_SCHEMA_PROGRAM_H
#define OPERATIONS_SCHEMA_PROGRAM_H

#include "format/format.h"
#include "regex/regex.h"
#include "schema/program/types.h"
#include "value/integer.h"
#include "schema/program/code.h"
#include "schema/program/keyword.h"
#include "schema/program/location.h"
#include "schema/program/vector.h"

/* A hash index: its first slot, where slots hold positions from 1, and the mask
** of its size; 0 for so few items that all are compared. */
typedef struct schema_Index {
  int32_t slots;
  uint32_t mask;
} schema_Index;

#define PROGRAM_FEW_ITEMS 16 /* these few */

typedef struct schema_Number {
  double d;
  integer_Value i; /* exact, when is_integer */
  bool is_integer;
} schema_Number;

enum { NUMBER_FORMAT_INT32, NUMBER_FORMAT_INT64, NUMBER_FORMAT_FLOAT };

#define INTEGER_BOUND 1
#define UNSIGNED_BOUND 2 /* INTEGER_BOUND with the bits of a uint64_t */

typedef struct schema_Op {
  uint8_t code;    /* schema_Code */
  uint8_t keyword; /* schema_KeywordId, for issues */
  uint16_t flag;
  int32_t a, b, c;
  union {
    size_t n;
    int64_t i;
    double d;
    format_Check format;
    schema_Index index;
  } u;
} schema_Op;

/* What the machine does with a value, by its Lua type (compile/dispatch.c).
** Every act except the last decides alone, without the node's instructions. */
typedef enum schema_Act {
  ACT_REFUSE, /* 0: the act for the other types */
  ACT_ACCEPT,
  ACT_NULL,    /* light userdata: NULL */
  ACT_LENGTH,  /* strings: bounds of length */
  ACT_TEXT,    /* strings: bounds of length, then the other instructions */
  ACT_PATTERN, /* strings: one pattern */
  ACT_TAG,     /* strings: one of a few interned ones */
  ACT_INTEGER, /* numbers: integers within bounds */
  ACT_NUMBER,  /* numbers: all within bounds */
  ACT_MEMBERS, /* tables: objects, by their members */
  ACT_ITEMS,   /* tables: arrays, by their length and items */
  ACT_TAGGED,  /* tables: objects, by the branch that their tag names */
  ACT_BRANCH,  /* a union's only branch for this type decides */
  ACT_REST
} schema_Act;

#define ACT_TYPES 12 /* Lua types; LuaJIT has one more */

/* Bounds of numbers and lengths.  The first of a schema limit only doubles. */
typedef struct schema_Bounds {
  double low, high;         /* inclusive, within 2^53 */
  size_t shortest, longest; /* code points */
  size_t fewest_items, most_items;
} schema_Bounds;

/* A member of an enum, or a const. */
typedef struct schema_Member {
  const char *text; /* strings: borrowed from the constants, else NULL */
  size_t len;
  const void *address; /* strings: lua_topointer */
  uint64_t hash;       /* schema_hash */
  int32_t value;       /* constant */
  uint8_t type;        /* TYPE_... */
} schema_Member;

/* The instructions of a node are contiguous: those for its value's kind, then
** those for every value. */
typedef struct schema_Node {
  uint8_t acts[ACT_TYPES]; /* schema_Act */
  uint16_t types;          /* TYPE_... that the value may have */
  uint8_t accepts_all;
  uint8_t simple;   /* only `types` must be checked */
  uint8_t fills;    /* has a default at or below it */
  uint8_t merges;   /* other schemas apply to the same value */
  uint8_t is_false; /* the schema `false` */
  uint8_t forwards; /* `target` can be checked in its place */
  uint8_t whole;    /* takes objects but not arrays, visits every member */
  uint8_t bounded;  /* has `bounds` of its own */
  int32_t tag_count;
  const schema_Member *tags;         /* of ACT_TAG */
  const regex_Regex *pattern;        /* of ACT_PATTERN */
  const struct schema_Object *shape; /* objects: only members are checked */
  const struct schema_Node *item;    /* of ACT_ITEMS */
  const struct schema_Union *choice; /* the union, if nothing else */
  const schema_Bounds *bounds;
  int32_t self;
  int32_t texts; /* the first string instruction that is not a bound */
  int32_t strings, numbers, arrays, objects, every, end; /* instructions */
  int32_t resource;
  int32_t default_value; /* constant, 0 when none */
  int32_t target;        /* the node that this one only refers to, or itself */
  int32_t items, object; /* the CODE_ITEMS instruction, the object; or -1 */
  schema_Location location;
} schema_Node;

typedef struct schema_Property {
  const char *name; /* borrowed from the constants */
  size_t len;
  const schema_Node *check; /* `node`, or the one it only refers to */
  int32_t key;              /* constant */
  int32_t node;             /* of its value; accepts all when only required */
  int32_t default_value;    /* constant of its node, also by $ref; 0: none */
  int32_t fixed;            /* constant: its only allowed value; 0: none */
  uint8_t required, declared;
  uint8_t unfit; /* the default does not fit `node` */
} schema_Property;

typedef struct schema_Pattern {
  int32_t regex, node, source; /* source: constant */
} schema_Pattern;

/* A declared property in the hash of an object's names. */
typedef struct schema_Entry {
  const void *address; /* lua_topointer of the name; NULL: empty */
  const schema_Property *property;
} schema_Entry;

typedef struct schema_Object {
  const schema_Property *properties; /* the first */
  const schema_Entry *entries; /* NULL unless every member must be looked at,
                                  and addresses alone tell what with */
  int32_t first, count;        /* properties; the required ones first */
  int32_t required;            /* how many are required */
  int32_t pattern, patterns;   /* first and count of patternProperties */
  int32_t additional;          /* node; -1: none */
  schema_Index texts;          /* of the names, where some are not interned */
  int32_t slots;               /* hash of the names: first slot, a power of 2 */
  uint32_t mask;
  uint64_t factor;    /* of the hash, chosen for few collisions */
  uint8_t whole;      /* visits every member, not only known ones */
  uint8_t open;       /* casting keeps unknown members */
  uint8_t long_names; /* some names are not interned */
} schema_Object;

/* Kinds of values for which a union may have a single branch. */
enum {
  PICK_NULL,
  PICK_BOOLEAN,
  PICK_NUMBER,
  PICK_STRING,
  PICK_TABLE,
  UNION_PICKS
};

/* Tags decide; hints only tell which branch was meant. */
typedef struct schema_Union {
  int32_t first, count; /* links: nodes */
  int32_t member;       /* of a union of consts: the first one; or 0 */
  int32_t key;          /* constant: the discriminating property; or 0 */
  int32_t tag, tags;    /* first and count of the tags */
  int32_t hint_key;     /* constant: discriminator's propertyName; or 0 */
  int32_t hint, hints;  /* first and count of the discriminator's tags */
  schema_Index member_index, tag_index, hint_index;
  const schema_Node *picks[UNION_PICKS]; /* the single branch of a kind */
} schema_Union;

typedef struct schema_Tag {
  const char *text; /* borrowed from the constants */
  size_t len;
  const void *address;            /* lua_topointer */
  uint64_t hash;                  /* schema_hash_text */
  int32_t branch;                 /* position in the union */
  const schema_Node *check;       /* the branch, or the node it refers to */
  const schema_Property *decided; /* checked by the tag alone, or NULL */
} schema_Tag;

typedef struct schema_Dynamic {
  int32_t resource, name, node;
} schema_Dynamic;

/* The first constant of every schema. */
#define PROGRAM_ARRAY_MT 1

/* The userdata "operations.schema".  Its uservalue is the constants table. */
struct schema_Schema {
  const void *kind; /* program_kind, until collected */
  ops_Alloc alloc;
  const core_State *core;
  schema_Vector nodes, ops, properties, patterns, objects, members, unions,
      tags, links, slots, entries, regexes, dynamics, bounds;
  int32_t root;
  int32_t issue_limit;
  int64_t max_steps;     /* of one check, cast or fill; 0: the default */
  bool has_dynamic;      /* it uses the dynamic scope */
  bool keyless;          /* no check reads the constants */
  bool by_address;       /* `name_offset` is valid for every property */
  ptrdiff_t name_offset; /* from a string's lua_topointer to its bytes */
};

/* Identifies the userdata; comparing its metatable would take two more
** reads. */
extern const char program_kind[];

/* The bound of an instruction for numbers: as an integer if it is one of 64
** bits, and as the nearest double. */
static inline bool program_integer_bound(const schema_Op *op,
                                         integer_Value *n) {
  n->bits = (uint64_t)op->u.i;
  n->above = (op->flag & UNSIGNED_BOUND) != 0;
  return (op->flag & INTEGER_BOUND) != 0;
}

static inline double program_bound(const schema_Op *op) {
  integer_Value n;
  return program_integer_bound(op, &n) ? integer_to_double(n) : op->u.d;
}

/* The schema at stack index `i`, or NULL. */
static inline schema_Schema *program_to(lua_State *L, int i) {
  schema_Schema *s = (schema_Schema *)lua_touserdata(L, i);
  return s != NULL && ops_rawlen(L, i) == sizeof(*s) && s->kind == program_kind
             ? s
             : NULL;
}

/* Pushes an empty schema userdata; its uservalue is a new table. */
schema_Schema *program_new(lua_State *L, const core_State *core);

/* Frees unused room; call it before anything points to items. */
void program_trim(schema_Schema *s);

/* Called once when the module opens: makes the type; `methods` are its Lua
** methods. */
void program_open(lua_State *L, const luaL_Reg *methods);

#define PROGRAM_AT(name, Type, field)                                          \
  static inline Type *program_##name(const schema_Schema *s, int32_t i) {      \
    return &((Type *)s->field.items)[i];                                       \
  }

PROGRAM_AT(node, schema_Node, nodes)
PROGRAM_AT(op, schema_Op, ops)
PROGRAM_AT(property, schema_Property, properties)
PROGRAM_AT(pattern, schema_Pattern, patterns)
PROGRAM_AT(object, schema_Object, objects)
PROGRAM_AT(member, schema_Member, members)
PROGRAM_AT(union, schema_Union, unions)
PROGRAM_AT(tag, schema_Tag, tags)
PROGRAM_AT(link, int32_t, links)
PROGRAM_AT(slot, int32_t, slots)
PROGRAM_AT(entry, schema_Entry, entries)
PROGRAM_AT(regex, regex_Regex *, regexes)
PROGRAM_AT(dynamic, schema_Dynamic, dynamics)
PROGRAM_AT(bounds, schema_Bounds, bounds)

/* The node that is checked in place of one that only refers to it. */
static inline const schema_Node *program_target(const schema_Schema *s,
                                                int32_t node) {
  const schema_Node *n = program_node(s, node);
  return n->forwards ? program_node(s, n->target) : n;
}

/* Strings up to this size are interned: equal strings have one address. */
#if LUA_VERSION_NUM >= 502
#define PROGRAM_INTERNED 40
#else
#define PROGRAM_INTERNED ((size_t)-1)
#endif

/* Are two Lua strings equal?  Interned ones are compared by address. */
static inline bool program_same(const char *a, size_t a_len, const char *b,
                                size_t b_len) {
  return a == b || (a_len == b_len && a_len > PROGRAM_INTERNED &&
                    memcmp(a, b, a_len) == 0);
}

/* The slot of a name in the hash, by its address (lua_topointer). */
static inline uint32_t program_slot_of(const schema_Object *object,
                                       const void *address) {
  return (uint32_t)(((uint64_t)(uintptr_t)address * object->factor) >> 40) &
         object->mask;
}

/* The address that lua_topointer would return, computed from the bytes. */
static inline const void *program_address_of(const schema_Schema *s,
                                             const char *name) {
  return (const void *)((uintptr_t)name - (uintptr_t)s->name_offset);
}

/* The declared property whose name is the interned string at `address`, or
** NULL.  The object must have entries. */
static inline const schema_Property *
program_find_address(const schema_Object *object, const void *address) {
  uint32_t i = program_slot_of(object, address);
  for (;; i = (i + 1) & object->mask) {
    const schema_Entry *entry = object->entries + i;
    if (entry->address == address) return entry->property;
    if (entry->address == NULL) return NULL;
  }
}

/* Makes the index of `count` items; their hashes are `stride` bytes apart. */
void program_index(lua_State *L, schema_Schema *s, schema_Index *index,
                   const uint64_t *hashes, size_t stride, int32_t count);

void program_index_tags(lua_State *L, schema_Schema *s, schema_Index *index,
                        int32_t first, int32_t count);
void program_index_members(lua_State *L, schema_Schema *s, schema_Index *index,
                           int32_t first, int32_t count);

/* The one of `count` tags from `first` that has the text, or NULL. */
const schema_Tag *program_find_tag(const schema_Schema *s, int32_t first,
                                   int32_t count, schema_Index index,
                                   const char *text, size_t len);

/* The property `name` of an object, or NULL. */
const schema_Property *program_find(const schema_Schema *s,
                                    const schema_Object *object,
                                    const char *name, size_t len);

#endif
