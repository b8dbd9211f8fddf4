#include "core.h"

void envelope_open(lua_State *L) {
  (void)L;
}
