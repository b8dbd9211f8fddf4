#include "http/request_parser.h"

#define MAX_METHOD 32
#define MAX_EXTENSIONS 4096 /* bytes, of all chunks of a body */
#define MAX_CHUNK_DIGITS 15
#define KEPT 16384         /* bytes of room that stay for the next request */
#define VERSION "HTTP/d.d" /* d: any digit */
#define CR_ALONE "a CR is not followed by LF"

typedef struct Cursor {
  const char *at, *end;
  request_Step *step;
} Cursor;

static request_Event enter(request_Parser *p, State state) {
  p->state = state;
  return REQUEST_MORE;
}

/* Characters */

static bool is_target(unsigned char c) {
  return c > ' ' && c < 0x7F && c != '#';
}

static bool is_value(unsigned char c) {
  return (c >= ' ' && c != 0x7F) || c == '\t';
}

static int hex_value(char c) {
  if (c >= '0' && c <= '9') return c - '0';
  c = request_lower(c);
  return c >= 'a' && c <= 'f' ? c - 'a' + 10 : -1;
}

/* Appends up to `max` characters of a kind and moves the cursor behind them. */
static bool take(request_Parser *p, Cursor *c, bool (*is)(unsigned char),
                 size_t max, size_t *count) {
  const char *from = c->at, *end = c->end;
  if ((size_t)(end - from) > max) end = from + max;
  while (c->at < end && is((unsigned char)*c->at)) c->at++;
  *count += (size_t)(c->at - from);
  return buffer_add(&p->text, from, (size_t)(c->at - from));
}

/* The request line */

static request_Event read_before(request_Parser *p, Cursor *c) {
  if (*c->at != '\r') return enter(p, METHOD);
  c->at++;
  return enter(p, BEFORE_LF);
}

static request_Event read_before_lf(request_Parser *p, Cursor *c) {
  if (*c->at++ != '\n') return request_fail(p, 400, CR_ALONE);
  return enter(p, METHOD);
}

static request_Event read_method(request_Parser *p, Cursor *c) {
  size_t room = MAX_METHOD - p->method_length;
  if (!take(p, c, request_is_token, room, &p->method_length))
    return request_out_of_memory(p);
  if (c->at == c->end) return REQUEST_MORE;
  if (request_is_token((unsigned char)*c->at))
    return request_fail(p, 400, "the method is longer than 32 characters");
  if (*c->at++ != ' ' || p->method_length == 0)
    return request_fail(p, 400,
                        "the request line does not begin with a method and one "
                        "space");
  return enter(p, TARGET);
}

static request_Event read_target(request_Parser *p, Cursor *c) {
  size_t room = p->limits.target - p->target_length;
  if (!take(p, c, is_target, room, &p->target_length))
    return request_out_of_memory(p);
  if (c->at == c->end) return REQUEST_MORE;
  if (is_target((unsigned char)*c->at))
    return request_fail(p, 414, "the target is longer than allowed");
  if (*c->at++ != ' ' || p->target_length == 0)
    return request_fail(p, 400,
                        "the target is not followed by one space and the "
                        "version, or holds a character that a URL cannot");
  return enter(p, VERSION_TEXT);
}

static request_Event read_version(request_Parser *p, Cursor *c) {
  static const char expected[] = VERSION;
  char character = *c->at++;
  if (p->matched == sizeof(VERSION) - 1) {
    if (character != '\r')
      return request_fail(p, 400, "the version is not followed by CR LF");
    if (p->major != 1 || p->head.minor > 1)
      return request_fail(p, 505, "HTTP/1.1 or HTTP/1.0 expected");
    return enter(p, REQUEST_LF);
  }
  if (expected[p->matched] == 'd' && character >= '0' && character <= '9') {
    p->major = p->head.minor; /* the digit before */
    p->head.minor = character - '0';
  } else if (character != expected[p->matched]) {
    return request_fail(p, 400,
                        "the request line does not end with \"HTTP/1.1\"");
  }
  p->matched++;
  return REQUEST_MORE;
}

static request_Event read_request_lf(request_Parser *p, Cursor *c) {
  if (*c->at++ != '\n') return request_fail(p, 400, CR_ALONE);
  return enter(p, FIELD);
}

/* Fields */

static request_Field *last_field(const request_Parser *p) {
  return request_field_at(p, request_field_count(p) - 1);
}

static request_Event read_field(request_Parser *p, Cursor *c) {
  request_Field field = {0};
  if (*c->at == '\r') {
    c->at++;
    return enter(p, HEAD_LF);
  }
  if (request_is_blank(*c->at))
    return request_fail(p, 400, "a line begins with a blank (folded field)");
  if (!request_is_token((unsigned char)*c->at))
    return request_fail(p, 400, "a field does not begin with a name");
  if (request_field_count(p) >= p->limits.fields)
    return request_fail(p, 431, "there are more fields than allowed");
  field.name = p->text.len;
  field.count = 1;
  if (!buffer_add(&p->fields, &field, sizeof(field)))
    return request_out_of_memory(p);
  return enter(p, NAME);
}

static request_Event read_name(request_Parser *p, Cursor *c) {
  request_Field *field = last_field(p);
  size_t i, from = p->text.len;
  if (!take(p, c, request_is_token, SIZE_MAX, &field->name_length))
    return request_out_of_memory(p);
  for (i = from; i < p->text.len; i++)
    p->text.data[i] = request_lower(p->text.data[i]);
  if (c->at == c->end) return REQUEST_MORE;
  if (*c->at++ != ':')
    return request_fail(p, 400,
                        "the name of a field is not followed by a colon");
  field->value = p->text.len;
  return enter(p, VALUE);
}

static void trim_end(request_Parser *p, request_Field *field) {
  const char *value = p->text.data + field->value;
  while (field->value_length > 0 &&
         request_is_blank(value[field->value_length - 1]))
    field->value_length--;
}

static request_Event read_value(request_Parser *p, Cursor *c) {
  request_Field *field = last_field(p);
  while (field->value_length == 0 && c->at < c->end && request_is_blank(*c->at))
    c->at++;
  if (!take(p, c, is_value, SIZE_MAX, &field->value_length))
    return request_out_of_memory(p);
  if (c->at == c->end) return REQUEST_MORE;
  if (*c->at++ != '\r')
    return request_fail(p, 400,
                        "a field holds a control character, or its line ends "
                        "without CR");
  trim_end(p, field);
  return enter(p, FIELD_LF);
}

static request_Event read_field_lf(request_Parser *p, Cursor *c) {
  if (*c->at++ != '\n') return request_fail(p, 400, CR_ALONE);
  return enter(p, FIELD);
}

/* The end of the head, or of the trailers */

static request_Event read_head_lf(request_Parser *p, Cursor *c) {
  if (*c->at++ != '\n') return request_fail(p, 400, CR_ALONE);
  if (!p->in_trailers) return request_finish_head(p);
  p->state = DONE;
  return REQUEST_END;
}

/* Bodies */

/* Hands out what has arrived of `left` bytes. */
static request_Event read_data(request_Parser *p, Cursor *c) {
  size_t length = (size_t)(c->end - c->at);
  if (length > p->left) length = (size_t)p->left;
  c->step->body = c->at;
  c->step->body_length = length;
  c->at += length;
  p->left -= length;
  if (p->left == 0) p->state = p->chunked ? DATA_CR : DONE;
  return REQUEST_BODY;
}

static request_Event read_chunk_size(request_Parser *p, Cursor *c) {
  int digit = hex_value(*c->at);
  if (digit >= 0) {
    if (p->digits++ == MAX_CHUNK_DIGITS)
      return request_fail(p, 400, "the size of a chunk has too many digits");
    p->left = p->left * 16 + (uint64_t)digit;
    c->at++;
    return REQUEST_MORE;
  }
  if (p->digits == 0)
    return request_fail(p, 400, "the size of a chunk is not hexadecimal");
  if (*c->at != '\r') return enter(p, EXTENSION_BLANK);
  c->at++;
  return enter(p, CHUNK_LF);
}

static request_Event read_extension_blank(request_Parser *p, Cursor *c) {
  if (!request_is_blank(*c->at) && *c->at != ';')
    return request_fail(p, 400, "the size of a chunk is not hexadecimal");
  if (p->extensions++ == MAX_EXTENSIONS)
    return request_fail(p, 400, "chunk extensions are longer than allowed");
  return enter(p, *c->at++ == ';' ? EXTENSION : EXTENSION_BLANK);
}

/* The text of extensions is dropped. */
static request_Event read_extension(request_Parser *p, Cursor *c) {
  while (c->at < c->end && is_value((unsigned char)*c->at)) {
    if (p->extensions++ == MAX_EXTENSIONS)
      return request_fail(p, 400, "chunk extensions are longer than allowed");
    c->at++;
  }
  if (c->at == c->end) return REQUEST_MORE;
  if (*c->at++ != '\r')
    return request_fail(p, 400,
                        "a chunk extension holds a control character, or its "
                        "line ends without CR");
  return enter(p, CHUNK_LF);
}

/* Trailer fields follow the last chunk; they are dropped. */
static request_Event read_chunk_lf(request_Parser *p, Cursor *c) {
  if (*c->at++ != '\n') return request_fail(p, 400, CR_ALONE);
  p->digits = 0;
  if (p->left == 0) {
    p->in_trailers = true;
    p->spent = p->text.len = p->fields.len = 0;
    return enter(p, FIELD);
  }
  if (p->left > p->limits.body - p->received)
    return request_fail(p, 413, "the body is longer than allowed");
  p->received += p->left;
  return enter(p, CHUNK_DATA);
}

static request_Event read_data_cr(request_Parser *p, Cursor *c) {
  if (*c->at++ != '\r')
    return request_fail(p, 400, "a chunk is not followed by CR LF");
  return enter(p, DATA_LF);
}

static request_Event read_data_lf(request_Parser *p, Cursor *c) {
  if (*c->at++ != '\n')
    return request_fail(p, 400, "a chunk is not followed by CR LF");
  return enter(p, CHUNK_SIZE);
}

/* Reading */

/* Each takes at least one byte or enters another state. */
static request_Event (*const readers[])(request_Parser *, Cursor *) = {
    read_before,     read_before_lf,       read_method,    read_target,
    read_version,    read_request_lf,      read_field,     read_name,
    read_value,      read_field_lf,        read_head_lf,   read_data,
    read_chunk_size, read_extension_blank, read_extension, read_chunk_lf,
    read_data,       read_data_cr,         read_data_lf,
};

/* Reads as far as the limit of the head allows. */
static request_Event read_counted(request_Parser *p, Cursor *c) {
  const char *from = c->at, *end = c->end;
  size_t room = p->limits.head - p->spent;
  request_Event event;
  if (room == 0) return request_fail(p, 431, "the head is longer than allowed");
  if ((size_t)(end - from) > room) c->end = from + room;
  p->spent += (size_t)(c->end - from);
  event = readers[p->state](p, c);
  p->spent -= (size_t)(c->end - c->at);
  c->end = end;
  return event;
}

static request_Event read_on(request_Parser *p, Cursor *c) {
  request_Event event = REQUEST_MORE;
  if (p->state == DONE) return REQUEST_END;
  if (p->state == BROKEN) return p->failure;
  while (c->at < c->end && event == REQUEST_MORE)
    event =
        p->state <= LAST_COUNTED ? read_counted(p, c) : readers[p->state](p, c);
  return event;
}

void request_read(request_Parser *p, const char *bytes, size_t length,
                  request_Step *step) {
  Cursor c;
  c.at = bytes;
  c.end = bytes + length;
  c.step = step;
  step->body = NULL;
  step->body_length = 0;
  step->event = read_on(p, &c);
  step->taken = (size_t)(c.at - bytes);
}

const request_Head *request_head(const request_Parser *p) {
  return &p->head;
}

int request_failure(const request_Parser *p, const char **reason) {
  *reason = p->reason;
  return p->status;
}

/* Beginning and end */

request_Parser *request_new(const ops_Alloc *alloc,
                            const request_Limits *limits) {
  request_Parser *p = ops_alloc(alloc, sizeof(*p));
  if (p == NULL) return NULL;
  *p = (request_Parser){.limits = *limits};
  /* Beside the head: joined values, and the path of an absolute target. */
  buffer_init(&p->text, *alloc, 3 * limits->head + 2 * limits->fields + 64);
  buffer_init(&p->fields, *alloc, (limits->fields + 1) * sizeof(request_Field));
  return p;
}

void request_free(request_Parser *p) {
  ops_Alloc alloc;
  if (p == NULL) return;
  alloc = p->text.alloc;
  buffer_free(&p->text);
  buffer_free(&p->fields);
  ops_free(&alloc, p, sizeof(*p));
}

void request_go_on(request_Parser *p) {
  if (p->state != DONE) return;
  if (p->text.capacity > KEPT) buffer_free(&p->text);
  p->text.len = p->fields.len = 0;
  *p = (request_Parser){
      .limits = p->limits, .text = p->text, .fields = p->fields};
}
