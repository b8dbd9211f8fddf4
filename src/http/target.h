/*
** target.h - URLs, and the texts in a request's target: percent-encoding (RFC
** 3986, 2.1) and queries as forms write them.  No I/O, no Lua.
*/
#ifndef OPERATIONS_TARGET_H
#define OPERATIONS_TARGET_H

#include <stdbool.h>
#include <stddef.h>

#define TARGET_MALFORMED ((size_t)-1)

/* Decodes into `out`, which has room for `length` bytes; with `plus`, "+" is a
** blank.  Returns the length of what was decoded; TARGET_MALFORMED when a "%"
** begins no escape or the result is not UTF-8. */
size_t target_decode(const char *text, size_t length, bool plus, char *out);

/* Text before its first `end`, or all of it. */
size_t target_span(const char *text, size_t length, char end);

/* Is it an http or https URL that needs no further check?  Its host has only
** letters, digits, "." and "-", it has a path, and no blank, control character,
** "#" or byte that is not ASCII. */
bool target_is_plain_url(const char *url, size_t length);

#endif
