/*
** number.h - decimal digits to doubles and back, exact in both directions,
** independent of the locale.  No Lua.
*/
#ifndef OPERATIONS_JSON_NUMBER_H
#define OPERATIONS_JSON_NUMBER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* The buffer size that json_format_double and json_format_integer need. */
#define JSON_NUMBER_ROOM 32

/* A mantissa has at most so many digits. */
#define JSON_MANTISSA_DIGITS 19

/* The double nearest to mantissa * 10^exponent (ties to even).  `p`, `n` is the
** same number as JSON text; it is read when `exact` is false, that is, when the
** mantissa has only the first JSON_MANTISSA_DIGITS of the text.  Infinite when
** out of range. */
double json_parse_double(uint64_t mantissa, int64_t exponent, bool exact,
                         const char *p, size_t n);

/* Writes the shortest text that reads back as `value` (which is finite):
** integers without fraction up to 2^53, with an exponent above, so that readers
** do not take it for an integer.  Returns its length; no '\0'. */
size_t json_format_double(char *out, double value);

/* As json_format_double, for an integer, which is written in full. */
size_t json_format_integer(char *out, int64_t value);
size_t json_format_unsigned(char *out, uint64_t value);

#endif
