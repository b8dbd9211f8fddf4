#include "crypto/key.h"

#include <limits.h>
#include <string.h>

#include <openssl/bio.h>
#include <openssl/bn.h>
#include <openssl/core_names.h>
#include <openssl/ec.h>
#include <openssl/err.h>
#include <openssl/param_build.h>
#include <openssl/pem.h>

#define NO_MEMORY "not enough memory"
#define MAX_COORDINATE 66 /* bytes, of P-521 */
#define MAX_EXPONENT 64   /* bits */
#define WRONG_EXPONENT "an exponent that is even, 1 or above 64 bits"

typedef struct Curve {
  const char *name; /* the same in "crv" and in libcrypto */
  size_t size;      /* bytes of a coordinate, or of a key without y */
} Curve;

static const Curve curves[] = {
    [KEY_P256] = {"P-256", 32},  [KEY_P384] = {"P-384", 48},
    [KEY_P521] = {"P-521", 66},  [KEY_ED25519] = {"Ed25519", 32},
    [KEY_ED448] = {"Ed448", 57},
};

int key_curve(const char *name) {
  int kind;
  for (kind = KEY_P256; kind <= KEY_ED448; kind++) {
    if (strcmp(curves[kind].name, name) == 0) return kind;
  }
  return -1;
}

static EVP_PKEY *from_params(const char *type, OSSL_PARAM *params) {
  EVP_PKEY_CTX *context = EVP_PKEY_CTX_new_from_name(NULL, type, NULL);
  EVP_PKEY *key = NULL;
  if (context != NULL && EVP_PKEY_fromdata_init(context) == 1)
    EVP_PKEY_fromdata(context, &key, EVP_PKEY_PUBLIC_KEY, params);
  EVP_PKEY_CTX_free(context);
  return key;
}

static EVP_PKEY *from_numbers(const BIGNUM *n, const BIGNUM *e) {
  OSSL_PARAM_BLD *builder = OSSL_PARAM_BLD_new();
  OSSL_PARAM *params = NULL;
  EVP_PKEY *key = NULL;
  if (builder != NULL &&
      OSSL_PARAM_BLD_push_BN(builder, OSSL_PKEY_PARAM_RSA_N, n) == 1 &&
      OSSL_PARAM_BLD_push_BN(builder, OSSL_PKEY_PARAM_RSA_E, e) == 1)
    params = OSSL_PARAM_BLD_to_param(builder);
  if (params != NULL) key = from_params("RSA", params);
  OSSL_PARAM_free(params);
  OSSL_PARAM_BLD_free(builder);
  return key;
}

static const char *rsa_flaw(const BIGNUM *n, const BIGNUM *e) {
  if (n == NULL || e == NULL) return NO_MEMORY;
  if (BN_num_bits(n) < KEY_RSA_MIN) return "a modulus below 2048 bits";
  if (!BN_is_odd(n)) return "an even modulus";
  if (!BN_is_odd(e) || BN_is_one(e)) return WRONG_EXPONENT;
  return NULL;
}

static key_Bytes without_leading_zeros(key_Bytes number) {
  for (; number.size > 0 && *number.at == 0; number.size--) number.at++;
  return number;
}

EVP_PKEY *key_rsa(key_Bytes n, key_Bytes e, const char **flaw) {
  BIGNUM *modulus, *exponent;
  EVP_PKEY *key = NULL;
  n = without_leading_zeros(n);
  e = without_leading_zeros(e);
  *flaw = "a modulus above 8192 bits";
  if (n.size > KEY_RSA_MAX / 8) return NULL;
  *flaw = WRONG_EXPONENT;
  if (e.size > MAX_EXPONENT / 8) return NULL;
  ERR_set_mark();
  modulus = BN_bin2bn(n.at, (int)n.size, NULL);
  exponent = BN_bin2bn(e.at, (int)e.size, NULL);
  *flaw = rsa_flaw(modulus, exponent);
  if (*flaw == NULL) {
    key = from_numbers(modulus, exponent);
    if (key == NULL) *flaw = NO_MEMORY;
  }
  BN_free(modulus);
  BN_free(exponent);
  ERR_pop_to_mark();
  return key;
}

/* libcrypto refuses a point that is not on the curve. */
EVP_PKEY *key_point(key_Kind kind, key_Bytes x, key_Bytes y,
                    const char **flaw) {
  const Curve *curve = &curves[kind];
  unsigned char point[1 + 2 * MAX_COORDINATE];
  char group[sizeof("P-256")];
  OSSL_PARAM params[3];
  EVP_PKEY *key;
  *flaw = "a coordinate of another length than its curve's";
  if (x.size != curve->size || y.size != curve->size) return NULL;
  point[0] = POINT_CONVERSION_UNCOMPRESSED;
  memcpy(point + 1, x.at, x.size);
  memcpy(point + 1 + x.size, y.at, y.size);
  memcpy(group, curve->name, sizeof(group));
  params[0] =
      OSSL_PARAM_construct_utf8_string(OSSL_PKEY_PARAM_GROUP_NAME, group, 0);
  params[1] = OSSL_PARAM_construct_octet_string(OSSL_PKEY_PARAM_PUB_KEY, point,
                                                1 + 2 * curve->size);
  params[2] = OSSL_PARAM_construct_end();
  *flaw = "a point that is not on its curve";
  ERR_set_mark();
  key = from_params("EC", params);
  ERR_pop_to_mark();
  return key;
}

EVP_PKEY *key_edwards(key_Kind kind, key_Bytes x, const char **flaw) {
  const Curve *curve = &curves[kind];
  EVP_PKEY *key;
  *flaw = "a key of another length than its curve's";
  if (x.size != curve->size) return NULL;
  *flaw = NO_MEMORY;
  ERR_set_mark();
  key = EVP_PKEY_new_raw_public_key_ex(NULL, curve->name, NULL, x.at, x.size);
  ERR_pop_to_mark();
  return key;
}

/* Keys that need a password are refused: libcrypto would ask the terminal. */
static int no_password(char *text, int size, int writing, void *ud) {
  (void)text, (void)size, (void)writing, (void)ud;
  return -1;
}

/* The kind of a key of signatures; -1 for others. */
static int kind_of(EVP_PKEY *key) {
  static const struct {
    const char *group;
    key_Kind kind;
  } groups[] = {{"prime256v1", KEY_P256},
                {"secp384r1", KEY_P384},
                {"secp521r1", KEY_P521}};
  char group[32];
  size_t i;
  if (EVP_PKEY_is_a(key, "RSA"))
    return EVP_PKEY_get_bits(key) >= KEY_RSA_MIN &&
                   EVP_PKEY_get_bits(key) <= KEY_RSA_MAX
               ? KEY_RSA
               : -1;
  if (EVP_PKEY_is_a(key, "ED25519")) return KEY_ED25519;
  if (EVP_PKEY_is_a(key, "ED448")) return KEY_ED448;
  if (!EVP_PKEY_is_a(key, "EC") ||
      EVP_PKEY_get_group_name(key, group, sizeof(group), NULL) != 1)
    return -1;
  for (i = 0; i < sizeof(groups) / sizeof(groups[0]); i++) {
    if (strcmp(groups[i].group, group) == 0) return (int)groups[i].kind;
  }
  return -1;
}

EVP_PKEY *key_pem(key_Bytes pem, bool public, key_Kind *kind,
                  const char **flaw) {
  BIO *bio =
      pem.size <= INT_MAX ? BIO_new_mem_buf(pem.at, (int)pem.size) : NULL;
  EVP_PKEY *key = NULL;
  int found = -1;
  *flaw = "not enough memory";
  if (bio == NULL) return NULL;
  ERR_set_mark();
  key = public ? PEM_read_bio_PUBKEY(bio, NULL, no_password, NULL)
               : PEM_read_bio_PrivateKey(bio, NULL, no_password, NULL);
  BIO_free(bio);
  *flaw = public ? "not a public key in PEM"
                 : "not a private key in PEM without a password";
  if (key != NULL) {
    found = kind_of(key);
    *flaw = "not a key for RSA (2048 to 8192 bits), P-256, P-384, P-521, "
            "Ed25519 or Ed448";
  }
  ERR_pop_to_mark();
  if (found < 0) {
    EVP_PKEY_free(key);
    return NULL;
  }
  *kind = (key_Kind)found;
  return key;
}
