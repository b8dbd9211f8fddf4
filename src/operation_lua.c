#include "core.h"

void operation_open(lua_State *L) {
  (void)L;
}
