#include "tls/ticket.h"

#include <openssl/core_names.h>
#include <openssl/crypto.h>
#include <openssl/evp.h>
#include <openssl/params.h>
#include <openssl/rand.h>
#include <openssl/x509.h>
#include <stdint.h>
#include <string.h>
#include <time.h>

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

/* The end of a session, which each of its tickets has: resuming it does not
** renew it.  Seconds since the epoch. */

static int64_t now(void) {
  return (int64_t)time(NULL);
}

static int64_t end_of(SSL_SESSION *session) {
  void *data = NULL;
  size_t length = 0;
  int64_t end = 0;
  if (SSL_SESSION_get0_ticket_appdata(session, &data, &length) == 1 &&
      data != NULL && length == sizeof(end))
    memcpy(&end, data, sizeof(end));
  return end; /* 0: it has none yet */
}

/* The end of a new session: never later than that of the client's
** certificate. */
static int64_t new_end(SSL_SESSION *session) {
  int64_t left = SSL_SESSION_get_timeout(session);
  const X509 *peer = SSL_SESSION_get0_peer(session);
  int days = 0, seconds = 0;
  if (peer != NULL &&
      ASN1_TIME_diff(&days, &seconds, NULL, X509_get0_notAfter(peer)) == 1 &&
      (int64_t)days * 86400 + seconds < left)
    left = (int64_t)days * 86400 + seconds;
  return now() + left;
}

/* A ticket is about to be made. */
static int on_make(SSL *ssl, void *none) {
  SSL_SESSION *session = SSL_get_session(ssl);
  int64_t end = end_of(session), left;
  (void)none;
  if (end == 0) {
    end = new_end(session);
    if (SSL_SESSION_set1_ticket_appdata(session, &end, sizeof(end)) != 1)
      return 0;
  }
  left = end - now();
  (void)SSL_SESSION_set_timeout(session, left > 0 ? (long)left : 1);
  return 1;
}

/* A ticket has come. */
static SSL_TICKET_RETURN on_read(SSL *ssl, SSL_SESSION *session,
                                 const unsigned char *name, size_t length,
                                 SSL_TICKET_STATUS status, void *none) {
  (void)ssl, (void)name, (void)length, (void)none;
  switch (status) {
  case SSL_TICKET_SUCCESS:
  case SSL_TICKET_SUCCESS_RENEW:
    if (end_of(session) <= now()) return SSL_TICKET_RETURN_IGNORE_RENEW;
    return status == SSL_TICKET_SUCCESS ? SSL_TICKET_RETURN_USE
                                        : SSL_TICKET_RETURN_USE_RENEW;
  default: return SSL_TICKET_RETURN_IGNORE_RENEW;
  }
}

bool ticket_use(SSL_CTX *ssl, ticket_Keys *keys) {
  return SSL_CTX_set_app_data(ssl, keys) == 1 &&
         SSL_CTX_set_session_ticket_cb(ssl, on_make, on_read, NULL) == 1 &&
         SSL_CTX_set_tlsext_ticket_key_evp_cb(ssl, on_ticket) == 1;
}
