/*
** session.h - the server's side of one TLS connection: bytes in, bytes out.  No
** I/O, no Lua; the owner of the connection transports the bytes.
*/
#ifndef OPERATIONS_TLS_SESSION_H
#define OPERATIONS_TLS_SESSION_H

#include "tls/context.h"
#include "tls/wire.h"

typedef struct tls_Session {
  tls_Context *context; /* a reference; NULL when it is closed */
  SSL *ssl;
  tls_Wire wire;
  bool failed;
} tls_Session;

typedef enum tls_State {
  TLS_OPEN,
  TLS_CLOSED,     /* the other side has announced that it sends no more */
  TLS_PLAIN_HTTP, /* the other side speaks plain HTTP */
  TLS_FAILED
} tls_State;

/* Results of a call, borrowed until the next call on any session of the
** context.  `out` also has what must be sent before a failure, such as an
** alert. */
typedef struct tls_Result {
  tls_State state;
  const buffer_Buffer *in;  /* decrypted bytes */
  const buffer_Buffer *out; /* bytes to send */
  char reason[256];         /* of a failure */
} tls_Result;

/* Fills in a zeroed session.  False when out of memory. */
bool tls_session_open(tls_Session *s, tls_Context *context);
void tls_session_close(tls_Session *s); /* may be called twice */

/* Takes received bytes, split anywhere. */
void tls_session_receive(tls_Session *s, const char *bytes, size_t length,
                         tls_Result *result);

/* Encrypts bytes; requires that the handshake has ended. */
void tls_session_send(tls_Session *s, const char *bytes, size_t length,
                      tls_Result *result);

/* Announces that we send no more. */
void tls_session_finish(tls_Session *s, tls_Result *result);

/* Has the handshake ended? */
bool tls_session_ready(const tls_Session *s);

#endif
