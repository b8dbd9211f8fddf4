/*
** fuzz_regex.c - libFuzzer target: a pattern, a NUL, a subject.  What the
*strict
** grammar takes the lenient one takes too, PCRE2 refuses a translation only for
** what it cannot do, never for its syntax, and the automaton of a regular
** pattern answers as PCRE2 does.
*/
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

static const char *const limits[] = {
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
  for (i = 0; i < sizeof(limits) / sizeof(limits[0]); i++) {
    if (strstr(error, limits[i]) != NULL) return true;
  }
  return false;
}

/* A copy of its own, so that reading beyond the end is seen. */
static char *copy(const unsigned char *data, size_t size) {
  char *p = malloc(size + (size == 0));
  if (size > 0) memcpy(p, data, size);
  return p;
}

static bool parses(const char *pattern, size_t len) {
  regex_Translation to = {NULL, true, 0, 0};
  regex_Problem problem;
  buffer_Buffer out;
  bool ok;
  buffer_init(&out, alloc, 8u << 20);
  to.out = &out;
  ok = regex_parse(&alloc, pattern, len, &to, &problem);
  check(ok || problem.offset <= len, "an offset beyond the end");
  buffer_free(&out);
  if (!ok && strstr(problem.message, "too large") != NULL) return true;
  return ok;
}

/* The answer of PCRE2: no automaton takes a lookahead, which is empty here. */
static int match_by_pcre2(const char *pattern, size_t len, const char *subject,
                          size_t subject_len) {
  char error[200];
  char *longer = malloc(len + 9);
  regex_Regex *regex;
  int found;
  snprintf(longer, len + 9, "(?:%.*s)(?=)", (int)len, pattern);
  regex = regex_compile(&alloc, longer, len + 8, error, sizeof(error));
  found = regex == NULL ? -1 : regex_match(regex, subject, subject_len);
  regex_free(regex);
  free(longer);
  return found;
}

int LLVMFuzzerTestOneInput(const unsigned char *data, size_t size) {
  const unsigned char *nul = size > 0 ? memchr(data, 0, size) : NULL;
  size_t len = nul == NULL ? size : (size_t)(nul - data);
  size_t rest = nul == NULL ? 0 : size - len - 1;
  char *pattern = copy(data, len);
  char *subject = copy(data + size - rest, rest);
  char error[200] = "";
  bool parsed = parses(pattern, len);
  regex_Regex *regex =
      regex_compile(&alloc, pattern, len, error, sizeof(error));
  check(parsed || !regex_is_valid(pattern, len), "strict takes more");
  check(regex == NULL || parsed, "compiled what does not parse");
  if (regex != NULL) {
    int first = regex_match(regex, subject, rest);
    int other = match_by_pcre2(pattern, len, subject, rest);
    check(first == regex_match(regex, subject, rest), "another answer");
    check(first == other || other < 0 || first < 0, "PCRE2 answers otherwise");
  } else {
    check(strstr(error, " at offset ") != NULL, "no offset in the message");
    if (parsed && strstr(error, "repeat count too large") == NULL &&
        !is_limit(error)) {
      fprintf(stderr, "%s\n", error);
      check(false, "a translation that PCRE2 refuses");
    }
  }
  regex_free(regex);
  free(pattern);
  free(subject);
  return 0;
}
