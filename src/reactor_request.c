/*
** reactor_request.c - what a request asks of curl's easy handle.
*/
#include "reactor_http.h"

#include <strings.h>

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
  const struct {
    CURLoption option;
    const char *value;
  } given[] = {{CURLOPT_CAINFO, q->ca_file},
               {CURLOPT_SSLCERT, q->cert_file},
               {CURLOPT_SSLKEY, q->key_file},
               {CURLOPT_KEYPASSWD, q->key_password},
               {CURLOPT_PROXY, q->proxy}};
  CURLcode code = CURLE_OK;
  size_t i;
  t->special = !q->decode || q->upload || q->connect_only;
  for (i = 0; code == CURLE_OK && i < sizeof(given) / sizeof(*given); i++) {
    if (given[i].value == NULL) continue;
    t->special = true;
    code = curl_easy_setopt(t->easy, given[i].option, given[i].value);
  }
  if (q->connect_only) {
    curl_easy_setopt(t->easy, CURLOPT_CONNECT_ONLY, 1L);
    curl_easy_setopt(t->easy, CURLOPT_HTTPPROXYTUNNEL, 1L);
  }
  if (!q->decode) curl_easy_setopt(t->easy, CURLOPT_ACCEPT_ENCODING, NULL);
  if (q->upload && code == CURLE_OK) code = set_upload(t, q);
  return code;
}

static bool is_safe(const http_Request *q) {
  return strcmp(q->method, "GET") == 0 || strcmp(q->method, "HEAD") == 0;
}

/* Over TLS it may be HTTP/2, where one connection carries many.  A server that
** closes it, as nginx does after 1000 requests, leaves some of them behind, and
** nobody knows which it has seen: only what may be asked twice goes that way.
** With HTTP/1.1 a server says beforehand that it will close. */
static bool may_share(const http_Request *q) {
  return is_safe(q) && q->body == NULL && !q->upload && !q->fresh &&
         !q->connect_only && strncasecmp(q->url, "https:", 6) == 0;
}

CURLcode http_set_request(http_Transfer *t, const http_Request *q) {
  CURLcode code = curl_easy_setopt(t->easy, CURLOPT_URL, q->url);
  if (code == CURLE_OK) code = set_method(t->easy, q);
  if (code == CURLE_OK) code = set_special(t, q);
  curl_easy_setopt(t->easy, CURLOPT_HTTPHEADER, t->headers);
  curl_easy_setopt(t->easy, CURLOPT_TIMEOUT_MS, milliseconds(q->timeout));
  curl_easy_setopt(t->easy, CURLOPT_CONNECTTIMEOUT_MS,
                   milliseconds(q->connect_timeout));
  curl_easy_setopt(t->easy, CURLOPT_MAXAGE_CONN,
                   milliseconds(q->keep_alive) / 1000);
  t->shared = may_share(q);
  curl_easy_setopt(t->easy, CURLOPT_HTTP_VERSION,
                   t->shared ? (long)CURL_HTTP_VERSION_2TLS
                             : (long)CURL_HTTP_VERSION_1_1);
  curl_easy_setopt(t->easy, CURLOPT_PIPEWAIT, t->shared ? 1L : 0L);
  /* What is spoken over a byte stream is not for TLS to choose. */
  curl_easy_setopt(t->easy, CURLOPT_SSL_ENABLE_ALPN, q->connect_only ? 0L : 1L);
  /* What the address check let through must not be used by others' rules. */
  curl_easy_setopt(
      t->easy, CURLOPT_FRESH_CONNECT,
      q->public_only || q->upload || q->fresh || q->connect_only ? 1L : 0L);
  curl_easy_setopt(t->easy, CURLOPT_FORBID_REUSE, 0L);
  curl_easy_setopt(t->easy, CURLOPT_VERBOSE, 0L);
  curl_easy_setopt(t->easy, CURLOPT_ERRORBUFFER, t->message);
  curl_easy_setopt(t->easy, CURLOPT_PRIVATE, t);
  curl_easy_setopt(t->easy, CURLOPT_HEADERDATA, t);
  curl_easy_setopt(t->easy, CURLOPT_WRITEDATA, t);
  curl_easy_setopt(t->easy, CURLOPT_DEBUGDATA, t);
  curl_easy_setopt(t->easy, CURLOPT_OPENSOCKETDATA, t);
  curl_easy_setopt(t->easy, CURLOPT_PREREQDATA, t);
  return code;
}
