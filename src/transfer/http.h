/*
** http.h - HTTP transfers: libcurl's multi interface inside a reactor.  No Lua.
** Does not follow redirects and adds no header of its own: the request names
** everything it sends.
**
** Machine: head.c http.c.
*/
#ifndef OPERATIONS_TRANSFER_HTTP_H
#define OPERATIONS_TRANSFER_HTTP_H

#include <curl/curl.h>

#include "base/buffer.h"
#include "reactor/reactor.h"
#include "transfer/coding.h"

/* Borrowed during http_start; the body until the transfer ends. */
typedef struct http_Request {
  const char *url, *method;
  const char *body; /* NULL: none, which differs from an empty one */
  size_t body_len;
  bool upload;         /* http_write gives the body */
  double upload_size;  /* bytes; negative: unknown */
  const char *ca_file; /* NULL: the system's */
  bool insecure;       /* accept any certificate */
  const char *cert_file, *key_file, *key_password; /* ours; NULL: none */
  /* NULL: none.  A socket instead of the URL's host; user and password for a
  ** server that asks for Digest; a file such as ~/.netrc. */
  const char *unix_socket, *digest_user, *digest_password, *netrc;
  const char *proxy; /* NULL: by the environment; "": none */
  double timeout;    /* ms; 0: none */
  double deadline;   /* ms from now, for the head, or for all of an answer that
                     ** is not a stream; 0: none */
  double connect_timeout, first_byte_timeout;
  double idle_timeout;   /* between two pieces of an answer's body */
  bool public_only;      /* connect to public addresses only */
  bool once;             /* must not be sent twice under any condition */
  bool fresh;            /* on a connection of its own */
  double keep_alive;     /* ms that a connection may stay idle */
  double connection_age; /* ms that it may be used at most; 0: unlimited */
  double dns_cache;      /* ms that addresses of a name are kept */
  /* Shared by all requests, so the same in each: the number of idle connections
  ** that are kept; of connections for answers that are not streams, to a host
  ** and in total, 0: unlimited.  Further requests wait. */
  size_t idle_connections, host_connections, connections;
  size_t max_headers; /* bytes */
  size_t max_body;    /* bytes after decoding */
  size_t window;      /* unread bytes at which a stream pauses */
  bool stream;        /* says HEAD and DATA; otherwise only DONE */
  bool join;          /* DONE alone, for a small answer of a stream complete
                      ** before HEAD was pulled */
  bool connect_only;  /* makes no request; calls on_connected */
  bool decode;        /* requests and decodes content codings */
  bool timed;         /* http_note_phases is to be called */
  /* Returns header line `i`, from 0; NULL after the last.  A NULL function: no
  ** lines.  Must return. */
  const char *(*line)(void *ud, size_t i);
  void *line_ud;
} http_Request;

typedef struct http_Transfer http_Transfer;
typedef struct http_Pool http_Pool; /* some of the transfers of a reactor */

/* The last sockets that a transfer opened: curl tries several addresses at a
** time. */
#define HTTP_OPENED 4
#define HTTP_BUCKETS 256

/* Identifies a connection; curl reports it before it sends a request. */
typedef struct http_Route {
  int local_port, port; /* our port, 0: none; the peer's port */
  char ip[46];          /* the peer's address as text */
} http_Route;

/* Consecutive requests for the same URL of up to this many bytes parse it
** once. */
#define HTTP_KEPT_URL 512

/* When each phase of a transfer ended, ms from its beginning; 0: not reached.
 */
typedef struct http_Phases {
  double name, connect, tls, first_byte;
  bool reused; /* the connection was there */
} http_Phases;

/* An easy handle of curl and its current settings: the next request changes
** only those that differ. */
typedef struct http_Easy {
  CURL *curl;
  http_Transfer *transfer; /* the current user; NULL: none */
  CURLU *parsed;           /* `url` parsed; NULL: curl parses it */
  struct curl_slist *lines;
  long timeout, connect_timeout, max_age, lifetime, dns_age, version, wait,
      fresh;
  bool has_body, direct;         /* direct: no proxy, whatever is configured */
  char method[16];               /* "": unknown */
  char url[HTTP_KEPT_URL];       /* likewise */
  char codings[64];              /* the header line that requests them */
  char message[CURL_ERROR_SIZE]; /* curl's error message */
} http_Easy;

struct http_Transfer {
  reactor_Op op;      /* first: a handle */
  http_Pool *pool;    /* the pool whose multi handle has it */
  http_Easy *easy;    /* NULL after the end */
  buffer_Buffer head; /* field lines of the last header block */
  /* The position of Content-Type's value in `head`; empty when there is none,
  ** or not in one piece. */
  size_t type, type_len;
  buffer_Buffer body; /* the received body */
  size_t read,
      lent; /* bytes of `body` read by and lent to the user of a stream */
  size_t head_bytes, trailers, max_headers;
  uint64_t received; /* decoded bytes of the body so far */
  size_t max_body, window;
  int64_t length; /* of Content-Length; -1: none */
  int status;
  bool digest;            /* the first answer that asks for Digest is curl's */
  bool challenged;        /* this answer does */
  unsigned informational; /* 1xx answers so far */
  bool stream, joins, decode, timed;
  bool head_complete; /* the head of the final answer is complete */
  bool held;          /* the user paused it */
  bool paused;        /* curl waits for http_resume */
  bool bodiless; /* a HEAD request: Content-Length without a body is valid */
  bool chunked;  /* the answer has Transfer-Encoding */
  bool public_only;
  bool verifies; /* the server's certificate */
  bool once;
  bool shared;             /* its connection may carry other transfers */
  long requested;          /* bytes, at the last attempt; -1: there was none */
  bool unasked;            /* its connection has unrequested bytes */
  bool special;            /* the easy handle has unusual settings */
  int opened[HTTP_OPENED]; /* sockets, for http_sockets_add */
  size_t opened_count;
  http_Route route; /* of the connection opened for it */
  coding_Check coding;
  http_Phases phases; /* of a `timed` one */
  double idle_timeout, first_byte;
  reactor_Time deadline;         /* of the wait; REACTOR_NEVER: none */
  reactor_Time heard;            /* when the last piece came or could have */
  buffer_Buffer upload;          /* bytes that curl has not taken yet */
  size_t taken;                  /* of `upload` */
  curl_off_t sent;               /* of a body, when last checked */
  bool upload_ended;             /* the body is complete */
  bool starving;                 /* curl waits for http_write */
  const char *kind;              /* of the failure: "dns", "connect", ... */
  const char *phase;             /* which timeout; "reused" of a reset */
  const char *reason;            /* a message, when we found the failure */
  size_t limit;                  /* the exceeded limit in bytes; 0: none */
  char message[CURL_ERROR_SIZE]; /* curl's error message */
  void (*on_connected)(http_Transfer *t); /* for connect_only */
};

/* Starts a zeroed transfer.  False when out of memory or curl refuses; kind and
** message are then set. */
bool http_start(reactor_Reactor *r, http_Transfer *t,
                const http_Request *request);

/* Takes the easy handle out of curl's multi handle: at the end, or before it,
** which closes the connection. */
void http_release(http_Transfer *t);

/* For a connected transfer: gives its easy handle away, which http_close ends
** together with the connection; frees its memory; ends it as lost. */
http_Easy *http_take(http_Transfer *t);
void http_close(reactor_Reactor *r, http_Pool *pool, http_Easy *easy);
void http_free(http_Transfer *t);
void http_lose(http_Transfer *t, const char *reason);

/* Lends up to `max` unread bytes of a stream.  The next call marks them as read
** and resumes the transfer when none are left.  NULL when there are none.
** Borrowed until the next call or step. */
const char *http_lend(http_Transfer *t, size_t max, size_t *length);

/* Gives curl more of a body after REACTOR_WANT was said; no bytes end the body.
** False when out of memory. */
bool http_write(http_Transfer *t, const char *bytes, size_t length);

/* Pauses reading from the socket; resumes it. */
void http_pause(http_Transfer *t);
void http_resume(http_Transfer *t);

/* transfer/request.c: sets curl's options for the request. */
CURLcode http_set_request(http_Transfer *t, const http_Request *q);

/* Sets the options that no request changes, except callbacks.  Must be closed
** even if it failed to open. */
CURLcode http_easy_open(http_Easy *easy);
void http_easy_close(http_Easy *easy);

/* transfer/phases.c: sets the phases of a timed transfer that has not ended. */
void http_note_phases(http_Transfer *t);

/* transfer/failure.c: whether and why it failed */

/* Sets the reason for the failure; both strings are static. */
void http_fail(http_Transfer *t, const char *kind, const char *reason);

/* The kind of failure for one of curl's codes. */
const char *http_kind_of(CURLcode code);

/* Called when a transfer ended with a code of curl: sets kind, phase and
** message of a failure, unless a failure was found before. */
void http_judge(http_Transfer *t, CURLcode code);

/* Is the server named in the subject of its certificate only (CN), as curl
** still accepts?  RFC 9525, 6.3, requires subjectAltName.  For a transfer that
** has just connected; false where the backend does not tell. */
bool http_is_unnamed(const http_Transfer *t);

/* The failure's message. */
const char *http_reason(const http_Transfer *t);

/* transfer/sweep.c: closes connections that were idle for long enough, or that
** the peer has closed.  curl itself does so only when a transfer begins. */

typedef struct http_Sweep {
  reactor_Time due;          /* REACTOR_NEVER: no connection is idle */
  reactor_Time begun, ended; /* of the last transfer */
  double keep_alive;         /* ms */
} http_Sweep;

/* Initializes a zeroed one. */
void http_sweep_init(http_Sweep *sweep);

/* Called when a transfer begins; when one ends and its connection is idle. */
void http_sweep_began(http_Sweep *sweep, double keep_alive);
void http_sweep_ended(http_Sweep *sweep);

/* If it is time, starts a transfer that goes no further than the sweep; other
** transfers may have messages afterwards. */
bool http_sweep_is_due(http_Sweep *sweep, reactor_Time now);
void http_sweep(http_Sweep *sweep, CURLM *multi);

/* transfer/upload.c: bodies that come piece by piece */

/* curl's callback for the next piece. */
size_t http_on_read(char *bytes, size_t size, size_t n, void *ud);

/* transfer/socket.c: detects bytes that a server sends on an idle connection.
** They would be taken for the answer to the next request. */

typedef struct http_Socket http_Socket;

/* The sockets of connections, by route; empty when all but `alloc` is zeroed.
** They are removed when curl closes them, so each descriptor here is still the
** one that was added. */
typedef struct http_Sockets {
  ops_Alloc alloc;
  http_Socket *buckets[HTTP_BUCKETS];
} http_Sockets;

void http_sockets_free(http_Sockets *sockets);

void http_route_set(http_Route *route, const char *ip, int port,
                    int local_port);

/* Records a socket that the transfer opened; one of those becomes the
** connection of its route.  Out of memory, it stays unknown. */
void http_socket_opened(http_Transfer *t, int fd);
void http_sockets_add(http_Sockets *sockets, const http_Transfer *t);
void http_sockets_remove(http_Sockets *sockets, int fd);

/* Sets, and gets, whether the connection carries one request at a time; an
** unknown one may carry more. */
void http_sockets_set_single(http_Sockets *sockets, const http_Route *route,
                             bool single);
bool http_sockets_is_single(http_Sockets *sockets, const http_Route *route);

/* Has the idle connection bytes to read?  True for an unknown one, which cannot
** be checked. */
bool http_sockets_unasked(http_Sockets *sockets, const http_Route *route);

/* transfer/address.c */

/* Is it an address of the public internet (RFC 6890)? */
bool http_is_public(const struct sockaddr *address);

/* transfer/head.c: the header lines of an answer */

/* In transfer/http.c: the head is complete; the body may take longer. */
void http_head_end(http_Transfer *t);

/* Takes one line.  False when the transfer must end: kind is set. */
bool http_head_line(http_Transfer *t, const char *line, size_t length);

#endif
