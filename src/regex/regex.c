#define PCRE2_CODE_UNIT_WIDTH 8

#include "regex/regex.h"

#include <pcre2.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "regex/automaton.h"
#include "regex/parse.h"
#include "base/utf8.h"

/* UCP stays off: ECMA-262's \d, \w and \b are ASCII. */
#define COMPILE_OPTIONS                                                        \
  (PCRE2_UTF | PCRE2_DOLLAR_ENDONLY | PCRE2_ALT_BSUX |                         \
   PCRE2_ALLOW_EMPTY_CLASS | PCRE2_MATCH_UNSET_BACKREF)

#define MATCH_LIMIT 1000000
#define DEPTH_LIMIT 100000
#define HEAP_LIMIT (16 * 1024) /* KiB */
#define MAX_TRANSLATION (8u << 20)

/* Either the automaton or what PCRE2 needs. */
struct regex_Regex {
  ops_Alloc alloc;
  automaton_Automaton *automaton;
  pcre2_general_context *general;
  pcre2_match_context *limits;
  pcre2_code *code;
  pcre2_match_data *match;
  bool jit;
};

/* PCRE2 frees without telling the size, so each block starts with it. */
typedef union Header {
  size_t size;
  double align_double;
  void *align_pointer;
} Header;

static void *context_alloc(size_t size, void *ud) {
  const ops_Alloc *alloc = (const ops_Alloc *)ud;
  Header *header;
  if (size > SIZE_MAX - sizeof(Header)) return NULL;
  header = (Header *)ops_alloc(alloc, size + sizeof(Header));
  if (header == NULL) return NULL;
  header->size = size + sizeof(Header);
  return header + 1;
}

static void context_free(void *block, void *ud) {
  Header *header = (Header *)block;
  if (header == NULL) return;
  header--;
  ops_free((const ops_Alloc *)ud, header, header->size);
}

static void *plain_alloc(void *ud, void *block, size_t old_size, size_t size) {
  (void)ud;
  (void)old_size;
  if (size > 0) return realloc(block, size);
  free(block);
  return NULL;
}

void regex_free(regex_Regex *regex) {
  if (regex == NULL) return;
  pcre2_match_data_free(regex->match);
  pcre2_match_context_free(regex->limits);
  pcre2_code_free(regex->code);
  pcre2_general_context_free(regex->general);
  automaton_free(&regex->alloc, regex->automaton);
  ops_free(&regex->alloc, regex, sizeof(*regex));
}

/* The source offset of what became the byte `offset` of the translation. */
static size_t source_offset(const regex_Regex *regex, const char *source,
                            size_t len, size_t offset) {
  regex_Translation to = {NULL, true, offset, len};
  regex_Problem problem;
  buffer_Buffer out;
  buffer_init(&out, regex->alloc, MAX_TRANSLATION);
  to.out = &out;
  if (!regex_parse(&regex->alloc, source, len, &to, &problem)) to.watched = len;
  buffer_free(&out);
  return to.watched;
}

static bool compile(regex_Regex *regex, const buffer_Buffer *pattern,
                    int *problem, size_t *offset) {
  pcre2_compile_context *context;
  *problem = PCRE2_ERROR_NOMEMORY;
  *offset = 0;
  regex->general =
      pcre2_general_context_create(context_alloc, context_free, &regex->alloc);
  if (regex->general == NULL) return false;
  context = pcre2_compile_context_create(regex->general);
  if (context == NULL) return false;
  regex->code =
      pcre2_compile((PCRE2_SPTR)(pattern->len > 0 ? pattern->data : ""),
                    pattern->len, COMPILE_OPTIONS, problem, offset, context);
  pcre2_compile_context_free(context);
  return regex->code != NULL;
}

static bool prepare(regex_Regex *regex) {
  regex->limits = pcre2_match_context_create(regex->general);
  regex->match = pcre2_match_data_create(1, regex->general);
  if (regex->limits == NULL || regex->match == NULL) return false;
  pcre2_set_match_limit(regex->limits, MATCH_LIMIT);
  pcre2_set_depth_limit(regex->limits, DEPTH_LIMIT);
  pcre2_set_heap_limit(regex->limits, HEAP_LIMIT);
  /* Where the process may not make code (hardened systems) it just fails. */
  regex->jit = pcre2_jit_compile(regex->code, PCRE2_JIT_COMPLETE) == 0;
  return true;
}

static regex_Regex *regex_new(const ops_Alloc *alloc) {
  regex_Regex *regex = (regex_Regex *)ops_alloc(alloc, sizeof(*regex));
  if (regex == NULL) return NULL;
  memset(regex, 0, sizeof(*regex));
  regex->alloc = *alloc;
  return regex;
}

static bool build(regex_Regex *regex, const char *source, size_t len,
                  char *error, size_t error_size) {
  regex_Translation to = {NULL, true, SIZE_MAX, 0};
  regex_Problem problem = {"out of memory", 0};
  buffer_Buffer out;
  int code = 0;
  size_t offset = 0;
  char reason[128];
  bool ok;
  buffer_init(&out, regex->alloc, MAX_TRANSLATION);
  to.out = &out;
  ok = regex_parse(&regex->alloc, source, len, &to, &problem);
  if (ok)
    regex->automaton = automaton_build(
        &regex->alloc, out.len > 0 ? (const char *)out.data : "", out.len);
  if (!ok) {
    snprintf(error, error_size, "%s at offset %lu", problem.message,
             (unsigned long)problem.offset);
  } else if (regex->automaton != NULL) {
    ok = true;
  } else if (!compile(regex, &out, &code, &offset)) {
    ok = false;
    pcre2_get_error_message(code, (PCRE2_UCHAR *)reason, sizeof(reason));
    offset = source_offset(regex, source, len, offset);
    snprintf(error, error_size, "%s at offset %lu", reason,
             (unsigned long)offset);
  } else if (!prepare(regex)) {
    ok = false;
    snprintf(error, error_size, "out of memory");
  }
  buffer_free(&out);
  return ok;
}

regex_Regex *regex_compile(const ops_Alloc *alloc, const char *source,
                           size_t len, char *error, size_t error_size) {
  regex_Regex *regex = regex_new(alloc);
  if (regex == NULL) {
    snprintf(error, error_size, "out of memory");
    return NULL;
  }
  if (build(regex, source, len, error, error_size)) return regex;
  regex_free(regex);
  return NULL;
}

int regex_match(const regex_Regex *regex, const char *subject, size_t len) {
  PCRE2_SPTR text = (PCRE2_SPTR)subject;
  int found = PCRE2_ERROR_JIT_BADOPTION;
  if (regex->automaton != NULL)
    return automaton_match(regex->automaton, subject, len);
  if (!utf8_valid(subject, len)) return 0;
  if (regex->jit) {
    found = pcre2_jit_match(regex->code, text, len, 0, 0, regex->match,
                            regex->limits);
  }
  if (found == PCRE2_ERROR_JIT_BADOPTION ||
      found == PCRE2_ERROR_JIT_STACKLIMIT) {
    found = pcre2_match(regex->code, text, len, 0,
                        PCRE2_NO_UTF_CHECK | PCRE2_NO_JIT, regex->match,
                        regex->limits);
  }
  if (found >= 0) return 1;
  return found == PCRE2_ERROR_NOMATCH ? 0 : -1;
}

bool regex_is_valid(const char *source, size_t len) {
  const ops_Alloc alloc = {plain_alloc, NULL};
  regex_Translation to = {NULL, false, 0, 0};
  regex_Problem problem;
  return regex_parse(&alloc, source, len, &to, &problem);
}

/* \p{name} on its own, or NULL when PCRE2 does not know it. */
static regex_Regex *compile_property(const char *name) {
  const ops_Alloc alloc = {plain_alloc, NULL};
  char pattern[96];
  regex_Regex *regex = regex_new(&alloc);
  buffer_Buffer text;
  int problem;
  size_t offset;
  if (regex == NULL) return NULL;
  memset(&text, 0, sizeof(text));
  text.data = pattern;
  text.len = (size_t)snprintf(pattern, sizeof(pattern), "\\p{%s}", name);
  if (text.len < sizeof(pattern) && compile(regex, &text, &problem, &offset) &&
      prepare(regex)) {
    return regex;
  }
  regex_free(regex);
  return NULL;
}

bool regex_knows_property(const char *name) {
  regex_Regex *regex = compile_property(name);
  regex_free(regex);
  return regex != NULL;
}

bool regex_has_property(uint32_t c, const char *name) {
  char character[4];
  size_t n = utf8_write(c, character);
  regex_Regex *regex = compile_property(name);
  bool found = regex != NULL && regex_match(regex, character, n) == 1;
  regex_free(regex);
  return found;
}
