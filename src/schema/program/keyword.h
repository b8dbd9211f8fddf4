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
  SHAPE_SCHEMA,
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

/* Sorted by name: ids are indices into the table. */
typedef enum schema_KeywordId {
  KEYWORD_ANCHOR,
  KEYWORD_DEFS,
  KEYWORD_DYNAMIC_ANCHOR,
  KEYWORD_DYNAMIC_REF,
  KEYWORD_ID,
  KEYWORD_RECURSIVE_ANCHOR,
  KEYWORD_RECURSIVE_REF,
  KEYWORD_REF,
  KEYWORD_SCHEMA,
  KEYWORD_ADDITIONAL_ITEMS,
  KEYWORD_ADDITIONAL_PROPERTIES,
  KEYWORD_ALL_OF,
  KEYWORD_ANY_OF,
  KEYWORD_CONST,
  KEYWORD_CONTAINS,
  KEYWORD_CONTENT_SCHEMA,
  KEYWORD_DEFAULT,
  KEYWORD_DEFINITIONS,
  KEYWORD_DEPENDENCIES,
  KEYWORD_DEPENDENT_REQUIRED,
  KEYWORD_DEPENDENT_SCHEMAS,
  KEYWORD_DISCRIMINATOR,
  KEYWORD_ELSE,
  KEYWORD_ENUM,
  KEYWORD_EXCLUSIVE_MAXIMUM,
  KEYWORD_EXCLUSIVE_MINIMUM,
  KEYWORD_FORMAT,
  KEYWORD_ID_4,
  KEYWORD_IF,
  KEYWORD_ITEMS,
  KEYWORD_MAX_CONTAINS,
  KEYWORD_MAX_ITEMS,
  KEYWORD_MAX_LENGTH,
  KEYWORD_MAX_PROPERTIES,
  KEYWORD_MAXIMUM,
  KEYWORD_MIN_CONTAINS,
  KEYWORD_MIN_ITEMS,
  KEYWORD_MIN_LENGTH,
  KEYWORD_MIN_PROPERTIES,
  KEYWORD_MINIMUM,
  KEYWORD_MULTIPLE_OF,
  KEYWORD_NOT,
  KEYWORD_NULLABLE,
  KEYWORD_ONE_OF,
  KEYWORD_PATTERN,
  KEYWORD_PATTERN_PROPERTIES,
  KEYWORD_PREFIX_ITEMS,
  KEYWORD_PROPERTIES,
  KEYWORD_PROPERTY_NAMES,
  KEYWORD_REQUIRED,
  KEYWORD_THEN,
  KEYWORD_TYPE,
  KEYWORD_UNEVALUATED_ITEMS,
  KEYWORD_UNEVALUATED_PROPERTIES,
  KEYWORD_UNIQUE_ITEMS,
  KEYWORD_COUNT,
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
