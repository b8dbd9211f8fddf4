#include <string.h>

#include "format/kinds.h"
#include "base/utf8.h"

/* The non-ASCII characters that a part may contain: none (RFC 3986), ucschar,
** or also iprivate (RFC 3987). */
typedef enum Extra { EXTRA_NONE, EXTRA_UCSCHAR, EXTRA_PRIVATE } Extra;

static bool is_private(uint32_t c) {
  return (c >= 0xE000 && c <= 0xF8FF) ||
         (c >= 0xF0000 && (c & 0xFFFF) < 0xFFFE);
}

static bool is_ucschar(uint32_t c) {
  if (c < 0xA0) return false;
  if (c < 0x10000) {
    return c <= 0xD7FF || (c >= 0xF900 && c <= 0xFDCF) ||
           (c >= 0xFDF0 && c <= 0xFFEF);
  }
  return c < 0xF0000 && (c & 0xFFFF) < 0xFFFE && !(c >= 0xE0000 && c < 0xE1000);
}

static bool is_unreserved(char c) {
  return format_is_alnum(c) || c == '-' || c == '.' || c == '_' || c == '~';
}

static bool is_one_of(char c, const char *set) {
  return c != '\0' && strchr(set, c) != NULL;
}

static bool is_sub_delim(char c) {
  return is_one_of(c, "!$&'()*+,;=");
}

static bool is_percent_encoded(const char *s, size_t len) {
  return len >= 3 && s[0] == '%' && format_is_hex(s[1]) && format_is_hex(s[2]);
}

static bool is_extra(uint32_t c, Extra extra) {
  return extra != EXTRA_NONE &&
         (is_ucschar(c) || (extra == EXTRA_PRIVATE && is_private(c)));
}

/* Are all characters unreserved, percent-encoded, sub-delims, in `more`, or
** allowed by `extra`? */
static bool is_made_of(const char *s, size_t len, const char *more,
                       Extra extra) {
  size_t i = 0;
  while (i < len) {
    uint32_t c;
    if (is_unreserved(s[i]) || is_sub_delim(s[i]) || is_one_of(s[i], more)) {
      i++;
    } else if (s[i] == '%') {
      if (!is_percent_encoded(s + i, len - i)) return false;
      i += 3;
    } else {
      size_t n = utf8_read(s + i, len - i, &c);
      if (n < 2 || !is_extra(c, extra)) return false;
      i += n;
    }
  }
  return true;
}

/* The inside of [...], which may be empty. */
static bool is_ip_future(const char *s, size_t len) {
  size_t i = 1;
  if (s[0] != 'v' && s[0] != 'V') return false;
  while (i < len && format_is_hex(s[i])) i++;
  if (i == 1 || i + 1 >= len || s[i] != '.') return false;
  return memchr(s, '%', len) == NULL &&
         is_made_of(s + i + 1, len - i - 1, ":", EXTRA_NONE);
}

static bool is_port(const char *s, size_t len) {
  size_t i;
  for (i = 0; i < len; i++) {
    if (!format_is_digit(s[i])) return false;
  }
  return true;
}

static bool is_host_and_port(const char *s, size_t len, Extra extra) {
  const char *end = (const char *)memchr(s, ']', len);
  size_t host;
  if (end != NULL) {
    host = (size_t)(end - s) + 1;
    if (s[0] != '[' || (host < len && s[host] != ':')) return false;
    if (!format_ipv6(s + 1, host - 2) && !is_ip_future(s + 1, host - 2)) {
      return false;
    }
  } else {
    end = (const char *)memchr(s, ':', len);
    host = end == NULL ? len : (size_t)(end - s);
    if (!is_made_of(s, host, "", extra)) return false;
  }
  return host == len || is_port(s + host + 1, len - host - 1);
}

static bool is_authority(const char *s, size_t len, Extra extra) {
  const char *at = (const char *)memchr(s, '@', len);
  size_t user = at == NULL ? 0 : (size_t)(at - s);
  if (at == NULL) return is_host_and_port(s, len, extra);
  return is_made_of(s, user, ":", extra) &&
         is_host_and_port(at + 1, len - user - 1, extra);
}

/* The length of the scheme before its colon, or 0. */
static size_t scheme_length(const char *s, size_t len) {
  size_t i;
  if (len == 0 || !format_is_alpha(s[0])) return 0;
  for (i = 1; i < len; i++) {
    if (s[i] == ':') return i;
    if (!format_is_alnum(s[i]) && !is_one_of(s[i], "+-.")) return 0;
  }
  return 0;
}

/* The length up to the first character that is in `set`. */
static size_t length_until(const char *s, size_t len, const char *set) {
  size_t i;
  for (i = 0; i < len && !is_one_of(s[i], set); i++) continue;
  return i;
}

/* Nothing, or "?query" or "#fragment". */
static bool is_tail(const char *s, size_t len, Extra extra) {
  return len == 0 || is_made_of(s + 1, len - 1, ":@/?", extra);
}

static bool is_hierarchy(const char *s, size_t len, bool relative,
                         Extra extra) {
  size_t n;
  if (len >= 2 && s[0] == '/' && s[1] == '/') {
    n = length_until(s + 2, len - 2, "/");
    return is_authority(s + 2, n, extra) &&
           is_made_of(s + 2 + n, len - 2 - n, ":@/", extra);
  }
  n = length_until(s, len, "/");
  if (relative && memchr(s, ':', n) != NULL) return false;
  return is_made_of(s, len, ":@/", extra);
}

static bool is_reference(const char *s, size_t len, bool absolute,
                         bool international) {
  size_t scheme = scheme_length(s, len), path, fragment;
  Extra extra = international ? EXTRA_UCSCHAR : EXTRA_NONE;
  Extra query = international ? EXTRA_PRIVATE : EXTRA_NONE;
  if (scheme > 0) {
    s += scheme + 1;
    len -= scheme + 1;
  } else if (absolute) {
    return false;
  }
  path = length_until(s, len, "?#");
  fragment = length_until(s, len, "#");
  return is_hierarchy(s, path, scheme == 0, extra) &&
         is_tail(s + path, fragment - path, query) &&
         is_tail(s + fragment, len - fragment, extra);
}

bool format_uri(const char *s, size_t len) {
  return is_reference(s, len, true, false);
}

bool format_uri_reference(const char *s, size_t len) {
  return is_reference(s, len, false, false);
}

bool format_iri(const char *s, size_t len) {
  return is_reference(s, len, true, true);
}

bool format_iri_reference(const char *s, size_t len) {
  return is_reference(s, len, false, true);
}

/* ---- RFC 6570 ---- */

/* Returns the length of the varname at `s`, or 0. */
static size_t varname_length(const char *s, size_t len) {
  size_t i = 0;
  bool dot = true;
  while (i < len) {
    if (s[i] == '.' && !dot) {
      dot = true;
      i++;
    } else if (format_is_alnum(s[i]) || s[i] == '_') {
      dot = false;
      i++;
    } else if (is_percent_encoded(s + i, len - i)) {
      dot = false;
      i += 3;
    } else {
      break;
    }
  }
  return dot ? 0 : i;
}

static bool is_varspec(const char *s, size_t len) {
  size_t i, n = varname_length(s, len);
  if (n == 0) return false;
  if (n == len || (n + 1 == len && s[n] == '*')) return true;
  if (s[n] != ':' || len - n - 1 < 1 || len - n - 1 > 4) return false;
  if (s[n + 1] == '0') return false;
  for (i = n + 1; i < len; i++) {
    if (!format_is_digit(s[i])) return false;
  }
  return true;
}

/* The inside of {...}, which may be empty. */
static bool is_expression(const char *s, size_t len) {
  if (is_one_of(s[0], "+#./;?&=,!@|")) {
    s++;
    len--;
  }
  for (;;) {
    size_t n = length_until(s, len, ",");
    if (!is_varspec(s, n)) return false;
    if (n == len) return true;
    s += n + 1;
    len -= n + 1;
  }
}

/* The length of the literal character at `s`, or 0. */
static size_t literal_length(const char *s, size_t len) {
  uint32_t c;
  size_t n;
  if (s[0] == '%') return is_percent_encoded(s, len) ? 3 : 0;
  n = utf8_read(s, len, &c);
  if (n > 1) return is_ucschar(c) || is_private(c) ? n : 0;
  if (n == 0 || c <= ' ' || c == 0x7F) return 0;
  return is_one_of((char)c, "\"<>\\^`{|}") ? 0 : 1;
}

bool format_uri_template(const char *s, size_t len) {
  size_t i = 0;
  while (i < len) {
    size_t n;
    if (s[i] == '{') {
      n = length_until(s + i, len - i, "}");
      if (i + n >= len || !is_expression(s + i + 1, n - 1)) return false;
      i += n + 1;
      continue;
    }
    n = literal_length(s + i, len - i);
    if (n == 0) return false;
    i += n;
  }
  return true;
}
