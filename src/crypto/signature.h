/*
** signature.h - verifies signatures of JWS (RFC 7518, section 3; RFC 8037,
** section 3.1) by a public key, and makes them by a private one.  No Lua.
*/
#ifndef OPERATIONS_CRYPTO_SIGNATURE_H
#define OPERATIONS_CRYPTO_SIGNATURE_H

#include "crypto/key.h"

typedef struct signature_Algorithm signature_Algorithm;

/* The algorithm of a name such as "RS256"; NULL when it is unknown.  HMACs are
** excluded: their verifiers could forge them. */
const signature_Algorithm *signature_algorithm(const char *name);

typedef enum signature_Verdict {
  SIGNATURE_FITS,
  SIGNATURE_WRONG, /* also when the key is of another kind */
  SIGNATURE_MEMORY
} signature_Verdict;

/* Leaves libcrypto's error queue as it was. */
signature_Verdict signature_verify(const signature_Algorithm *algorithm,
                                   key_Kind kind, EVP_PKEY *key, key_Bytes text,
                                   key_Bytes signature);

#define SIGNATURE_MAX 1024 /* bytes: of RSA with 8192 bits */

/* Writes the signature of `text`; returns its size, 0 when the key is of
** another kind or libcrypto fails.  Leaves its error queue as it was. */
size_t signature_make(const signature_Algorithm *algorithm, key_Kind kind,
                      EVP_PKEY *key, key_Bytes text,
                      unsigned char out[SIGNATURE_MAX]);

#endif
