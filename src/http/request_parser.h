/*
** request_parser.h - state of the request parser: internal to request.c,
** which reads lines and bodies, and framing.c, which judges a whole head.  No
** Lua.
*/
#ifndef OPERATIONS_REQUEST_PARSER_H
#define OPERATIONS_REQUEST_PARSER_H

#include "base/buffer.h"
#include "http/request.h"

/* The places in a request; those up to LAST_COUNTED count as its head. */
typedef enum State {
  BEFORE,
  BEFORE_LF,
  METHOD,
  TARGET,
  VERSION_TEXT,
  REQUEST_LF,
  FIELD,
  NAME,
  VALUE,
  FIELD_LF,
  HEAD_LF,
  LAST_COUNTED = HEAD_LF,
  SIZED,
  CHUNK_SIZE,
  EXTENSION_BLANK,
  EXTENSION,
  CHUNK_LF,
  CHUNK_DATA,
  DATA_CR,
  DATA_LF,
  DONE,
  BROKEN
} State;

struct request_Parser {
  request_Limits limits;
  State state;
  buffer_Buffer text;   /* method, target, names and values, one by one */
  buffer_Buffer fields; /* of request_Field */
  size_t spent;         /* bytes of the head, or of the trailers */
  size_t method_length, target_length;
  size_t matched; /* characters of VERSION */
  int major;
  bool chunked, in_trailers;
  uint64_t left;     /* bytes of the body, or of the chunk */
  uint64_t received; /* bytes in the chunks so far */
  size_t digits, extensions;
  request_Head head;
  request_Event failure; /* REQUEST_FAILED or REQUEST_NO_MEMORY */
  int status;
  const char *reason;
};

static inline request_Event request_fail(request_Parser *p, int status,
                                         const char *reason) {
  p->state = BROKEN;
  p->failure = REQUEST_FAILED;
  p->status = status;
  p->reason = reason;
  return REQUEST_FAILED;
}

static inline request_Event request_out_of_memory(request_Parser *p) {
  p->state = BROKEN;
  p->failure = REQUEST_NO_MEMORY;
  return REQUEST_NO_MEMORY;
}

static inline bool request_is_token(unsigned char c) {
  static const uint32_t map[8] = {0, 0x03FF6CFA, 0xC7FFFFFE, 0x57FFFFFF};
  return map[c >> 5] >> (c & 31) & 1;
}

static inline bool request_is_blank(char c) {
  return c == ' ' || c == '\t';
}

static inline char request_lower(char c) {
  return c >= 'A' && c <= 'Z' ? (char)(c + 32) : c;
}

static inline request_Field *request_field_at(const request_Parser *p,
                                              size_t i) {
  return (request_Field *)(void *)p->fields.data + i;
}

static inline size_t request_field_count(const request_Parser *p) {
  return p->fields.len / sizeof(request_Field);
}

/* http/framing.c: of a complete head.  Joins repeated fields, checks Host, the
** framing of the body and the form of the target; REQUEST_HEAD when all are
** right. */
request_Event request_finish_head(request_Parser *p);

#endif
