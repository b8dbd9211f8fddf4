/*
** compile.h - from the tree of a schema to its program.
*/
#ifndef OPERATIONS_SCHEMA_COMPILE_H
#define OPERATIONS_SCHEMA_COMPILE_H

#include "schema/program/program.h"
#include "schema/compile/tree.h"

/* Fills the program.  Patterns that do not compile go to the tree's issues. */
void compile_program(lua_State *L, schema_Schema *s, tree_Tree *t, int32_t root,
                     bool formats);

/* Gives the union, whose links have the tree's nodes, the hints of OpenAPI's
** `discriminator`, a constant. */
void compile_hints(lua_State *L, schema_Schema *s, tree_Tree *t, int32_t u,
                   int32_t discriminator);

/* Finds, for each anyOf and oneOf, the property whose value says which branch
** an object belongs to. */
void compile_unions(lua_State *L, schema_Schema *s);

/* Marks which nodes have defaults at or below them. */
void compile_defaults(lua_State *L, schema_Schema *s);

/* Finds what each node does with a value of each Lua type. */
void compile_acts(lua_State *L, schema_Schema *s);

/* The node that `node` merely refers to, or itself. */
int32_t compile_target(const schema_Schema *s, int32_t node);

#endif
