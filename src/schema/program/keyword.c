#include "schema/program/keyword.h"

#include <string.h>

#define D4 DRAFT_4
#define D6 DRAFT_6
#define D7 DRAFT_7
#define D19 DRAFT_2019
#define D20 DRAFT_2020
#define OPENAPI (DRAFT_OPENAPI | DRAFT_SWAGGER)
#define SINCE_2019 (D19 | D20)
#define SINCE_7 (D7 | SINCE_2019)
#define SINCE_6 (D6 | SINCE_7)
#define SINCE_4 (D4 | SINCE_6)
#define ALL (SINCE_4 | OPENAPI)

#define CORE VOCABULARY_CORE
#define APPLICATOR VOCABULARY_APPLICATOR
#define UNEVALUATED VOCABULARY_UNEVALUATED
#define VALIDATION VOCABULARY_VALIDATION
#define METADATA VOCABULARY_METADATA
#define FORMAT VOCABULARY_FORMAT
#define CONTENT VOCABULARY_CONTENT

#define KEYWORD_INFO(id, name, drafts, vocabulary, shape)                      \
  {name, drafts, vocabulary, shape},

const schema_KeywordInfo schema_keywords[] = {SCHEMA_KEYWORDS(KEYWORD_INFO)};

typedef char every_keyword_has_a_row[sizeof(schema_keywords) /
                                                 sizeof(schema_keywords[0]) ==
                                             KEYWORD_COUNT
                                         ? 1
                                         : -1];

schema_KeywordId schema_keyword_find(const char *name, size_t len) {
  int low = 0, high = KEYWORD_COUNT;
  if (strlen(name) != len) return KEYWORD_NONE; /* contains a NUL */
  while (low < high) {
    int middle = (low + high) / 2;
    int order = strcmp(name, schema_keywords[middle].name);
    if (order == 0) return (schema_KeywordId)middle;
    if (order < 0) high = middle;
    else low = middle + 1;
  }
  return KEYWORD_NONE;
}

typedef struct NamedDialect {
  const char *name, *uri;
  uint8_t draft;
} NamedDialect;

static const NamedDialect dialects[] = {
    {"2020-12", "https://json-schema.org/draft/2020-12/schema", D20},
    {"2019-09", "https://json-schema.org/draft/2019-09/schema", D19},
    {"7", "http://json-schema.org/draft-07/schema", D7},
    {"6", "http://json-schema.org/draft-06/schema", D6},
    {"4", "http://json-schema.org/draft-04/schema", D4},
    {"openapi-3.1", "https://spec.openapis.org/oas/3.1/dialect/base", D20},
    {"openapi-3.0", NULL, DRAFT_OPENAPI},
    {"swagger-2.0", NULL, DRAFT_SWAGGER},
    /* a common mistake: https for drafts that use http */
    {"7", "https://json-schema.org/draft-07/schema", D7},
    {"6", "https://json-schema.org/draft-06/schema", D6},
    {"4", "https://json-schema.org/draft-04/schema", D4},
};

#define COUNT_OF(array) (sizeof(array) / sizeof((array)[0]))

size_t schema_dialect_uri_len(const char *uri) {
  size_t len = strlen(uri);
  return len > 0 && uri[len - 1] == '#' ? len - 1 : len;
}

static void set_dialect(schema_Dialect *dialect, uint8_t draft) {
  dialect->draft = draft;
  dialect->vocabulary = VOCABULARY_ALL;
}

bool schema_dialect_by_uri(const char *uri, schema_Dialect *dialect) {
  size_t len = schema_dialect_uri_len(uri), i;
  for (i = 0; i < COUNT_OF(dialects); i++) {
    const NamedDialect *d = &dialects[i];
    if (d->uri != NULL && strlen(d->uri) == len &&
        strncmp(d->uri, uri, len) == 0)
      return set_dialect(dialect, d->draft), true;
  }
  return false;
}

bool schema_dialect_by_name(const char *name, schema_Dialect *dialect) {
  size_t i;
  if (strncmp(name, "draft", 5) == 0) {
    name += 5;
    if (*name == '-') name++;
    if (*name == '0') name++;
  }
  for (i = 0; i < COUNT_OF(dialects); i++) {
    if (strcmp(dialects[i].name, name) == 0)
      return set_dialect(dialect, dialects[i].draft), true;
  }
  return false;
}

uint8_t schema_vocabulary_by_uri(const char *uri) {
  static const struct {
    const char *name;
    uint8_t bits;
  } names[] = {
      {"core", CORE},
      {"applicator", APPLICATOR},
      {"unevaluated", UNEVALUATED},
      {"validation", VALIDATION},
      {"meta-data", METADATA},
      {"format", FORMAT},
      {"format-annotation", FORMAT},
      {"format-assertion", FORMAT | VOCABULARY_ASSERTION},
      {"content", CONTENT},
  };
  static const char start[] = "https://json-schema.org/draft/20";
  const char *name;
  size_t i;
  if (strncmp(uri, start, sizeof(start) - 1) != 0) return 0;
  name = strstr(uri, "/vocab/");
  if (name == NULL) return 0;
  for (i = 0; i < COUNT_OF(names); i++) {
    if (strcmp(names[i].name, name + 7) == 0) return names[i].bits;
  }
  return 0;
}
