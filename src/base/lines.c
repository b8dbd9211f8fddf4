#include "base/lines.h"

#include <stdint.h>

void lines_init(lines_Splitter *s, ops_Alloc alloc, size_t max,
                char separator) {
  buffer_init(&s->rest, alloc, max);
  s->separator = separator;
}

void lines_free(lines_Splitter *s) {
  buffer_free(&s->rest);
}

static lines_Status keep(lines_Splitter *s, const char *p, size_t len) {
  if (len > s->rest.max - s->rest.len) return LINES_TOO_LARGE;
  return buffer_add(&s->rest, p, len) ? LINES_OK : LINES_NO_MEMORY;
}

/* Hands out an item that ends with the `len` bytes at `p`. */
static lines_Status end_item(lines_Splitter *s, const char *p, size_t len,
                             lines_OnItem on_item, void *ud) {
  lines_Status status;
  if (s->rest.len == 0) {
    if (len > s->rest.max) return LINES_TOO_LARGE;
    on_item(ud, p, len);
    return LINES_OK;
  }
  status = keep(s, p, len);
  if (status != LINES_OK) return status;
  len = s->rest.len;
  s->rest.len = 0;
  on_item(ud, s->rest.data, len);
  return LINES_OK;
}

lines_Status lines_feed(lines_Splitter *s, const char *bytes, size_t len,
                        lines_OnItem on_item, void *ud) {
  const char *end = bytes + len, *at;
  while (bytes < end &&
         (at = memchr(bytes, s->separator, (size_t)(end - bytes))) != NULL) {
    lines_Status status = end_item(s, bytes, (size_t)(at - bytes), on_item, ud);
    if (status != LINES_OK) return status;
    bytes = at + 1;
  }
  return bytes < end ? keep(s, bytes, (size_t)(end - bytes)) : LINES_OK;
}

/* Lines that are pulled */

#define KEPT_CAPACITY 65536 /* an empty queue keeps this much memory */

void lines_queue_init(lines_Queue *q, ops_Alloc alloc, size_t max) {
  *q = (lines_Queue){.max = max};
  buffer_init(&q->bytes, alloc, BUFFER_UNLIMITED);
}

void lines_queue_free(lines_Queue *q) {
  buffer_free(&q->bytes);
}

static size_t unread(const lines_Queue *q) {
  return q->bytes.len - q->start;
}

bool lines_queue_add(lines_Queue *q, const char *bytes, size_t len) {
  buffer_Buffer *b = &q->bytes;
  if (q->start > 0) { /* most of it was taken: moving the rest is cheap */
    memmove(b->data, b->data + q->start, unread(q));
    b->len -= q->start;
    q->start = 0;
  }
  return buffer_add(b, bytes, len);
}

void lines_queue_end(lines_Queue *q) {
  q->over = true;
}

/* Removes `n` bytes, and the separator after them if there is one. */
static void skip(lines_Queue *q, size_t n) {
  q->start += n < unread(q) ? n + 1 : n;
  q->scanned = 0;
  if (unread(q) > 0) return;
  q->start = q->bytes.len = 0;
}

/* Keeps the two ends of a line that is too long; `len` bytes of it came. */
static void drop(lines_Queue *q, const char *p, size_t len) {
  size_t n = len < LINES_ENDS ? len : LINES_ENDS, kept = LINES_ENDS - n, more;
  more = LINES_ENDS - q->first_len;
  if (more > n) more = n;
  memcpy(q->first + q->first_len, p, more);
  q->first_len += more;
  if (kept > q->last_len) kept = q->last_len;
  memmove(q->last, q->last + q->last_len - kept, kept);
  memcpy(q->last + kept, p + len - n, n);
  q->last_len = kept + n;
  q->dropped += len;
}

static lines_Found end_dropped(lines_Queue *q, lines_Line *line) {
  line->bytes = q->first;
  line->len = q->first_len;
  line->last = q->last;
  line->last_len = q->last_len;
  if (q->last_len > 0 && q->last[q->last_len - 1] == '\r') line->last_len--;
  line->size = q->dropped;
  q->dropped = q->first_len = q->last_len = 0;
  return LINES_DROPPED;
}

static bool is_blank(const char *s, size_t len) {
  size_t i = 0;
  while (i < len && (s[i] == ' ' || (s[i] >= '\t' && s[i] <= '\r'))) i++;
  return i == len;
}

/* No separator is in the queued bytes. */
static lines_Found wait_for_more(lines_Queue *q) {
  q->scanned = unread(q);
  if (q->scanned > (q->dropped > 0 ? 0 : q->max)) {
    drop(q, q->bytes.data + q->start, q->scanned);
    skip(q, q->scanned);
  }
  if (unread(q) == 0 && q->bytes.capacity > KEPT_CAPACITY) lines_queue_free(q);
  return LINES_NONE;
}

lines_Found lines_queue_next(lines_Queue *q, lines_Line *line) {
  while (unread(q) > 0) {
    const char *p = q->bytes.data + q->start;
    const char *end = memchr(p + q->scanned, '\n', unread(q) - q->scanned);
    size_t len = end != NULL ? (size_t)(end - p) : unread(q);
    if (end == NULL && !q->over) return wait_for_more(q);
    skip(q, len);
    if (q->dropped > 0 || len > q->max) {
      drop(q, p, len);
      return end_dropped(q, line);
    }
    if (len > 0 && p[len - 1] == '\r') len--;
    if (is_blank(p, len)) continue;
    *line = (lines_Line){.bytes = p, .len = len};
    return LINES_LINE;
  }
  if (q->over && q->dropped > 0) return end_dropped(q, line);
  return wait_for_more(q);
}
