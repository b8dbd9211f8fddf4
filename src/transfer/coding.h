/*
** coding.h - was an encoded body truncated?  libcurl takes the end of the bytes
** for the end of the body.  This watches the encoded bytes, reads their framing
** and compares it with the decoded bytes.  gzip it decodes itself if it can.
*/
#ifndef OPERATIONS_TRANSFER_CODING_H
#define OPERATIONS_TRANSFER_CODING_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/alloc.h"
#include "transfer/brotli.h"
#include "transfer/gzip.h"

typedef enum coding_Kind {
  CODING_NONE,    /* not encoded */
  CODING_SEVERAL, /* encoded more than once: not watched */
  CODING_UNKNOWN, /* not known to libcurl: the bytes stay as they are */
  CODING_GZIP,    /* RFC 1952 */
  CODING_DEFLATE, /* RFC 1950; the bare form of RFC 1951 has no end to check */
  CODING_ZSTD,    /* RFC 8878 */
  CODING_BROTLI   /* RFC 7932 */
} coding_Kind;

/* The state within a run of zstd frames. */
typedef struct coding_Zstd {
  int state;
  uint64_t value; /* little-endian, as far as read */
  unsigned read;  /* bytes of `value` that were read */
  uint64_t skip;  /* bytes to skip */
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
  gzip_Decoder *gzip; /* owned; decodes in libcurl's stead */
  coding_Run raw;     /* the bytes as received */
  coding_Run
      joined; /* the same bytes after removing chunk framing (RFC 9112, 7.1) */
  int state;  /* of the chunk parser */
  uint64_t left;             /* bytes left in the current chunk */
  uint32_t adler_a, adler_b; /* zlib's checksum of the decoded bytes */
  uint64_t decoded;          /* bytes */
} coding_Check;

/* The coding of a Content-Encoding, which may be a list; `before` is that of
** the fields of this name before it. */
coding_Kind coding_kind(coding_Kind before, const char *value, size_t length);

/* Starts a check; coding_end frees its memory. */
void coding_begin(coding_Check *check, coding_Kind kind, ops_Alloc alloc);

/* Ends it: no coding is left to check.  May be called twice. */
void coding_end(coding_Check *check);

/* Takes encoded bytes as received, with chunk framing. */
void coding_feed(coding_Check *check, const char *bytes, size_t length);

/* Takes decoded bytes. */
void coding_decoded(coding_Check *check, const char *bytes, size_t length);

/* Were the bytes complete?  Chunks without any byte are an empty body, as one
** whose Content-Length is 0.  `chunked`: the answer has chunk framing. */
bool coding_whole(const coding_Check *check, bool chunked);

#endif
