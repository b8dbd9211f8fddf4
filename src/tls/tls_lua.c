/*
** tls_lua.c - luaopen_operations_tls: the server's side of TLS for Lua, by
** OpenSSL.  Bytes in, bytes out; no I/O.
*/
#include "lua/build.h"

#include <openssl/err.h>

#include "tls/session.h"

#define CONTEXT_NAME "operations.tls.context"
#define SESSION_NAME "operations.tls.session"

/* Contexts */

typedef struct Context {
  tls_Context *context; /* NULL: not made yet */
} Context;

static int context_gc(lua_State *L) {
  Context *self = (Context *)luaL_checkudata(L, 1, CONTEXT_NAME);
  tls_context_release(self->context);
  self->context = NULL;
  return 0;
}

static Context *to_context(lua_State *L, int index) {
  Context *self = (Context *)luaL_checkudata(L, index, CONTEXT_NAME);
  luaL_argcheck(L, self->context != NULL, index, "the context is closed");
  return self;
}

/* Pushes a field of the table on top, below the table, where it stays. */
static tls_Text text_field(lua_State *L, const char *name) {
  tls_Text text = {NULL, 0};
  lua_getfield(L, -1, name);
  if (!lua_isnil(L, -1)) text.data = luaL_checklstring(L, -1, &text.length);
  lua_insert(L, -2);
  return text;
}

static tls_Text needed_field(lua_State *L, const char *name) {
  tls_Text text = text_field(L, name);
  if (text.data == NULL) luaL_error(L, "bad options ('%s' expected)", name);
  return text;
}

/* The pairs of the list on top; their texts stay on the stack. */
static tls_Pair *check_pairs(lua_State *L, size_t *count) {
  int list = lua_gettop(L);
  tls_Pair *pairs;
  size_t i;
  luaL_checktype(L, list, LUA_TTABLE);
  *count = ops_rawlen(L, list);
  if (*count == 0 || *count > 1000)
    luaL_error(L, "bad options (1 to 1000 certificates expected)");
  pairs = (tls_Pair *)lua_newuserdata(L, *count * sizeof(*pairs));
  luaL_checkstack(L, (int)*count * 4 + 8, "too many certificates");
  for (i = 0; i < *count; i++) {
    (void)ops_rawgeti(L, list, i + 1);
    luaL_checktype(L, -1, LUA_TTABLE);
    pairs[i].certificate = needed_field(L, "cert");
    pairs[i].key = needed_field(L, "key");
    pairs[i].password = text_field(L, "password").data;
    lua_pop(L, 1);
  }
  return pairs;
}

static void read_options(lua_State *L, tls_Options *options) {
  static const char *const modes[] = {"unasked", "optional", "required", NULL};
  lua_pushvalue(L, 1);
  options->client_ca = text_field(L, "client_ca");
  lua_getfield(L, 1, "client_certificate");
  options->clients = (tls_Clients)luaL_checkoption(L, -1, "unasked", modes);
  if (options->clients != TLS_CLIENTS_UNASKED && !options->client_ca.data)
    luaL_error(L, "bad options ('client_ca' expected)");
  lua_getfield(L, 1, "session");
  options->session = (long)luaL_checknumber(L, -1);
  lua_getfield(L, 1, "previous");
  options->previous =
      lua_isnil(L, -1) ? NULL : to_context(L, lua_gettop(L))->context;
  lua_getfield(L, 1, "certificates");
  options->pairs = check_pairs(L, &options->count);
}

/* tls.context(options) -> context | nil, message, part?, index?
** options: certificates, a list of { cert =, key =, password =? }, texts in
** PEM; client_certificate ("optional" or "required") and client_ca, in PEM;
** session (seconds for which one can be resumed); previous, a context whose
** session tickets stay valid.  part: "cert", "key" or "client_ca", which the
** message is about; none when out of memory.  index: of the certificate. */
static int tls_lua_context(lua_State *L) {
  static const char *const parts[] = {"cert", "key", "client_ca"};
  tls_Options options;
  tls_Flaw flaw;
  ops_Alloc alloc;
  Context *self;
  luaL_checktype(L, 1, LUA_TTABLE);
  lua_settop(L, 1);
  read_options(L, &options);
  alloc.fn = lua_getallocf(L, &alloc.ud);
  self = (Context *)lua_newuserdata(L, sizeof(*self));
  self->context = NULL;
  luaL_getmetatable(L, CONTEXT_NAME);
  lua_setmetatable(L, -2);
  self->context = tls_context_new(alloc, &options, &flaw);
  if (self->context != NULL) return 1;
  lua_pushnil(L);
  lua_pushstring(L, flaw.reason);
  if (flaw.part == TLS_MEMORY) return 2;
  lua_pushstring(L, parts[flaw.part]);
  lua_pushinteger(L, (lua_Integer)flaw.pair + 1);
  return 4;
}

/* context:left(index) -> seconds until that certificate expires */
static int context_left(lua_State *L) {
  const tls_Context *c = to_context(L, 1)->context;
  lua_Integer index = luaL_checkinteger(L, 2);
  luaL_argcheck(L, index >= 1 && (size_t)index <= c->count, 2,
                "no such certificate");
  lua_pushnumber(L, tls_context_left(c, (size_t)index - 1));
  return 1;
}

/* context:rotate() -> true when the keys of session tickets were changed;
** tickets older than two rotations are refused */
static int context_rotate(lua_State *L) {
  lua_pushboolean(L, ticket_rotate(&to_context(L, 1)->context->tickets));
  return 1;
}

/* Sessions */

static int session_gc(lua_State *L) {
  tls_session_close((tls_Session *)luaL_checkudata(L, 1, SESSION_NAME));
  return 0;
}

static tls_Session *check_session(lua_State *L) {
  tls_Session *s = (tls_Session *)ops_self(L, SESSION_NAME);
  luaL_argcheck(L, s->ssl != NULL, 1, "the session is closed");
  return s;
}

/* context:session() -> session */
static int context_session(lua_State *L) {
  tls_Context *c = to_context(L, 1)->context;
  tls_Session *s = (tls_Session *)lua_newuserdata(L, sizeof(*s));
  memset(s, 0, sizeof(*s));
  luaL_getmetatable(L, SESSION_NAME);
  lua_setmetatable(L, -2);
  if (!tls_session_open(s, c)) return luaL_error(L, "not enough memory");
  return 1;
}

static void push_bytes(lua_State *L, const buffer_Buffer *bytes) {
  if (bytes->len > 0) lua_pushlstring(L, bytes->data, bytes->len);
  else lua_pushnil(L);
}

/* session:receive(bytes) -> plain | nil, out | nil, state?, reason?
** plain: decrypted bytes; out: bytes to send; state: "closed", "http" or
** "failed". */
static int session_receive(lua_State *L) {
  static const char *const states[] = {NULL, "closed", "http", "failed"};
  tls_Session *s = check_session(L);
  size_t length;
  const char *bytes = luaL_checklstring(L, 2, &length);
  tls_Result result;
  tls_session_receive(s, bytes, length, &result);
  push_bytes(L, result.in);
  push_bytes(L, result.out);
  if (result.state == TLS_OPEN) return 2;
  lua_pushstring(L, states[result.state]);
  lua_pushstring(L, result.reason);
  return 4;
}

/* session:send(bytes) -> out | nil; nil also during the handshake */
static int session_send(lua_State *L) {
  tls_Session *s = check_session(L);
  size_t length;
  const char *bytes = luaL_checklstring(L, 2, &length);
  tls_Result result;
  tls_session_send(s, bytes, length, &result);
  if (result.state == TLS_OPEN) push_bytes(L, result.out);
  else lua_pushnil(L);
  return 1;
}

/* session:finish() -> out | nil; announces that we send no more */
static int session_finish(lua_State *L) {
  tls_Result result;
  tls_session_finish(check_session(L), &result);
  push_bytes(L, result.out);
  return 1;
}

static void set_text(lua_State *L, const char *name, const char *text) {
  lua_pushstring(L, text);
  lua_setfield(L, -2, name);
}

static void set_fingerprint(lua_State *L, const X509 *certificate) {
  static const char digits[] = "0123456789abcdef";
  unsigned char digest[EVP_MAX_MD_SIZE];
  char text[2 * EVP_MAX_MD_SIZE];
  unsigned i, n = 0;
  (void)X509_digest(certificate, EVP_sha256(), digest, &n);
  for (i = 0; i < n; i++) {
    text[2 * i] = digits[digest[i] >> 4];
    text[2 * i + 1] = digits[digest[i] & 15];
  }
  lua_pushlstring(L, text, 2 * (size_t)n);
  lua_setfield(L, -2, "fingerprint");
}

/* The text is pushed while the BIO exists: the BIO's memory belongs to the
** library, so the text is copied to the context's buffer, which the collector
** knows. */
static void set_subject(lua_State *L, tls_Context *c, const X509 *certificate) {
  BIO *bio = BIO_new(BIO_s_mem());
  char *text = NULL;
  long length = 0;
  bool copied;
  if (bio != NULL &&
      X509_NAME_print_ex(bio, X509_get_subject_name(certificate), 0,
                         XN_FLAG_RFC2253 & ~ASN1_STRFLGS_ESC_MSB) >= 0)
    length = BIO_get_mem_data(bio, &text);
  c->in.len = 0;
  copied = buffer_add(&c->in, text, (size_t)length);
  BIO_free(bio);
  ERR_clear_error();
  if (!copied) luaL_error(L, "not enough memory");
  lua_pushlstring(L, c->in.len > 0 ? c->in.data : "", c->in.len);
  lua_setfield(L, -2, "subject");
}

/* session:peer() -> table | nil during the handshake
** protocol ("TLSv1.3"), cipher, server_name?, resumed; with a client
** certificate also its subject (RFC 2253) and fingerprint (SHA-256 in
** hexadecimal). */
static int session_peer(lua_State *L) {
  tls_Session *s = check_session(L);
  const X509 *certificate;
  if (!tls_session_ready(s)) {
    lua_pushnil(L);
    return 1;
  }
  lua_createtable(L, 0, 6);
  set_text(L, "protocol", SSL_get_version(s->ssl));
  set_text(L, "cipher", SSL_get_cipher_name(s->ssl));
  set_text(L, "server_name",
           SSL_get_servername(s->ssl, TLSEXT_NAMETYPE_host_name));
  lua_pushboolean(L, SSL_session_reused(s->ssl));
  lua_setfield(L, -2, "resumed");
  certificate = SSL_get0_peer_certificate(s->ssl);
  if (certificate == NULL) return 1;
  set_subject(L, s->context, certificate);
  set_fingerprint(L, certificate);
  return 1;
}

static const luaL_Reg context_methods[] = {
    {"session", context_session},
    {"left", context_left},
    {"rotate", context_rotate},
    {NULL, NULL},
};

static const luaL_Reg session_methods[] = {
    {"receive", session_receive}, {"send", session_send},
    {"finish", session_finish},   {"peer", session_peer},
    {"close", session_gc},        {NULL, NULL},
};

static const luaL_Reg functions[] = {
    {"context", tls_lua_context},
    {NULL, NULL},
};

BUILD_SHOWN int luaopen_operations_tls(lua_State *L);

int luaopen_operations_tls(lua_State *L) {
  build_check(L, "operations.tls");
  ops_new_type(L, CONTEXT_NAME, context_methods, context_gc);
  ops_new_type(L, SESSION_NAME, session_methods, session_gc);
  lua_newtable(L);
  ops_setfuncs(L, functions, 0);
  return 1;
}
