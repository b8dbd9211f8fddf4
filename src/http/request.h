/*
** request.h - reader of HTTP/1.1 requests (RFC 9112), strict: bytes in, events
** out.  No I/O, no answers, no Lua.
**
** Takes the bytes of a connection in pieces cut anywhere.  What a request is,
** or what is wrong with it, depends on its bytes alone, not on the cuts.  The
** limits are counted while reading: memory stays below them.  What two readers
** could understand differently is refused: a line that ends with LF alone, a
** folded field, two lengths, a coding that is not "chunked".
*/
#ifndef OPERATIONS_REQUEST_H
#define OPERATIONS_REQUEST_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/alloc.h"

typedef struct request_Parser request_Parser;

typedef struct request_Limits {
  size_t head;   /* bytes of request line and fields, and of trailers */
  size_t fields; /* in a head, and in trailers */
  size_t target; /* bytes */
  uint64_t body; /* bytes */
} request_Limits;

/* Name and value as places in the text of the head.  The name is in lower case;
** fields of one name are one field, their values joined by ", " ("; " for
** Cookie). */
typedef struct request_Field {
  size_t name, name_length, value, value_length;
  size_t count; /* of lines with this name */
} request_Field;

/* Borrowed until the next request_read. */
typedef struct request_Head {
  const char *text;
  const char *method, *target;
  size_t method_length, target_length; /* the target in origin form, or "*" */
  const request_Field *fields;
  size_t field_count;
  int minor;       /* of the version: 0 or 1 */
  bool keep_alive; /* the sender keeps the connection open */
  bool expects;    /* "100 Continue" before it sends the body */
  bool has_body;   /* REQUEST_BODY may come */
} request_Head;

typedef enum request_Event {
  REQUEST_MORE,     /* all was taken */
  REQUEST_HEAD,     /* request_head has it */
  REQUEST_BODY,     /* a piece of it is in the step */
  REQUEST_END,      /* nothing is taken until request_go_on */
  REQUEST_FAILED,   /* request_failure says why; final */
  REQUEST_NO_MEMORY /* final */
} request_Event;

typedef struct request_Step {
  request_Event event;
  size_t taken;     /* of the bytes that were given */
  const char *body; /* of REQUEST_BODY: borrowed from those bytes */
  size_t body_length;
} request_Step;

/* NULL when out of memory; the caller owns the parser. */
request_Parser *request_new(const ops_Alloc *alloc,
                            const request_Limits *limits);

/* `p` may be NULL. */
void request_free(request_Parser *p);

/* Reads up to the next event; bytes that were not taken are to be given
** again. */
void request_read(request_Parser *p, const char *bytes, size_t length,
                  request_Step *step);

const request_Head *request_head(const request_Parser *p);

/* The status of the answer (400, 408, ...), and a reason for people. */
int request_failure(const request_Parser *p, const char **reason);

/* After REQUEST_END: the next request may begin. */
void request_go_on(request_Parser *p);

#endif
