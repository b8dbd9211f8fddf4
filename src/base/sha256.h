/*
** sha256.h - SHA-256 of bytes in memory (FIPS 180-4, 6.2).  No Lua, no I/O, no
** allocation.  For public data such as OAuth's code challenge: it is not
** protected against timing attacks.
*/
#ifndef OPERATIONS_SHA256_H
#define OPERATIONS_SHA256_H

#include <stddef.h>

#define SHA256_SIZE 32 /* bytes of a digest */

/* Writes the digest of `n` bytes in binary, not hexadecimal. */
void sha256(const void *bytes, size_t n, unsigned char digest[SHA256_SIZE]);

#endif
