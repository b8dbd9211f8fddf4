/*
** wire.h - OpenSSL's view of the network: received bytes, and a buffer for
** bytes to send.  No I/O, no Lua.
*/
#ifndef OPERATIONS_TLS_WIRE_H
#define OPERATIONS_TLS_WIRE_H

#include <openssl/bio.h>

#include "base/buffer.h"

/* The data of a BIO; the owner of the BIO owns it. */
typedef struct tls_Wire {
  const char *bytes; /* not yet read; borrowed while OpenSSL is called */
  size_t length;
  buffer_Buffer *out;
} tls_Wire;

/* The method of such BIOs; NULL when out of memory. */
BIO_METHOD *tls_wire_method(void);

#endif
