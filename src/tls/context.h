/*
** context.h - shared by all TLS connections of a listener: certificates, who
** may connect, the keys of session tickets; by OpenSSL.  No I/O, no Lua.
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

/* Borrowed while a context is made; all in PEM. */
typedef struct tls_Pair {
  tls_Text certificate,
      key;              /* the server's certificate first, then its chain */
  const char *password; /* of the key, or NULL */
} tls_Pair;

typedef enum tls_Clients {
  TLS_CLIENTS_UNASKED, /* for no certificate */
  TLS_CLIENTS_OPTIONAL,
  TLS_CLIENTS_REQUIRED
} tls_Clients;

/* The error in the parts of a context. */
typedef struct tls_Flaw {
  enum { TLS_CERTIFICATE, TLS_KEY, TLS_CLIENT_CA, TLS_MEMORY } part;
  size_t pair; /* counted from 0 */
  char reason[256];
} tls_Flaw;

typedef struct tls_Certificate {
  X509 *leaf;
  STACK_OF(X509) * chain;
  EVP_PKEY *key;
} tls_Certificate;

/* Kept by whoever made it and by each session. */
typedef struct tls_Context {
  ops_Alloc alloc;
  size_t references;
  SSL_CTX *ssl;
  BIO_METHOD *method; /* of what sessions read and write */
  tls_Certificate *certificates;
  size_t count;
  ticket_Keys tickets;
  buffer_Buffer in, out; /* what one call of a session gives; empty between */
} tls_Context;

typedef struct tls_Options {
  const tls_Pair *pairs; /* at least one: the first is that of unknown names */
  size_t count;
  tls_Clients clients;
  tls_Text client_ca;    /* PEM, unless no client is asked */
  long session;          /* seconds that a session can be resumed */
  tls_Context *previous; /* whose tickets stay valid, or NULL */
} tls_Options;

/* TLS 1.2 and newer for servers.  NULL: `flaw` says why. */
tls_Context *tls_context_new(ops_Alloc alloc, const tls_Options *options,
                             tls_Flaw *flaw);

/* One holder less; the last one frees it.  NULL is allowed. */
void tls_context_release(tls_Context *c);

/* Seconds until the certificate ends; negative: since it has. */
double tls_context_left(const tls_Context *c, size_t certificate);

/* The oldest of OpenSSL's errors, in words, and no error is left; `otherwise`
** when there is none.  */
const char *tls_take_error(const char *otherwise);

#endif
