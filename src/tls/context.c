#include "tls/context.h"

#include <limits.h>
#include <openssl/err.h>
#include <openssl/pem.h>
#include <openssl/x509v3.h>
#include <stdio.h>

#include "base/sha256.h"
#include "tls/wire.h"

/* Only ciphers with forward secrecy and authenticated encryption; TLS 1.3 has
** no others. */
#define CIPHERS "ECDHE+AESGCM:ECDHE+CHACHA20"

const char *tls_take_error(const char *otherwise) {
  const char *text = ERR_reason_error_string(ERR_get_error());
  ERR_clear_error();
  return text != NULL ? text : otherwise;
}

static bool fail(tls_Flaw *flaw, int part, const char *reason) {
  flaw->part = part;
  (void)snprintf(flaw->reason, sizeof(flaw->reason), "%s", reason);
  ERR_clear_error();
  return false;
}

/* Reading PEM */

static BIO *reader(tls_Text text) {
  return text.length > INT_MAX ? NULL
                               : BIO_new_mem_buf(text.data, (int)text.length);
}

/* Without this callback OpenSSL asks for the password on the terminal. */
static int on_password(char *to, int room, int writing, void *password) {
  size_t length;
  (void)writing;
  if (password == NULL) return -1;
  length = strlen((const char *)password);
  if (length > (size_t)room) return -1;
  memcpy(to, password, length);
  return (int)length;
}

static bool is_no_pem(void) {
  return ERR_GET_REASON(ERR_peek_last_error()) == PEM_R_NO_START_LINE;
}

/* Reads all remaining certificates of `bio`; NULL when one is invalid. */
static STACK_OF(X509) * read_all(BIO *bio) {
  STACK_OF(X509) *list = sk_X509_new_null();
  X509 *one;
  while (list != NULL &&
         (one = PEM_read_bio_X509(bio, NULL, on_password, NULL)) != NULL) {
    if (sk_X509_push(list, one) > 0) continue;
    X509_free(one);
    sk_X509_pop_free(list, X509_free);
    return NULL;
  }
  if (list == NULL || is_no_pem()) {
    ERR_clear_error();
    return list;
  }
  sk_X509_pop_free(list, X509_free);
  return NULL;
}

static bool read_certificate(tls_Certificate *c, tls_Text text,
                             tls_Flaw *flaw) {
  BIO *bio = reader(text);
  if (bio == NULL) return fail(flaw, TLS_MEMORY, "not enough memory");
  c->leaf = PEM_read_bio_X509(bio, NULL, on_password, NULL);
  if (c->leaf != NULL) c->chain = read_all(bio);
  BIO_free(bio);
  if (c->chain != NULL) return true;
  if (c->leaf == NULL && is_no_pem())
    return fail(flaw, TLS_CERTIFICATE, "no certificate in PEM is in it");
  return fail(flaw, TLS_CERTIFICATE,
              tls_take_error("a certificate cannot be read"));
}

static bool read_key(tls_Certificate *c, const tls_Pair *pair, tls_Flaw *flaw) {
  BIO *bio = reader(pair->key);
  bool is_locked;
  if (bio == NULL) return fail(flaw, TLS_MEMORY, "not enough memory");
  c->key = PEM_read_bio_PrivateKey(bio, NULL, on_password,
                                   (void *)(size_t)pair->password);
  BIO_free(bio);
  if (c->key != NULL) return true;
  is_locked = ERR_GET_REASON(ERR_peek_last_error()) == PEM_R_BAD_PASSWORD_READ;
  if (is_locked) return fail(flaw, TLS_KEY, "the key needs a password");
  if (ERR_GET_LIB(ERR_peek_last_error()) == ERR_LIB_OSSL_DECODER || is_no_pem())
    return fail(flaw, TLS_KEY, "no private key in PEM is in it");
  return fail(flaw, TLS_KEY,
              pair->password != NULL ? "the password is wrong"
                                     : tls_take_error("it cannot be read"));
}

static bool read_pair(tls_Certificate *c, const tls_Pair *pair,
                      tls_Flaw *flaw) {
  if (!read_certificate(c, pair->certificate, flaw) || !read_key(c, pair, flaw))
    return false;
  if (X509_check_private_key(c->leaf, c->key) == 1) return true;
  return fail(flaw, TLS_KEY, "it is not the key of the certificate");
}

/* Choosing a certificate */

static bool is_named(const tls_Certificate *c, const char *name) {
  return X509_check_host(c->leaf, name, 0, 0, NULL) == 1;
}

static bool use(SSL *ssl, const tls_Certificate *c) {
  return SSL_use_cert_and_key(ssl, c->leaf, c->key, c->chain, 0) == 1;
}

/* Offers the certificates for the name that the client asks for: the first of
** each kind of key.  Without a name, or with an unknown one, the first pair. */
static int on_certificate(SSL *ssl, void *context) {
  const tls_Context *c = (const tls_Context *)context;
  const char *name = SSL_get_servername(ssl, TLSEXT_NAMETYPE_host_name);
  bool found = false;
  size_t i;
  SSL_certs_clear(ssl);
  for (i = 0; name != NULL && i < c->count; i++)
    if (is_named(&c->certificates[i], name))
      found = use(ssl, &c->certificates[i]) || found;
  ERR_clear_error(); /* a second key of the same kind is not an error */
  return found || use(ssl, &c->certificates[0]) ? 1 : 0;
}

static bool read_pairs(tls_Context *c, const tls_Options *options,
                       tls_Flaw *flaw) {
  size_t i;
  for (i = 0; i < options->count; i++) {
    tls_Certificate *one = &c->certificates[i];
    flaw->pair = i;
    if (!read_pair(one, &options->pairs[i], flaw)) return false;
    if (SSL_CTX_use_cert_and_key(c->ssl, one->leaf, one->key, one->chain, 1) !=
        1)
      return fail(flaw, TLS_CERTIFICATE, tls_take_error("it cannot be used"));
  }
  if (c->count > 1) SSL_CTX_set_cert_cb(c->ssl, on_certificate, c);
  return true;
}

/* Clients' certificates */

static bool trust(tls_Context *c, X509 *authority) {
  return SSL_CTX_add_client_CA(c->ssl, authority) == 1 &&
         X509_STORE_add_cert(SSL_CTX_get_cert_store(c->ssl), authority) == 1;
}

static bool read_authorities(tls_Context *c, tls_Text text, tls_Flaw *flaw) {
  BIO *bio = reader(text);
  STACK_OF(X509) *list = bio != NULL ? read_all(bio) : NULL;
  bool ok = list != NULL && sk_X509_num(list) > 0;
  int i;
  BIO_free(bio);
  if (!ok)
    (void)fail(flaw, TLS_CLIENT_CA,
               list != NULL ? "no certificate in PEM is in it"
                            : tls_take_error("a certificate cannot be read"));
  for (i = 0; ok && i < sk_X509_num(list); i++)
    if (!trust(c, sk_X509_value(list, i)))
      ok = fail(flaw, TLS_CLIENT_CA, tls_take_error("it cannot be used"));
  sk_X509_pop_free(list, X509_free);
  return ok;
}

/* Sessions are resumed only when clients are asked for the same
** certificates. */
static bool ask_clients(tls_Context *c, const tls_Options *options,
                        tls_Flaw *flaw) {
  unsigned char name[SHA256_SIZE];
  int mode = SSL_VERIFY_PEER;
  sha256(options->client_ca.data, options->client_ca.length, name);
  name[0] = (unsigned char)options->clients;
  if (SSL_CTX_set_session_id_context(c->ssl, name, sizeof(name)) != 1)
    return fail(flaw, TLS_MEMORY, tls_take_error("not enough memory"));
  if (options->clients == TLS_CLIENTS_UNASKED) return true;
  if (options->clients == TLS_CLIENTS_REQUIRED)
    mode |= SSL_VERIFY_FAIL_IF_NO_PEER_CERT;
  SSL_CTX_set_verify(c->ssl, mode, NULL);
  return read_authorities(c, options->client_ca, flaw);
}

/* The rest */

/* A client that offers protocols must offer ours (RFC 7301, 3.2). */
static int on_protocols(SSL *ssl, const unsigned char **chosen,
                        unsigned char *length, const unsigned char *offered,
                        unsigned offered_length, void *none) {
  static const unsigned char own[] = "\x08http/1.1\x08http/1.0";
  unsigned char *found;
  (void)ssl, (void)none;
  if (SSL_select_next_proto(&found, length, own, sizeof(own) - 1, offered,
                            offered_length) != OPENSSL_NPN_NEGOTIATED)
    return SSL_TLSEXT_ERR_ALERT_FATAL;
  *chosen = found;
  return SSL_TLSEXT_ERR_OK;
}

static bool make_tickets(tls_Context *c, const tls_Context *previous) {
  if (previous != NULL) c->tickets = previous->tickets;
  else if (!ticket_make(&c->tickets)) return false;
  return ticket_use(c->ssl, &c->tickets);
}

static bool set_up(tls_Context *c, const tls_Options *options) {
  SSL_CTX_set_options(c->ssl, SSL_OP_NO_RENEGOTIATION | SSL_OP_NO_COMPRESSION);
  SSL_CTX_set_mode(c->ssl, SSL_MODE_RELEASE_BUFFERS | SSL_MODE_NO_AUTO_CHAIN);
  SSL_CTX_set_session_cache_mode(c->ssl, SSL_SESS_CACHE_OFF);
  SSL_CTX_set_timeout(c->ssl, options->session);
  SSL_CTX_set_alpn_select_cb(c->ssl, on_protocols, NULL);
  return SSL_CTX_set_min_proto_version(c->ssl, TLS1_2_VERSION) == 1 &&
         SSL_CTX_set_cipher_list(c->ssl, CIPHERS) == 1 &&
         make_tickets(c, options->previous);
}

static bool allocate(tls_Context *c, size_t count) {
  size_t size = count * sizeof(*c->certificates);
  c->certificates = (tls_Certificate *)ops_alloc(&c->alloc, size);
  if (c->certificates == NULL) return false;
  memset(c->certificates, 0, size);
  c->count = count;
  c->ssl = SSL_CTX_new(TLS_server_method());
  c->method = tls_wire_method();
  return c->ssl != NULL && c->method != NULL;
}

tls_Context *tls_context_new(ops_Alloc alloc, const tls_Options *options,
                             tls_Flaw *flaw) {
  tls_Context *c = (tls_Context *)ops_alloc(&alloc, sizeof(*c));
  ERR_clear_error();
  if (c == NULL) {
    (void)fail(flaw, TLS_MEMORY, "not enough memory");
    return NULL;
  }
  *c = (tls_Context){.alloc = alloc, .references = 1};
  buffer_init(&c->in, alloc, BUFFER_UNLIMITED);
  buffer_init(&c->out, alloc, BUFFER_UNLIMITED);
  if (!allocate(c, options->count) || !set_up(c, options))
    (void)fail(flaw, TLS_MEMORY, tls_take_error("not enough memory"));
  else if (read_pairs(c, options, flaw) && ask_clients(c, options, flaw))
    return c;
  tls_context_release(c);
  return NULL;
}

void tls_context_release(tls_Context *c) {
  size_t i;
  if (c == NULL || --c->references > 0) return;
  for (i = 0; i < c->count; i++) {
    X509_free(c->certificates[i].leaf);
    sk_X509_pop_free(c->certificates[i].chain, X509_free);
    EVP_PKEY_free(c->certificates[i].key);
  }
  SSL_CTX_free(c->ssl);
  BIO_meth_free(c->method);
  buffer_free(&c->in);
  buffer_free(&c->out);
  OPENSSL_cleanse(&c->tickets, sizeof(c->tickets));
  ops_free(&c->alloc, c->certificates, c->count * sizeof(*c->certificates));
  ops_free(&c->alloc, c, sizeof(*c));
}

double tls_context_left(const tls_Context *c, size_t certificate) {
  int days = 0, seconds = 0;
  const X509 *leaf = c->certificates[certificate].leaf;
  (void)ASN1_TIME_diff(&days, &seconds, NULL, X509_get0_notAfter(leaf));
  return days * 86400.0 + seconds;
}
