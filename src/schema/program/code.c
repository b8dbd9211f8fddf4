/*
** code.c - the traits of instructions (schema/program/code.h).
*/
#include "schema/program/code.h"

#define READS_CONSTANTS true
#define READS_KEYLESS false
#define TRAITS(kind, code, applies, reads, message, words)                     \
  [code] = {kind, APPLIES_##applies, message, READS_##reads, words},
#define EVERY_ROW(code, applies, reads, message, words)                        \
  TRAITS(TYPE_ANY, code, applies, reads, message, words)
#define STRING_ROW(code, applies, reads, message, words)                       \
  TRAITS(TYPE_STRING, code, applies, reads, message, words)
#define NUMBER_ROW(code, applies, reads, message, words)                       \
  TRAITS(TYPE_NUMBER, code, applies, reads, message, words)
#define ARRAY_ROW(code, applies, reads, message, words)                        \
  TRAITS(TYPE_ARRAY, code, applies, reads, message, words)
#define OBJECT_ROW(code, applies, reads, message, words)                       \
  TRAITS(TYPE_OBJECT, code, applies, reads, message, words)

const schema_CodeTraits schema_codes[] = {
    EVERY_CODES(EVERY_ROW) STRING_CODES(STRING_ROW) NUMBER_CODES(NUMBER_ROW)
        ARRAY_CODES(ARRAY_ROW) OBJECT_CODES(OBJECT_ROW)};

typedef char every_code_has_a_row
    [sizeof(schema_codes) / sizeof(schema_codes[0]) == CODE_COUNT ? 1 : -1];
