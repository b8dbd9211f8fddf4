/*
** code.h - the instructions of a compiled schema, their traits, and groups of
** them for the switches.  Data only.  No Lua.
*/
#ifndef OPERATIONS_SCHEMA_CODE_H
#define OPERATIONS_SCHEMA_CODE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { /* JSON types, as a mask */
       TYPE_NULL = 1,
       TYPE_BOOLEAN = 2,
       TYPE_INTEGER = 4,
       TYPE_FRACTION = 8,
       TYPE_NUMBER = TYPE_INTEGER | TYPE_FRACTION,
       TYPE_STRING = 16,
       TYPE_ARRAY = 32,
       TYPE_OBJECT = 64,
       TYPE_ANY = 127
};

/* The instructions: one row for each, by the values that they apply to.  The
** enum, the traits and the groups of cases below are made of the rows.  The
** columns:
**
** 1. The code, and the operands (schema_Op) after it.
** 2. Where it applies schemas: to the SAME value, BELOW it (to members or
**    items), or nowhere (ALONE).
** 3. CONSTANTS if deciding it reads the table of constants by a key of its own;
**    enums, objects and unions are looked at one by one (compile/dispatch.c).
** 4. What its issue says (issue/message.c), with the words of that. */
#define EVERY_CODES(ROW)                                                       \
  /* a: first member, b: count, index */                                       \
  ROW(CODE_ENUM, ALONE, KEYLESS, MESSAGE_MEMBERS, NULL)                        \
  /* a: member, b: 1 */                                                        \
  ROW(CODE_CONST, ALONE, KEYLESS, MESSAGE_MEMBERS, NULL)                       \
  /* a: node; keyword: $ref, allOf */                                          \
  ROW(CODE_CALL, SAME, KEYLESS, MESSAGE_PLAIN, NULL)                           \
  /* a: node when nothing in the dynamic scope has name b */                   \
  ROW(CODE_DYNAMIC, SAME, KEYLESS, MESSAGE_PLAIN, NULL)                        \
  /* a: union */                                                               \
  ROW(CODE_ANY_OF, SAME, KEYLESS, MESSAGE_PLAIN, NULL)                         \
  ROW(CODE_ONE_OF, SAME, KEYLESS, MESSAGE_PLAIN, NULL)                         \
  /* a: node */                                                                \
  ROW(CODE_NOT, SAME, KEYLESS, MESSAGE_NOT, NULL)                              \
  /* a: node, b: then or -1, c: else or -1 */                                  \
  ROW(CODE_IF, SAME, KEYLESS, MESSAGE_PLAIN, NULL)                             \
  /* a: node; after all others, whose visits they depend on */                 \
  ROW(CODE_UNEVALUATED_ITEMS, SAME, KEYLESS, MESSAGE_PLAIN, NULL)              \
  ROW(CODE_UNEVALUATED_PROPERTIES, SAME, KEYLESS, MESSAGE_PLAIN, NULL)

#define STRING_CODES(ROW)                                                      \
  /* n */                                                                      \
  ROW(CODE_MIN_LENGTH, ALONE, KEYLESS, MESSAGE_COUNT, "least")                 \
  ROW(CODE_MAX_LENGTH, ALONE, KEYLESS, MESSAGE_COUNT, "most")                  \
  /* a: regex, b: constant, its source */                                      \
  ROW(CODE_PATTERN, ALONE, KEYLESS, MESSAGE_NAME, "string that matches")       \
  /* format, b: constant, its name */                                          \
  ROW(CODE_FORMAT, ALONE, KEYLESS, MESSAGE_NAME, "string of format")

/* The bounds: INTEGER_BOUND: i holds the bound, else d. */
#define NUMBER_CODES(ROW)                                                      \
  ROW(CODE_MINIMUM, ALONE, KEYLESS, MESSAGE_BOUND, "of at least")              \
  ROW(CODE_MAXIMUM, ALONE, KEYLESS, MESSAGE_BOUND, "of at most")               \
  /* exclusiveMinimum and exclusiveMaximum */                                  \
  ROW(CODE_ABOVE, ALONE, KEYLESS, MESSAGE_BOUND, "above")                      \
  ROW(CODE_BELOW, ALONE, KEYLESS, MESSAGE_BOUND, "below")                      \
  ROW(CODE_MULTIPLE_OF, ALONE, KEYLESS, MESSAGE_BOUND,                         \
      "that is a multiple of")                                                 \
  /* a: NUMBER_FORMAT_..., b: constant, its name */                            \
  ROW(CODE_NUMBER_FORMAT, ALONE, KEYLESS, MESSAGE_NAME, "number of format")

#define ARRAY_CODES(ROW)                                                       \
  /* n */                                                                      \
  ROW(CODE_MIN_ITEMS, ALONE, KEYLESS, MESSAGE_COUNT, "least")                  \
  ROW(CODE_MAX_ITEMS, ALONE, KEYLESS, MESSAGE_COUNT, "most")                   \
  /* a: first of the tuple in links, b: count, c: node of the others or -1 */  \
  ROW(CODE_ITEMS, BELOW, KEYLESS, MESSAGE_PLAIN, NULL)                         \
  /* a: node, b: at least, c: at most or -1 */                                 \
  ROW(CODE_CONTAINS, BELOW, KEYLESS, MESSAGE_CONTAINS, NULL)                   \
  ROW(CODE_UNIQUE_ITEMS, ALONE, KEYLESS, MESSAGE_TWINS, NULL)

#define OBJECT_CODES(ROW)                                                      \
  /* n */                                                                      \
  ROW(CODE_MIN_PROPERTIES, ALONE, KEYLESS, MESSAGE_COUNT, "least")             \
  ROW(CODE_MAX_PROPERTIES, ALONE, KEYLESS, MESSAGE_COUNT, "most")              \
  /* a: object */                                                              \
  ROW(CODE_MEMBERS, BELOW, KEYLESS, MESSAGE_PLAIN, NULL)                       \
  /* a: node */                                                                \
  ROW(CODE_PROPERTY_NAMES, BELOW, KEYLESS, MESSAGE_PLAIN, NULL)                \
  /* a: first name in links, b: count, c: key */                               \
  ROW(CODE_DEPENDENT_REQUIRED, ALONE, CONSTANTS, MESSAGE_PLAIN, NULL)          \
  /* a: node, c: key */                                                        \
  ROW(CODE_DEPENDENT_SCHEMA, SAME, CONSTANTS, MESSAGE_PLAIN, NULL)

#define ALL_CODES(ROW)                                                         \
  EVERY_CODES(ROW)                                                             \
  STRING_CODES(ROW)                                                            \
  NUMBER_CODES(ROW)                                                            \
  ARRAY_CODES(ROW)                                                             \
  OBJECT_CODES(ROW)

#define CODE_NAME(code, applies, reads, message, words) code,

typedef enum schema_Code {
  CODE_NONE, /* invalid */
  ALL_CODES(CODE_NAME) CODE_COUNT
} schema_Code;

/* The labels of groups of codes.  A switch over schema_Code has no `default:`,
** so that the compiler names the codes that it lacks (-Werror=switch). */
#define CODE_CASE(code, applies, reads, message, words) case code:
#define CASES(KIND) KIND##_CODES(CODE_CASE)
#define ALONE_CASE(code, applies, reads, message, words)                       \
  LABEL_IF_##applies(code)
#define LABEL_IF_ALONE(code) case code:
#define LABEL_IF_BELOW(code)
#define LABEL_IF_SAME(code)

#define NO_CASES                                                               \
  case CODE_NONE:                                                              \
  case CODE_COUNT
#define CASES_BUT_EVERY                                                        \
  CASES(STRING) CASES(NUMBER) CASES(ARRAY) CASES(OBJECT) NO_CASES
#define CASES_BUT_STRING                                                       \
  CASES(EVERY) CASES(NUMBER) CASES(ARRAY) CASES(OBJECT) NO_CASES
#define CASES_BUT_NUMBER                                                       \
  CASES(EVERY) CASES(STRING) CASES(ARRAY) CASES(OBJECT) NO_CASES
#define CASES_BUT_ARRAY                                                        \
  CASES(EVERY) CASES(STRING) CASES(NUMBER) CASES(OBJECT) NO_CASES
#define CASES_BUT_OBJECT                                                       \
  CASES(EVERY) CASES(STRING) CASES(NUMBER) CASES(ARRAY) NO_CASES

/* Those that apply no schema. */
#define CASES_ALONE ALL_CODES(ALONE_CASE) NO_CASES

typedef enum schema_Applies {
  APPLIES_ALONE = 1,
  APPLIES_BELOW,
  APPLIES_SAME
} schema_Applies;

typedef enum schema_Message {
  MESSAGE_PLAIN = 1, /* "does not fit the keyword contains" */
  MESSAGE_NOT,
  MESSAGE_MEMBERS, /* the values that are allowed */
  MESSAGE_COUNT,   /* "expected at WORDS 3 characters, got 2" */
  MESSAGE_NAME,    /* "expected a WORDS date, got 1" */
  MESSAGE_BOUND,   /* "expected a number WORDS 3, got 2" */
  MESSAGE_CONTAINS,
  MESSAGE_TWINS
} schema_Message;

typedef struct schema_CodeTraits {
  uint8_t kind;    /* TYPE_...: of the values that it applies to; 0: invalid */
  uint8_t applies; /* schema_Applies */
  uint8_t message; /* schema_Message */
  bool reads_constants;
  const char *words;
} schema_CodeTraits;

extern const schema_CodeTraits schema_codes[CODE_COUNT];

#endif
