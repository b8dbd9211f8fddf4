/*
** coding.h - was an encoded body cut short?  libcurl takes the end of
** the bytes for the end of the body.  Watches the encoded bytes go by, reads
** what frames them and compares with what was decoded.
*/
#ifndef OPERATIONS_TRANSFER_CODING_H
#define OPERATIONS_TRANSFER_CODING_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/alloc.h"
#include "transfer/brotli.h"

typedef enum coding_Kind {
  CODING_NONE,    /* not encoded, or in a way that nothing is known about */
  CODING_GZIP,    /* RFC 1952 */
  CODING_DEFLATE, /* RFC 1950; the bare form of RFC 1951 has no end to check */
  CODING_ZSTD,    /* RFC 8878 */
  CODING_BROTLI   /* RFC 7932 */
} coding_Kind;

/* Where in a run of zstd frames we are. */
typedef struct coding_Zstd {
  int state;
  uint64_t value; /* little-endian, as far as it was read */
  unsigned read;  /* bytes of it */
  uint64_t skip;  /* bytes to pass over */
  bool last, checksum;
} coding_Zstd;

/* A run of encoded bytes. */
typedef struct coding_Run {
  uint64_t length;
  unsigned char first[2], tail[4];
  coding_Zstd zstd;
  brotli_Check *brotli; /* owned */
} coding_Run;

typedef struct coding_Check {
  coding_Kind kind;
  ops_Alloc alloc;
  coding_Run raw;    /* the bytes as they came */
  coding_Run joined; /* the same read as chunks (RFC 9112, 7.1), joined */
  int state;         /* of the chunks */
  uint64_t left;     /* of the current chunk */
  uint32_t adler_a, adler_b; /* of what was decoded: the checksum of zlib */
  uint64_t decoded;          /* bytes */
} coding_Check;

/* The coding that a Content-Encoding names. */
coding_Kind coding_kind(const char *name, size_t length);

/* Starts a check; coding_end gives back what it comes to hold. */
void coding_begin(coding_Check *check, coding_Kind kind, ops_Alloc alloc);

/* Gives back what it holds.  May be called twice. */
void coding_end(coding_Check *check);

/* Encoded bytes as they came, chunk framing included. */
void coding_feed(coding_Check *check, const char *bytes, size_t length);

/* The result of decoding them. */
void coding_decoded(coding_Check *check, const char *bytes, size_t length);

/* Were the bytes whole, framed or not? */
bool coding_whole(const coding_Check *check);

#endif
