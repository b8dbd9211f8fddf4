#include "lines.h"

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

/* An item that ends with the `len` bytes at `p`. */
static lines_Status end_item(lines_Splitter *s, const char *p, size_t len,
                             lines_OnItem on_item, void *ud) {
  lines_Status status = LINES_OK;
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
