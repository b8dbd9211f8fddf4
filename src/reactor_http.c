#include "reactor_http.h"

#include <stdlib.h>
#include <strings.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <unistd.h>

#define MAX_IDLE_EASY 64
#define MAX_IDLE_CONNECTIONS 256

/* What may lie in a socket's buffers without having gone anywhere. */
#define SOCKET_FULL 65536

/* curl's part of a reactor. */
typedef struct http_Engine {
  CURLM *multi;
  reactor_Time due; /* when curl wants to be called */
  size_t idle_count;
  CURL *idle[MAX_IDLE_EASY]; /* with the fixed options, for the next */
} http_Engine;

static http_Engine *engine_of(const reactor_Reactor *r) {
  return (http_Engine *)r->engine_data;
}

/* What curl calls.  Nothing here may reach Lua. */

static int on_socket(CURL *easy, curl_socket_t fd, int what, void *ud,
                     void *socket_ud);

static int on_timer(CURLM *multi, long timeout_ms, void *ud) {
  http_Engine *engine = engine_of((reactor_Reactor *)ud);
  (void)multi;
  engine->due =
      timeout_ms < 0 ? REACTOR_NEVER : reactor_after((double)timeout_ms);
  return 0;
}

static void fail(http_Transfer *t, const char *kind, const char *reason) {
  t->kind = kind;
  t->reason = reason;
}

static curl_socket_t on_open_socket(void *ud, curlsocktype purpose,
                                    struct curl_sockaddr *address) {
  http_Transfer *t = (http_Transfer *)ud;
  int fd;
  (void)purpose;
  if (t->public_only && !http_is_public(&address->addr)) {
    t->reason = "the address is none of the public internet";
    return CURL_SOCKET_BAD;
  }
  fd = socket(address->family, address->socktype | SOCK_CLOEXEC,
              address->protocol);
  if (fd < 0) return CURL_SOCKET_BAD;
  if (reactor_opened(t->op.reactor, fd)) return fd;
  close(fd);
  return CURL_SOCKET_BAD;
}

static int on_close_socket(void *ud, curl_socket_t fd) {
  reactor_closing((reactor_Reactor *)ud, fd);
  return close(fd);
}

static size_t on_header(char *line, size_t size, size_t n, void *ud) {
  return http_head_line((http_Transfer *)ud, line, size * n) ? size * n : 0;
}

static size_t on_body(char *bytes, size_t size, size_t n, void *ud) {
  http_Transfer *t = (http_Transfer *)ud;
  size_t length = size * n;
  if (t->held || (t->stream && t->body.len >= t->window)) {
    t->paused = true;
    return CURL_WRITEFUNC_PAUSE;
  }
  if (length > t->max_body - t->received) {
    fail(t, "size", "the body is larger than allowed");
    return 0;
  }
  if (!buffer_add(&t->body, bytes, length)) {
    fail(t, "memory", "not enough memory for the body");
    return 0;
  }
  t->received += length;
  if (t->idle_timeout > 0) t->heard = reactor_now();
  if (t->coding.kind != CODING_NONE) coding_decoded(&t->coding, bytes, length);
  if (t->stream) reactor_say(&t->op, REACTOR_DATA, false);
  return length;
}

static int on_debug(CURL *easy, curl_infotype type, char *bytes, size_t length,
                    void *ud) {
  http_Transfer *t = (http_Transfer *)ud;
  (void)easy;
  if (type == CURLINFO_DATA_IN && t->head_complete)
    coding_feed(&t->coding, bytes, length);
  return 0;
}

/* The end of a transfer */

static const struct {
  CURLcode code;
  const char *kind;
} kinds[] = {
    {CURLE_COULDNT_RESOLVE_HOST, "dns"},
    {CURLE_COULDNT_RESOLVE_PROXY, "dns"},
    {CURLE_COULDNT_CONNECT, "connect"},
    {CURLE_PROXY, "connect"},
    {CURLE_OPERATION_TIMEDOUT, "timeout"},
    {CURLE_SSL_CONNECT_ERROR, "tls"},
    {CURLE_PEER_FAILED_VERIFICATION, "tls"},
    {CURLE_SSL_CERTPROBLEM, "tls"},
    {CURLE_SSL_CIPHER, "tls"},
    {CURLE_SSL_CACERT_BADFILE, "tls"},
    {CURLE_SSL_ISSUER_ERROR, "tls"},
    {CURLE_SSL_ENGINE_NOTFOUND, "tls"},
    {CURLE_SSL_ENGINE_SETFAILED, "tls"},
    {CURLE_SSL_ENGINE_INITFAILED, "tls"},
    {CURLE_SSL_CRL_BADFILE, "tls"},
    {CURLE_SSL_PINNEDPUBKEYNOTMATCH, "tls"},
    {CURLE_SSL_INVALIDCERTSTATUS, "tls"},
    {CURLE_USE_SSL_FAILED, "tls"},
    {CURLE_SSL_SHUTDOWN_FAILED, "tls"},
    {CURLE_PARTIAL_FILE, "truncated"},
    {CURLE_GOT_NOTHING, "reset"},
    {CURLE_SEND_ERROR, "reset"},
    {CURLE_RECV_ERROR, "reset"},
    {CURLE_SEND_FAIL_REWIND, "reset"},
    {CURLE_BAD_CONTENT_ENCODING, "encoding"},
    {CURLE_OUT_OF_MEMORY, "memory"},
    {CURLE_URL_MALFORMAT, "request"},
    {CURLE_OK, "protocol"}, /* all others */
};

static const char *kind_of(CURLcode code) {
  size_t i = 0;
  while (kinds[i].code != code && kinds[i].code != CURLE_OK) i++;
  return kinds[i].kind;
}

/* Which of curl's own two times was up. */
static const char *phase_of(const http_Transfer *t) {
  double connected = 0;
  curl_easy_getinfo(t->easy, CURLINFO_PRETRANSFER_TIME, &connected);
  return connected > 0 ? "total" : "connect";
}

static void judge(http_Transfer *t, CURLcode code) {
  if (t->kind != NULL) return; /* we stopped it ourselves */
  if (code != CURLE_OK) {
    t->kind = kind_of(code);
    if (code == CURLE_OPERATION_TIMEDOUT) t->phase = phase_of(t);
    if (t->message[0] == '\0' && t->reason == NULL)
      t->reason = curl_easy_strerror(code);
    /* One code for a lost connection and for bad chunks. */
    if (code == CURLE_RECV_ERROR && strstr(t->message, "chunk") != NULL)
      t->kind = "protocol";
  } else if (t->coding.kind != CODING_NONE && !coding_whole(&t->coding)) {
    fail(t, "truncated", "the compressed body was cut short");
  } else if (!t->head_complete) {
    fail(t, "truncated", "the answer ended before its head did");
  }
}

const char *http_reason(const http_Transfer *t) {
  return t->reason != NULL ? t->reason : t->message;
}

/* Takes the easy handle back from curl's hands: at the end, or in the middle,
** which closes the connection. */
static void release(http_Transfer *t) {
  http_Engine *engine = engine_of(t->op.reactor);
  reactor_timer_unset(t->op.reactor, &t->op.timer);
  if (t->easy != NULL) {
    curl_multi_remove_handle(engine->multi, t->easy);
    if (t->special || engine->idle_count == MAX_IDLE_EASY)
      curl_easy_cleanup(t->easy);
    else engine->idle[engine->idle_count++] = t->easy;
    t->easy = NULL;
  }
  curl_slist_free_all(t->headers);
  t->headers = NULL;
  coding_end(&t->coding);
}

static void stop(reactor_Op *op) {
  http_Transfer *t = (http_Transfer *)op;
  release(t);
  buffer_free(&t->head);
  buffer_free(&t->body);
  buffer_free(&t->upload);
}

static void end(http_Transfer *t, CURLcode code) {
  judge(t, code);
  release(t);
  reactor_say(&t->op, t->kind != NULL ? REACTOR_ERROR : REACTOR_DONE, true);
}

static void late(http_Transfer *t, const char *phase, const char *reason) {
  fail(t, "timeout", reason);
  t->phase = phase;
  end(t, CURLE_OK);
}

/* The time for the first byte begins again while a long body is on its way. */
static bool still_sending(http_Transfer *t) {
  curl_off_t sent = 0;
  bool moved;
  curl_easy_getinfo(t->easy, CURLINFO_SIZE_UPLOAD_T, &sent);
  moved = t->starving || sent - t->sent >= SOCKET_FULL;
  t->sent = sent;
  return moved;
}

static void on_late(reactor_Op *op) {
  http_Transfer *t = (http_Transfer *)op;
  if (still_sending(t) &&
      reactor_timer_set(op->reactor, &op->timer, reactor_after(t->first_byte)))
    return;
  late(t, "first_byte", "no answer within the time for the first byte");
}

static void on_idle(reactor_Op *op) {
  http_Transfer *t = (http_Transfer *)op;
  reactor_Time now = reactor_now(),
               limit = (reactor_Time)(t->idle_timeout * 1e6);
  if (t->paused || t->starving) t->heard = now; /* it is us who are slow */
  if (now < t->heard + limit &&
      reactor_timer_set(op->reactor, &op->timer, t->heard + limit))
    return;
  late(t, "idle", "nothing came within the idle time");
}

void http_head_end(http_Transfer *t) {
  reactor_Reactor *r = t->op.reactor;
  reactor_timer_unset(r, &t->op.timer);
  if (t->idle_timeout <= 0) return;
  t->heard = reactor_now();
  t->op.timer.on_due = on_idle;
  (void)reactor_timer_set(r, &t->op.timer, reactor_after(t->idle_timeout));
}

static void collect(reactor_Reactor *r) {
  CURLM *multi = engine_of(r)->multi;
  CURLMsg *message;
  int left;
  while ((message = curl_multi_info_read(multi, &left)) != NULL) {
    CURLcode code = message->data.result;
    http_Transfer *t = NULL;
    if (message->msg != CURLMSG_DONE) continue;
    curl_easy_getinfo(message->easy_handle, CURLINFO_PRIVATE, (char **)&t);
    end(t, code);
  }
}

/* The engine's place in the reactor */

static void act(reactor_Reactor *r, curl_socket_t fd, int events) {
  int running;
  curl_multi_socket_action(engine_of(r)->multi, fd, events, &running);
  collect(r);
}

static void on_ready(reactor_Reactor *r, int fd, uint32_t events) {
  int what = 0;
  if (events & (EPOLLIN | EPOLLHUP)) what |= CURL_CSELECT_IN;
  if (events & EPOLLOUT) what |= CURL_CSELECT_OUT;
  if (events & EPOLLERR) what |= CURL_CSELECT_ERR;
  act(r, fd, what);
}

static int on_socket(CURL *easy, curl_socket_t fd, int what, void *ud,
                     void *socket_ud) {
  uint32_t want = 0;
  (void)easy, (void)socket_ud;
  if (what == CURL_POLL_IN || what == CURL_POLL_INOUT) want |= EPOLLIN;
  if (what == CURL_POLL_OUT || what == CURL_POLL_INOUT) want |= EPOLLOUT;
  /* Out of memory: the transfer's own timeouts end it. */
  (void)reactor_watch((reactor_Reactor *)ud, fd, want, on_ready);
  return 0;
}

static reactor_Time engine_due(const reactor_Reactor *r) {
  return engine_of(r)->due;
}

static void engine_run(reactor_Reactor *r, reactor_Time now) {
  http_Engine *engine = engine_of(r);
  if (engine->due > now) return;
  engine->due = REACTOR_NEVER; /* first: curl may set a new one meanwhile */
  act(r, CURL_SOCKET_TIMEOUT, 0);
}

static void engine_close(reactor_Reactor *r) {
  http_Engine *engine = engine_of(r);
  while (engine->idle_count > 0)
    curl_easy_cleanup(engine->idle[--engine->idle_count]);
  curl_multi_cleanup(engine->multi);
  ops_free(&r->alloc, engine, sizeof(*engine));
  r->engine_data = NULL;
}

static const reactor_Engine http_engine = {engine_due, engine_run,
                                           engine_close};

static bool open_engine(reactor_Reactor *r) {
  http_Engine *engine;
  if (r->engine != NULL) return true;
  if (curl_global_init(CURL_GLOBAL_DEFAULT) != CURLE_OK) return false;
  engine = ops_alloc(&r->alloc, sizeof(*engine));
  if (engine == NULL) return false;
  memset(engine, 0, sizeof(*engine));
  engine->due = REACTOR_NEVER;
  engine->multi = curl_multi_init();
  if (engine->multi == NULL) {
    ops_free(&r->alloc, engine, sizeof(*engine));
    return false;
  }
  curl_multi_setopt(engine->multi, CURLMOPT_SOCKETFUNCTION, on_socket);
  curl_multi_setopt(engine->multi, CURLMOPT_SOCKETDATA, r);
  curl_multi_setopt(engine->multi, CURLMOPT_TIMERFUNCTION, on_timer);
  curl_multi_setopt(engine->multi, CURLMOPT_TIMERDATA, r);
  r->engine_data = engine;
  r->engine = &http_engine;
  return true;
}

/* The start of a transfer */

/* What no request changes. */
static CURLcode set_fixed(CURL *easy, reactor_Reactor *r) {
  CURLcode code = CURLE_OK;
  curl_easy_setopt(easy, CURLOPT_NOSIGNAL, 1L);
  curl_easy_setopt(easy, CURLOPT_PATH_AS_IS, 1L);
  curl_easy_setopt(easy, CURLOPT_TCP_KEEPALIVE, 1L);
  curl_easy_setopt(easy, CURLOPT_SUPPRESS_CONNECT_HEADERS, 1L);
  curl_easy_setopt(easy, CURLOPT_OPENSOCKETFUNCTION, on_open_socket);
  curl_easy_setopt(easy, CURLOPT_CLOSESOCKETFUNCTION, on_close_socket);
  curl_easy_setopt(easy, CURLOPT_CLOSESOCKETDATA, r);
  curl_easy_setopt(easy, CURLOPT_HEADERFUNCTION, on_header);
  curl_easy_setopt(easy, CURLOPT_WRITEFUNCTION, on_body);
  curl_easy_setopt(easy, CURLOPT_DEBUGFUNCTION, on_debug);
#if LIBCURL_VERSION_NUM >= 0x075500 /* 7.85 */
  code = curl_easy_setopt(easy, CURLOPT_PROTOCOLS_STR, "http,https");
#else
  code = curl_easy_setopt(easy, CURLOPT_PROTOCOLS,
                          CURLPROTO_HTTP | CURLPROTO_HTTPS);
#endif
  /* A CAPATH, which Debian's build sets, turns curl's cache of the CA bundle
  ** off: 25 ms of parsing per TLS connection. */
  curl_easy_setopt(easy, CURLOPT_CAPATH, NULL);
  curl_easy_setopt(easy, CURLOPT_ACCEPT_ENCODING, "");
#if LIBCURL_VERSION_NUM >= 0x075700 /* 7.87 */
  curl_easy_setopt(easy, CURLOPT_CA_CACHE_TIMEOUT, -1L);
  /* Cancelling must not wait for a resolver thread. */
  curl_easy_setopt(easy, CURLOPT_QUICK_EXIT, 1L);
#endif
  return code;
}

static CURLcode set_method(CURL *easy, const http_Request *q) {
  bool has_body = q->body != NULL;
  curl_easy_setopt(easy, CURLOPT_POSTFIELDS, NULL); /* makes it a POST */
  curl_easy_setopt(easy, CURLOPT_HTTPGET, 1L);
  curl_easy_setopt(easy, CURLOPT_CUSTOMREQUEST, NULL);
  if (strcmp(q->method, "HEAD") == 0 && !has_body)
    return curl_easy_setopt(easy, CURLOPT_NOBODY, 1L);
  if (strcmp(q->method, "POST") == 0 || strcmp(q->method, "PUT") == 0 ||
      strcmp(q->method, "PATCH") == 0)
    has_body = true; /* says that it is empty: Content-Length: 0 */
  if (has_body) {
    curl_easy_setopt(easy, CURLOPT_POSTFIELDSIZE_LARGE,
                     (curl_off_t)(q->body != NULL ? q->body_len : 0));
    curl_easy_setopt(easy, CURLOPT_POSTFIELDS, q->body != NULL ? q->body : "");
  }
  if (strcmp(q->method, has_body ? "POST" : "GET") == 0) return CURLE_OK;
  return curl_easy_setopt(easy, CURLOPT_CUSTOMREQUEST, q->method);
}

/* A body that comes by http_write: sent in chunks unless its size is known. It
** cannot be sent again, so not over a connection that may be gone already. */
static CURLcode set_upload(http_Transfer *t, const http_Request *q) {
  curl_easy_setopt(t->easy, CURLOPT_CUSTOMREQUEST, q->method);
  curl_easy_setopt(t->easy, CURLOPT_INFILESIZE_LARGE,
                   q->upload_size < 0 ? (curl_off_t)-1
                                      : (curl_off_t)q->upload_size);
  curl_easy_setopt(t->easy, CURLOPT_READFUNCTION, http_on_read);
  curl_easy_setopt(t->easy, CURLOPT_READDATA, t);
  return curl_easy_setopt(t->easy, CURLOPT_UPLOAD, 1L);
}

static long milliseconds(double ms) {
  if (ms <= 0) return 0;
  if (ms < 1) return 1;
  return ms > 2e9 ? 2000000000L : (long)ms;
}

/* What makes a handle unfit for other requests. */
static CURLcode set_special(http_Transfer *t, const http_Request *q) {
  CURLcode code = CURLE_OK;
  t->special =
      !q->decode || q->ca_file != NULL || q->upload || q->proxy != NULL;
  if (!q->decode) curl_easy_setopt(t->easy, CURLOPT_ACCEPT_ENCODING, NULL);
  if (q->ca_file != NULL)
    code = curl_easy_setopt(t->easy, CURLOPT_CAINFO, q->ca_file);
  if (q->proxy != NULL && code == CURLE_OK)
    code = curl_easy_setopt(t->easy, CURLOPT_PROXY, q->proxy);
  if (q->upload && code == CURLE_OK) code = set_upload(t, q);
  return code;
}

static CURLcode set_request(http_Transfer *t, const http_Request *q) {
  CURLcode code = curl_easy_setopt(t->easy, CURLOPT_URL, q->url);
  if (code == CURLE_OK) code = set_method(t->easy, q);
  if (code == CURLE_OK) code = set_special(t, q);
  curl_easy_setopt(t->easy, CURLOPT_HTTPHEADER, t->headers);
  curl_easy_setopt(t->easy, CURLOPT_TIMEOUT_MS, milliseconds(q->timeout));
  curl_easy_setopt(t->easy, CURLOPT_CONNECTTIMEOUT_MS,
                   milliseconds(q->connect_timeout));
  curl_easy_setopt(t->easy, CURLOPT_MAXAGE_CONN,
                   milliseconds(q->keep_alive) / 1000);
  /* Over TLS it may be HTTP/2, where one connection carries many. */
  curl_easy_setopt(t->easy, CURLOPT_PIPEWAIT,
                   strncasecmp(q->url, "https:", 6) == 0 ? 1L : 0L);
  /* What the address check let through must not be used by others' rules. */
  curl_easy_setopt(t->easy, CURLOPT_FRESH_CONNECT,
                   q->public_only || q->upload ? 1L : 0L);
  curl_easy_setopt(t->easy, CURLOPT_FORBID_REUSE, 0L);
  curl_easy_setopt(t->easy, CURLOPT_VERBOSE, 0L);
  curl_easy_setopt(t->easy, CURLOPT_ERRORBUFFER, t->message);
  curl_easy_setopt(t->easy, CURLOPT_PRIVATE, t);
  curl_easy_setopt(t->easy, CURLOPT_HEADERDATA, t);
  curl_easy_setopt(t->easy, CURLOPT_WRITEDATA, t);
  curl_easy_setopt(t->easy, CURLOPT_DEBUGDATA, t);
  curl_easy_setopt(t->easy, CURLOPT_OPENSOCKETDATA, t);
  return code;
}

static CURL *take_easy(reactor_Reactor *r) {
  http_Engine *engine = engine_of(r);
  CURL *easy;
  if (engine->idle_count > 0) return engine->idle[--engine->idle_count];
  easy = curl_easy_init();
  if (easy == NULL || set_fixed(easy, r) == CURLE_OK) return easy;
  curl_easy_cleanup(easy);
  return NULL;
}

static bool refuse(http_Transfer *t, const char *kind, const char *reason) {
  fail(t, kind, reason);
  reactor_stop(&t->op);
  return false;
}

static void take_options(http_Transfer *t, const http_Request *q) {
  t->max_body = q->max_body;
  t->window = q->window;
  t->stream = q->stream;
  t->decode = q->decode;
  t->idle_timeout = q->idle_timeout;
  t->first_byte = q->first_byte_timeout;
  t->public_only = q->public_only;
  t->bodiless = strcmp(q->method, "HEAD") == 0;
  t->length = -1;
}

bool http_start(reactor_Reactor *r, http_Transfer *t, const http_Request *q) {
  CURLcode code;
  if (!open_engine(r)) {
    fail(t, "memory", "libcurl could not be started");
    return false;
  }
  buffer_init(&t->head, r->alloc, q->max_headers);
  buffer_init(&t->body, r->alloc, SIZE_MAX / 2);
  buffer_init(&t->upload, r->alloc, SIZE_MAX / 2);
  take_options(t, q);
  t->op.stop = stop;
  t->op.timer.op = &t->op;
  t->op.timer.on_due = on_late;
  reactor_start(r, &t->op);
  t->easy = take_easy(r);
  if (t->easy == NULL) return refuse(t, "memory", "no memory for a transfer");
  code = set_request(t, q);
  if (code != CURLE_OK)
    return refuse(t, kind_of(code), curl_easy_strerror(code));
  if (q->first_byte_timeout > 0 &&
      !reactor_timer_set(r, &t->op.timer, reactor_after(q->first_byte_timeout)))
    return refuse(t, "memory", "no memory for a timer");
  /* curl counts the connections in use too: without them in the limit, many
  ** open streams would leave no connection to be used again. */
  curl_multi_setopt(engine_of(r)->multi, CURLMOPT_MAXCONNECTS,
                    (long)(MAX_IDLE_CONNECTIONS + r->active_count));
  if (curl_multi_add_handle(engine_of(r)->multi, t->easy) != CURLM_OK)
    return refuse(t, "memory", "libcurl refused the transfer");
  return true;
}

static void go_on(http_Transfer *t) {
  if (t->easy == NULL || !t->paused || t->held) return;
  t->paused = false; /* first: what curl kept back arrives within the call */
  t->heard = reactor_now();
  curl_easy_pause(t->easy, t->starving ? CURLPAUSE_SEND : CURLPAUSE_CONT);
}

void http_drain(http_Transfer *t) {
  if (t->easy == NULL) buffer_free(&t->body);
  t->body.len = 0;
  go_on(t);
}

void http_pause(http_Transfer *t) {
  t->held = true;
}

void http_resume(http_Transfer *t) {
  t->held = false;
  go_on(t);
}
