#include "core.h"

void json_open(lua_State *L) {
  (void)L;
}
