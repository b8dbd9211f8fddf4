/*
** sha1.h - SHA-1 (FIPS 180-4), by which WebSocket's opening handshake and the
** scripts of Redis are named; not for anything that must be secret or
** unforgeable.  No Lua.
*/
#ifndef OPERATIONS_SHA1_H
#define OPERATIONS_SHA1_H

#include <stddef.h>
#include <stdint.h>

#define SHA1_SIZE 20 /* bytes of a digest */

/* Writes the digest of `length` bytes, as bytes and not as hexadecimal. */
void sha1(const void *bytes, size_t length, unsigned char digest[SHA1_SIZE]);

#endif
