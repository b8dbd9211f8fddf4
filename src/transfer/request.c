/*
** request.c - sets the options of curl's easy handle for a request.
*/
#include "transfer/http.h"

#include <stdio.h>
#include <stdlib.h>
#include <strings.h>
#include <unistd.h>

static bool has(int feature) {
  return (curl_version_info(CURLVERSION_NOW)->features & feature) != 0;
}

/* The content codings that this libcurl decodes, as a header line.  curl itself
** would build the line again for every request. */
static void write_codings(char *line, size_t room) {
  bool gzip = has(CURL_VERSION_LIBZ), brotli = has(CURL_VERSION_BROTLI);
  bool zstd = has(CURL_VERSION_ZSTD);
  snprintf(line, room, "Accept-Encoding: %s%s%s%s%s%s",
           gzip ? "deflate, gzip" : "", gzip && brotli ? ", " : "",
           brotli ? "br" : "", (gzip || brotli) && zstd ? ", " : "",
           zstd ? "zstd" : "", gzip || brotli || zstd ? "" : "identity");
}

/* The certificates to trust: as the environment says, or the system's. */
static void set_certificates(CURL *easy) {
  const char *file = getenv("SSL_CERT_FILE"), *path = getenv("SSL_CERT_DIR");
  bool has_file = file != NULL && *file != '\0';
  bool has_path = !has_file && path != NULL && *path != '\0';
  /* A CAPATH, which Debian's build sets, disables curl's cache of the CA
  ** bundle: 25 ms of parsing per TLS connection.  So a file is enough. */
  curl_easy_setopt(easy, CURLOPT_CAPATH, has_path ? path : NULL);
  if (has_file || has_path)
    curl_easy_setopt(easy, CURLOPT_CAINFO, has_file ? file : NULL);
}

CURLcode http_easy_open(http_Easy *kept) {
  CURLcode code;
  CURL *easy = kept->curl = curl_easy_init();
  if (easy == NULL) return CURLE_OUT_OF_MEMORY;
  write_codings(kept->codings, sizeof(kept->codings));
  kept->max_age = kept->dns_age = -1; /* curl's defaults are others than 0 */
  curl_easy_setopt(easy, CURLOPT_NOSIGNAL, 1L);
  curl_easy_setopt(easy, CURLOPT_PATH_AS_IS, 1L);
  curl_easy_setopt(easy, CURLOPT_TCP_KEEPALIVE, 1L);
  curl_easy_setopt(easy, CURLOPT_SUPPRESS_CONNECT_HEADERS, 1L);
  curl_easy_setopt(easy, CURLOPT_ERRORBUFFER, kept->message);
  curl_easy_setopt(easy, CURLOPT_CERTINFO, 1L);
  curl_easy_setopt(easy, CURLOPT_SSLVERSION, (long)CURL_SSLVERSION_TLSv1_2);
  curl_easy_setopt(easy, CURLOPT_PROXY_SSLVERSION,
                   (long)CURL_SSLVERSION_TLSv1_2);
#if LIBCURL_VERSION_NUM >= 0x075500 /* 7.85 */
  code = curl_easy_setopt(easy, CURLOPT_PROTOCOLS_STR, "http,https");
#else
  code = curl_easy_setopt(easy, CURLOPT_PROTOCOLS,
                          CURLPROTO_HTTP | CURLPROTO_HTTPS);
#endif
  set_certificates(easy);
  curl_easy_setopt(easy, CURLOPT_ACCEPT_ENCODING, "");
#if LIBCURL_VERSION_NUM >= 0x075700 /* 7.87 */
  curl_easy_setopt(easy, CURLOPT_CA_CACHE_TIMEOUT, -1L);
  /* Cancelling must not wait for a resolver thread. */
  curl_easy_setopt(easy, CURLOPT_QUICK_EXIT, 1L);
#endif
  return code;
}

void http_easy_close(http_Easy *easy) {
  if (easy->curl != NULL) curl_easy_cleanup(easy->curl);
  curl_url_cleanup(easy->parsed);
  curl_slist_free_all(easy->lines);
}

static void set_long(http_Easy *easy, CURLoption option, long *kept,
                     long value) {
  if (*kept == value) return;
  *kept = value;
  curl_easy_setopt(easy->curl, option, value);
}

/* Remembers a text of at most `room` - 1 bytes. */
static void keep(char *kept, size_t room, const char *text) {
  size_t length = strlen(text);
  if (length < room) memcpy(kept, text, length + 1);
  else kept[0] = '\0';
}

/* Parses the URL once; curl would parse and write it for every request.  Not
** IPv6 addresses, which could lose their zone. */
static CURLU *parse(const char *url) {
  CURLU *parsed;
  if (strchr(url, '[') != NULL) return NULL;
  parsed = curl_url();
  if (parsed == NULL ||
      curl_url_set(parsed, CURLUPART_URL, url, CURLU_PATH_AS_IS) == CURLUE_OK)
    return parsed;
  curl_url_cleanup(parsed);
  return NULL;
}

/* In this order: since version 8, libcurl forgets the text when it is given a
** parsed URL, or none. */
static CURLcode set_url(http_Easy *easy, const char *url) {
  CURLU *before = easy->parsed;
  CURLcode code;
  if (easy->url[0] != '\0' && strcmp(easy->url, url) == 0) return CURLE_OK;
  easy->url[0] = '\0';
  easy->parsed = parse(url);
  code = curl_easy_setopt(easy->curl, CURLOPT_CURLU, easy->parsed);
  curl_url_cleanup(before);
  if (code == CURLE_OK) code = curl_easy_setopt(easy->curl, CURLOPT_URL, url);
  if (code == CURLE_OK) keep(easy->url, sizeof(easy->url), url);
  return code;
}

/* Header lines that replace those of the last request, from `next` on. */
typedef struct Lines {
  struct curl_slist **next;
  bool changed, failed;
} Lines;

static void add_line(Lines *lines, const char *line) {
  if (lines->failed) return;
  if (*lines->next == NULL || strcmp((*lines->next)->data, line) != 0) {
    curl_slist_free_all(*lines->next);
    *lines->next = curl_slist_append(NULL, line);
    lines->changed = true;
    lines->failed = *lines->next == NULL;
  }
  if (!lines->failed) lines->next = &(*lines->next)->next;
}

static CURLcode set_lines(http_Easy *easy, const http_Request *q) {
  Lines lines = {&easy->lines, false, false};
  const char *line;
  size_t i;
  for (i = 0; q->line != NULL && (line = q->line(q->line_ud, i)) != NULL; i++)
    add_line(&lines, line);
  if (q->decode) add_line(&lines, easy->codings);
  if (*lines.next != NULL) {
    curl_slist_free_all(*lines.next);
    *lines.next = NULL;
    lines.changed = true;
  }
  if (lines.changed)
    curl_easy_setopt(easy->curl, CURLOPT_HTTPHEADER, easy->lines);
  return lines.failed ? CURLE_OUT_OF_MEMORY : CURLE_OK;
}

/* Does the method require Content-Length: 0 for an empty body? */
static bool wants_body(const char *method) {
  return strcmp(method, "POST") == 0 || strcmp(method, "PUT") == 0 ||
         strcmp(method, "PATCH") == 0;
}

static void set_verb(http_Easy *easy, const char *method, bool has_body) {
  curl_easy_setopt(easy->curl, CURLOPT_POSTFIELDS, NULL); /* makes it a POST */
  curl_easy_setopt(easy->curl, CURLOPT_HTTPGET, 1L);
  if (strcmp(method, "HEAD") == 0 && !has_body)
    curl_easy_setopt(easy->curl, CURLOPT_NOBODY, 1L);
  curl_easy_setopt(easy->curl, CURLOPT_CUSTOMREQUEST, method);
}

static bool names_proxy(const char *variable) {
  return strncasecmp(variable, "all_proxy=", 10) == 0 ||
         strncasecmp(variable, "http_proxy=", 11) == 0 ||
         strncasecmp(variable, "https_proxy=", 12) == 0;
}

/* May the environment name a proxy?  curl looks up one variable after the other
** for every request. */
static bool is_proxied(void) {
  char *const *variable = platform_environment();
  for (; variable != NULL && *variable != NULL; variable++) {
    int first =
        **variable | 0x20; /* in lower case; most variables do not match */
    if ((first == 'a' || first == 'h') && names_proxy(*variable)) return true;
  }
  return false;
}

static CURLcode set_direct(http_Easy *easy, bool direct) {
  if (direct == easy->direct) return CURLE_OK;
  easy->direct = direct;
  return curl_easy_setopt(easy->curl, CURLOPT_NOPROXY, direct ? "*" : NULL);
}

static void set_method(http_Easy *easy, const http_Request *q) {
  bool has_body = q->body != NULL || wants_body(q->method);
  if (has_body != easy->has_body || strcmp(easy->method, q->method) != 0) {
    set_verb(easy, q->method, has_body);
    easy->has_body = has_body;
    keep(easy->method, sizeof(easy->method), q->method);
  }
  if (!has_body) return;
  curl_easy_setopt(easy->curl, CURLOPT_POSTFIELDSIZE_LARGE,
                   (curl_off_t)(q->body != NULL ? q->body_len : 0));
  curl_easy_setopt(easy->curl, CURLOPT_POSTFIELDS,
                   q->body != NULL ? q->body : "");
}

/* Sets up a body given by http_write: sent in chunks unless its size is
** known. It cannot be sent twice, so no connection that may already be
** closed is used. */
static CURLcode set_upload(http_Transfer *t, const http_Request *q) {
  CURL *easy = t->easy->curl;
  curl_easy_setopt(easy, CURLOPT_CUSTOMREQUEST, q->method);
  curl_easy_setopt(easy, CURLOPT_INFILESIZE_LARGE,
                   q->upload_size < 0 ? (curl_off_t)-1
                                      : (curl_off_t)q->upload_size);
  curl_easy_setopt(easy, CURLOPT_READFUNCTION, http_on_read);
  curl_easy_setopt(easy, CURLOPT_READDATA, t);
  return curl_easy_setopt(easy, CURLOPT_UPLOAD, 1L);
}

static long milliseconds(double ms) {
  if (ms <= 0) return 0;
  if (ms < 1) return 1;
  return ms > 2e9 ? 2000000000L : (long)ms;
}

/* Sets options that make a handle unfit for other requests. */
static CURLcode set_special(http_Transfer *t, const http_Request *q) {
  const struct {
    CURLoption option;
    const char *value;
  } given[] = {{CURLOPT_CAINFO, q->ca_file},
               {CURLOPT_SSLCERT, q->cert_file},
               {CURLOPT_SSLKEY, q->key_file},
               {CURLOPT_KEYPASSWD, q->key_password},
               {CURLOPT_UNIX_SOCKET_PATH, q->unix_socket},
               {CURLOPT_USERNAME, q->digest_user},
               {CURLOPT_PASSWORD, q->digest_password},
               {CURLOPT_NETRC_FILE, q->netrc},
               {CURLOPT_PROXY, q->proxy}};
  CURL *easy = t->easy->curl;
  CURLcode code = CURLE_OK;
  size_t i;
  t->digest = q->digest_user != NULL;
  t->special =
      t->digest || !q->decode || q->upload || q->connect_only || q->insecure;
  if (q->insecure) {
    curl_easy_setopt(easy, CURLOPT_SSL_VERIFYPEER, 0L);
    curl_easy_setopt(easy, CURLOPT_SSL_VERIFYHOST, 0L);
  }
  for (i = 0; code == CURLE_OK && i < sizeof(given) / sizeof(*given); i++) {
    if (given[i].value == NULL) continue;
    t->special = true;
    code = curl_easy_setopt(easy, given[i].option, given[i].value);
  }
  if (q->ca_file != NULL) curl_easy_setopt(easy, CURLOPT_CAPATH, NULL);
  if (q->digest_user != NULL)
    curl_easy_setopt(easy, CURLOPT_HTTPAUTH, (long)CURLAUTH_DIGEST);
  else if (q->netrc != NULL)
    curl_easy_setopt(easy, CURLOPT_NETRC, (long)CURL_NETRC_OPTIONAL);
  if (q->connect_only) {
    curl_easy_setopt(easy, CURLOPT_CONNECT_ONLY, 1L);
    curl_easy_setopt(easy, CURLOPT_HTTPPROXYTUNNEL, 1L);
    /* A byte stream has no protocol for TLS to negotiate. */
    curl_easy_setopt(easy, CURLOPT_SSL_ENABLE_ALPN, 0L);
  }
  if (!q->decode) curl_easy_setopt(easy, CURLOPT_ACCEPT_ENCODING, NULL);
  if (q->upload && code == CURLE_OK) code = set_upload(t, q);
  return code;
}

static bool is_safe(const http_Request *q) {
  return strcmp(q->method, "GET") == 0 || strcmp(q->method, "HEAD") == 0;
}

/* May the request share a connection?  HTTP/2 over TLS carries many requests.
** When a server closes the connection, as nginx does after 1000 requests, some
** are lost and it is unknown which ones it has processed: only requests that
** may be repeated share it.  With HTTP/1.1 a server announces that it will
** close. */
static bool may_share(const http_Request *q) {
  return is_safe(q) && q->body == NULL && !q->upload && !q->fresh &&
         !q->connect_only && strncasecmp(q->url, "https:", 6) == 0;
}

/* Unsets the options that the head of the last answer may have set. */
static void unset(const http_Easy *easy) {
  curl_easy_setopt(easy->curl, CURLOPT_VERBOSE, 0L);
  curl_easy_setopt(easy->curl, CURLOPT_FORBID_REUSE, 0L);
  curl_easy_setopt(easy->curl, CURLOPT_HTTP_CONTENT_DECODING, 1L);
}

static void set_connection(http_Transfer *t, const http_Request *q) {
  http_Easy *easy = t->easy;
  t->shared = may_share(q);
  set_long(easy, CURLOPT_TIMEOUT_MS, &easy->timeout, milliseconds(q->timeout));
  set_long(easy, CURLOPT_CONNECTTIMEOUT_MS, &easy->connect_timeout,
           milliseconds(q->connect_timeout));
  set_long(easy, CURLOPT_MAXAGE_CONN, &easy->max_age,
           milliseconds(q->keep_alive) / 1000);
#if LIBCURL_VERSION_NUM >= 0x075000
  set_long(easy, CURLOPT_MAXLIFETIME_CONN, &easy->lifetime,
           (milliseconds(q->connection_age) + 999) / 1000);
#endif
  set_long(easy, CURLOPT_DNS_CACHE_TIMEOUT, &easy->dns_age,
           milliseconds(q->dns_cache) / 1000);
  set_long(easy, CURLOPT_HTTP_VERSION, &easy->version,
           t->shared ? (long)CURL_HTTP_VERSION_2TLS
                     : (long)CURL_HTTP_VERSION_1_1);
  set_long(easy, CURLOPT_PIPEWAIT, &easy->wait, t->shared ? 1L : 0L);
  /* A connection made under this check must not be used under other rules. */
  set_long(easy, CURLOPT_FRESH_CONNECT, &easy->fresh,
           q->public_only || q->upload || q->fresh || q->connect_only ? 1L
                                                                      : 0L);
}

CURLcode http_set_request(http_Transfer *t, const http_Request *q) {
  CURLcode code = set_url(t->easy, q->url);
  if (code == CURLE_OK) code = set_lines(t->easy, q);
  if (code == CURLE_OK)
    code = set_direct(t->easy, q->proxy == NULL && !is_proxied());
  if (code != CURLE_OK) return code;
  unset(t->easy);
  set_method(t->easy, q);
  set_connection(t, q);
  return set_special(t, q);
}
