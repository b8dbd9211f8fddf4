/*
** fuzz_sse.c - any bytes, cut anywhere, give the same events as in one piece.
**
** The first two bytes of the input say how to cut and how large an event may
** be; the rest is the stream.
*/
#include <stdlib.h>

#include "base/buffer.h"
#include "sse/sse.h"
#include "base/utf8_repair.h"

#define MAX_RECORD (1 << 24)

static void *allocate(void *ud, void *p, size_t old_size, size_t new_size) {
  (void)ud;
  (void)old_size;
  if (new_size > 0) return realloc(p, new_size);
  free(p);
  return NULL;
}

static const ops_Alloc alloc = {allocate, NULL};

static void require(int truth) {
  if (!truth) abort();
}

static void record_text(buffer_Buffer *record, const char *s, size_t len) {
  require(utf8_repaired_size(s, len) == len);
  require(buffer_add(record, &len, sizeof(len)));
  require(buffer_add(record, s, len));
}

static void on_event(void *ud, const sse_Event *event) {
  buffer_Buffer *record = (buffer_Buffer *)ud;
  record_text(record, event->type, event->type_len);
  record_text(record, event->data, event->data_len);
  record_text(record, event->id, event->id_len);
  require(buffer_add(record, &event->retry, sizeof(event->retry)));
}

/* Feeds pieces of 0 to `largest` bytes and records all that can be seen. */
static void run(buffer_Buffer *record, const char *s, size_t len,
                size_t max_event, size_t largest, unsigned random) {
  sse_Parser *p = sse_new(&alloc, max_event, on_event, record);
  sse_Status status = SSE_OK;
  const char *id;
  size_t id_len;
  int64_t retry;
  buffer_init(record, alloc, MAX_RECORD);
  while (len > 0 && status == SSE_OK) {
    size_t n = largest == 0 ? len : (random >> 16) % (largest + 1);
    random = random * 1103515245U + 12345U;
    if (n > len) n = len;
    /* A copy of its own, so that a read beyond or after it is seen. */
    char *piece = malloc(n + 1);
    memcpy(piece, s, n);
    status = sse_feed(p, piece, n);
    free(piece);
    s += n;
    len -= n;
  }
  require(buffer_add(record, &status, sizeof(status)));
  if (status == SSE_OK) {
    retry = sse_retry(p);
    id = sse_last_id(p, &id_len);
    record_text(record, id, id_len);
    require(buffer_add(record, &retry, sizeof(retry)));
  }
  sse_finish(p);
  require(sse_feed(p, "", 0) != SSE_OK);
  sse_free(p);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  buffer_Buffer whole, pieces;
  const char *s = (const char *)data + 2;
  size_t max_event;
  if (size < 2) return 0;
  max_event = data[1] % 8 == 0 ? 1U + data[1] / 8 : 1 << 20;
  run(&whole, s, size - 2, max_event, 0, 0);
  run(&pieces, s, size - 2, max_event, 1U + data[0] % 16, data[0]);
  require(whole.len == pieces.len);
  require(whole.len == 0 || memcmp(whole.data, pieces.data, whole.len) == 0);
  buffer_free(&whole);
  buffer_free(&pieces);
  return 0;
}
