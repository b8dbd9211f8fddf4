#include <string.h>

#include "format/kinds.h"
#include "base/utf8.h"

#define MAX_LABEL 63
#define MAX_HOSTNAME 253
#define MAX_LOCAL_PART 64 /* RFC 5321, section 4.5.3.1.1 */

static bool is_octet(const char *s, size_t len) {
  int value = 0;
  size_t i;
  if (len == 0 || len > 3 || (s[0] == '0' && len > 1)) return false;
  for (i = 0; i < len; i++) {
    if (!format_is_digit(s[i])) return false;
    value = value * 10 + (s[i] - '0');
  }
  return value <= 255;
}

/* RFC 2673, section 3.2, and RFC 3986: no leading zeros */
bool format_ipv4(const char *s, size_t len) {
  size_t i, start = 0, octets = 0;
  for (i = 0; i <= len; i++) {
    if (i < len && s[i] != '.') continue;
    if (!is_octet(s + start, i - start)) return false;
    octets++;
    start = i + 1;
  }
  return octets == 4;
}

/* Counts the 16-bit groups of "a:b:c"; -1 when the text has another form. */
static int count_groups(const char *s, size_t len, bool ipv4_end) {
  size_t i, start = 0;
  int groups = 0;
  if (len == 0) return 0;
  for (i = 0; i <= len; i++) {
    if (i < len && s[i] != ':') {
      if (format_is_hex(s[i]) || s[i] == '.') continue;
      return -1;
    }
    if (i == len && ipv4_end && format_ipv4(s + start, i - start)) {
      return groups + 2;
    }
    if (i == start || i - start > 4) return -1;
    if (memchr(s + start, '.', i - start) != NULL) return -1;
    groups++;
    start = i + 1;
  }
  return groups;
}

/* RFC 4291, section 2.2; no zone */
bool format_ipv6(const char *s, size_t len) {
  size_t i;
  int before, after;
  if (len > 45) return false;
  for (i = 0; i + 1 < len; i++) {
    if (s[i] == ':' && s[i + 1] == ':') break;
  }
  if (i + 1 >= len) return count_groups(s, len, true) == 8;
  before = count_groups(s, i, false);
  after = count_groups(s + i + 2, len - i - 2, true);
  return before >= 0 && after >= 0 && before + after <= 7;
}

/* RFC 1123, section 2.1: letters, digits, hyphens inside */
static bool is_ldh_label(const char *s, size_t len) {
  size_t i;
  if (len == 0 || len > MAX_LABEL || s[0] == '-' || s[len - 1] == '-') {
    return false;
  }
  for (i = 0; i < len; i++) {
    if (!format_is_alnum(s[i]) && s[i] != '-') return false;
  }
  return true;
}

static bool are_labels(const char *s, size_t len,
                       bool (*is_label)(const char *s, size_t len)) {
  size_t i, start = 0;
  for (i = 0; i <= len; i++) {
    if (i < len && s[i] != '.') continue;
    if (!is_label(s + start, i - start)) return false;
    start = i + 1;
  }
  return true;
}

static bool is_host_label(const char *s, size_t len) {
  return is_ldh_label(s, len) &&
         (!format_is_xn(s, len) || format_is_a_label(s, len));
}

bool format_hostname(const char *s, size_t len) {
  return len <= MAX_HOSTNAME && are_labels(s, len, is_host_label);
}

/* RFC 5322's atext and all characters beyond ASCII: RFC 6531, section 3.3 */
static bool is_atext(char c) {
  return format_is_alnum(c) || (unsigned char)c >= 0x80 ||
         (c != '\0' && strchr("!#$%&'*+-/=?^_`{|}~", c) != NULL);
}

/* Letters of any script; RFC 6531 asks for no further check. */
static bool is_loose_label(const char *s, size_t len) {
  size_t i;
  if (len == 0 || s[0] == '-' || s[len - 1] == '-') return false;
  for (i = 0; i < len; i++) {
    if (!format_is_alnum(s[i]) && s[i] != '-' && (unsigned char)s[i] < 0x80) {
      return false;
    }
  }
  return true;
}

static bool is_dot_string(const char *s, size_t len) {
  size_t i;
  bool dot = true;
  for (i = 0; i < len; i++) {
    if (s[i] == '.' ? dot : !is_atext(s[i])) return false;
    dot = s[i] == '.';
  }
  return !dot;
}

/* `s` starts with a quote; returns the length including the closing one, or
** 0. */
static size_t quoted_length(const char *s, size_t len) {
  size_t i;
  for (i = 1; i < len; i++) {
    if (s[i] == '"') return i + 1;
    if (s[i] == '\\') i++;
    if (i >= len || (unsigned char)s[i] < ' ' || s[i] == 0x7F) return 0;
  }
  return 0;
}

/* The inside of [...], whose bracket ends a tag: RFC 5321, section 4.1.3 */
static bool is_address_literal(const char *s, size_t len) {
  size_t i, tag;
  if (format_ipv4(s, len)) return true;
  for (tag = 0; format_is_alnum(s[tag]) || s[tag] == '-'; tag++) continue;
  if (tag == 0 || s[tag - 1] == '-' || tag + 1 >= len || s[tag] != ':') {
    return false;
  }
  if (tag == 4 && (s[0] == 'I' || s[0] == 'i') &&
      (s[1] == 'P' || s[1] == 'p') && (s[2] == 'v' || s[2] == 'V') &&
      s[3] == '6') {
    return format_ipv6(s + 5, len - 5);
  }
  for (i = tag + 1; i < len; i++) {
    if (s[i] < '!' || s[i] > '~' || (s[i] >= '[' && s[i] <= ']')) return false;
  }
  return true;
}

static bool is_mail_domain(const char *s, size_t len, bool international) {
  if (len >= 2 && s[0] == '[' && s[len - 1] == ']') {
    return is_address_literal(s + 1, len - 2);
  }
  if (len > 255) return false;
  return are_labels(s, len, international ? is_loose_label : is_ldh_label);
}

/* RFC 5321, section 4.1.2: Mailbox */
static bool is_mailbox(const char *s, size_t len, bool international) {
  size_t local;
  if (len == 0) return false;
  if (s[0] == '"') {
    local = quoted_length(s, len);
  } else {
    const char *at = (const char *)memchr(s, '@', len);
    local = at == NULL ? 0 : (size_t)(at - s);
    if (!is_dot_string(s, local)) return false;
  }
  if (local == 0 || local > MAX_LOCAL_PART || local >= len || s[local] != '@') {
    return false;
  }
  return is_mail_domain(s + local + 1, len - local - 1, international);
}

bool format_email(const char *s, size_t len) {
  size_t i;
  for (i = 0; i < len; i++) {
    if ((unsigned char)s[i] >= 0x80) return false;
  }
  return is_mailbox(s, len, false);
}

bool format_idn_email(const char *s, size_t len) {
  return utf8_valid(s, len) && is_mailbox(s, len, true);
}
