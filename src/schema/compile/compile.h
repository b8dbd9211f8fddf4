/*
** compile.h - compiles the tree of a schema to its program.
*/
#ifndef OPERATIONS_SCHEMA_COMPILE_H
#define OPERATIONS_SCHEMA_COMPILE_H

#include "schema/program/program.h"
#include "schema/compile/tree.h"

/* Fills the program.  Invalid patterns are added to the tree's issues.  Leaves
** what it worked with on the stack. */
void compile_program(lua_State *L, schema_Schema *s, tree_Tree *t, int32_t root,
                     bool formats);

/* Gives the union the hints of OpenAPI's `discriminator`, a constant.  The
** union's links are nodes of the tree. */
void compile_hints(lua_State *L, schema_Schema *s, tree_Tree *t, int32_t u,
                   int32_t discriminator);

/* Finds, for each anyOf and oneOf, the property whose value tells which branch
** an object belongs to. */
void compile_unions(lua_State *L, schema_Schema *s);

/* Pushes a block of `n` zeros. */
int32_t *compile_block(lua_State *L, size_t n);

/* Marks the nodes that have defaults at or below them. */
void compile_defaults(lua_State *L, schema_Schema *s);

/* Determines what each node does with a value of each Lua type. */
void compile_acts(lua_State *L, schema_Schema *s);

/* The node that `node` merely refers to, or itself. */
int32_t compile_target(const schema_Schema *s, int32_t node);

#endif
