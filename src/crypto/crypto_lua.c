/*
** crypto_lua.c - operations.crypto: makes keys, verifies signatures with public
** ones and signs with private ones.
*/
#include "lua/build.h"

#include "crypto/key.h"
#include "crypto/signature.h"

#define KEY_NAME "operations.crypto.key"

typedef struct Key {
  EVP_PKEY *key;
  key_Kind kind;
} Key;

static key_Bytes check_bytes(lua_State *L, int i) {
  key_Bytes bytes;
  bytes.at = (const unsigned char *)luaL_checklstring(L, i, &bytes.size);
  return bytes;
}

/* A name; NULL when it contains a NUL. */
static const char *check_name(lua_State *L, int i) {
  size_t size;
  const char *name = luaL_checklstring(L, i, &size);
  return strlen(name) == size ? name : "";
}

static int key_gc(lua_State *L) {
  Key *k = (Key *)luaL_checkudata(L, 1, KEY_NAME);
  EVP_PKEY_free(k->key);
  k->key = NULL;
  return 0;
}

static Key *new_key(lua_State *L, key_Kind kind) {
  Key *k = (Key *)lua_newuserdata(L, sizeof(*k));
  k->key = NULL;
  k->kind = kind;
  luaL_getmetatable(L, KEY_NAME);
  lua_setmetatable(L, -2);
  return k;
}

static int push_made(lua_State *L, const Key *k, const char *flaw) {
  if (k->key != NULL) return 1;
  lua_pushnil(L);
  lua_pushstring(L, flaw);
  return 2;
}

/* crypto.rsa(n, e) -> key | nil, flaw; n and e are the bytes of a JWK's
** members; n has 2048 to 8192 bits */
static int crypto_rsa(lua_State *L) {
  key_Bytes n = check_bytes(L, 1), e = check_bytes(L, 2);
  const char *flaw;
  Key *k = new_key(L, KEY_RSA);
  k->key = key_rsa(n, e, &flaw);
  return push_made(L, k, flaw);
}

/* crypto.curve(crv, x, y?) -> key | nil, flaw; crv is "P-256", "P-384",
** "P-521", or without y "Ed25519" or "Ed448" */
static int crypto_curve(lua_State *L) {
  int kind = key_curve(check_name(L, 1));
  key_Bytes x = check_bytes(L, 2), y = {NULL, 0};
  const char *flaw;
  Key *k;
  luaL_argcheck(L, kind >= 0, 1, "not a known curve");
  if (kind < KEY_ED25519) y = check_bytes(L, 3);
  k = new_key(L, (key_Kind)kind);
  k->key = kind < KEY_ED25519 ? key_point(k->kind, x, y, &flaw)
                              : key_edwards(k->kind, x, &flaw);
  return push_made(L, k, flaw);
}

/* key:verify(algorithm, text, signature) -> boolean; algorithm is "RS256", ...
** False when the key does not belong to the algorithm. */
static int key_verify(lua_State *L) {
  Key *k = (Key *)luaL_checkudata(L, 1, KEY_NAME);
  const signature_Algorithm *algorithm = signature_algorithm(check_name(L, 2));
  key_Bytes text = check_bytes(L, 3), signature = check_bytes(L, 4);
  signature_Verdict verdict;
  luaL_argcheck(L, algorithm != NULL, 2, "not a known algorithm");
  luaL_argcheck(L, k->key != NULL, 1, "the key was not made");
  verdict = signature_verify(algorithm, k->kind, k->key, text, signature);
  if (verdict == SIGNATURE_MEMORY) return luaL_error(L, "not enough memory");
  lua_pushboolean(L, verdict == SIGNATURE_FITS);
  return 1;
}

/* crypto.pem(text, public) -> key | nil, flaw */
static int crypto_pem(lua_State *L) {
  key_Bytes pem = check_bytes(L, 1);
  const char *flaw;
  Key *k = new_key(L, KEY_RSA);
  k->key = key_pem(pem, lua_toboolean(L, 2), &k->kind, &flaw);
  return push_made(L, k, flaw);
}

/* key:sign(algorithm, text) -> signature | nil when the private key does not
** belong to the algorithm */
static int key_sign(lua_State *L) {
  Key *k = (Key *)luaL_checkudata(L, 1, KEY_NAME);
  const signature_Algorithm *algorithm = signature_algorithm(check_name(L, 2));
  key_Bytes text = check_bytes(L, 3);
  unsigned char out[SIGNATURE_MAX];
  size_t size;
  luaL_argcheck(L, algorithm != NULL, 2, "not a known algorithm");
  luaL_argcheck(L, k->key != NULL, 1, "the key was not made");
  size = signature_make(algorithm, k->kind, k->key, text, out);
  if (size == 0) return 0;
  lua_pushlstring(L, (const char *)out, size);
  return 1;
}

static const luaL_Reg key_methods[] = {
    {"sign", key_sign},
    {"verify", key_verify},
    {NULL, NULL},
};

static const luaL_Reg functions[] = {
    {"rsa", crypto_rsa},
    {"curve", crypto_curve},
    {"pem", crypto_pem},
    {NULL, NULL},
};

BUILD_SHOWN int luaopen_operations_crypto(lua_State *L);

int luaopen_operations_crypto(lua_State *L) {
  build_check(L, "operations.crypto");
  ops_new_type(L, KEY_NAME, key_methods, key_gc);
  lua_newtable(L);
  ops_setfuncs(L, functions, 0);
  return 1;
}
