#include "core.h"

void sse_open(lua_State *L) {
  (void)L;
}
