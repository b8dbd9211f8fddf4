#include "tls/session.h"

#include <openssl/err.h>
#include <stdio.h>

#define RECORD 16384 /* maximum bytes of a record (RFC 8446, 5.1) */
#define KEPT 65536   /* the result buffers keep at most this much memory */

/* Beginning and end */

bool tls_session_open(tls_Session *s, tls_Context *context) {
  BIO *bio = BIO_new(context->method);
  s->ssl = bio != NULL ? SSL_new(context->ssl) : NULL;
  if (s->ssl == NULL) {
    BIO_free(bio);
    return false;
  }
  BIO_set_data(bio, &s->wire);
  BIO_set_init(bio, 1);
  SSL_set_bio(s->ssl, bio, bio);
  SSL_set_accept_state(s->ssl);
  s->wire.out = &context->out;
  s->context = context;
  context->references++;
  return true;
}

void tls_session_close(tls_Session *s) {
  SSL_free(s->ssl);
  s->ssl = NULL;
  tls_context_release(s->context);
  s->context = NULL;
}

bool tls_session_ready(const tls_Session *s) {
  return s->ssl != NULL && !s->failed && SSL_is_init_finished(s->ssl);
}

/* Calls */

static void begin(tls_Session *s, tls_Result *result) {
  tls_Context *c = s->context;
  ERR_clear_error();
  if (c->in.capacity > KEPT) buffer_free(&c->in);
  if (c->out.capacity > KEPT) buffer_free(&c->out);
  c->in.len = c->out.len = 0;
  result->state = TLS_OPEN;
  result->in = &c->in;
  result->out = &c->out;
  result->reason[0] = '\0';
}

static void fail(tls_Session *s, tls_Result *result, const char *reason) {
  long verified = SSL_get_verify_result(s->ssl);
  s->failed = true;
  result->state = TLS_FAILED;
  if (ERR_GET_REASON(ERR_peek_error()) == SSL_R_HTTP_REQUEST)
    result->state = TLS_PLAIN_HTTP;
  (void)snprintf(result->reason, sizeof(result->reason), "%s%s%s",
                 tls_take_error(reason), verified != X509_V_OK ? ": " : "",
                 verified != X509_V_OK ? X509_verify_cert_error_string(verified)
                                       : "");
}

/* Reads one record; true when there may be more. */
static bool read_record(tls_Session *s, tls_Result *result) {
  buffer_Buffer *in = &s->context->in;
  size_t n = 0;
  if (!buffer_reserve(in, RECORD)) {
    fail(s, result, "not enough memory");
    return false;
  }
  if (SSL_read_ex(s->ssl, in->data + in->len, RECORD, &n) == 1) {
    in->len += n;
    return s->wire.length > 0 || SSL_has_pending(s->ssl);
  }
  switch (SSL_get_error(s->ssl, 0)) {
  case SSL_ERROR_WANT_READ: break;
  case SSL_ERROR_ZERO_RETURN: result->state = TLS_CLOSED; break;
  default: fail(s, result, "not enough memory");
  }
  return false;
}

void tls_session_receive(tls_Session *s, const char *bytes, size_t length,
                         tls_Result *result) {
  begin(s, result);
  if (s->failed) {
    fail(s, result, "the session has failed");
    return;
  }
  s->wire.bytes = bytes;
  s->wire.length = length;
  while (read_record(s, result)) {
  }
  s->wire.length = 0;
}

void tls_session_send(tls_Session *s, const char *bytes, size_t length,
                      tls_Result *result) {
  size_t n;
  begin(s, result);
  if (!tls_session_ready(s)) result->state = TLS_FAILED;
  else if (SSL_write_ex(s->ssl, bytes, length, &n) != 1)
    fail(s, result, "not enough memory");
}

void tls_session_finish(tls_Session *s, tls_Result *result) {
  begin(s, result);
  if (tls_session_ready(s)) (void)SSL_shutdown(s->ssl);
  ERR_clear_error();
}
