/* Interim: accepts everything. Branch schema replaces this file whole. */
#ifndef S_H
#define S_H
#include "core.h"
enum { SCHEMA_OFF, SCHEMA_CAST, SCHEMA_FORCE };
typedef struct schema_Schema schema_Schema;
schema_Schema *schema_to(lua_State *L, int i);
bool schema_valid(lua_State *L, int schema, int value);
void schema_push_issues(lua_State *L, int schema, int value);
bool schema_fill(lua_State *L, int schema, int value);
bool schema_cast(lua_State *L, int schema, int value, int mode, bool changes);
bool schema_accepts_every_object(lua_State *L, int schema);
#endif
