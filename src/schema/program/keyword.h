/*
** keyword.h - the keywords of JSON Schema: their drafts and vocabularies and
** the form of their values.  Data only.  No Lua.
*/
#ifndef OPERATIONS_SCHEMA_KEYWORD_H
#define OPERATIONS_SCHEMA_KEYWORD_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum {
  DRAFT_4 = 1,
  DRAFT_6 = 2,
  DRAFT_7 = 4,
  DRAFT_2019 = 8,
  DRAFT_2020 = 16,
  DRAFT_OPENAPI = 32, /* OpenAPI 3.0's dialect */
  DRAFT_SWAGGER = 64  /* Swagger 2.0's dialect */
};

enum {
  VOCABULARY_CORE = 1,
  VOCABULARY_APPLICATOR = 2,
  VOCABULARY_UNEVALUATED = 4,
  VOCABULARY_VALIDATION = 8,
  VOCABULARY_METADATA = 16,
  VOCABULARY_FORMAT = 32,
  VOCABULARY_CONTENT = 64,
  VOCABULARY_ASSERTION = 128, /* format asserts */
  VOCABULARY_ALL = 127
};

typedef enum schema_Shape {
  SHAPE_SCHEMA = 1,   /* 0: invalid */
  SHAPE_SCHEMAS,      /* a non-empty array of schemas */
  SHAPE_MAP,          /* an object of schemas */
  SHAPE_ITEMS,        /* a schema or an array of schemas */
  SHAPE_DEPENDENCIES, /* an object of schemas or arrays of names */
  SHAPE_COUNT,        /* a non-negative integer */
  SHAPE_NUMBER,
  SHAPE_POSITIVE, /* a number above zero */
  SHAPE_LIMIT,    /* a number, or a boolean in old drafts */
  SHAPE_STRING,
  SHAPE_BOOLEAN,
  SHAPE_NAMES,    /* an array of strings */
  SHAPE_NAME_MAP, /* an object of arrays of strings */
  SHAPE_TYPE,     /* a type name or an array of them */
  SHAPE_LIST,     /* an array of anything */
  SHAPE_ANY,
  SHAPE_IDENTIFIER /* a string, read with its schema */
} schema_Shape;

/* One row for each keyword, sorted by name (spec/schema/compile_spec.lua checks
** that): id, name, drafts, vocabulary, form of its value.  Ids are indices into
** the table. */
#define SCHEMA_KEYWORDS(ROW)                                                   \
  ROW(KEYWORD_ANCHOR, "$anchor", SINCE_2019, CORE, SHAPE_IDENTIFIER)           \
  ROW(KEYWORD_DEFS, "$defs", SINCE_2019, CORE, SHAPE_MAP)                      \
  ROW(KEYWORD_DYNAMIC_ANCHOR, "$dynamicAnchor", D20, CORE, SHAPE_IDENTIFIER)   \
  ROW(KEYWORD_DYNAMIC_REF, "$dynamicRef", D20, CORE, SHAPE_STRING)             \
  ROW(KEYWORD_ID, "$id", SINCE_6, CORE, SHAPE_IDENTIFIER)                      \
  ROW(KEYWORD_RECURSIVE_ANCHOR, "$recursiveAnchor", D19, CORE, SHAPE_BOOLEAN)  \
  ROW(KEYWORD_RECURSIVE_REF, "$recursiveRef", D19, CORE, SHAPE_STRING)         \
  ROW(KEYWORD_REF, "$ref", ALL, CORE, SHAPE_STRING)                            \
  ROW(KEYWORD_SCHEMA, "$schema", SINCE_4, CORE, SHAPE_IDENTIFIER)              \
  ROW(KEYWORD_ADDITIONAL_ITEMS, "additionalItems", D4 | D6 | D7 | D19,         \
      APPLICATOR, SHAPE_SCHEMA)                                                \
  ROW(KEYWORD_ADDITIONAL_PROPERTIES, "additionalProperties", ALL, APPLICATOR,  \
      SHAPE_SCHEMA)                                                            \
  ROW(KEYWORD_ALL_OF, "allOf", ALL, APPLICATOR, SHAPE_SCHEMAS)                 \
  ROW(KEYWORD_ANY_OF, "anyOf", SINCE_4 | DRAFT_OPENAPI, APPLICATOR,            \
      SHAPE_SCHEMAS)                                                           \
  ROW(KEYWORD_CONST, "const", SINCE_6, VALIDATION, SHAPE_ANY)                  \
  ROW(KEYWORD_CONTAINS, "contains", SINCE_6, APPLICATOR, SHAPE_SCHEMA)         \
  ROW(KEYWORD_CONTENT_SCHEMA, "contentSchema", SINCE_2019, CONTENT,            \
      SHAPE_SCHEMA)                                                            \
  ROW(KEYWORD_DEFAULT, "default", ALL, METADATA, SHAPE_ANY)                    \
  ROW(KEYWORD_DEFINITIONS, "definitions", ALL, CORE, SHAPE_MAP)                \
  ROW(KEYWORD_DEPENDENCIES, "dependencies", SINCE_4, APPLICATOR,               \
      SHAPE_DEPENDENCIES)                                                      \
  ROW(KEYWORD_DEPENDENT_REQUIRED, "dependentRequired", SINCE_2019, VALIDATION, \
      SHAPE_NAME_MAP)                                                          \
  ROW(KEYWORD_DEPENDENT_SCHEMAS, "dependentSchemas", SINCE_2019, APPLICATOR,   \
      SHAPE_MAP)                                                               \
  ROW(KEYWORD_DISCRIMINATOR, "discriminator", D20 | DRAFT_OPENAPI, METADATA,   \
      SHAPE_ANY)                                                               \
  ROW(KEYWORD_ELSE, "else", SINCE_7, APPLICATOR, SHAPE_SCHEMA)                 \
  ROW(KEYWORD_ENUM, "enum", ALL, VALIDATION, SHAPE_LIST)                       \
  ROW(KEYWORD_EXCLUSIVE_MAXIMUM, "exclusiveMaximum", ALL, VALIDATION,          \
      SHAPE_LIMIT)                                                             \
  ROW(KEYWORD_EXCLUSIVE_MINIMUM, "exclusiveMinimum", ALL, VALIDATION,          \
      SHAPE_LIMIT)                                                             \
  ROW(KEYWORD_FORMAT, "format", ALL, FORMAT, SHAPE_STRING)                     \
  ROW(KEYWORD_ID_4, "id", D4, CORE, SHAPE_IDENTIFIER)                          \
  ROW(KEYWORD_IF, "if", SINCE_7, APPLICATOR, SHAPE_SCHEMA)                     \
  ROW(KEYWORD_ITEMS, "items", ALL, APPLICATOR, SHAPE_ITEMS)                    \
  ROW(KEYWORD_MAX_CONTAINS, "maxContains", SINCE_2019, VALIDATION,             \
      SHAPE_COUNT)                                                             \
  ROW(KEYWORD_MAX_ITEMS, "maxItems", ALL, VALIDATION, SHAPE_COUNT)             \
  ROW(KEYWORD_MAX_LENGTH, "maxLength", ALL, VALIDATION, SHAPE_COUNT)           \
  ROW(KEYWORD_MAX_PROPERTIES, "maxProperties", ALL, VALIDATION, SHAPE_COUNT)   \
  ROW(KEYWORD_MAXIMUM, "maximum", ALL, VALIDATION, SHAPE_NUMBER)               \
  ROW(KEYWORD_MIN_CONTAINS, "minContains", SINCE_2019, VALIDATION,             \
      SHAPE_COUNT)                                                             \
  ROW(KEYWORD_MIN_ITEMS, "minItems", ALL, VALIDATION, SHAPE_COUNT)             \
  ROW(KEYWORD_MIN_LENGTH, "minLength", ALL, VALIDATION, SHAPE_COUNT)           \
  ROW(KEYWORD_MIN_PROPERTIES, "minProperties", ALL, VALIDATION, SHAPE_COUNT)   \
  ROW(KEYWORD_MINIMUM, "minimum", ALL, VALIDATION, SHAPE_NUMBER)               \
  ROW(KEYWORD_MULTIPLE_OF, "multipleOf", ALL, VALIDATION, SHAPE_POSITIVE)      \
  ROW(KEYWORD_NOT, "not", SINCE_4 | DRAFT_OPENAPI, APPLICATOR, SHAPE_SCHEMA)   \
  ROW(KEYWORD_NULLABLE, "nullable", DRAFT_OPENAPI, VALIDATION, SHAPE_BOOLEAN)  \
  ROW(KEYWORD_ONE_OF, "oneOf", SINCE_4 | DRAFT_OPENAPI, APPLICATOR,            \
      SHAPE_SCHEMAS)                                                           \
  ROW(KEYWORD_PATTERN, "pattern", ALL, VALIDATION, SHAPE_STRING)               \
  ROW(KEYWORD_PATTERN_PROPERTIES, "patternProperties", SINCE_4, APPLICATOR,    \
      SHAPE_MAP)                                                               \
  ROW(KEYWORD_PREFIX_ITEMS, "prefixItems", D20, APPLICATOR, SHAPE_SCHEMAS)     \
  ROW(KEYWORD_PROPERTIES, "properties", ALL, APPLICATOR, SHAPE_MAP)            \
  ROW(KEYWORD_PROPERTY_NAMES, "propertyNames", SINCE_6, APPLICATOR,            \
      SHAPE_SCHEMA)                                                            \
  ROW(KEYWORD_REQUIRED, "required", ALL, VALIDATION, SHAPE_NAMES)              \
  ROW(KEYWORD_THEN, "then", SINCE_7, APPLICATOR, SHAPE_SCHEMA)                 \
  ROW(KEYWORD_TYPE, "type", ALL, VALIDATION, SHAPE_TYPE)                       \
  ROW(KEYWORD_UNEVALUATED_ITEMS, "unevaluatedItems", SINCE_2019, UNEVALUATED,  \
      SHAPE_SCHEMA)                                                            \
  ROW(KEYWORD_UNEVALUATED_PROPERTIES, "unevaluatedProperties", SINCE_2019,     \
      UNEVALUATED, SHAPE_SCHEMA)                                               \
  ROW(KEYWORD_UNIQUE_ITEMS, "uniqueItems", ALL, VALIDATION, SHAPE_BOOLEAN)

#define KEYWORD_ID(id, name, drafts, vocabulary, shape) id,

typedef enum schema_KeywordId {
  SCHEMA_KEYWORDS(KEYWORD_ID) KEYWORD_COUNT,
  KEYWORD_NONE = KEYWORD_COUNT
} schema_KeywordId;

typedef struct schema_KeywordInfo {
  const char *name;
  uint8_t drafts, vocabulary;
  uint8_t shape; /* schema_Shape */
} schema_KeywordInfo;

extern const schema_KeywordInfo schema_keywords[KEYWORD_COUNT];

/* KEYWORD_NONE for a name that is not a keyword of any draft. */
schema_KeywordId schema_keyword_find(const char *name, size_t len);

typedef struct schema_Dialect {
  uint8_t draft;      /* DRAFT_... */
  uint8_t vocabulary; /* VOCABULARY_... */
} schema_Dialect;

/* The length of a `$schema` URI without an empty fragment. */
size_t schema_dialect_uri_len(const char *uri);

/* Finds a dialect by `$schema` URI (ignores an empty fragment); false when
** unknown. */
bool schema_dialect_by_uri(const char *uri, schema_Dialect *dialect);

/* Finds a dialect by a name of option `draft` ("2020-12", "7", "openapi-3.0",
** ...). */
bool schema_dialect_by_name(const char *name, schema_Dialect *dialect);

/* The bit of a vocabulary's URI; 0 when unknown. */
uint8_t schema_vocabulary_by_uri(const char *uri);

/* Has the dialect the keyword, by draft and vocabulary? */
static inline bool schema_keyword_applies(schema_KeywordId id,
                                          const schema_Dialect *dialect) {
  return (schema_keywords[id].drafts & dialect->draft) != 0 &&
         (schema_keywords[id].vocabulary & dialect->vocabulary) != 0;
}

#endif
