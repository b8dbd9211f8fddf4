/*
** reactor_http.h - HTTP transfers: libcurl's multi interface inside a reactor.
** No Lua.  Redirects are not followed; nothing of the caller's is copied by
** guess: what it wants, it says in the request.
*/
#ifndef OPERATIONS_REACTOR_HTTP_H
#define OPERATIONS_REACTOR_HTTP_H

#include <curl/curl.h>

#include "buffer.h"
#include "reactor.h"
#include "reactor_gzip.h"

/* Borrowed for the duration of http_start; the body until the transfer ends. */
typedef struct http_Request {
  const char *url, *method;
  const char *body; /* NULL: none, which differs from an empty one */
  size_t body_len;
  const char *ca_file; /* NULL: the system's */
  double timeout;      /* ms; 0: none */
  double connect_timeout, first_byte_timeout;
  double keep_alive;  /* ms that an idle connection may wait for more */
  size_t max_headers; /* bytes */
  size_t max_body;    /* bytes after decoding; SIZE_MAX: no limit */
  size_t window;      /* unread bytes at which a stream pauses */
  bool stream;        /* says HEAD and DATA; else all comes with DONE */
  bool decode;        /* asks for and undoes content codings */
} http_Request;

typedef struct http_Transfer {
  reactor_Op op;              /* first: a handle */
  CURL *easy;                 /* NULL once it is over */
  struct curl_slist *headers; /* owned; filled in before the start */
  buffer_Buffer head;         /* header lines of the last block */
  buffer_Buffer body;         /* not yet read */
  uint64_t received;          /* bytes of body so far, decoded */
  size_t max_body, window;
  int64_t length; /* of Content-Length; -1: none */
  int status;
  unsigned informational; /* 1xx answers so far */
  bool stream, decode;
  bool head_complete; /* of a final answer */
  bool held;          /* by the user */
  bool paused;        /* curl waits for http_resume */
  bool checked;       /* gzip: the encoded bytes are watched */
  bool special;       /* the easy handle is not like the others any more */
  gzip_Check gzip;
  const char *kind;              /* of the failure: "dns", "connect", ... */
  const char *reason;            /* in words, when it was us who found it */
  char message[CURL_ERROR_SIZE]; /* curl's words */
} http_Transfer;

/* Starts a zeroed transfer with its headers in place.  False when out of
** memory or curl refuses; the transfer then has kind and message. */
bool http_start(reactor_Reactor *r, http_Transfer *t,
                const http_Request *request);

/* Why it failed, in words. */
const char *http_reason(const http_Transfer *t);

/* The body was read: forgets it, and lets the rest come. */
void http_drain(http_Transfer *t);

/* Stops reading from the socket, and goes on. */
void http_pause(http_Transfer *t);
void http_resume(http_Transfer *t);

/* reactor_head.c: what the lines of an answer's head say */

/* Takes one line in.  False when the transfer must end: kind is set. */
bool http_head_line(http_Transfer *t, const char *line, size_t length);

/* One field of a head. */
typedef struct http_Field {
  const char *name, *value; /* borrowed from the head; blanks trimmed */
  size_t name_len, value_len;
  bool folded; /* the value goes on that of the field before */
} http_Field;

/* Reads the field at *p, which lies before `end`, and moves *p behind it; false
** at the end.  Lines without a colon are passed over. */
bool http_next_field(const char **p, const char *end, http_Field *field);

#endif
