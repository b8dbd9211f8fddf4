#include "schema_cast.h"
#include "schema.h"

bool cast_value(lua_State *L, int schema, int v, int mode, bool changes) {
  (void)mode;
  lua_pushvalue(L, v);
  if (changes) lua_newtable(L);
  return schema_valid(L, schema, v);
}
