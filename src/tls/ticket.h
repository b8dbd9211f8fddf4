/*
** ticket.h - the keys of session tickets (RFC 5077; RFC 8446, 4.6.1), which
** change: tickets are made with the newest, and read with the one before, too.
*/
#ifndef OPERATIONS_TLS_TICKET_H
#define OPERATIONS_TLS_TICKET_H

#include <openssl/ssl.h>
#include <stdbool.h>

typedef struct ticket_Key {
  unsigned char name[16], /* what a ticket calls it */
      cipher[32], mac[32];
} ticket_Key;

typedef struct ticket_Keys {
  ticket_Key newest, before;
} ticket_Keys;

/* Makes both.  False: there is no randomness. */
bool ticket_make(ticket_Keys *keys);

/* A new newest key.  False, and nothing changes: there is no randomness. */
bool ticket_rotate(ticket_Keys *keys);

/* Has the connections of `ssl` use the keys, which it borrows. */
bool ticket_use(SSL_CTX *ssl, ticket_Keys *keys);

#endif
