/*
** kinds.h - the checks behind format_find, one file per family.  Users include
** format/format.h instead.
*/
#ifndef OPERATIONS_FORMAT_KINDS_H
#define OPERATIONS_FORMAT_KINDS_H

#include <stdbool.h>
#include <stddef.h>

/* ASCII only, in any locale. */
static inline bool format_is_digit(char c) {
  return c >= '0' && c <= '9';
}

static inline bool format_is_alpha(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z');
}

static inline bool format_is_alnum(char c) {
  return format_is_digit(c) || format_is_alpha(c);
}

static inline bool format_is_hex(char c) {
  return format_is_digit(c) || (c >= 'a' && c <= 'f') || (c >= 'A' && c <= 'F');
}

/* Does the label start with "xn--"? */
static inline bool format_is_xn(const char *s, size_t len) {
  return len >= 4 && (s[0] == 'x' || s[0] == 'X') &&
         (s[1] == 'n' || s[1] == 'N') && s[2] == '-' && s[3] == '-';
}

/* format/time.c: RFC 3339 */
bool format_date(const char *s, size_t len);
bool format_time(const char *s, size_t len);
bool format_date_time(const char *s, size_t len);
bool format_duration(const char *s, size_t len);

/* format/net.c: addresses, host names in ASCII (A-labels are decoded and
** checked), mailboxes (RFC 5321 and 6531) */
bool format_ipv4(const char *s, size_t len);
bool format_ipv6(const char *s, size_t len);
bool format_hostname(const char *s, size_t len);
bool format_email(const char *s, size_t len);
bool format_idn_email(const char *s, size_t len);

/* format/idn.c: host names of IDNA 2008 (RFC 5890 to 5893) */
bool format_idn_hostname(const char *s, size_t len);

/* Is the `len` bytes of a label that starts with "xn--" an A-label? */
bool format_is_a_label(const char *s, size_t len);

/* format/uri.c: RFC 3986, 3987, 6570 */
bool format_uri(const char *s, size_t len);
bool format_uri_reference(const char *s, size_t len);
bool format_iri(const char *s, size_t len);
bool format_iri_reference(const char *s, size_t len);
bool format_uri_template(const char *s, size_t len);

#endif
