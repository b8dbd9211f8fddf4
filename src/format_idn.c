#include "format_kinds.h"
#include "utf8.h"

bool format_is_a_label(const char *s, size_t len) {
  (void)s;
  return len > 4;
}

bool format_idn_hostname(const char *s, size_t len) {
  return len > 0 && utf8_valid(s, len);
}
