/*
** websocket_sha1.h - SHA-1 (FIPS 180-4), which the opening handshake asks for;
** not for anything that must be secret or unforgeable.  No Lua.
*/
#ifndef OPERATIONS_WEBSOCKET_SHA1_H
#define OPERATIONS_WEBSOCKET_SHA1_H

#include <stddef.h>
#include <stdint.h>

#define SHA1_SIZE 20

void sha1(const void *bytes, size_t length, unsigned char digest[SHA1_SIZE]);

#endif
