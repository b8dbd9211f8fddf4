#include "http/host.h"

#include <arpa/inet.h>
#include <string.h>

#define MAX_PORT 65535

static bool is_digit(char c) {
  return c >= '0' && c <= '9';
}

static bool is_hex(char c) {
  return is_digit(c) || (c >= 'a' && c <= 'f') || (c >= 'A' && c <= 'F');
}

/* Unreserved characters and sub-delims. */
static bool is_name(char c) {
  return is_digit(c) || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') ||
         (c != '\0' && strchr("-._~!$&'()*+,;=", c) != NULL);
}

/* The length of the name at the start; percent-encoded bytes count. */
static size_t name_length(const char *s, size_t length) {
  size_t i = 0;
  while (i < length) {
    if (is_name(s[i])) i++;
    else if (s[i] == '%' && length - i > 2 && is_hex(s[i + 1]) &&
             is_hex(s[i + 2]))
      i += 3;
    else break;
  }
  return i;
}

/* The length of the address in brackets at the start; 0: there is none. */
static size_t literal_length(const char *s, size_t length) {
  char text[INET6_ADDRSTRLEN];
  struct in6_addr address;
  const char *end = memchr(s, ']', length);
  size_t inside = end != NULL ? (size_t)(end - s) - 1 : 0;
  if (inside >= sizeof(text)) return 0;
  memcpy(text, s + 1, inside);
  text[inside] = '\0';
  if (strlen(text) != inside || inet_pton(AF_INET6, text, &address) != 1)
    return 0;
  return inside + 2;
}

/* ":" and digits, which may be none (RFC 3986), or nothing at all. */
static bool is_port(const char *s, size_t length) {
  size_t i;
  unsigned long port = 0;
  if (length == 0) return true;
  if (*s != ':') return false;
  for (i = 1; i < length; i++) {
    if (!is_digit(s[i])) return false;
    port = port * 10 + (unsigned long)(s[i] - '0');
    if (port > MAX_PORT) return false;
  }
  return true;
}

bool host_is_valid(const char *s, size_t length) {
  size_t host = 0;
  if (length > 0)
    host = *s == '[' ? literal_length(s, length) : name_length(s, length);
  return host > 0 && is_port(s + host, length - host);
}
