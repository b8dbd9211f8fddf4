/*
** utf8_repair.h - UTF-8 decoding with replacement, as the WHATWG Encoding
** Standard does it, UTF-8 in and UTF-8 out.  No Lua, no I/O.
**
** Every maximal subpart of an ill-formed sequence becomes one U+FFFD: F0 9F 92
** before an `x` gives one, C0 AF two, ED A0 80 three.  A byte order mark is
** kept like any other character.
*/
#ifndef OPERATIONS_UTF8_REPAIR_H
#define OPERATIONS_UTF8_REPAIR_H

#include <stdbool.h>
#include <stddef.h>

/* Are all bytes below 0x80? */
bool utf8_is_ascii(const char *s, size_t n);

/* The size in bytes after repair: n when the text is well-formed, never less
** than n otherwise. */
size_t utf8_repaired_size(const char *s, size_t n);

/* Writes the repaired text, utf8_repaired_size bytes, to `out`, which does not
** overlap `s`. */
void utf8_repair(const char *s, size_t n, char *out);

#endif
