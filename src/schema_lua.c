#include "core.h"

void schema_open(lua_State *L) {
  (void)L;
}
