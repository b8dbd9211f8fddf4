/*
** sha1.h - SHA-1 (FIPS 180-4) for WebSocket's opening handshake and the names
** of Redis scripts; not for secrets or signatures.  No Lua.
*/
#ifndef OPERATIONS_SHA1_H
#define OPERATIONS_SHA1_H

#include <stddef.h>
#include <stdint.h>

#define SHA1_SIZE 20 /* bytes of a digest */

/* Writes the digest of `length` bytes in binary, not hexadecimal. */
void sha1(const void *bytes, size_t length, unsigned char digest[SHA1_SIZE]);

#endif
