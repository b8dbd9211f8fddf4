/*
** fuzz_http_server.c - any bytes, cut anywhere, are the same requests and the
** same failures as in one piece.
*/
#include <stdlib.h>

#include "base/buffer.h"
#include "http/request.h"
#include "http/target.h"

#define MAX_RECORD (1 << 24)

static void *allocate(void *ud, void *p, size_t old_size, size_t new_size) {
  (void)ud;
  (void)old_size;
  if (new_size > 0) return realloc(p, new_size);
  free(p);
  return NULL;
}

static const ops_Alloc alloc = {allocate, NULL};
static const request_Limits limits = {512, 16, 128, 4096};

static void require(int truth) {
  if (!truth) abort();
}

static void record_text(buffer_Buffer *record, const char *s, size_t length) {
  require(buffer_add(record, &length, sizeof(length)));
  require(buffer_add(record, s, length));
}

/* A name is a token in lower case, and no value can end its line. */
static void record_head(buffer_Buffer *record, const request_Head *head) {
  size_t i, k;
  require(head->method_length > 0 && head->method_length <= 32);
  require(head->target_length > 0 && head->field_count <= 17);
  record_text(record, head->method, head->method_length);
  record_text(record, head->target, head->target_length);
  for (i = 0; i < head->field_count; i++) {
    const request_Field *field = &head->fields[i];
    const char *name = head->text + field->name;
    const char *value = head->text + field->value;
    require(field->name_length > 0);
    for (k = 0; k < field->name_length; k++)
      require(name[k] > ' ' && name[k] != ':' &&
              !(name[k] >= 'A' && name[k] <= 'Z'));
    for (k = 0; k < field->value_length; k++)
      require(value[k] != '\r' && value[k] != '\n' && value[k] != '\0');
    record_text(record, name, field->name_length);
    record_text(record, value, field->value_length);
  }
  require(
      buffer_add_char(record, (char)(head->minor + head->keep_alive * 2 +
                                     head->expects * 4 + head->has_body * 8)));
}

/* Takes in one piece; false when nothing more can come. */
static bool read_piece(buffer_Buffer *record, request_Parser *p,
                       const char *bytes, size_t length) {
  request_Step step;
  const char *reason;
  for (;;) {
    request_read(p, bytes, length, &step);
    require(step.taken <= length && step.event != REQUEST_NO_MEMORY);
    bytes += step.taken;
    length -= step.taken;
    if (step.event == REQUEST_MORE) return true;
    if (step.event == REQUEST_HEAD) record_head(record, request_head(p));
    if (step.event == REQUEST_BODY)
      require(buffer_add(record, step.body, step.body_length));
    if (step.event == REQUEST_END) {
      record_text(record, "end", 3);
      request_go_on(p);
    }
    if (step.event == REQUEST_FAILED) {
      int status = request_failure(p, &reason);
      require(status >= 400 && reason != NULL);
      record_text(record, reason, strlen(reason));
      return false;
    }
  }
}

/* Feeds pieces of 0 to `largest` bytes; 0: all at once. */
static void run(buffer_Buffer *record, const char *s, size_t length,
                size_t largest, unsigned random) {
  request_Parser *p = request_new(&alloc, &limits);
  bool open = true;
  require(p != NULL);
  buffer_init(record, alloc, MAX_RECORD);
  while (length > 0 && open) {
    size_t n = largest == 0 ? length : (random >> 16) % (largest + 1);
    random = random * 1103515245U + 12345U;
    if (n > length) n = length;
    /* A copy of its own, so that a read beyond or after it is seen. */
    char *piece = malloc(n + 1);
    memcpy(piece, s, n);
    open = read_piece(record, p, piece, n);
    free(piece);
    s += n;
    length -= n;
  }
  request_free(p);
}

/* What is decoded is no longer than it was; without "%" it decodes to itself.
 */
static void decode(const char *s, size_t length) {
  char *out = malloc(length + 1), *again = malloc(length + 1);
  size_t n = target_decode(s, length, true, out);
  require(n == TARGET_MALFORMED || n <= length);
  if (n == length && memchr(s, '+', length) == NULL)
    require(length == 0 || memcmp(s, out, length) == 0);
  if (n != TARGET_MALFORMED && (n == 0 || memchr(out, '%', n) == NULL))
    require(target_decode(out, n, false, again) == n);
  require(target_span(s, length, '&') <= length);
  free(out);
  free(again);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  buffer_Buffer whole, pieces;
  const char *s = (const char *)data;
  unsigned seed = (unsigned)size;
  size_t i;
  for (i = 0; i < size; i++) seed = seed * 31 + data[i];
  decode(s, size);
  run(&whole, s, size, 0, 0);
  run(&pieces, s, size, 1U + seed % 16, seed);
  require(whole.len == pieces.len);
  require(whole.len == 0 || memcmp(whole.data, pieces.data, whole.len) == 0);
  buffer_free(&whole);
  buffer_free(&pieces);
  return 0;
}
