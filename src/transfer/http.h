/*
** http.h - HTTP transfers: libcurl's multi interface inside a reactor.
** No Lua.  Redirects are not followed; nothing of the caller's is copied by
** guess: what it wants, it says in the request.
**
** Machine: head.c http.c.
*/
#ifndef OPERATIONS_TRANSFER_HTTP_H
#define OPERATIONS_TRANSFER_HTTP_H

#include <curl/curl.h>

#include "base/buffer.h"
#include "reactor/reactor.h"
#include "transfer/coding.h"

/* Borrowed for the duration of http_start; the body until the transfer ends. */
typedef struct http_Request {
  const char *url, *method;
  const char *body; /* NULL: none, which differs from an empty one */
  size_t body_len;
  bool upload;         /* the body comes by http_write */
  double upload_size;  /* its bytes; negative: not known */
  const char *ca_file; /* NULL: the system's */
  bool insecure;       /* any certificate will do */
  const char *cert_file, *key_file, *key_password; /* ours; NULL: none */
  const char *proxy; /* NULL: as the environment says; "": none */
  double timeout;    /* ms; 0: none */
  double deadline;   /* of the wait for the head, or for all of an answer that
                     ** is not a stream: ms from now; 0: none */
  double connect_timeout, first_byte_timeout;
  double idle_timeout; /* between two pieces of an answer's body */
  bool public_only;    /* connect to public addresses only */
  bool once;           /* not to be sent twice, whatever happens */
  bool fresh;          /* over a connection of its own */
  double keep_alive;   /* ms that an idle connection may wait for more */
  /* Of all requests, so the same in each: idle connections that are kept; those
  ** of answers that are not streams, to a host and in all, 0: any.  Further
  ** requests wait.
  */
  size_t idle_connections, host_connections, connections;
  size_t max_headers; /* bytes */
  size_t max_body;    /* bytes after decoding; SIZE_MAX: no limit */
  size_t window;      /* unread bytes at which a stream pauses */
  bool stream;        /* says HEAD and DATA; else all comes with DONE */
  bool join;          /* so too, of a stream, what is small and there whole
                      ** before HEAD was pulled */
  bool connect_only;  /* no request: on_connected is called instead */
  bool decode;        /* asks for and undoes content codings */
  /* The header line at `i`, from 0; NULL behind the last.  NULL: there are
  ** none.  Must return. */
  const char *(*line)(void *ud, size_t i);
  void *line_ud;
} http_Request;

typedef struct http_Transfer http_Transfer;
typedef struct http_Pool http_Pool; /* some of the transfers of a reactor */

/* Of the sockets that a transfer opened the last ones are known: curl tries
** several addresses at a time. */
#define HTTP_OPENED 4
#define HTTP_BUCKETS 256

/* Which connection it is: what curl tells before it sends a request. */
typedef struct http_Route {
  int local_port, port; /* of our end, 0: none; of the other end */
  char ip[46];          /* of the other end, as text */
} http_Route;

/* URLs of up to this many bytes are parsed once for all requests in a row. */
#define HTTP_KEPT_URL 512

/* One of curl's easy handles and what is set in it: of the next request, only
** what differs is. */
typedef struct http_Easy {
  CURL *curl;
  http_Transfer *transfer; /* that uses it now; NULL: none */
  CURLU *parsed;           /* `url`; or NULL: curl parses it */
  struct curl_slist *lines;
  long timeout, connect_timeout, max_age, version, wait, fresh;
  bool has_body, direct;         /* direct: over no proxy, whatever is said */
  bool watched, closing;         /* set when the answer's head came */
  char method[16];               /* "": not known */
  char url[HTTP_KEPT_URL];       /* likewise */
  char codings[64];              /* the header line that asks for them */
  char message[CURL_ERROR_SIZE]; /* curl's words */
} http_Easy;

struct http_Transfer {
  reactor_Op op;      /* first: a handle */
  http_Pool *pool;    /* where curl has it */
  http_Easy *easy;    /* NULL once it is over */
  buffer_Buffer head; /* the lines of the last block that are fields */
  /* Where in there the value of Content-Type is; no bytes: nowhere, or not in
  ** one piece. */
  size_t type, type_len;
  buffer_Buffer body; /* what came of it */
  size_t read, lent;  /* of that, to a stream's user */
  size_t head_bytes, trailers, max_headers;
  uint64_t received; /* bytes of body so far, decoded */
  size_t max_body, window;
  int64_t length; /* of Content-Length; -1: none */
  int status;
  unsigned informational; /* 1xx answers so far */
  bool stream, joins, decode;
  bool head_complete; /* of a final answer */
  bool held;          /* by the user */
  bool paused;        /* curl waits for http_resume */
  bool bodiless;      /* HEAD: a length without a body is no lie */
  bool chunked;       /* Transfer-Encoding was given */
  bool public_only;
  bool once;
  bool shared;    /* its connection may carry others at the same time */
  long requested; /* bytes, before the last try; -1: there was none */
  bool counted;   /* among those of its pool that run */
  bool unasked;   /* its connection has bytes that nobody asked for */
  bool special;   /* the easy handle is not like the others any more */
  int opened[HTTP_OPENED]; /* sockets, for http_sockets_add */
  size_t opened_count;
  http_Route route; /* of a connection that was opened for this */
  coding_Check coding;
  double idle_timeout, first_byte;
  reactor_Time deadline;         /* of the wait; REACTOR_NEVER: none */
  reactor_Time heard;            /* when the last piece came or was asked for */
  buffer_Buffer upload;          /* what curl has not taken yet */
  size_t taken;                  /* of it */
  curl_off_t sent;               /* of a body, when last looked */
  bool upload_ended;             /* no more will come */
  bool starving;                 /* curl waits for http_write */
  const char *kind;              /* of the failure: "dns", "connect", ... */
  const char *phase;             /* of a timeout: which; a reset: "reused" */
  const char *reason;            /* in words, when it was us who found it */
  size_t limit;                  /* bytes that were too few; 0: not that */
  char message[CURL_ERROR_SIZE]; /* curl's words */
  void (*on_connected)(http_Transfer *t); /* of one that asks for nothing */
};

/* Starts a zeroed transfer.  False when out of memory or curl refuses; the
** transfer then has kind and message. */
bool http_start(reactor_Reactor *r, http_Transfer *t,
                const http_Request *request);

/* Takes the easy handle back from curl's hands: at the end, or in the middle,
** which closes the connection. */
void http_release(http_Transfer *t);

/* Of one that is connected: gives its easy handle away, which http_close ends
** together with the connection; gives back the memory of what it has; ends it
** as lost. */
http_Easy *http_take(http_Transfer *t);
void http_close(reactor_Reactor *r, http_Pool *pool, http_Easy *easy);
void http_free(http_Transfer *t);
void http_lose(http_Transfer *t, const char *reason);

/* Lends up to `max` of the bytes of a stream that nobody has read; they are
** read by the next call, which lets the rest come when there are no more.  NULL
** when nothing is there.  Borrowed until the next call or step. */
const char *http_lend(http_Transfer *t, size_t max, size_t *length);

/* Gives curl more of a body after REACTOR_WANT was said; no bytes end it.
** False when out of memory. */
bool http_write(http_Transfer *t, const char *bytes, size_t length);

/* Stops reading from the socket, and goes on. */
void http_pause(http_Transfer *t);
void http_resume(http_Transfer *t);

/* transfer/request.c: tells curl what is asked for. */
CURLcode http_set_request(http_Transfer *t, const http_Request *q);

/* What no request changes, but for the callbacks.  One that failed to open is
** to be closed too. */
CURLcode http_easy_open(http_Easy *easy);
void http_easy_close(http_Easy *easy);

/* transfer/failure.c: whether and why it failed */

/* Sets why it failed; both strings are static. */
void http_fail(http_Transfer *t, const char *kind, const char *reason);

/* The kind of failure that one of curl's codes is. */
const char *http_kind_of(CURLcode code);

/* It ended with a code of curl's: sets kind, phase and words of a failure, but
** for those that were found before. */
void http_judge(http_Transfer *t, CURLcode code);

/* Why it failed, in words. */
const char *http_reason(const http_Transfer *t);

/* transfer/sweep.c: closes connections that were idle for long enough, or that
** the other end has closed.  curl does so only when a transfer begins. */

typedef struct http_Sweep {
  reactor_Time due;          /* REACTOR_NEVER: no connection is idle */
  reactor_Time begun, ended; /* the last transfer */
  double keep_alive;         /* ms */
} http_Sweep;

void http_sweep_init(http_Sweep *sweep);

/* A transfer begins; one ends, and its connection is idle. */
void http_sweep_began(http_Sweep *sweep, double keep_alive);
void http_sweep_ended(http_Sweep *sweep);

/* Is it time?  If so, has a transfer begin, which gets no further; others may
** have messages then. */
bool http_sweep_is_due(http_Sweep *sweep, reactor_Time now);
void http_sweep(http_Sweep *sweep, CURLM *multi);

/* transfer/upload.c: bodies that come piece by piece */

/* curl's callback for the next piece. */
size_t http_on_read(char *bytes, size_t size, size_t n, void *ud);

/* transfer/socket.c: what a server says on a connection where nobody asked.
** It would be taken for the answer to the next request. */

typedef struct http_Socket http_Socket;

/* The sockets of connections by their routes.  They are forgotten when curl
** closes them, so a descriptor in here is the one that was added. */
typedef struct http_Sockets {
  ops_Alloc alloc;
  http_Socket *buckets[HTTP_BUCKETS];
} http_Sockets;

/* None is known. */
void http_sockets_init(http_Sockets *sockets, ops_Alloc alloc);
void http_sockets_free(http_Sockets *sockets);

void http_route_set(http_Route *route, const char *ip, int port,
                    int local_port);

/* The transfer opened a socket; one of those is connected on its route.  One
** that there is no memory for stays unknown. */
void http_socket_opened(http_Transfer *t, int fd);
void http_sockets_add(http_Sockets *sockets, const http_Transfer *t);
void http_sockets_remove(http_Sockets *sockets, int fd);

/* Does the connection carry one request at a time?  Said and asked; an unknown
** one may carry more. */
void http_sockets_set_single(http_Sockets *sockets, const http_Route *route,
                             bool single);
bool http_sockets_is_single(http_Sockets *sockets, const http_Route *route);

/* Is there something to read on the connection, which was idle?  True of one
** that is not known: nobody can tell. */
bool http_sockets_unasked(http_Sockets *sockets, const http_Route *route);

/* transfer/address.c */

/* Is it an address of the public internet (RFC 6890)? */
bool http_is_public(const struct sockaddr *address);

/* transfer/head.c: what the lines of an answer's head say */

/* In transfer/http.c: the head is complete, the body may take its time. */
void http_head_end(http_Transfer *t);

/* Takes one line in.  False when the transfer must end: kind is set. */
bool http_head_line(http_Transfer *t, const char *line, size_t length);

#endif
