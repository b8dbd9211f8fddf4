/*
** fuzz_format.c - libFuzzer target: a string through every format.  What one
** format takes another that is wider by its specification takes too.
*/
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "format/format.h"

int LLVMFuzzerTestOneInput(const unsigned char *data, size_t size);

/* Each implies the second; all formats are in it. */
static const char *const implications[][2] = {
    {"uri", "uri-reference"},
    {"uri", "iri"},
    {"uri-reference", "iri-reference"},
    {"iri", "iri-reference"},
    {"email", "idn-email"},
    {"json-pointer", "binary"},
    {"relative-json-pointer", "password"},
    {"ipv4", "hostname"},
    {"hostname", "uri-reference"},
    {"idn-hostname", "iri-reference"},
    {"uuid", "hostname"},
    {"date", "hostname"},
    {"byte", "binary"},
    {"date-time", "password"},
    {"time", "uri-template"},
    {"ipv6", "uri-template"},
    {"regex", "binary"},
    {"uri", "uri-template"},
};

static bool conforms(const char *name, const char *s, size_t len) {
  format_Check check = format_find(name, strlen(name));
  return check == NULL || check(s, len);
}

int LLVMFuzzerTestOneInput(const unsigned char *data, size_t size) {
  size_t i;
  /* A copy of its own, so that reading beyond the end is seen. */
  char *s = malloc(size + (size == 0));
  if (size > 0) memcpy(s, data, size);
  for (i = 0; i < sizeof(implications) / sizeof(implications[0]); i++) {
    if (conforms(implications[i][0], s, size) &&
        !conforms(implications[i][1], s, size)) {
      fprintf(stderr, "%s without %s\n", implications[i][0],
              implications[i][1]);
      abort();
    }
  }
  free(s);
  return 0;
}
