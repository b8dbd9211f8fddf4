#include "format/format.h"

#include <string.h>

#include "format/kinds.h"
#include "regex/regex.h"

/* RFC 9562, section 4 */
static bool uuid(const char *s, size_t len) {
  size_t i;
  if (len != 36) return false;
  for (i = 0; i < len; i++) {
    bool hyphen = i == 8 || i == 13 || i == 18 || i == 23;
    if (hyphen ? s[i] != '-' : !format_is_hex(s[i])) return false;
  }
  return true;
}

/* RFC 6901, section 3 */
static bool json_pointer(const char *s, size_t len) {
  size_t i;
  if (len > 0 && s[0] != '/') return false;
  for (i = 0; i < len; i++) {
    if (s[i] != '~') continue;
    if (i + 1 >= len || (s[i + 1] != '0' && s[i + 1] != '1')) return false;
  }
  return true;
}

/* draft-bhutton-relative-json-pointer-00, without index manipulation as in the
** versions that JSON Schema names */
static bool relative_json_pointer(const char *s, size_t len) {
  size_t i = 0;
  while (i < len && format_is_digit(s[i])) i++;
  if (i == 0 || (s[0] == '0' && i > 1)) return false;
  if (i + 1 == len && s[i] == '#') return true;
  return json_pointer(s + i, len - i);
}

static bool is_base64(char c) {
  return format_is_alnum(c) || c == '+' || c == '/';
}

/* OpenAPI's "byte": base64 with padding (RFC 4648, section 4) */
static bool byte(const char *s, size_t len) {
  size_t i, data = len;
  if (len % 4 != 0) return false;
  while (data > 0 && len - data < 2 && s[data - 1] == '=') data--;
  for (i = 0; i < data; i++) {
    if (!is_base64(s[i])) return false;
  }
  return true;
}

static bool anything(const char *s, size_t len) {
  (void)s;
  (void)len;
  return true;
}

static const struct {
  const char *name;
  format_Check check;
} formats[] = {
    {"binary", anything},
    {"byte", byte},
    {"date", format_date},
    {"date-time", format_date_time},
    {"duration", format_duration},
    {"email", format_email},
    {"hostname", format_hostname},
    {"idn-email", format_idn_email},
    {"idn-hostname", format_idn_hostname},
    {"ipv4", format_ipv4},
    {"ipv6", format_ipv6},
    {"iri", format_iri},
    {"iri-reference", format_iri_reference},
    {"json-pointer", json_pointer},
    {"password", anything},
    {"regex", regex_is_valid},
    {"relative-json-pointer", relative_json_pointer},
    {"time", format_time},
    {"uri", format_uri},
    {"uri-reference", format_uri_reference},
    {"uri-template", format_uri_template},
    {"uuid", uuid},
};

format_Check format_find(const char *name, size_t len) {
  size_t i;
  for (i = 0; i < sizeof(formats) / sizeof(formats[0]); i++) {
    if (strlen(formats[i].name) == len &&
        memcmp(formats[i].name, name, len) == 0) {
      return formats[i].check;
    }
  }
  return NULL;
}
