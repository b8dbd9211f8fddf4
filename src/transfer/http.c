#include "transfer/http.h"

#include <stdlib.h>
#include <strings.h>
#include <sys/socket.h>
#include <unistd.h>

#define MAX_IDLE_EASY 64

/* Bytes that a socket's buffers may hold unsent. */
#define SOCKET_FULL 65536

/* Smaller bodies are copied instead of lent. */
#define SMALL_BODY 16384

/* For every request curl searches all connections to its host.  Streams may
** keep many connections open, so they have their own multi handle. */
enum { POOL_REQUESTS, POOL_STREAMS, POOLS };

struct http_Pool {
  CURLM *multi;
  reactor_Reactor *reactor;
  reactor_Time due; /* when curl wants to be called */
  http_Sweep sweep;
  size_t idle; /* the number of idle connections that are kept */
  reactor_OnReady on_ready;
  size_t running; /* the number of transfers */
};

/* curl's data in a reactor. */
typedef struct http_Engine {
  http_Pool pools[POOLS];
  http_Sockets sockets;
  size_t idle_count;
  http_Easy *idle[MAX_IDLE_EASY]; /* for the next */
} http_Engine;

static http_Engine *engine_of(const reactor_Reactor *r) {
  return (http_Engine *)r->engine_data;
}

/* Callbacks of curl.  None of them may reach Lua. */

static int on_socket(CURL *easy, curl_socket_t fd, int what, void *ud,
                     void *socket_ud);

static int on_timer(CURLM *multi, long timeout_ms, void *ud) {
  (void)multi;
  ((http_Pool *)ud)->due =
      timeout_ms < 0 ? REACTOR_NEVER : reactor_after((double)timeout_ms);
  return 0;
}

static http_Transfer *transfer_of(void *ud) {
  return ((http_Easy *)ud)->transfer;
}

static curl_socket_t on_open_socket(void *ud, curlsocktype purpose,
                                    struct curl_sockaddr *address) {
  http_Transfer *t = transfer_of(ud);
  int fd;
  (void)purpose;
  if (t->public_only && !http_is_public(&address->addr)) {
    t->reason = "the address is not part of the public internet";
    return CURL_SOCKET_BAD;
  }
  fd = platform_socket(address->family, address->socktype, address->protocol,
                       true);
  if (fd == -1) return CURL_SOCKET_BAD;
  if (reactor_opened(t->op.reactor, fd)) {
    http_socket_opened(t, fd);
    return fd;
  }
  close(fd);
  return CURL_SOCKET_BAD;
}

static int on_close_socket(void *ud, curl_socket_t fd) {
  http_sockets_remove(&engine_of((reactor_Reactor *)ud)->sockets, fd);
  reactor_closing((reactor_Reactor *)ud, fd);
  return close(fd);
}

static http_Sockets *sockets_of(const http_Transfer *t) {
  return &engine_of(t->op.reactor)->sockets;
}

/* May the transfer's connection carry answers to other requests? */
static bool is_among_others(const http_Transfer *t, const http_Route *route) {
  return t->shared && t->pool->running > 1 &&
         !http_sockets_is_single(sockets_of(t), route);
}

/* Did the server send bytes on an idle connection? */
static bool is_unasked(http_Transfer *t, const http_Route *route) {
  long opened = 0;
  curl_easy_getinfo(t->easy->curl, CURLINFO_NUM_CONNECTS, &opened);
  if (opened == 0)
    return !is_among_others(t, route) &&
           http_sockets_unasked(sockets_of(t), route);
  t->route = *route;
  http_sockets_add(sockets_of(t), t);
  return false;
}

/* Learns from the first answer on a connection whether it can carry more than
** one request. */
static void learn_version(const http_Transfer *t) {
  long version = CURL_HTTP_VERSION_2_0;
  curl_easy_getinfo(t->easy->curl, CURLINFO_HTTP_VERSION, &version);
  http_sockets_set_single(sockets_of(t), &t->route,
                          version <= CURL_HTTP_VERSION_1_1);
}

/* Refuses a connection, which must not be used by later requests either. */
static bool is_refused_name(http_Transfer *t) {
  if (!http_is_unnamed(t)) return false;
  http_fail(t, "tls", "the certificate has no name in subjectAltName");
  curl_easy_setopt(t->easy->curl, CURLOPT_FORBID_REUSE, 1L);
  return true;
}

/* Called before a request is sent.  A request that must not be sent twice is
** retried on another connection only if nothing of it was sent on the first. */
static int on_request(void *ud, char *ip, char *local_ip, int port,
                      int local_port) {
  http_Transfer *t = transfer_of(ud);
  long before = t->requested;
  http_Route route;
  (void)local_ip;
  if (is_refused_name(t)) return CURL_PREREQFUNC_ABORT;
  http_route_set(&route, ip, port, local_port);
  if (is_unasked(t, &route)) {
    t->unasked = true;
    return CURL_PREREQFUNC_ABORT;
  }
  curl_easy_getinfo(t->easy->curl, CURLINFO_REQUEST_SIZE, &t->requested);
  if (!t->once || before < 0 || t->requested <= before)
    return CURL_PREREQFUNC_OK;
  http_fail(t, "reset",
            "the connection was lost; the request may have been read");
  return CURL_PREREQFUNC_ABORT;
}

static size_t on_header(char *line, size_t size, size_t n, void *ud) {
  return http_head_line(transfer_of(ud), line, size * n) ? size * n : 0;
}

static bool take_body(void *ud, const char *bytes, size_t length) {
  http_Transfer *t = ud;
  if (length > t->max_body - t->received) {
    http_fail(t, "size", "the body is larger than max_body");
    t->limit = t->max_body;
    return false;
  }
  if (!buffer_add(&t->body, bytes, length)) {
    http_fail(t, "memory", "not enough memory for the body");
    return false;
  }
  t->received += length;
  return true;
}

static size_t on_body(char *bytes, size_t size, size_t n, void *ud) {
  http_Transfer *t = transfer_of(ud);
  gzip_Decoder *gzip = t->coding.gzip;
  size_t length = size * n;
  if (t->held || (t->stream && t->body.len >= t->window)) {
    t->paused = true;
    return CURL_WRITEFUNC_PAUSE;
  }
  if (gzip != NULL ? !gzip_feed(gzip, bytes, length, take_body, t)
                   : !take_body(t, bytes, length))
    return 0; /* http_judge finds the reason of a decoder */
  t->heard = reactor_now();
  coding_decoded(&t->coding, bytes, length);
  if (t->stream) reactor_say(&t->op, REACTOR_DATA, false);
  return length;
}

static int on_debug(CURL *easy, curl_infotype type, char *bytes, size_t length,
                    void *ud) {
  http_Transfer *t = transfer_of(ud);
  (void)easy;
  if (type == CURLINFO_DATA_IN && t != NULL && t->head_complete)
    coding_feed(&t->coding, bytes, length);
  return 0;
}

/* The end of a transfer */

static void drop_easy(reactor_Reactor *r, http_Easy *easy) {
  http_easy_close(easy);
  ops_free(&r->alloc, easy, sizeof(*easy));
}

/* curl counts connections in use among the idle ones that it keeps: a limit
** without them would leave none for reuse when many run at once.  curl applies
** the limit when a connection becomes idle: `in_use` are the others then. */
static void limit_idle(const http_Pool *pool, size_t in_use) {
  size_t most = pool->idle + in_use;
  if (most == 0) most = 1; /* 0 lets curl choose */
  curl_multi_setopt(pool->multi, CURLMOPT_MAXCONNECTS, (long)most);
}

void http_release(http_Transfer *t) {
  reactor_Reactor *r = t->op.reactor;
  http_Engine *engine = engine_of(r);
  reactor_timer_unset(r, &t->op.timer);
  if (t->easy != NULL) {
    http_note_phases(t);
    t->pool->running--;
    http_sweep_ended(&t->pool->sweep);
    if (!t->stream && t->pool->running > 0)
      limit_idle(t->pool,
                 t->pool->running - 1); /* until the next transfer ends */
    curl_multi_remove_handle(t->pool->multi, t->easy->curl);
    t->easy->transfer = NULL;
    if (t->special || engine->idle_count == MAX_IDLE_EASY)
      drop_easy(r, t->easy);
    else engine->idle[engine->idle_count++] = t->easy;
    t->easy = NULL;
  }
  coding_end(&t->coding);
}

http_Easy *http_take(http_Transfer *t) {
  http_Easy *easy = t->easy;
  reactor_timer_unset(t->op.reactor, &t->op.timer);
  t->pool->running--;
  easy->transfer = NULL;
  t->easy = NULL;
  return easy;
}

void http_close(reactor_Reactor *r, http_Pool *pool, http_Easy *easy) {
  curl_multi_remove_handle(pool->multi, easy->curl);
  drop_easy(r, easy);
}

void http_free(http_Transfer *t) {
  buffer_free(&t->head);
  buffer_free(&t->body);
  buffer_free(&t->upload);
}

static void stop(reactor_Op *op) {
  http_Transfer *t = (http_Transfer *)op;
  /* A forked child must not close a connection that it only has a copy of. */
  if (reactor_usable(op->reactor)) http_release(t);
  http_free(t);
}

/* Joins a small answer that is complete before its head was pulled into one
** event. */
static void join(http_Transfer *t) {
  if (!t->joins || t->kind != NULL || t->body.len > SMALL_BODY) return;
  if (!(t->op.pending & REACTOR_HEAD)) return;
  t->op.pending &= ~(unsigned)(REACTOR_HEAD | REACTOR_DATA);
  t->stream = false;
}

/* Sends the request again, on a connection of its own: nothing was sent. */
static bool renew(http_Transfer *t) {
  CURL *curl = t->easy->curl;
  if (!t->unasked) return false;
  t->unasked = false;
  curl_multi_remove_handle(t->pool->multi,
                           curl); /* closes the other connection */
  curl_easy_setopt(curl, CURLOPT_FRESH_CONNECT, 1L);
  t->easy->fresh = 1;
  if (curl_multi_add_handle(t->pool->multi, curl) == CURLM_OK) return true;
  http_fail(t, "memory", "libcurl refused the transfer");
  return false;
}

static void finish(http_Transfer *t) {
  http_release(t);
  join(t);
  reactor_say(&t->op, t->kind != NULL ? REACTOR_ERROR : REACTOR_DONE, true);
}

static void end(http_Transfer *t, CURLcode code) {
  if (renew(t)) return;
  if (t->on_connected != NULL && code == CURLE_OK && !is_refused_name(t)) {
    t->on_connected(t);
    return;
  }
  http_judge(t, code);
  finish(t);
}

void http_lose(http_Transfer *t, const char *reason) {
  http_fail(t, "reset", reason);
  finish(t);
}

static void late(http_Transfer *t, const char *phase, const char *reason) {
  http_fail(t, "timeout", reason);
  t->phase = phase;
  finish(t);
}

static reactor_Time after(double ms) {
  return ms > 0 ? reactor_after(ms) : REACTOR_NEVER;
}

static reactor_Time earlier(reactor_Time a, reactor_Time b) {
  return a < b ? a : b;
}

/* The caller's deadline is earlier than the transfer's and expires first. */
static bool set_timer(http_Transfer *t, reactor_Time due) {
  due = earlier(t->deadline, due);
  return due == REACTOR_NEVER ||
         reactor_timer_set(t->op.reactor, &t->op.timer, due);
}

static bool is_past_deadline(http_Transfer *t) {
  if (t->deadline > reactor_now()) return false;
  late(t, "deadline", "the deadline passed");
  return true;
}

/* The timeout for the first byte restarts while a long body is being sent. */
static bool still_sending(http_Transfer *t) {
  curl_off_t sent = 0;
  bool moved;
  curl_easy_getinfo(t->easy->curl, CURLINFO_SIZE_UPLOAD_T, &sent);
  moved = t->starving || sent - t->sent >= SOCKET_FULL;
  t->sent = sent;
  return moved;
}

static void on_late(reactor_Op *op) {
  http_Transfer *t = (http_Transfer *)op;
  if (is_past_deadline(t)) return;
  if (still_sending(t) && set_timer(t, reactor_after(t->first_byte))) return;
  late(t, "first_byte", "no answer within the time for the first byte");
}

static void on_idle(reactor_Op *op) {
  http_Transfer *t = (http_Transfer *)op;
  reactor_Time now = reactor_now(),
               limit = (reactor_Time)(t->idle_timeout * 1e6);
  if (is_past_deadline(t)) return;
  if (t->paused || t->starving) t->heard = now; /* we are the slow side */
  if (now < t->heard + limit && set_timer(t, t->heard + limit)) return;
  late(t, "idle", "nothing came within the idle time");
}

void http_head_end(http_Transfer *t) {
  learn_version(t);
  reactor_timer_unset(t->op.reactor, &t->op.timer);
  if (t->stream) t->deadline = REACTOR_NEVER;
  t->op.timer.on_due = on_idle;
  (void)set_timer(t, after(t->idle_timeout));
}

static void collect(const http_Pool *pool) {
  CURLMsg *message;
  int left;
  while ((message = curl_multi_info_read(pool->multi, &left)) != NULL) {
    CURLcode code = message->data.result;
    http_Easy *easy = NULL;
    if (message->msg != CURLMSG_DONE) continue;
    curl_easy_getinfo(message->easy_handle, CURLINFO_PRIVATE, (char **)&easy);
    end(easy->transfer, code);
  }
}

/* Functions that the reactor calls. */

static void act(const http_Pool *pool, curl_socket_t fd, int events) {
  int running;
  curl_multi_socket_action(pool->multi, fd, events, &running);
  collect(pool);
}

static void ready(const http_Pool *pool, int fd, uint32_t events) {
  int what = 0;
  if (events & (POLLER_READ | POLLER_HANGUP | POLLER_ERROR))
    what |= CURL_CSELECT_IN;
  if (events & POLLER_WRITE) what |= CURL_CSELECT_OUT;
  act(pool, fd, what);
}

static void on_request_ready(reactor_Reactor *r, int fd, uint32_t events) {
  ready(&engine_of(r)->pools[POOL_REQUESTS], fd, events);
}

static void on_stream_ready(reactor_Reactor *r, int fd, uint32_t events) {
  ready(&engine_of(r)->pools[POOL_STREAMS], fd, events);
}

static int on_socket(CURL *easy, curl_socket_t fd, int what, void *ud,
                     void *socket_ud) {
  const http_Pool *pool = (const http_Pool *)ud;
  uint32_t want = 0;
  (void)easy, (void)socket_ud;
  if (what & CURL_POLL_IN) want |= POLLER_READ;
  if (what & CURL_POLL_OUT) want |= POLLER_WRITE;
  /* Out of memory: the transfer's own timeouts end it. */
  (void)reactor_watch(pool->reactor, fd, want, pool->on_ready);
  return 0;
}

static reactor_Time engine_due(const reactor_Reactor *r) {
  const http_Pool *requests = &engine_of(r)->pools[POOL_REQUESTS];
  const http_Pool *streams = &engine_of(r)->pools[POOL_STREAMS];
  return earlier(earlier(requests->due, requests->sweep.due),
                 earlier(streams->due, streams->sweep.due));
}

static void engine_run(reactor_Reactor *r, reactor_Time now) {
  int i;
  for (i = 0; i < POOLS; i++) {
    http_Pool *pool = &engine_of(r)->pools[i];
    if (http_sweep_is_due(&pool->sweep, now)) {
      http_sweep(&pool->sweep, pool->multi);
      collect(pool);
    }
    if (pool->due > now) continue;
    pool->due = REACTOR_NEVER; /* before the call, in which curl may set it */
    act(pool, CURL_SOCKET_TIMEOUT, 0);
  }
}

static void engine_close(reactor_Reactor *r) {
  http_Engine *engine = engine_of(r);
  int i;
  while (engine->idle_count > 0)
    drop_easy(r, engine->idle[--engine->idle_count]);
  for (i = 0; i < POOLS; i++) curl_multi_cleanup(engine->pools[i].multi);
  http_sockets_free(&engine->sockets);
  ops_free(&r->alloc, engine, sizeof(*engine));
}

static const reactor_Engine http_engine = {engine_due, engine_run,
                                           engine_close};

static bool open_pool(http_Pool *pool, reactor_Reactor *r,
                      reactor_OnReady on_pool_ready) {
  pool->reactor = r;
  pool->due = REACTOR_NEVER;
  http_sweep_init(&pool->sweep);
  pool->on_ready = on_pool_ready;
  pool->multi = curl_multi_init();
  if (pool->multi == NULL) return false;
  curl_multi_setopt(pool->multi, CURLMOPT_SOCKETFUNCTION, on_socket);
  curl_multi_setopt(pool->multi, CURLMOPT_SOCKETDATA, pool);
  curl_multi_setopt(pool->multi, CURLMOPT_TIMERFUNCTION, on_timer);
  curl_multi_setopt(pool->multi, CURLMOPT_TIMERDATA, pool);
  return true;
}

static bool open_engine(reactor_Reactor *r) {
  http_Engine *engine;
  if (r->engine != NULL) return true;
  engine = ops_alloc(&r->alloc, sizeof(*engine));
  if (engine == NULL) return false;
  memset(engine, 0, sizeof(*engine));
  engine->sockets.alloc = r->alloc;
  r->engine_data = engine;
  if (!open_pool(&engine->pools[POOL_REQUESTS], r, on_request_ready) ||
      !open_pool(&engine->pools[POOL_STREAMS], r, on_stream_ready)) {
    engine_close(r);
    return false;
  }
  r->engine = &http_engine;
  return true;
}

/* Starting a transfer. */

static void set_callbacks(http_Easy *kept, reactor_Reactor *r) {
  CURL *easy = kept->curl;
  curl_easy_setopt(easy, CURLOPT_PRIVATE, kept);
  curl_easy_setopt(easy, CURLOPT_OPENSOCKETFUNCTION, on_open_socket);
  curl_easy_setopt(easy, CURLOPT_OPENSOCKETDATA, kept);
  curl_easy_setopt(easy, CURLOPT_CLOSESOCKETFUNCTION, on_close_socket);
  curl_easy_setopt(easy, CURLOPT_CLOSESOCKETDATA, r);
  curl_easy_setopt(easy, CURLOPT_HEADERFUNCTION, on_header);
  curl_easy_setopt(easy, CURLOPT_HEADERDATA, kept);
  curl_easy_setopt(easy, CURLOPT_WRITEFUNCTION, on_body);
  curl_easy_setopt(easy, CURLOPT_WRITEDATA, kept);
  curl_easy_setopt(easy, CURLOPT_DEBUGFUNCTION, on_debug);
  curl_easy_setopt(easy, CURLOPT_DEBUGDATA, kept);
  curl_easy_setopt(easy, CURLOPT_PREREQFUNCTION, on_request);
  curl_easy_setopt(easy, CURLOPT_PREREQDATA, kept);
}

static http_Easy *new_easy(reactor_Reactor *r) {
  http_Easy *easy = ops_alloc(&r->alloc, sizeof(*easy));
  if (easy == NULL) return NULL;
  memset(easy, 0, sizeof(*easy));
  if (http_easy_open(easy) == CURLE_OK) {
    set_callbacks(easy, r);
    return easy;
  }
  drop_easy(r, easy);
  return NULL;
}

static http_Easy *take_easy(http_Transfer *t) {
  http_Engine *engine = engine_of(t->op.reactor);
  http_Easy *easy = engine->idle_count > 0 ? engine->idle[--engine->idle_count]
                                           : new_easy(t->op.reactor);
  if (easy != NULL) easy->transfer = t;
  return easy;
}

static bool refuse(http_Transfer *t, const char *kind, const char *reason) {
  http_fail(t, kind, reason);
  reactor_stop(&t->op);
  return false;
}

static void take_options(http_Transfer *t, const http_Request *q) {
  t->max_body = q->max_body;
  t->max_headers = q->max_headers;
  t->window = q->window;
  t->stream = q->stream;
  t->joins = q->join;
  t->decode = q->decode;
  t->timed = q->timed;
  t->idle_timeout = q->idle_timeout;
  t->first_byte = q->first_byte_timeout;
  t->deadline = after(q->deadline);
  t->public_only = q->public_only;
  t->verifies = !q->insecure;
  t->once = q->once;
  t->requested = -1;
  t->bodiless = strcmp(q->method, "HEAD") == 0;
}

/* Sets the options of requests that apply to all connections. */
static void limit_connections(const http_Transfer *t, const http_Request *q) {
  http_Pool *pool = t->pool;
  if (q->connect_only) return;
  http_sweep_began(&pool->sweep, q->keep_alive);
  pool->idle = q->idle_connections;
  /* Byte streams use connections of the stream pool, but do not count as
  ** running. */
  limit_idle(pool, q->stream ? t->op.reactor->active_count : pool->running - 1);
  if (q->stream) return;
  curl_multi_setopt(pool->multi, CURLMOPT_MAX_HOST_CONNECTIONS,
                    (long)q->host_connections);
  curl_multi_setopt(pool->multi, CURLMOPT_MAX_TOTAL_CONNECTIONS,
                    (long)q->connections);
}

bool http_start(reactor_Reactor *r, http_Transfer *t, const http_Request *q) {
  CURLcode code;
  if (!open_engine(r)) {
    http_fail(t, "memory", "libcurl could not be started");
    return false;
  }
  buffer_init(&t->head, r->alloc, BUFFER_UNLIMITED);
  buffer_init(&t->body, r->alloc, BUFFER_UNLIMITED);
  buffer_init(&t->upload, r->alloc, BUFFER_UNLIMITED);
  t->pool =
      &engine_of(r)
           ->pools[q->stream || q->connect_only ? POOL_STREAMS : POOL_REQUESTS];
  take_options(t, q);
  t->op.stop = stop;
  t->op.timer.op = &t->op;
  t->op.timer.on_due = on_late;
  reactor_start(r, &t->op);
  t->easy = take_easy(t);
  if (t->easy == NULL) return refuse(t, "memory", "no memory for a transfer");
  t->pool->running++;
  code = http_set_request(t, q);
  if (code != CURLE_OK)
    return refuse(t, http_kind_of(code), curl_easy_strerror(code));
  if (!set_timer(t, after(q->first_byte_timeout)))
    return refuse(t, "memory", "no memory for a timer");
  limit_connections(t, q);
  if (curl_multi_add_handle(t->pool->multi, t->easy->curl) != CURLM_OK)
    return refuse(t, "memory", "libcurl refused the transfer");
  return true;
}

static void go_on(http_Transfer *t) {
  if (t->easy == NULL || !t->paused) return;
  t->paused = false; /* before the call, which delivers what curl kept back */
  curl_easy_pause(t->easy->curl, t->starving ? CURLPAUSE_SEND : CURLPAUSE_CONT);
}

const char *http_lend(http_Transfer *t, size_t max, size_t *length) {
  t->read += t->lent;
  if (t->read == t->body.len) {
    if (t->easy == NULL) buffer_free(&t->body);
    t->read = t->body.len = 0;
    go_on(t); /* may deliver more at once */
  }
  *length = t->body.len - t->read;
  if (*length > max) *length = max;
  t->lent = *length;
  return *length > 0 ? t->body.data + t->read : NULL;
}

void http_pause(http_Transfer *t) {
  t->held = true;
}

void http_resume(http_Transfer *t) {
  t->held = false;
  go_on(t);
}
