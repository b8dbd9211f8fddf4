/*
** fuzz_json.c - libFuzzer target: the reader fed whole, split in two and byte
** by byte gives the same events and the same error; what it accepts the writer
** writes so that it reads back the same.
*/
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "json/json.h"
#include "json/write.h"

int LLVMFuzzerTestOneInput(const unsigned char *data, size_t size);

#define MAX_DEPTH 20

static void *fuzz_alloc(void *ud, void *p, size_t old_size, size_t new_size) {
  (void)ud;
  (void)old_size;
  if (new_size > 0) return realloc(p, new_size);
  free(p);
  return NULL;
}

static const ops_Alloc alloc = {fuzz_alloc, NULL};

static void check(bool ok, const char *what) {
  if (ok) return;
  fprintf(stderr, "%s\n", what);
  abort();
}

/* The events as text again: keys and values, a comma after each. */
static bool put(void *ud, const char *s, size_t n) {
  return buffer_add((buffer_Buffer *)ud, s, n);
}

static bool on_null(void *ud) {
  return put(ud, "null,", 5);
}

static bool on_boolean(void *ud, bool value) {
  return value ? put(ud, "true,", 5) : put(ud, "false,", 6);
}

static bool on_integer(void *ud, int64_t value) {
  return json_write_integer(ud, value) && put(ud, ",", 1);
}

static bool on_big_integer(void *ud, const char *digits, size_t len) {
  return put(ud, digits, len) && put(ud, ",", 1);
}

static bool on_number(void *ud, double value) {
  buffer_Buffer *b = (buffer_Buffer *)ud;
  size_t start = b->len;
  char text[JSON_NUMBER_ROOM + 1];
  json_write_double(b, value);
  memcpy(text, b->data + start, b->len - start);
  text[b->len - start] = '\0';
  check(strtod(text, NULL) == value, "a double does not read back the same");
  return put(ud, ",", 1);
}

static bool on_string(void *ud, const char *s, size_t len) {
  size_t invalid = SIZE_MAX;
  bool ok = json_write_string(ud, s, len, &invalid) && put(ud, ",", 1);
  check(invalid == SIZE_MAX, "the reader gave a string that is not UTF-8");
  return ok;
}

static bool on_key(void *ud, const char *s, size_t len) {
  buffer_Buffer *b = (buffer_Buffer *)ud;
  if (!on_string(ud, s, len)) return false;
  b->data[b->len - 1] = ':';
  return true;
}

static bool begin_array(void *ud) {
  return put(ud, "[", 1);
}

static bool begin_object(void *ud) {
  return put(ud, "{", 1);
}

static bool end(buffer_Buffer *b, const char *close) {
  if (b->data[b->len - 1] == ',') b->len--;
  return put(b, close, 2);
}

static bool end_array(void *ud) {
  return end((buffer_Buffer *)ud, "],");
}

static bool end_object(void *ud) {
  return end((buffer_Buffer *)ud, "},");
}

static const json_Handlers handlers = {
    on_null, on_boolean,  on_integer, on_big_integer, on_number,  on_string,
    on_key,  begin_array, end_array,  begin_object,   end_object,
};

typedef struct Outcome {
  json_Status status;
  json_Error error;
  buffer_Buffer events;
} Outcome;

/* Reads the text in pieces of `step` bytes after a first one of `first`;
** whole when both are 0. */
static void read_text(Outcome *o, const char *p, size_t n, size_t first,
                      size_t step) {
  json_Reader r;
  buffer_init(&o->events, alloc, SIZE_MAX);
  json_init(&r, alloc, MAX_DEPTH, SIZE_MAX, &handlers, &o->events);
  if (step == 0) {
    o->status = json_read(&r, p, n);
  } else {
    size_t at = 0, size = first;
    for (; at < n; at += size, size = step) {
      /* A copy of its own, so that reading beyond a piece is seen. */
      char *piece;
      if (size > n - at) size = n - at;
      piece = malloc(size + (size == 0));
      memcpy(piece, p + at, size);
      json_feed(&r, piece, size);
      free(piece);
    }
    o->status = json_finish(&r);
  }
  o->error = r.error;
  json_free(&r);
}

static void compare(const Outcome *a, const Outcome *b) {
  check(a->status == b->status, "another status in pieces");
  check(a->events.len == b->events.len &&
            (a->events.len == 0 ||
             memcmp(a->events.data, b->events.data, a->events.len) == 0),
        "other events in pieces");
  if (a->status == JSON_OK) return;
  check(strcmp(a->error.message, b->error.message) == 0 &&
            a->error.offset == b->error.offset &&
            a->error.line == b->error.line &&
            a->error.column == b->error.column,
        "another error in pieces");
}

int LLVMFuzzerTestOneInput(const unsigned char *data, size_t size) {
  Outcome whole, pieces, again;
  const char *text = (const char *)data;
  size_t cut;
  read_text(&whole, text, size, 0, 0);
  check(whole.status != JSON_STOPPED && whole.status != JSON_MEMORY,
        "reading stopped");
  for (cut = 0; cut <= size && cut < 64; cut++) {
    read_text(&pieces, text, size, cut, size + 1);
    compare(&whole, &pieces);
    buffer_free(&pieces.events);
  }
  read_text(&pieces, text, size, 1, 1);
  compare(&whole, &pieces);
  buffer_free(&pieces.events);
  if (whole.status == JSON_OK) {
    read_text(&again, whole.events.data, whole.events.len - 1, 0, 0);
    compare(&whole, &again);
    buffer_free(&again.events);
  }
  buffer_free(&whole.events);
  return 0;
}
