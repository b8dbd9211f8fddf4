/*
** host.h - the syntax of a Host field: host and port (RFC 3986, 3.2.2 and
** 3.2.3).  No names are looked up.  No I/O, no Lua.
*/
#ifndef OPERATIONS_HOST_H
#define OPERATIONS_HOST_H

#include <stdbool.h>
#include <stddef.h>

/* Is it a name, an IPv4 address or an IPv6 address in brackets, with or without
** ":" and a port?  An empty host is none, nor is one with user information. */
bool host_is_valid(const char *s, size_t length);

#endif
