/*
** sha256.h - SHA-256 of bytes in memory (FIPS 180-4, 6.2).  No Lua, no I/O, no
** allocation.  For what others can check, such as OAuth's code challenge; its
** time does not hide what it reads.
*/
#ifndef OPERATIONS_SHA256_H
#define OPERATIONS_SHA256_H

#include <stddef.h>

#define SHA256_SIZE 32 /* bytes of a digest */

/* Writes the digest of `n` bytes, as bytes and not as hexadecimal. */
void sha256(const void *bytes, size_t n, unsigned char digest[SHA256_SIZE]);

#endif
