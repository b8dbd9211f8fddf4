#include "transfer/http.h"

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
    {CURLE_HTTP2_STREAM, "reset"},
    {CURLE_BAD_CONTENT_ENCODING, "encoding"},
    {CURLE_OUT_OF_MEMORY, "memory"},
    {CURLE_URL_MALFORMAT, "request"},
    {CURLE_OK, "protocol"}, /* all other codes */
};

const char *http_kind_of(CURLcode code) {
  size_t i = 0;
  while (kinds[i].code != code && kinds[i].code != CURLE_OK) i++;
  return kinds[i].kind;
}

/* Which of curl's own two timeouts expired? */
static const char *phase_of(const http_Transfer *t) {
  double connected = 0;
  curl_easy_getinfo(t->easy->curl, CURLINFO_PRETRANSFER_TIME, &connected);
  return connected > 0 ? "total" : "connect";
}

/* Did a proxy refuse to connect?  Then nothing was sent to the server. */
static bool is_refused(const http_Transfer *t) {
  long status = 0;
  curl_easy_getinfo(t->easy->curl, CURLINFO_HTTP_CONNECTCODE, &status);
  return status >= 300;
}

/* One code stands for a lost connection, invalid chunks, a late alert of a TLS
** server, and the refusal of a proxy. */
static const char *kind_of_loss(const http_Transfer *t) {
  if (strstr(t->message, "chunk") != NULL) return "protocol";
  if (is_refused(t)) return "connect";
  return strstr(t->message, " alert ") != NULL ? "tls" : "reset";
}

/* Did the connection end within the TLS handshake?  OpenSSL reports no error of
** its own then, or an unexpected end; other backends say it in words. */
static bool is_cut_handshake(const http_Transfer *t) {
  static const char *const said[] = {
      " SSL_connect: ",       "unexpected eof while reading",
      "reset by peer",        "non-properly terminated",
      "in the pull function", "in the push function",
  };
  size_t i;
  for (i = 0; i < sizeof(said) / sizeof(*said); i++)
    if (strstr(t->message, said[i]) != NULL) return true;
  return false;
}

#define TOO_LARGE 100 /* CURLE_TOO_LARGE */

/* curl reports a header line of more than 100 KiB as out of memory; since
** version 8.6 as too large. */
static bool is_long_line(const http_Transfer *t, CURLcode code) {
  double began = 0;
  curl_easy_getinfo(t->easy->curl, CURLINFO_STARTTRANSFER_TIME, &began);
  return (code == CURLE_OUT_OF_MEMORY || (int)code == TOO_LARGE) && began > 0 &&
         !t->head_complete;
}

/* Was the connection lost, as opposed to receiving an invalid answer? */
static bool is_loss(const http_Transfer *t, CURLcode code) {
  switch (code) {
  case CURLE_SEND_ERROR:
  case CURLE_GOT_NOTHING: return true;
  case CURLE_RECV_ERROR: return strcmp(t->kind, "reset") == 0;
  default: return false;
  }
}

/* Was an HTTP/2 connection lost?  Only an answer proves that it is HTTP/2. curl
** fails to send (a window update) when the server is gone, and then forgets
** what the server sent before, often a complete answer except its end. */
static bool is_shared_loss(const http_Transfer *t, CURLcode code) {
  long version = CURL_HTTP_VERSION_2_0;
  if (!t->shared || (t->stream && t->head_complete)) return false;
  if (t->head_complete)
    curl_easy_getinfo(t->easy->curl, CURLINFO_HTTP_VERSION, &version);
  if (version != CURL_HTTP_VERSION_2_0) return false;
  return code == CURLE_PARTIAL_FILE || code == CURLE_HTTP2 || is_loss(t, code);
}

/* Was the connection lost that other requests also used?  curl does not retry
** all such requests. */
static bool is_stale(const http_Transfer *t, CURLcode code) {
  long opened = 1;
  curl_easy_getinfo(t->easy->curl, CURLINFO_NUM_CONNECTS, &opened);
  if (opened == 0 && !t->head_complete && is_loss(t, code)) return true;
  return is_shared_loss(t, code);
}

void http_judge(http_Transfer *t, CURLcode code) {
  if (t->kind != NULL) return; /* we stopped it ourselves */
  if (code != CURLE_OK)
    memcpy(t->message, t->easy->message, sizeof(t->message));
  if (is_long_line(t, code)) {
    http_fail(t, "size", "a line of the headers is larger than allowed");
  } else if (code == CURLE_WRITE_ERROR) { /* by its decoder: we set a kind */
    http_fail(t, "encoding",
              "the compressed body cannot be decoded to its end");
  } else if (code != CURLE_OK) {
    t->kind = http_kind_of(code);
    if (code == CURLE_OPERATION_TIMEDOUT) t->phase = phase_of(t);
    if (t->message[0] == '\0' && t->reason == NULL)
      t->reason = curl_easy_strerror(code);
    if (code == CURLE_RECV_ERROR) t->kind = kind_of_loss(t);
    if (code == CURLE_SSL_CONNECT_ERROR && is_cut_handshake(t))
      t->kind = "connect"; /* nothing was sent */
    if (code == CURLE_PARTIAL_FILE && !t->head_complete) t->kind = "reset";
    if (is_stale(t, code)) t->phase = "reused";
  } else if (!coding_whole(&t->coding, t->chunked)) {
    http_fail(t, "truncated", "the compressed body was cut short");
  } else if (!t->head_complete) {
    http_fail(t, "truncated", "the answer ended before its head did");
  }
}

static bool tells_extensions(void) {
  const char *backend = curl_version_info(CURLVERSION_NOW)->ssl_version;
  return backend != NULL && strstr(backend, "OpenSSL") != NULL;
}

static bool is_name_list(const char *line) {
  static const char label[] = "X509v3 Subject Alternative Name:";
  return strncmp(line, label, sizeof(label) - 1) == 0 &&
         (strstr(line, "DNS:") != NULL || strstr(line, "IP Address:") != NULL);
}

bool http_is_unnamed(const http_Transfer *t) {
  struct curl_certinfo *info = NULL;
  const struct curl_slist *line;
  long opened = 0;
  curl_easy_getinfo(t->easy->curl, CURLINFO_NUM_CONNECTS, &opened);
  if (!t->verifies || opened == 0 || !tells_extensions() ||
      curl_easy_getinfo(t->easy->curl, CURLINFO_CERTINFO, &info) != CURLE_OK ||
      info == NULL || info->num_of_certs < 1)
    return false;
  for (line = info->certinfo[0]; line != NULL; line = line->next)
    if (is_name_list(line->data)) return false;
  return true;
}

void http_fail(http_Transfer *t, const char *kind, const char *reason) {
  t->kind = kind;
  t->reason = reason;
}

const char *http_reason(const http_Transfer *t) {
  return t->reason != NULL ? t->reason : t->message;
}
