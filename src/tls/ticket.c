#include "tls/ticket.h"

#include <openssl/core_names.h>
#include <openssl/crypto.h>
#include <openssl/evp.h>
#include <openssl/params.h>
#include <openssl/rand.h>
#include <string.h>

bool ticket_rotate(ticket_Keys *keys) {
  ticket_Key key;
  bool ok = RAND_bytes(key.name, sizeof(key.name)) == 1 &&
            RAND_priv_bytes(key.cipher, sizeof(key.cipher)) == 1 &&
            RAND_priv_bytes(key.mac, sizeof(key.mac)) == 1;
  if (ok) {
    keys->before = keys->newest;
    keys->newest = key;
  }
  OPENSSL_cleanse(&key, sizeof(key));
  return ok;
}

bool ticket_make(ticket_Keys *keys) {
  bool ok = ticket_rotate(keys);
  return ok && ticket_rotate(keys); /* never use a key of zeros */
}

static bool authenticate(EVP_MAC_CTX *mac, ticket_Key *key) {
  char digest[] = "SHA256";
  OSSL_PARAM params[3];
  params[0] = OSSL_PARAM_construct_octet_string(OSSL_MAC_PARAM_KEY, key->mac,
                                                sizeof(key->mac));
  params[1] =
      OSSL_PARAM_construct_utf8_string(OSSL_MAC_PARAM_DIGEST, digest, 0);
  params[2] = OSSL_PARAM_construct_end();
  return EVP_MAC_CTX_set_params(mac, params) == 1;
}

static bool is_named(const ticket_Key *key, const unsigned char *name) {
  return memcmp(key->name, name, sizeof(key->name)) == 0;
}

/* SSL_CTX_set_tlsext_ticket_key_evp_cb(3).  1: the ticket is good; 2: good, and
** must be renewed; 0: its key is unknown; -1: out of memory. */
static int on_ticket(SSL *ssl, unsigned char *name, unsigned char *iv,
                     EVP_CIPHER_CTX *cipher, EVP_MAC_CTX *mac, int is_new) {
  ticket_Keys *keys = (ticket_Keys *)SSL_CTX_get_app_data(SSL_get_SSL_CTX(ssl));
  const EVP_CIPHER *kind = EVP_aes_256_cbc();
  ticket_Key *key = &keys->newest;
  if (is_new) {
    memcpy(name, key->name, sizeof(key->name));
    if (RAND_bytes(iv, EVP_CIPHER_get_iv_length(kind)) != 1) return -1;
  } else if (!is_named(key, name)) {
    key = &keys->before;
    if (!is_named(key, name)) return 0;
  }
  if (EVP_CipherInit_ex(cipher, kind, NULL, key->cipher, iv, is_new) != 1 ||
      !authenticate(mac, key))
    return -1;
  return key == &keys->newest ? 1 : 2;
}

bool ticket_use(SSL_CTX *ssl, ticket_Keys *keys) {
  return SSL_CTX_set_app_data(ssl, keys) == 1 &&
         SSL_CTX_set_tlsext_ticket_key_evp_cb(ssl, on_ticket) == 1;
}
