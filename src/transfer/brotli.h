/*
** brotli.h - do the bytes that go by make a whole brotli stream?  Only
** decoding tells: the decoder that libcurl uses does it a second time, and the
** output is dropped.
*/
#ifndef OPERATIONS_TRANSFER_BROTLI_H
#define OPERATIONS_TRANSFER_BROTLI_H

#include <stdbool.h>
#include <stddef.h>

#include "base/alloc.h"

typedef struct brotli_Check brotli_Check;

/* NULL when there is no decoder in this process, or no memory.  The caller owns
** it; brotli_free takes NULL too. */
brotli_Check *brotli_new(const ops_Alloc *alloc);
void brotli_free(const ops_Alloc *alloc, brotli_Check *check);

/* The next bytes of the stream; they are not kept. */
void brotli_feed(brotli_Check *check, const char *bytes, size_t length);

/* Did the stream end?  No, too, when the bytes made no sense. */
bool brotli_whole(const brotli_Check *check);

#endif
