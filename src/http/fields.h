/*
** fields.h - header fields of HTTP, line by line.  No I/O, no Lua.
*/
#ifndef OPERATIONS_FIELDS_H
#define OPERATIONS_FIELDS_H

#include <stdbool.h>
#include <stddef.h>

typedef struct fields_Field {
  const char *name, *value; /* borrowed from the line; blanks trimmed */
  size_t name_len, value_len;
  bool folded; /* no name: the value continues that of the field before */
} fields_Field;

/* Reads a line, up to its end if that is in there; false when it is no field:
** there is no colon in it. */
bool fields_read(const char *line, size_t length, fields_Field *field);

#endif
