/*
** transfer_lua.c - luaopen_operations_transfer: the functions that need
** libcurl; programs without HTTP and outgoing connections do not load it.  It
** calls its own copies of the reactor's functions: all state is in their
** arguments.
*/
#include "transfer/transfer_lua.h"
#include "lua/build.h"

#include <curl/curl.h>
#include <dlfcn.h>

/* Never unloaded: a resolver thread of curl may outlive the Lua state. */
static void pin(void) {
  static const char here;
  Dl_info info;
  if (dladdr(&here, &info) != 0 && info.dli_fname != NULL)
    (void)dlopen(info.dli_fname, RTLD_NOW | RTLD_NODELETE);
}

/* transfer.libcurl() -> version, ssl or nil, features: name -> boolean */
static int transfer_libcurl(lua_State *L) {
  static const struct {
    const char *name;
    int bit;
  } features[] = {
      {"SSL", CURL_VERSION_SSL},
      {"HTTP2", CURL_VERSION_HTTP2},
      {"gzip", CURL_VERSION_LIBZ},
      {"brotli", CURL_VERSION_BROTLI},
      {"zstd", CURL_VERSION_ZSTD},
      {"IPv6", CURL_VERSION_IPV6},
      {"resolver", CURL_VERSION_ASYNCHDNS},
  };
  const curl_version_info_data *info = curl_version_info(CURLVERSION_NOW);
  size_t i;
  lua_pushstring(L, info->version);
  lua_pushstring(L, info->ssl_version);
  lua_newtable(L);
  for (i = 0; i < sizeof(features) / sizeof(features[0]); i++) {
    lua_pushboolean(L, (info->features & features[i].bit) != 0);
    lua_setfield(L, -2, features[i].name);
  }
  return 3;
}

BUILD_SHOWN int luaopen_operations_transfer(lua_State *L);

int luaopen_operations_transfer(lua_State *L) {
  build_check(L, "operations.transfer");
  pin();
  /* Here, so that a program which forks loads its part of OpenSSL only once. */
  if (curl_global_init(CURL_GLOBAL_DEFAULT) != CURLE_OK)
    return luaL_error(L, "libcurl cannot be initialized");
  lua_getglobal(L, "require");
  lua_pushliteral(L, REACTOR_NAME);
  lua_call(L, 1, 0);
  transfer_http_open(L);
  transfer_connect_open(L);
  lua_createtable(L, 0, 1);
  lua_pushcfunction(L, transfer_libcurl);
  lua_setfield(L, -2, "libcurl");
  return 1;
}
