/*
** context.h - the state that all TLS connections of a listener share:
** certificates, client authentication, the keys of session tickets; by OpenSSL.
** No I/O, no Lua.
*/
#ifndef OPERATIONS_TLS_CONTEXT_H
#define OPERATIONS_TLS_CONTEXT_H

#include <openssl/ssl.h>

#include "base/buffer.h"
#include "tls/ticket.h"

typedef struct tls_Text {
  const char *data; /* NULL: none */
  size_t length;
} tls_Text;

/* Borrowed while a context is made; all texts are PEM. */
typedef struct tls_Pair {
  tls_Text certificate,
      key;              /* the server's certificate first, then its chain */
  const char *password; /* of the key, or NULL */
} tls_Pair;

typedef enum tls_Clients {
  TLS_CLIENTS_UNASKED, /* clients need no certificate */
  TLS_CLIENTS_OPTIONAL,
  TLS_CLIENTS_REQUIRED
} tls_Clients;

/* What is wrong with the parts of a context. */
typedef struct tls_Flaw {
  enum { TLS_CERTIFICATE, TLS_KEY, TLS_CLIENT_CA, TLS_MEMORY } part;
  size_t pair; /* counted from 0; unset when out of memory */
  char reason[256];
} tls_Flaw;

typedef struct tls_Certificate {
  X509 *leaf;
  STACK_OF(X509) * chain;
  EVP_PKEY *key;
} tls_Certificate;

/* Reference counted: its maker and each session hold it. */
typedef struct tls_Context {
  ops_Alloc alloc;
  size_t references;
  SSL_CTX *ssl;
  BIO_METHOD *method; /* for the sessions' I/O */
  tls_Certificate *certificates;
  size_t count;
  ticket_Keys tickets;
  buffer_Buffer in, out; /* results of a session's call; empty between calls */
} tls_Context;

typedef struct tls_Options {
  const tls_Pair *pairs; /* at least one; the first is for unknown names */
  size_t count;
  tls_Clients clients;
  tls_Text client_ca;    /* PEM; NULL: clients are not asked */
  long session;          /* seconds for which a session can be resumed */
  tls_Context *previous; /* its tickets stay valid; or NULL */
} tls_Options;

/* Makes a server context for TLS 1.2 and newer.  NULL: `flaw` says why. */
tls_Context *tls_context_new(ops_Alloc alloc, const tls_Options *options,
                             tls_Flaw *flaw);

/* Drops one reference; the last one frees it.  NULL is allowed. */
void tls_context_release(tls_Context *c);

/* Seconds until the certificate expires; negative after that. */
double tls_context_left(const tls_Context *c, size_t certificate);

/* Clears OpenSSL's errors and returns the oldest one as text; `otherwise` when
** there is none. */
const char *tls_take_error(const char *otherwise);

#endif
