#include "http/host.h"
#include "http/request_parser.h"

#define MAX_LENGTH (UINT64_C(1) << 53)

/* Fields of one name */

static bool text_is(const char *s, size_t length, const char *expected) {
  size_t i;
  if (length != strlen(expected)) return false;
  for (i = 0; i < length; i++)
    if (request_lower(s[i]) != expected[i]) return false;
  return true;
}

static bool is_named(const request_Parser *p, const request_Field *field,
                     const char *name) {
  return text_is(p->text.data + field->name, field->name_length, name);
}

static bool same_name(const request_Parser *p, const request_Field *a,
                      const request_Field *b) {
  return a->name_length == b->name_length &&
         memcmp(p->text.data + a->name, p->text.data + b->name,
                a->name_length) == 0;
}

/* Appends the value of a later field to that of an earlier one, whose copy is
** the last thing in the text or becomes it. */
static bool join(request_Parser *p, request_Field *into,
                 const request_Field *field) {
  buffer_Buffer *text = &p->text;
  const char *mark = is_named(p, into, "cookie") ? "; " : ", ";
  if (!buffer_reserve(text, into->value_length + field->value_length + 2))
    return false;
  if (into->value + into->value_length != text->len) {
    size_t value = into->value;
    into->value = text->len;
    (void)buffer_add(text, text->data + value, into->value_length);
  }
  (void)buffer_add(text, mark, 2);
  (void)buffer_add(text, text->data + field->value, field->value_length);
  into->value_length += field->value_length + 2;
  into->count += field->count;
  return true;
}

/* A bit that fields of one name have in common. */
static uint64_t name_bit(const request_Parser *p, const request_Field *field) {
  const char *name = p->text.data + field->name;
  unsigned char last = (unsigned char)name[field->name_length - 1];
  return UINT64_C(1) << ((field->name_length * 7 + last +
                          (unsigned char)name[0] * 3u) &
                         63);
}

/* Joins all later fields of the name of field `i` to it; they are left without
** a name. */
static bool join_all(request_Parser *p, size_t i) {
  request_Field *field = request_field_at(p, i);
  size_t k, count = request_field_count(p);
  for (k = i + 1; k < count; k++) {
    request_Field *other = request_field_at(p, k);
    if (!same_name(p, field, other)) continue;
    if (!join(p, field, other)) return false;
    other->name_length = 0;
  }
  return true;
}

static bool join_repeated(request_Parser *p) {
  size_t i, kept = 0, count = request_field_count(p);
  uint64_t seen = 0, repeated = 0;
  for (i = 0; i < count; i++) {
    uint64_t bit = name_bit(p, request_field_at(p, i));
    repeated |= seen & bit;
    seen |= bit;
  }
  if (repeated == 0) return true;
  for (i = 0; i < count; i++) {
    request_Field field = *request_field_at(p, i);
    if (field.name_length == 0) continue;
    if (name_bit(p, &field) & repeated) {
      if (!join_all(p, i)) return false;
      field = *request_field_at(p, i);
    }
    *request_field_at(p, kept++) = field;
  }
  p->fields.len = kept * sizeof(request_Field);
  return true;
}

/* The request as a whole */

/* The fields that describe the message itself; NULL where one is absent. */
typedef struct Framing {
  request_Field *host, *length, *coding, *expect, *connection;
} Framing;

static Framing find_framing(const request_Parser *p) {
  Framing found = {NULL, NULL, NULL, NULL, NULL};
  size_t i, count = request_field_count(p);
  for (i = 0; i < count; i++) {
    request_Field *field = request_field_at(p, i);
    switch (field->name_length) {
    case 4:
      if (is_named(p, field, "host")) found.host = field;
      break;
    case 6:
      if (is_named(p, field, "expect")) found.expect = field;
      break;
    case 10:
      if (is_named(p, field, "connection")) found.connection = field;
      break;
    case 14:
      if (is_named(p, field, "content-length")) found.length = field;
      break;
    case 17:
      if (is_named(p, field, "transfer-encoding")) found.coding = field;
      break;
    default: break;
    }
  }
  return found;
}

static const char *value_of(const request_Parser *p,
                            const request_Field *field) {
  return p->text.data + field->value;
}

/* The next element of a comma-separated list, without the blanks around it;
** false after the last one. */
static bool next_element(const char **s, const char *end, const char **element,
                         size_t *length) {
  const char *stop;
  if (*s == NULL) return false;
  stop = memchr(*s, ',', (size_t)(end - *s));
  *element = *s;
  *s = stop != NULL ? stop + 1 : NULL;
  if (stop == NULL) stop = end;
  while (*element < stop && request_is_blank(**element)) ++*element;
  while (stop > *element && request_is_blank(stop[-1])) stop--;
  *length = (size_t)(stop - *element);
  return true;
}

static bool lists(const request_Parser *p, const request_Field *field,
                  const char *token) {
  const char *s, *end, *element;
  size_t length;
  if (field == NULL) return false;
  s = value_of(p, field);
  end = s + field->value_length;
  while (next_element(&s, end, &element, &length))
    if (text_is(element, length, token)) return true;
  return false;
}

static request_Event check_host(request_Parser *p, const Framing *framing) {
  if (framing->host == NULL)
    return p->head.minor == 0
               ? REQUEST_MORE
               : request_fail(p, 400, "the field Host is missing");
  if (framing->host->count > 1)
    return request_fail(p, 400, "there is more than one field Host");
  if (!host_is_valid(value_of(p, framing->host), framing->host->value_length))
    return request_fail(p, 400, "the field Host is not a host and a port");
  return REQUEST_MORE;
}

/* Exactly "chunked" is understood.  Other codings before it are valid, but
** nothing here decodes them. */
static request_Event check_coding(request_Parser *p, const Framing *framing) {
  const char *s = value_of(p, framing->coding), *element = s;
  const char *end = s + framing->coding->value_length;
  size_t length = 0, i, count = 0, chunked = 0;
  bool tokens = true;
  if (p->head.minor == 0)
    return request_fail(p, 400, "Transfer-Encoding in HTTP/1.0");
  if (framing->length != NULL)
    return request_fail(p, 400, "both Transfer-Encoding and Content-Length");
  while (next_element(&s, end, &element, &length)) {
    count++;
    chunked += text_is(element, length, "chunked");
    for (i = 0; i < length; i++)
      tokens = tokens && request_is_token((unsigned char)element[i]);
    tokens = tokens && length > 0;
  }
  if (!tokens || chunked != 1 || !text_is(element, length, "chunked"))
    return request_fail(p, 400,
                        "Transfer-Encoding does not end with \"chunked\"");
  if (count > 1)
    return request_fail(p, 501,
                        "only the transfer coding \"chunked\" is understood");
  p->chunked = true;
  return REQUEST_MORE;
}

static request_Event check_length(request_Parser *p, const Framing *framing) {
  const char *s = value_of(p, framing->length);
  size_t i, length = framing->length->value_length;
  if (framing->length->count > 1)
    return request_fail(p, 400, "there is more than one field Content-Length");
  for (i = 0; i < length; i++) {
    if (s[i] < '0' || s[i] > '9') break;
    p->left = p->left * 10 + (uint64_t)(s[i] - '0');
    if (p->left > MAX_LENGTH) break;
  }
  if (length == 0 || i < length)
    return request_fail(p, 400, "Content-Length is not a number of bytes");
  if (p->left > p->limits.body)
    return request_fail(p, 413, "the body is longer than allowed");
  return REQUEST_MORE;
}

static request_Event check_framing(request_Parser *p, const Framing *framing) {
  request_Event event = check_host(p, framing);
  request_Head *head = &p->head;
  if (event == REQUEST_MORE && framing->coding != NULL)
    event = check_coding(p, framing);
  else if (event == REQUEST_MORE && framing->length != NULL)
    event = check_length(p, framing);
  if (event != REQUEST_MORE) return event;
  head->keep_alive =
      head->minor == 0 ? lists(p, framing->connection, "keep-alive") : true;
  if (lists(p, framing->connection, "close")) head->keep_alive = false;
  head->has_body = p->chunked || p->left > 0;
  if (framing->expect == NULL || head->minor == 0) return REQUEST_MORE;
  if (!text_is(value_of(p, framing->expect), framing->expect->value_length,
               "100-continue"))
    return request_fail(p, 417,
                        "of Expect only \"100-continue\" is understood");
  head->expects = head->has_body;
  return REQUEST_MORE;
}

/* The forms of the target */

static bool set_host(request_Parser *p, request_Field *host, size_t from,
                     size_t length) {
  request_Field field = {0};
  if (host != NULL) {
    host->value = from;
    host->value_length = length;
    return true;
  }
  field.name = p->text.len;
  field.name_length = 4;
  field.value = from;
  field.value_length = length;
  return buffer_add(&p->text, "host", 4) &&
         buffer_add(&p->fields, &field, sizeof(field));
}

/* Where the authority of "http://authority/path" begins; 0: nowhere. */
static size_t authority_of(const char *target, size_t length) {
  if (length > 7 && text_is(target, 7, "http://")) return 7;
  if (length > 8 && text_is(target, 8, "https://")) return 8;
  return 0;
}

/* Takes an absolute target apart: its host is the one that counts (RFC 9112,
** 3.2.2), and the target becomes path and query. */
static request_Event split_target(request_Parser *p, request_Field *host) {
  size_t start = p->method_length, length = p->target_length;
  const char *target = p->text.data + start;
  size_t from = authority_of(target, length), end = from, path;
  while (end < length && target[end] != '/' && target[end] != '?') end++;
  if (from == 0 || !host_is_valid(target + from, end - from))
    return request_fail(p, 400,
                        "the target is neither a path nor a URL of http");
  p->head.target_length = length - end;
  path = start + end;
  if (end == length || target[end] == '?') {
    path = p->text.len;
    if (!buffer_reserve(&p->text, length - end + 1))
      return request_out_of_memory(p);
    (void)buffer_add_char(&p->text, '/');
    (void)buffer_add(&p->text, p->text.data + start + end, length - end);
    p->head.target_length++;
  }
  if (!set_host(p, host, start + from, end - from))
    return request_out_of_memory(p);
  p->head.target = p->text.data + path;
  return REQUEST_MORE;
}

static request_Event check_target(request_Parser *p, request_Field *host) {
  const char *target = p->text.data + p->method_length;
  p->head.target = target;
  p->head.target_length = p->target_length;
  if (*target == '/') return REQUEST_MORE;
  if (p->target_length > 1 || *target != '*') return split_target(p, host);
  if (p->method_length != 7 || memcmp(p->text.data, "OPTIONS", 7) != 0)
    return request_fail(p, 400, "the target \"*\" is for OPTIONS only");
  return REQUEST_MORE;
}

request_Event request_finish_head(request_Parser *p) {
  request_Event event;
  Framing framing;
  if (!join_repeated(p)) return request_out_of_memory(p);
  framing = find_framing(p);
  event = check_framing(p, &framing);
  if (event == REQUEST_MORE) event = check_target(p, framing.host);
  if (event != REQUEST_MORE) return event;
  p->head.text = p->head.method = p->text.data;
  p->head.method_length = p->method_length;
  p->head.fields = (const request_Field *)(const void *)p->fields.data;
  p->head.field_count = request_field_count(p);
  p->state = p->chunked ? CHUNK_SIZE : p->left > 0 ? SIZED : DONE;
  return REQUEST_HEAD;
}
