/*
** url_lua.c - a first look at URLs, so that the usual ones need no second.
*/
#include "core/open.h"

static bool is_host_byte(char c) {
  return (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') || c == '.' ||
         c == '-' || (c >= 'A' && c <= 'Z');
}

/* Takes a port, if there is one; what is returned stands after it. */
static const char *skip_port(const char *p) {
  if (*p != ':') return p;
  for (p++; *p >= '0' && *p <= '9';) p++;
  return p;
}

/* What stands after "http://" or "https://"; NULL when it is none of these. */
static const char *skip_scheme(const char *p) {
  if (strncmp(p, "http", 4) != 0) return NULL;
  p += p[4] == 's' ? 5 : 4;
  return strncmp(p, "://", 3) == 0 ? p + 3 : NULL;
}

/* core.is_plain_url(text) -> boolean: http or https, a host of letters, digits,
** "." and "-", perhaps a port, and then "/" and no blank, control character or
** "#" */
static int is_plain_url(lua_State *L) {
  size_t length;
  const char *text = luaL_checklstring(L, 1, &length), *end = text + length;
  const char *p = skip_scheme(text), *host = p;
  bool plain = false;
  if (p != NULL) {
    while (is_host_byte(*p)) p++;
    plain = p > host && *(p = skip_port(p)) == '/';
    while (plain && p < end) {
      plain = (unsigned char)*p > ' ' && *p != 0x7f && *p != '#';
      p++;
    }
  }
  lua_pushboolean(L, plain);
  return 1;
}

static const luaL_Reg url_functions[] = {
    {"is_plain_url", is_plain_url},
    {NULL, NULL},
};

void url_open(lua_State *L) {
  core_setfuncs(L, url_functions);
}
