/*
** transfer_lua.c - luaopen_operations_transfer: what needs libcurl, so that who
** needs neither HTTP nor outgoing connections does not load it.  The functions
** of the reactor that it calls are copies of its own: all state is in what they
** are given.
*/
#include "transfer/transfer_lua.h"

#include <dlfcn.h>

/* Never unloaded: a resolver thread of curl may outlive the Lua state. */
static void pin(void) {
  static const char here = 0;
  Dl_info info;
  if (dladdr(&here, &info) != 0 && info.dli_fname != NULL)
    (void)dlopen(info.dli_fname, RTLD_NOW | RTLD_NODELETE);
}

LUALIB_API int luaopen_operations_transfer(lua_State *L);

int luaopen_operations_transfer(lua_State *L) {
  pin();
  lua_getglobal(L, "require");
  lua_pushliteral(L, REACTOR_NAME);
  lua_call(L, 1, 0);
  transfer_http_open(L);
  transfer_connect_open(L);
  return 0;
}
