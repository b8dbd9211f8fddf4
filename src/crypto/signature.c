#include "crypto/signature.h"

#include <stdbool.h>
#include <string.h>

#include <openssl/bn.h>
#include <openssl/ec.h>
#include <openssl/err.h>
#include <openssl/rsa.h>

struct signature_Algorithm {
  const char *name;
  key_Kind first, last; /* the kinds of keys that fit */
  const char *digest;   /* NULL: part of the algorithm */
  bool pss;
  size_t half; /* bytes of r, and of s; 0: libcrypto's format */
};

static const signature_Algorithm algorithms[] = {
    {"RS256", KEY_RSA, KEY_RSA, "SHA256", false, 0},
    {"RS384", KEY_RSA, KEY_RSA, "SHA384", false, 0},
    {"RS512", KEY_RSA, KEY_RSA, "SHA512", false, 0},
    {"PS256", KEY_RSA, KEY_RSA, "SHA256", true, 0},
    {"PS384", KEY_RSA, KEY_RSA, "SHA384", true, 0},
    {"PS512", KEY_RSA, KEY_RSA, "SHA512", true, 0},
    {"ES256", KEY_P256, KEY_P256, "SHA256", false, 32},
    {"ES384", KEY_P384, KEY_P384, "SHA384", false, 48},
    {"ES512", KEY_P521, KEY_P521, "SHA512", false, 66},
    {"EdDSA", KEY_ED25519, KEY_ED448, NULL, false, 0},
    {"Ed25519", KEY_ED25519, KEY_ED25519, NULL, false, 0}, /* RFC 9864 */
    {"Ed448", KEY_ED448, KEY_ED448, NULL, false, 0},
};

#define MAX_DER 160 /* two integers of 66 bytes and their framing */

const signature_Algorithm *signature_algorithm(const char *name) {
  size_t i;
  for (i = 0; i < sizeof(algorithms) / sizeof(algorithms[0]); i++) {
    if (strcmp(algorithms[i].name, name) == 0) return &algorithms[i];
  }
  return NULL;
}

/* Converts r and s, each of a fixed length, to DER.  Returns the length; 0 when
** out of memory. */
static size_t to_der(key_Bytes signature, unsigned char *der) {
  size_t half = signature.size / 2;
  int length = 0;
  ECDSA_SIG *pair = ECDSA_SIG_new();
  BIGNUM *r = BN_bin2bn(signature.at, (int)half, NULL);
  BIGNUM *s = BN_bin2bn(signature.at + half, (int)half, NULL);
  if (pair != NULL && r != NULL && s != NULL &&
      ECDSA_SIG_set0(pair, r, s) == 1) {
    r = s = NULL; /* now owned by the pair */
    length = i2d_ECDSA_SIG(pair, &der);
  }
  BN_free(r);
  BN_free(s);
  ECDSA_SIG_free(pair);
  return length > 0 ? (size_t)length : 0;
}

/* The reverse of to_der, in place; returns the length, 0 when it fails. */
static size_t from_der(unsigned char *bytes, size_t size, size_t half) {
  const unsigned char *at = bytes;
  ECDSA_SIG *pair = d2i_ECDSA_SIG(NULL, &at, (long)size);
  bool fits =
      pair != NULL &&
      BN_bn2binpad(ECDSA_SIG_get0_r(pair), bytes, (int)half) == (int)half &&
      BN_bn2binpad(ECDSA_SIG_get0_s(pair), bytes + half, (int)half) ==
          (int)half;
  ECDSA_SIG_free(pair);
  return fits ? 2 * half : 0;
}

typedef int (*Init)(EVP_MD_CTX *, EVP_PKEY_CTX **, const char *, OSSL_LIB_CTX *,
                    const char *, EVP_PKEY *, const OSSL_PARAM *);

/* `init`: EVP_DigestVerifyInit_ex or EVP_DigestSignInit_ex */
static bool prepare(EVP_MD_CTX *context, const signature_Algorithm *algorithm,
                    EVP_PKEY *key, Init init) {
  EVP_PKEY_CTX *detail = NULL;
  if (init(context, &detail, algorithm->digest, NULL, NULL, key, NULL) != 1)
    return false;
  return !algorithm->pss ||
         (EVP_PKEY_CTX_set_rsa_padding(detail, RSA_PKCS1_PSS_PADDING) == 1 &&
          EVP_PKEY_CTX_set_rsa_pss_saltlen(detail, RSA_PSS_SALTLEN_DIGEST) ==
              1);
}

static signature_Verdict verify(const signature_Algorithm *algorithm,
                                EVP_PKEY *key, key_Bytes text,
                                key_Bytes signature) {
  EVP_MD_CTX *context = EVP_MD_CTX_new();
  signature_Verdict verdict = SIGNATURE_MEMORY;
  if (context != NULL &&
      prepare(context, algorithm, key, EVP_DigestVerifyInit_ex))
    verdict = EVP_DigestVerify(context, signature.at, signature.size, text.at,
                               text.size) == 1
                  ? SIGNATURE_FITS
                  : SIGNATURE_WRONG;
  EVP_MD_CTX_free(context);
  return verdict;
}

signature_Verdict signature_verify(const signature_Algorithm *algorithm,
                                   key_Kind kind, EVP_PKEY *key, key_Bytes text,
                                   key_Bytes signature) {
  unsigned char der[MAX_DER];
  signature_Verdict verdict = SIGNATURE_MEMORY;
  if (kind < algorithm->first || kind > algorithm->last) return SIGNATURE_WRONG;
  if (algorithm->half != 0 && signature.size != 2 * algorithm->half)
    return SIGNATURE_WRONG;
  ERR_set_mark();
  if (algorithm->half != 0) {
    signature.size = to_der(signature, der);
    signature.at = der;
  }
  if (algorithm->half == 0 || signature.size != 0)
    verdict = verify(algorithm, key, text, signature);
  ERR_pop_to_mark();
  return verdict;
}

size_t signature_make(const signature_Algorithm *algorithm, key_Kind kind,
                      EVP_PKEY *key, key_Bytes text,
                      unsigned char out[SIGNATURE_MAX]) {
  EVP_MD_CTX *context;
  size_t size = SIGNATURE_MAX;
  if (kind < algorithm->first || kind > algorithm->last) return 0;
  ERR_set_mark();
  context = EVP_MD_CTX_new();
  if (context == NULL ||
      !prepare(context, algorithm, key, EVP_DigestSignInit_ex) ||
      EVP_DigestSign(context, out, &size, text.at, text.size) != 1)
    size = 0;
  EVP_MD_CTX_free(context);
  if (size != 0 && algorithm->half != 0)
    size = from_der(out, size, algorithm->half);
  ERR_pop_to_mark();
  return size;
}
