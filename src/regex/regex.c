#define PCRE2_CODE_UNIT_WIDTH 8

#include "regex/regex.h"

#include <pcre2.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

#include "regex/parse.h"
#include "base/utf8.h"

/* Without UCP: \d, \w and \b of ECMA-262 are ASCII. */
#define COMPILE_OPTIONS                                                        \
  (PCRE2_UTF | PCRE2_DOLLAR_ENDONLY | PCRE2_ALT_BSUX |                         \
   PCRE2_ALLOW_EMPTY_CLASS | PCRE2_MATCH_UNSET_BACKREF)

#define HEAP_LIMIT (32 * 1024)  /* KiB, without JIT */
#define JIT_STACK (32u << 20)   /* for matches too deep for the C stack */
#define JIT_STACK_FIRST 0x10000 /* its size at first */
#define MAX_TRANSLATION (1u << 20)

/* The cost of a match is counted in characters passed. */
#define STEP_COST 64   /* characters per step */
#define METER_COST 16  /* of a meter: about 5 ns */
#define SLOW_COST 4    /* factor without JIT */
#define WIDE_RANGES 32 /* a class with more ranges costs more per character */
#define MATCH_COST (32 << 20)  /* the maximum for a match, */
#define MATCH_COST_PER_BYTE 64 /* and for each byte of its subject */

struct regex_Regex {
  ops_Alloc alloc;
  pcre2_general_context *general;
  pcre2_match_context *limits;
  pcre2_code *code;
  pcre2_match_data *match;
  bool jit;
  int64_t meter, factor; /* cost of a meter; factor of all costs */
  uint32_t lookbehind;   /* characters that the longest one looks at */
};

/* Counts the cost of one match. */
typedef struct Meter {
  const regex_Regex *regex;
  int64_t left;
  size_t start,
      last; /* start of the match attempt, position of the last meter */
} Meter;

/* PCRE2 frees blocks without their size, so each block starts with it. */
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
  ops_free(&regex->alloc, regex, sizeof(*regex));
}

/* The source offset of the byte at `offset` in the translation. */
static size_t source_offset(const regex_Regex *regex, const char *source,
                            size_t len, size_t offset) {
  buffer_Buffer out;
  regex_Translation to = {
      .out = &out, .lenient = true, .watch = offset, .watched = len};
  regex_Problem problem;
  buffer_init(&out, regex->alloc, MAX_TRANSLATION);
  regex_parse(&regex->alloc, source, len, &to, &problem);
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

/* The number of characters that may be passed before the next meter. */
static size_t cost_ahead(const regex_Regex *regex,
                         const pcre2_callout_block *at) {
  size_t rest = at->subject_length - at->current_position, most;
  uint32_t kind = at->callout_number, group = kind - REGEX_METER_GROUP;
  if (kind == REGEX_METER_LOOKBEHIND) return regex->lookbehind;
  if (kind < REGEX_METER_REST) {
    most = (size_t)1 << kind;
  } else if (kind < REGEX_METER_GROUP || kind == REGEX_METER_MAX) {
    most = rest;
  } else if (group < at->capture_top &&
             at->offset_vector[2 * group] != PCRE2_UNSET) {
    most = at->offset_vector[2 * group + 1] - at->offset_vector[2 * group];
  } else {
    most = 0;
  }
  return most < rest ? most : rest;
}

/* PCRE2 calls this at each meter.  Between two meters a match passes a bounded
** number of terms, and the characters between the two positions: a repeat may
** pass many characters, but a meter follows it.  PCRE2's own match limit counts
** neither those characters nor the moves from one start to the next. */
static int on_meter(pcre2_callout_block *at, void *ud) {
  Meter *m = (Meter *)ud;
  size_t here = at->current_position, passed;
  if (at->start_match != m->start) m->start = m->last = at->start_match;
  passed = here > m->last ? here - m->last : m->last - here;
  m->last = here;
  if (at->callout_number != REGEX_METER_SOME)
    passed += cost_ahead(m->regex, at);
  m->left -= m->regex->meter + (int64_t)passed * m->regex->factor;
  return m->left < 0 ? PCRE2_ERROR_CALLOUT : 0;
}

/* `widest` as in regex_Translation. */
static bool prepare(regex_Regex *regex, size_t widest) {
  uint32_t captures;
  regex->limits = pcre2_match_context_create(regex->general);
  regex->match = pcre2_match_data_create(1, regex->general);
  if (regex->limits == NULL || regex->match == NULL) return false;
  pcre2_set_heap_limit(regex->limits, HEAP_LIMIT);
  /* Fails where the process may not generate code (hardened systems). */
  regex->jit = pcre2_jit_compile(regex->code, PCRE2_JIT_COMPLETE) == 0;
  pcre2_pattern_info(regex->code, PCRE2_INFO_CAPTURECOUNT, &captures);
  pcre2_pattern_info(regex->code, PCRE2_INFO_MAXLOOKBEHIND, &regex->lookbehind);
  regex->factor = regex->jit ? 1 : SLOW_COST;
  regex->factor *= 1 + (int64_t)(widest / WIDE_RANGES);
  regex->meter = (METER_COST + (int64_t)captures) * regex->factor;
  return true;
}

static regex_Regex *regex_new(const ops_Alloc *alloc) {
  regex_Regex *regex = (regex_Regex *)ops_alloc(alloc, sizeof(*regex));
  if (regex == NULL) return NULL;
  *regex = (regex_Regex){.alloc = *alloc};
  return regex;
}

static bool build(regex_Regex *regex, const char *source, size_t len,
                  char *error, size_t error_size) {
  buffer_Buffer out;
  regex_Translation to = {.out = &out, .lenient = true, .watch = SIZE_MAX};
  regex_Problem problem;
  int code;
  size_t offset;
  char reason[128];
  bool ok;
  buffer_init(&out, regex->alloc, MAX_TRANSLATION);
  ok = regex_parse(&regex->alloc, source, len, &to, &problem);
  if (!ok) {
    snprintf(error, error_size, "%s at offset %lu", problem.message,
             (unsigned long)problem.offset);
  } else if (!compile(regex, &out, &code, &offset)) {
    ok = false;
    pcre2_get_error_message(code, (PCRE2_UCHAR *)reason, sizeof(reason));
    offset = source_offset(regex, source, len, offset);
    snprintf(error, error_size, "%s at offset %lu", reason,
             (unsigned long)offset);
  } else if (!prepare(regex, to.widest)) {
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

/* Matches with JIT's own stack, which is far larger. */
static int match_deeply(const regex_Regex *regex, PCRE2_SPTR text, size_t len) {
  int found = PCRE2_ERROR_JIT_STACKLIMIT;
  pcre2_jit_stack *stack =
      pcre2_jit_stack_create(JIT_STACK_FIRST, JIT_STACK, regex->general);
  if (stack == NULL) return found;
  pcre2_jit_stack_assign(regex->limits, NULL, stack);
  found = pcre2_jit_match(regex->code, text, len, 0, 0, regex->match,
                          regex->limits);
  pcre2_jit_stack_assign(regex->limits, NULL, NULL);
  pcre2_jit_stack_free(stack);
  return found;
}

static int match(const regex_Regex *regex, PCRE2_SPTR text, size_t len) {
  int found;
  if (!regex->jit)
    return pcre2_match(regex->code, text, len, 0,
                       PCRE2_NO_UTF_CHECK | PCRE2_NO_JIT, regex->match,
                       regex->limits);
  found = pcre2_jit_match(regex->code, text, len, 0, 0, regex->match,
                          regex->limits);
  return found == PCRE2_ERROR_JIT_STACKLIMIT ? match_deeply(regex, text, len)
                                             : found;
}

int regex_match(const regex_Regex *regex, const char *subject, size_t len,
                int64_t *steps) {
  int64_t most = MATCH_COST + (int64_t)len * MATCH_COST_PER_BYTE;
  Meter meter = {.regex = regex, .left = most - (int64_t)len};
  int found;
  if (utf8_valid(subject, len)) {
    pcre2_set_callout(regex->limits, on_meter, &meter);
    found = match(regex, (PCRE2_SPTR)subject, len);
  } else {
    found = PCRE2_ERROR_NOMATCH;
  }
  *steps -= (most - meter.left) / STEP_COST;
  if (found >= 0) return 1;
  return found == PCRE2_ERROR_NOMATCH ? 0 : -1;
}

bool regex_is_valid(const char *source, size_t len) {
  const ops_Alloc alloc = {plain_alloc, NULL};
  regex_Translation to = {.out = NULL};
  regex_Problem problem;
  return regex_parse(&alloc, source, len, &to, &problem);
}

/* Compiles \p{name} alone; NULL when PCRE2 does not have it. */
static regex_Regex *compile_property(const char *name) {
  const ops_Alloc alloc = {plain_alloc, NULL};
  char pattern[96];
  regex_Regex *regex = regex_new(&alloc);
  buffer_Buffer text = {.data = pattern};
  int problem;
  size_t offset;
  if (regex == NULL) return NULL;
  text.len = (size_t)snprintf(pattern, sizeof(pattern), "\\p{%s}", name);
  if (text.len < sizeof(pattern) && compile(regex, &text, &problem, &offset))
    return regex;
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
  bool found = false;
  if (regex != NULL) regex->match = pcre2_match_data_create(1, regex->general);
  if (regex != NULL && regex->match != NULL)
    found = pcre2_match(regex->code, (PCRE2_SPTR)character, n, 0, 0,
                        regex->match, NULL) >= 0;
  regex_free(regex);
  return found;
}
