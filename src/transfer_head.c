#include "transfer_http.h"

#include <ctype.h>
#include <stdlib.h>
#include <strings.h>

#define MAX_INFORMATIONAL 10
#define MAX_DIGITS 18  /* of a length */
#define USUAL_HEAD 512 /* bytes */

static bool fail(http_Transfer *t, const char *kind, const char *reason) {
  t->kind = kind;
  t->reason = reason;
  return false;
}

static bool fail_size(http_Transfer *t, const char *reason, size_t limit) {
  t->limit = limit;
  return fail(t, "size", reason);
}

static bool is_blank(char c) {
  return c == ' ' || c == '\t';
}

static void trim(const char **p, size_t *length) {
  while (*length > 0 && isspace((unsigned char)(*p)[*length - 1])) --*length;
  while (*length > 0 && is_blank(**p)) ++*p, --*length;
}

/* Reads a line; false when there is no colon in it. */
static bool read_field(const char *line, size_t length, http_Field *field) {
  const char *stop = memchr(line, '\n', length), *colon;
  if (stop == NULL) stop = line + length;
  field->folded = is_blank(*line);
  colon = memchr(line, ':', (size_t)(stop - line));
  if (colon == NULL && !field->folded) return false;
  field->name = line;
  field->name_len = field->folded ? 0 : (size_t)(colon - line);
  field->value = field->folded ? line : colon + 1;
  field->value_len = (size_t)(stop - field->value);
  trim(&field->value, &field->value_len);
  trim(&field->name, &field->name_len);
  return true;
}

/* A field as a head keeps it: this, then name and value.  What has no name
** goes on with the value of the field before. */
typedef struct Record {
  uint32_t name_len, value_len;
} Record;

static bool keep_field(http_Transfer *t, const http_Field *field) {
  Record record = {(uint32_t)field->name_len, (uint32_t)field->value_len};
  size_t i, size = sizeof(record) + field->name_len + field->value_len;
  char *p;
  if (field->name_len == 0 && (!field->folded || t->head.len == 0)) return true;
  if (t->head.capacity == 0 && size <= USUAL_HEAD)
    (void)buffer_grow(&t->head, USUAL_HEAD); /* at once, not step by step */
  if (!buffer_reserve(&t->head, size))
    return fail(t, "memory", "not enough memory for the headers");
  p = t->head.data + t->head.len;
  memcpy(p, &record, sizeof(record));
  p += sizeof(record);
  for (i = 0; i < field->name_len; i++) {
    char c = field->name[i];
    *p++ = c >= 'A' && c <= 'Z' ? (char)(c | 0x20) : c;
  }
  memcpy(p, field->value, field->value_len);
  t->head.len += size;
  return true;
}

bool http_next_field(const char **p, const char *end, http_Field *field) {
  Record record;
  if (*p == end) return false;
  memcpy(&record, *p, sizeof(record));
  field->folded = record.name_len == 0;
  field->name_len = record.name_len;
  field->value_len = record.value_len;
  field->name = *p + sizeof(record);
  field->value = field->name + field->name_len;
  *p = field->value + field->value_len;
  return true;
}

static bool is(const char *text, size_t length, const char *name) {
  return length == strlen(name) && strncasecmp(text, name, length) == 0;
}

/* Digits at *p, moved behind them; negative when there are none, or too many.
 */
static int64_t read_length(const char **p, const char *end) {
  const char *start = *p;
  int64_t length = 0;
  while (*p < end && isdigit((unsigned char)**p) && *p - start < MAX_DIGITS)
    length = length * 10 + (*(*p)++ - '0');
  return *p > start ? length : -1;
}

/* RFC 9112, 6.3: a list of equal lengths stands for one of them; answers with
** two different ones are not to be trusted. */
static bool check_length(http_Transfer *t, const http_Field *field) {
  const char *p = field->value, *end = p + field->value_len;
  do {
    int64_t length = read_length(&p, end);
    if (length < 0) return fail(t, "protocol", "Content-Length is no length");
    if (t->length >= 0 && t->length != length)
      return fail(t, "protocol", "two different Content-Length headers");
    t->length = length;
    while (p < end && (is_blank(*p) || *p == ',')) p++;
  } while (p < end);
  return true;
}

static bool begin_block(http_Transfer *t, const char *line, size_t length) {
  const char *space = memchr(line, ' ', length);
  t->status = space != NULL ? atoi(space + 1) : 0;
  t->head.len = t->head_bytes = 0;
  t->length = -1;
  t->chunked = false;
  t->coding.kind = CODING_NONE;
  if (t->status >= 200 || t->status == 101) return true;
  if (++t->informational > MAX_INFORMATIONAL)
    return fail(t, "protocol", "too many informational (1xx) answers");
  return true;
}

/* No body, and none is missing. */
static bool has_no_body(const http_Transfer *t) {
  return t->bodiless || t->length == 0 || t->status == 204 || t->status == 304;
}

static void end_block(http_Transfer *t) {
  if (t->status < 200 && t->status != 101) return;
  t->head_complete = true;
  http_head_end(t);
  if (t->stream) reactor_say(&t->op, REACTOR_HEAD, false);
  if (has_no_body(t)) t->coding.kind = CODING_NONE;
  /* Turns curl's debug function on: the only way to see encoded bytes. */
  if (t->coding.kind != CODING_NONE) {
    t->easy->watched = true;
    curl_easy_setopt(t->easy->curl, CURLOPT_VERBOSE, 1L);
  }
  /* RFC 9112, 6.3: two framings at once may be an attack on who comes next. */
  if (t->chunked && t->length >= 0) {
    t->easy->closing = true;
    curl_easy_setopt(t->easy->curl, CURLOPT_FORBID_REUSE, 1L);
  }
}

/* What it says of the body. */
static bool heed(http_Transfer *t, const http_Field *field) {
  switch (field->name_len) { /* most are none of these */
  case 14:
    return !is(field->name, 14, "content-length") || check_length(t, field);
  case 16:
    if (is(field->name, 16, "content-encoding") && t->decode)
      coding_begin(&t->coding, coding_kind(field->value, field->value_len),
                   t->op.reactor->alloc);
    return true;
  case 17:
    if (is(field->name, 17, "transfer-encoding")) t->chunked = true;
    return true;
  default: return true;
  }
}

static bool take_field(http_Transfer *t, const char *line, size_t length) {
  http_Field field;
  bool whole = read_field(line, length, &field);
  if (whole && !heed(t, &field)) return false;
  t->head_bytes += length;
  if (t->head_bytes > t->max_headers)
    return fail_size(t, "the headers are larger than max_headers",
                     t->max_headers);
  return !whole || keep_field(t, &field);
}

/* Not part of the head, but of its limit. */
static bool take_trailer(http_Transfer *t, size_t length) {
  t->trailers += length;
  if (t->trailers <= t->max_headers) return true;
  return fail_size(t, "the trailers are larger than max_headers",
                   t->max_headers);
}

bool http_head_line(http_Transfer *t, const char *line, size_t length) {
  if (t->head_complete) return take_trailer(t, length);
  if (length > 5 && strncasecmp(line, "HTTP/", 5) == 0)
    return begin_block(t, line, length);
  if (length <= 2 && (line[0] == '\r' || line[0] == '\n')) {
    end_block(t);
    return true;
  }
  return take_field(t, line, length);
}
