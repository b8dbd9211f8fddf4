/*
** ticket.h - the keys of session tickets (RFC 5077; RFC 8446, 4.6.1).  They
** rotate: the newest makes tickets, the previous one is still accepted.
*/
#ifndef OPERATIONS_TLS_TICKET_H
#define OPERATIONS_TLS_TICKET_H

#include <openssl/ssl.h>
#include <stdbool.h>

typedef struct ticket_Key {
  unsigned char name[16], /* identifies the key in a ticket */
      cipher[32], mac[32];
} ticket_Key;

typedef struct ticket_Keys {
  ticket_Key newest, before;
} ticket_Keys;

/* Makes both keys.  False when there are no random bytes. */
bool ticket_make(ticket_Keys *keys);

/* Makes a new newest key.  False, with nothing changed, when there are no
** random bytes. */
bool ticket_rotate(ticket_Keys *keys);

/* Makes the connections of `ssl` use the keys, which it borrows.  A session
** ends by the timeout of its first handshake, and with the client's
** certificate, however often it is resumed. */
bool ticket_use(SSL_CTX *ssl, ticket_Keys *keys);

#endif
