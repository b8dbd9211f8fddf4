/*
** fuzz_lines.c - any bytes, cut anywhere, give the same lines as in one piece,
** and no more of them is held than a line may have.
**
** The first two bytes of the input say how to cut and how long a line may be;
** the rest is the stream.
*/
#include <stdlib.h>

#include "base/lines.h"

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
  require(buffer_add(record, &len, sizeof(len)));
  require(buffer_add(record, s, len));
}

static void pull(lines_Queue *q, buffer_Buffer *record) {
  lines_Line line;
  lines_Found found;
  while ((found = lines_queue_next(q, &line)) != LINES_NONE) {
    require(found == LINES_DROPPED ? line.size > q->max : line.len <= q->max);
    require(line.len > 0 && line.len <= (line.size > 0 ? LINES_ENDS : q->max));
    record_text(record, line.bytes, line.len);
    record_text(record, line.last, line.last_len);
    require(buffer_add(record, &line.size, sizeof(line.size)));
  }
  require(q->bytes.len - q->start <= q->max);
}

/* Feeds pieces of 0 to `largest` bytes (0: all at once) and records the lines.
 */
static void run(buffer_Buffer *record, const char *s, size_t len, size_t max,
                size_t largest, unsigned random) {
  lines_Queue q;
  lines_queue_init(&q, alloc, max);
  buffer_init(record, alloc, MAX_RECORD);
  while (len > 0) {
    size_t n = largest == 0 ? len : (random >> 16) % (largest + 1);
    char *piece;
    random = random * 1103515245U + 12345U;
    if (n > len) n = len;
    piece = malloc(n + 1); /* so that a read beyond or after it is seen */
    memcpy(piece, s, n);
    require(lines_queue_add(&q, piece, n));
    free(piece);
    pull(&q, record);
    s += n;
    len -= n;
  }
  lines_queue_end(&q);
  pull(&q, record);
  lines_queue_free(&q);
}

int LLVMFuzzerTestOneInput(const unsigned char *data, size_t size);

int LLVMFuzzerTestOneInput(const unsigned char *data, size_t size) {
  buffer_Buffer whole, cut;
  const char *s = (const char *)data + 2;
  size_t max, largest;
  if (size < 2) return 0;
  max = 1 + (size_t)data[1] * 4;
  largest = 1 + data[0] % 64;
  run(&whole, s, size - 2, max, 0, 0);
  run(&cut, s, size - 2, max, largest, data[0] * 256U + data[1]);
  require(whole.len == cut.len);
  require(whole.len == 0 || memcmp(whole.data, cut.data, whole.len) == 0);
  buffer_free(&whole);
  buffer_free(&cut);
  return 0;
}
