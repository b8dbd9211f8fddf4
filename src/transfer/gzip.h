/*
** gzip.h - decodes gzip (RFC 1952), with zlib as libcurl has loaded it.  Unlike
** libcurl it takes several members, and zeros after the last one.
*/
#ifndef OPERATIONS_TRANSFER_GZIP_H
#define OPERATIONS_TRANSFER_GZIP_H

#include <stdbool.h>
#include <stddef.h>

#include "base/alloc.h"

typedef struct gzip_Decoder gzip_Decoder;

/* Takes decoded bytes, borrowed during the call; false ends the decoding. */
typedef bool (*gzip_Take)(void *ud, const char *bytes, size_t length);

/* NULL when this process has no zlib, or out of memory.  The caller owns it;
** gzip_free accepts NULL. */
gzip_Decoder *gzip_new(const ops_Alloc *alloc);
void gzip_free(const ops_Alloc *alloc, gzip_Decoder *decoder);

/* The next encoded bytes.  False when they are invalid, or when `take` said so;
** the decoder must not be fed afterwards. */
bool gzip_feed(gzip_Decoder *decoder, const char *bytes, size_t length,
               gzip_Take take, void *ud);

/* Was it fed nothing?  Did a member end where the bytes did? */
bool gzip_is_empty(const gzip_Decoder *decoder);
bool gzip_is_whole(const gzip_Decoder *decoder);

#endif
