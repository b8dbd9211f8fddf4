/*
** signature.h - does a signature of a JWS fit its text and a public key (RFC
** 7518, section 3; RFC 8037, section 3.1)?  Makes none.  No Lua.
*/
#ifndef OPERATIONS_CRYPTO_SIGNATURE_H
#define OPERATIONS_CRYPTO_SIGNATURE_H

#include "crypto/key.h"

typedef struct signature_Algorithm signature_Algorithm;

/* The algorithm of a name such as "RS256"; NULL: there is none.  HMACs are not
** among them: their verifiers could forge them. */
const signature_Algorithm *signature_algorithm(const char *name);

typedef enum signature_Verdict {
  SIGNATURE_FITS,
  SIGNATURE_WRONG, /* also when the key is of another kind than its algorithm */
  SIGNATURE_MEMORY
} signature_Verdict;

/* libcrypto's queue of errors is left as it was. */
signature_Verdict signature_verify(const signature_Algorithm *algorithm,
                                   key_Kind kind, EVP_PKEY *key, key_Bytes text,
                                   key_Bytes signature);

#endif
