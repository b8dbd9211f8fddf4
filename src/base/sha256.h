/*
** sha256.h - SHA-256 of bytes, whole or in pieces (FIPS 180-4, 6.2).  No Lua,
** no I/O, no allocation.  No branch or address depends on the bytes.
*/
#ifndef OPERATIONS_SHA256_H
#define OPERATIONS_SHA256_H

#include <stddef.h>
#include <stdint.h>

#define SHA256_SIZE 32  /* bytes of a digest */
#define SHA256_BLOCK 64 /* bytes */

typedef struct sha256_State {
  uint32_t hash[8];
  uint64_t bytes; /* so far */
  unsigned char rest[SHA256_BLOCK];
} sha256_State;

void sha256_begin(sha256_State *state);
void sha256_add(sha256_State *state, const void *bytes, size_t n);

/* The digest of the bytes so far; more may be added after it. */
void sha256_end(const sha256_State *state, unsigned char digest[SHA256_SIZE]);

/* Writes the digest of `n` bytes in binary, not hexadecimal. */
void sha256(const void *bytes, size_t n, unsigned char digest[SHA256_SIZE]);

#endif
