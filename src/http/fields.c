#include "http/fields.h"

#include <ctype.h>
#include <string.h>

static bool is_blank(char c) {
  return c == ' ' || c == '\t';
}

static void trim(const char **p, size_t *length) {
  while (*length > 0 && isspace((unsigned char)(*p)[*length - 1])) --*length;
  while (*length > 0 && is_blank(**p)) ++*p, --*length;
}

bool fields_read(const char *line, size_t length, fields_Field *field) {
  const char *stop = memchr(line, '\n', length), *colon;
  if (stop == NULL) stop = line + length;
  field->folded = length > 0 && is_blank(*line);
  colon = field->folded ? line : memchr(line, ':', (size_t)(stop - line));
  if (colon == NULL) return false;
  field->name = line;
  field->name_len = (size_t)(colon - line);
  field->value = colon + 1;
  field->value_len = (size_t)(stop - field->value);
  trim(&field->value, &field->value_len);
  trim(&field->name, &field->name_len);
  return true;
}
