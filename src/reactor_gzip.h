/*
** reactor_gzip.h - was a gzip body cut short?  Watches the encoded bytes go by
** and compares the length its trailer promises.  Decodes nothing.
*/
#ifndef OPERATIONS_REACTOR_GZIP_H
#define OPERATIONS_REACTOR_GZIP_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* The last bytes of a run of bytes. */
typedef struct gzip_Tail {
  unsigned char bytes[4];
  uint64_t length; /* of the whole run */
} gzip_Tail;

typedef struct gzip_Check {
  gzip_Tail raw;    /* of the bytes as they came */
  gzip_Tail joined; /* the same read as chunks (RFC 9112, 7.1), joined */
  int state;
  uint64_t left; /* of the current chunk */
} gzip_Check;

/* Starts all zero.  Bytes as they came, chunk framing included. */
void gzip_check_feed(gzip_Check *check, const char *bytes, size_t length);

/* Were the bytes a whole gzip stream of `decoded` bytes, framed or not? */
bool gzip_check_whole(const gzip_Check *check, uint64_t decoded);

#endif
