/*
** fuzz_regex.c - libFuzzer target: a pattern, a NUL, a subject.  What the
** strict grammar takes the lenient one takes too, PCRE2 refuses a translation
** only for what it cannot do, never for its syntax, and the meters in it change
** no answer.
*/
#define PCRE2_CODE_UNIT_WIDTH 8

#include <pcre2.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "regex/regex.h"
#include "regex/parse.h"

int LLVMFuzzerTestOneInput(const unsigned char *data, size_t size);

static void *fuzz_alloc(void *ud, void *p, size_t old_size, size_t new_size) {
  (void)ud;
  (void)old_size;
  if (new_size > 0) return realloc(p, new_size);
  free(p);
  return NULL;
}

static const ops_Alloc alloc = {fuzz_alloc, NULL};

static const char *const limit_messages[] = {
    "lookbehind assertion is not fixed length",
    "lookbehind assertion is too long",
    "regular expression is too large",
    "regular expression is too complicated",
    "parentheses are too deeply nested",
    "lookbehind is too complicated",
};

static void check(bool ok, const char *what) {
  if (ok) return;
  fprintf(stderr, "%s\n", what);
  abort();
}

static bool is_limit(const char *error) {
  size_t i;
  for (i = 0; i < sizeof(limit_messages) / sizeof(limit_messages[0]); i++) {
    if (strstr(error, limit_messages[i]) != NULL) return true;
  }
  return false;
}

/* A copy of its own, so that reading beyond the end is seen. */
static char *copy(const unsigned char *data, size_t size) {
  char *p = malloc(size + (size == 0));
  if (size > 0) memcpy(p, data, size);
  return p;
}

/* Also writes the translation to `out`. */
static bool parses(const char *pattern, size_t len, buffer_Buffer *out) {
  regex_Translation to = {out, true, 0, 0, 0};
  regex_Problem problem;
  bool ok = regex_parse(&alloc, pattern, len, &to, &problem);
  check(ok || problem.offset <= len, "an offset beyond the end");
  return ok || strstr(problem.message, "too large") != NULL;
}

/* Takes the meters out: nothing else in a translation looks like them. */
static void remove_meters(buffer_Buffer *text) {
  size_t i = 0, n = 0;
  while (i < text->len) {
    if (text->len - i > 3 && memcmp(text->data + i, "(?C", 3) == 0) {
      while (text->data[i++] != ')') continue;
    } else {
      text->data[n++] = text->data[i++];
    }
  }
  text->len = n;
}

/* The answer without meters; -1 when there is none. */
static int match_unmetered(const buffer_Buffer *text, const char *subject,
                           size_t len) {
  int problem, found = PCRE2_ERROR_MATCHLIMIT;
  size_t offset;
  pcre2_code *code =
      pcre2_compile((PCRE2_SPTR)(text->len > 0 ? text->data : ""), text->len,
                    PCRE2_UTF | PCRE2_DOLLAR_ENDONLY | PCRE2_ALT_BSUX |
                        PCRE2_ALLOW_EMPTY_CLASS | PCRE2_MATCH_UNSET_BACKREF,
                    &problem, &offset, NULL);
  pcre2_match_context *limits = pcre2_match_context_create(NULL);
  pcre2_match_data *data = pcre2_match_data_create(1, NULL);
  pcre2_set_match_limit(limits, 20000);
  if (code != NULL)
    found = pcre2_match(code, (PCRE2_SPTR)subject, len, 0, 0, data, limits);
  pcre2_match_data_free(data);
  pcre2_match_context_free(limits);
  pcre2_code_free(code);
  if (found >= 0) return 1;
  if (found <= PCRE2_ERROR_UTF8_ERR1 && found >= PCRE2_ERROR_UTF8_ERR21)
    return 0; /* the subject is not UTF-8 */
  return found == PCRE2_ERROR_NOMATCH ? 0 : -1;
}

int LLVMFuzzerTestOneInput(const unsigned char *data, size_t size) {
  const unsigned char *nul = size > 0 ? memchr(data, 0, size) : NULL;
  size_t len = nul == NULL ? size : (size_t)(nul - data);
  size_t rest = nul == NULL ? 0 : size - len - 1;
  char *pattern = copy(data, len);
  char *subject = copy(data + size - rest, rest);
  char error[200] = "";
  int64_t steps = 0;
  buffer_Buffer text;
  bool parsed;
  regex_Regex *regex =
      regex_compile(&alloc, pattern, len, error, sizeof(error));
  buffer_init(&text, alloc, 8u << 20);
  parsed = parses(pattern, len, &text);
  check(parsed || !regex_is_valid(pattern, len), "strict takes more");
  check(regex == NULL || parsed, "compiled what does not parse");
  if (regex != NULL) {
    int first = regex_match(regex, subject, rest, &steps), other;
    check(steps <= 0 && steps >= -(int64_t)(rest + (1 << 19)), "its cost");
    check(first == regex_match(regex, subject, rest, &steps), "another answer");
    remove_meters(&text);
    other = match_unmetered(&text, subject, rest);
    check(first == other || other < 0 || first < 0, "meters change an answer");
  } else {
    check(strstr(error, " at offset ") != NULL, "no offset in the message");
    if (parsed && strstr(error, "too large") == NULL && !is_limit(error)) {
      fprintf(stderr, "%s\n", error);
      check(false, "a translation that PCRE2 refuses");
    }
  }
  regex_free(regex);
  buffer_free(&text);
  free(pattern);
  free(subject);
  return 0;
}
