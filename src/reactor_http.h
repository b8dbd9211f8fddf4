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
#include "reactor_coding.h"

/* Borrowed for the duration of http_start; the body until the transfer ends. */
typedef struct http_Request {
  const char *url, *method;
  const char *body; /* NULL: none, which differs from an empty one */
  size_t body_len;
  bool upload;         /* the body comes by http_write */
  double upload_size;  /* its bytes; negative: not known */
  const char *ca_file; /* NULL: the system's */
  const char *proxy;   /* NULL: as the environment says; "": none */
  double timeout;      /* ms; 0: none */
  double connect_timeout, first_byte_timeout;
  double idle_timeout; /* between two pieces of an answer's body */
  bool public_only;    /* connect to public addresses only */
  double keep_alive;   /* ms that an idle connection may wait for more */
  size_t max_headers;  /* bytes */
  size_t max_body;     /* bytes after decoding; SIZE_MAX: no limit */
  size_t window;       /* unread bytes at which a stream pauses */
  bool stream;         /* says HEAD and DATA; else all comes with DONE */
  bool decode;         /* asks for and undoes content codings */
} http_Request;

typedef struct http_Transfer {
  reactor_Op op;              /* first: a handle */
  CURL *easy;                 /* NULL once it is over */
  struct curl_slist *headers; /* owned; filled in before the start */
  buffer_Buffer head;         /* header lines of the last block */
  buffer_Buffer body;         /* not yet read */
  size_t trailers;            /* bytes */
  uint64_t received;          /* bytes of body so far, decoded */
  size_t max_body, window;
  int64_t length; /* of Content-Length; -1: none */
  int status;
  unsigned informational; /* 1xx answers so far */
  bool stream, decode;
  bool head_complete; /* of a final answer */
  bool held;          /* by the user */
  bool paused;        /* curl waits for http_resume */
  bool bodiless;      /* HEAD: a length without a body is no lie */
  bool chunked;       /* Transfer-Encoding was given */
  bool public_only;
  bool special; /* the easy handle is not like the others any more */
  coding_Check coding;
  double idle_timeout, first_byte;
  reactor_Time heard;            /* when the last piece came or was asked for */
  buffer_Buffer upload;          /* what curl has not taken yet */
  size_t taken;                  /* of it */
  curl_off_t sent;               /* of a body, when last looked */
  bool upload_ended;             /* no more will come */
  bool starving;                 /* curl waits for http_write */
  const char *kind;              /* of the failure: "dns", "connect", ... */
  const char *phase;             /* of a timeout: which one it was */
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

/* Gives curl more of a body after REACTOR_WANT was said; no bytes end it.
** False when out of memory. */
bool http_write(http_Transfer *t, const char *bytes, size_t length);

/* Stops reading from the socket, and goes on. */
void http_pause(http_Transfer *t);
void http_resume(http_Transfer *t);

/* reactor_upload.c: bodies that come piece by piece */

/* What curl calls for the next piece. */
size_t http_on_read(char *bytes, size_t size, size_t n, void *ud);

/* reactor_address.c */

/* Is it an address of the public internet (RFC 6890)? */
bool http_is_public(const struct sockaddr *address);

/* reactor_head.c: what the lines of an answer's head say */

/* In reactor_http.c: the head is complete, the body may take its time. */
void http_head_end(http_Transfer *t);

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
