/*
** key.h - keys of signatures: public ones from the numbers of their JWKs (RFC
** 7518, section 6; RFC 8037, section 2), both kinds from PEM.  No Lua.
**
** Every function leaves libcrypto's error queue as it was.
*/
#ifndef OPERATIONS_CRYPTO_KEY_H
#define OPERATIONS_CRYPTO_KEY_H

#include <stdbool.h>
#include <stddef.h>

#include <openssl/evp.h>

/* Bits of an RSA modulus: smaller ones can be broken, larger ones only cost
** time. */
#define KEY_RSA_MIN 2048
#define KEY_RSA_MAX 8192

typedef enum key_Kind {
  KEY_RSA,
  KEY_P256,
  KEY_P384,
  KEY_P521,
  KEY_ED25519,
  KEY_ED448
} key_Kind;

typedef struct key_Bytes {
  const unsigned char *at; /* borrowed during the call; big-endian numbers */
  size_t size;
} key_Bytes;

/* The kind named by a JWK's "crv"; -1 when it is unknown. */
int key_curve(const char *name);

/* All three return NULL when the numbers are not a valid key, or out of memory;
** `flaw` is then a constant text that says why.  The caller owns the key and
** frees it with EVP_PKEY_free. */
EVP_PKEY *key_rsa(key_Bytes n, key_Bytes e, const char **flaw);
EVP_PKEY *key_point(key_Kind kind, key_Bytes x, key_Bytes y, const char **flaw);
EVP_PKEY *key_edwards(key_Kind kind, key_Bytes x, const char **flaw);

/* The key of a PEM text that is not encrypted: a private one (PKCS #8 or its
** older forms) or a public one (SubjectPublicKeyInfo).  NULL and `flaw` as
** above. */
EVP_PKEY *key_pem(key_Bytes pem, bool public, key_Kind *kind,
                  const char **flaw);

#endif
