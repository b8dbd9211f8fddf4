#include "http/fields.h"
#include "transfer/http.h"

#include <ctype.h>
#include <strings.h>

#define MAX_INFORMATIONAL 10
#define MAX_DIGITS 18  /* of a length */
#define USUAL_HEAD 512 /* bytes */

static bool fail(http_Transfer *t, const char *kind, const char *reason) {
  http_fail(t, kind, reason);
  return false;
}

static bool fail_size(http_Transfer *t, const char *reason, size_t limit) {
  t->limit = limit;
  return fail(t, "size", reason);
}

static bool is_blank(char c) {
  return c == ' ' || c == '\t';
}

static bool is(const char *text, size_t length, const char *name) {
  return length == strlen(name) && strncasecmp(text, name, length) == 0;
}

/* Remembers the position of Content-Type's value, if it is on one line. */
static void note_type(http_Transfer *t, const char *line,
                      const fields_Field *field) {
  bool first = t->type == 0;
  if (field->folded ? first : !is(field->name, field->name_len, "content-type"))
    return;
  t->type = t->head.len + (size_t)(field->value - line);
  t->type_len = first ? field->value_len : 0;
}

/* RFC 9110, 5.5: other programs may take a CR in a value for a line end. */
static void without_cr(char *value, size_t length) {
  char *cr = value, *end = value + length;
  while ((cr = memchr(cr, '\r', (size_t)(end - cr))) != NULL) *cr++ = ' ';
}

/* Keeps a line and adds a line end. */
static bool keep_line(http_Transfer *t, const char *line,
                      const fields_Field *field) {
  size_t size = (size_t)(field->value + field->value_len - line);
  if (field->name_len == 0 && (!field->folded || t->head.len == 0)) return true;
  note_type(t, line, field);
  if (t->head.capacity == 0 && size < USUAL_HEAD)
    (void)buffer_grow(&t->head, USUAL_HEAD); /* in one step */
  if (size == 0) size = 1;                   /* a blank marks a folded line */
  if (!buffer_add(&t->head, line, size) || !buffer_add_char(&t->head, '\n'))
    return fail(t, "memory", "not enough memory for the headers");
  without_cr(t->head.data + t->head.len - 1 - field->value_len,
             field->value_len);
  return true;
}

/* Reads the digits at *p and advances it; negative without digits, or with too
** many. */
static int64_t read_length(const char **p, const char *end) {
  const char *start = *p;
  int64_t length = 0;
  while (*p < end && isdigit((unsigned char)**p) && *p - start < MAX_DIGITS)
    length = length * 10 + (*(*p)++ - '0');
  return *p > start ? length : -1;
}

/* RFC 9112, 6.3: a list of equal lengths means that length; an answer with two
** different ones is refused. */
static bool check_length(http_Transfer *t, const fields_Field *field) {
  const char *p = field->value, *end = p + field->value_len;
  do {
    int64_t length = read_length(&p, end);
    if (length < 0)
      return fail(t, "protocol", "Content-Length is not a number");
    if (t->length >= 0 && t->length != length)
      return fail(t, "protocol", "two different Content-Length headers");
    t->length = length;
    while (p < end && (is_blank(*p) || *p == ',')) p++;
  } while (p < end);
  return true;
}

/* The status of "HTTP/1.1 200 OK"; 0 without one. */
static int read_status(const char *line, size_t length) {
  const char *p = memchr(line, ' ', length), *end = line + length;
  int64_t status = p++ != NULL ? read_length(&p, end) : 0;
  return status > 0 && status <= 999 ? (int)status : 0;
}

static bool begin_block(http_Transfer *t, const char *line, size_t length) {
  t->status = read_status(line, length);
  t->head.len = t->head_bytes = 0;
  t->type = t->type_len = 0;
  t->length = -1;
  t->chunked = false;
  coding_end(&t->coding);
  if (t->status >= 200 || t->status == 101) return true;
  return ++t->informational <= MAX_INFORMATIONAL ||
         fail(t, "protocol", "too many informational (1xx) answers");
}

/* Is the answer without a body by its method or status? */
static bool has_no_body(const http_Transfer *t) {
  return t->bodiless || t->length == 0 || t->status == 204 || t->status == 304;
}

static void end_block(http_Transfer *t) {
  if (t->status < 200 && t->status != 101) return;
  if (t->challenged) { /* curl sends the request again and drops this body */
    t->digest = t->challenged = false;
    t->requested = -1; /* refused, so not processed */
    return;
  }
  t->head_complete = true;
  http_head_end(t);
  if (t->stream) reactor_say(&t->op, REACTOR_HEAD, false);
  if (has_no_body(t)) coding_end(&t->coding);
  /* curl fails a body in an unknown coding unless it decodes nothing. */
  if (t->coding.kind == CODING_UNKNOWN || t->coding.gzip != NULL)
    curl_easy_setopt(t->easy->curl, CURLOPT_HTTP_CONTENT_DECODING, 0L);
  if (t->coding.kind == CODING_UNKNOWN || t->coding.kind == CODING_SEVERAL)
    t->coding.kind = CODING_NONE;
  /* Turns curl's debug function on: the only way to see encoded bytes. */
  if (t->coding.kind != CODING_NONE && t->coding.gzip == NULL)
    curl_easy_setopt(t->easy->curl, CURLOPT_VERBOSE, 1L);
  /* RFC 9112, 6.3: two framings at once may be an attack on the next request of
  ** the connection. */
  if (t->chunked && t->length >= 0)
    curl_easy_setopt(t->easy->curl, CURLOPT_FORBID_REUSE, 1L);
}

/* Records the body's length and coding from a field. */
static bool heed(http_Transfer *t, const fields_Field *field) {
  switch (field->name_len) { /* most fields are none of these */
  case 14:
    return !is(field->name, 14, "content-length") || check_length(t, field);
  case 16:
    if (t->digest && t->status == 401 && field->value_len > 6 &&
        is(field->name, 16, "www-authenticate") &&
        strncasecmp(field->value, "Digest", 6) == 0)
      t->challenged = true;
    if (is(field->name, 16, "content-encoding") && t->decode)
      coding_begin(&t->coding,
                   coding_kind(t->coding.kind, field->value, field->value_len),
                   t->op.reactor->alloc);
    return true;
  case 17:
    if (is(field->name, 17, "transfer-encoding")) t->chunked = true;
    return true;
  default: return true;
  }
}

static bool take_field(http_Transfer *t, const char *line, size_t length) {
  fields_Field field;
  bool whole = fields_read(line, length, &field);
  if (whole && !heed(t, &field)) return false;
  t->head_bytes += length;
  if (t->head_bytes > t->max_headers)
    return fail_size(t, "the headers are larger than max_headers",
                     t->max_headers);
  return !whole || keep_line(t, line, &field);
}

/* Counts a trailer: it is not part of the head, but of its size limit. */
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
  if (line[0] == '\r' || line[0] == '\n') { /* as libcurl has it */
    end_block(t);
    return true;
  }
  return take_field(t, line, length);
}
