/*
** format.h - the string formats of JSON Schema and OpenAPI, each a check of a
** byte string.  No Lua, no I/O, no allocation except for format "regex". Each
** takes time linear in the length of the string.
*/
#ifndef OPERATIONS_FORMAT_H
#define OPERATIONS_FORMAT_H

#include <stdbool.h>
#include <stddef.h>

/* The bytes may be anything, NUL and malformed UTF-8 included. */
typedef bool (*format_Check)(const char *s, size_t len);

/* The check of the format `name`; NULL when the name is unknown: such a format
** is only an annotation.  Formats of numbers (int32, double) are elsewhere. */
format_Check format_find(const char *name, size_t len);

#endif
