/*
** brotli.h - is a stream of bytes a complete brotli stream?  Only decoding can
** tell: it is decoded a second time, with the library that libcurl uses, and
** the output is dropped.
*/
#ifndef OPERATIONS_TRANSFER_BROTLI_H
#define OPERATIONS_TRANSFER_BROTLI_H

#include <stdbool.h>
#include <stddef.h>

#include "base/alloc.h"

typedef struct brotli_Check brotli_Check;

/* NULL when this process has no decoder, or out of memory.  The caller owns it;
** brotli_free accepts NULL. */
brotli_Check *brotli_new(const ops_Alloc *alloc);
void brotli_free(const ops_Alloc *alloc, brotli_Check *check);

/* The next bytes of the stream; they are not kept. */
void brotli_feed(brotli_Check *check, const char *bytes, size_t length);

/* Did the stream end?  False also after invalid bytes. */
bool brotli_whole(const brotli_Check *check);

#endif
