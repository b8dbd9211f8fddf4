/*
** uri.h - resolves a URI reference against a base (RFC 3986, section 5).
** No Lua, no I/O.
*/
#ifndef OPERATIONS_SCHEMA_URI_H
#define OPERATIONS_SCHEMA_URI_H

#include "base/buffer.h"

/* Appends the absolute form of `ref`, with its fragment, to `out`.  False when
** out of memory, or at the maximum size of `out`. */
bool schema_uri_resolve(buffer_Buffer *out, const char *base, size_t base_len,
                        const char *ref, size_t ref_len);

/* The offset of the fragment's "#" in `uri`, or `len`. */
size_t schema_uri_fragment(const char *uri, size_t len);

/* Appends `text` with %XX decoded. */
bool schema_uri_decode(buffer_Buffer *out, const char *text, size_t len);

#endif
