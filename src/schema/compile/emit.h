/*
** emit.h - adds the instructions of the node at hand to a program.  Only the
** files of the machine include it.
**
** Machine: compile.c object.c.
*/
#ifndef OPERATIONS_SCHEMA_COMPILE_EMIT_H
#define OPERATIONS_SCHEMA_COMPILE_EMIT_H

#include "schema/check/check.h"
#include "schema/compile/tree.h"

typedef struct compile_State {
  lua_State *L;
  schema_Schema *s;
  tree_Tree *t;
  const tree_Keyword *k[KEYWORD_COUNT]; /* of the node at hand */
  int32_t node;
  int32_t true_node;
  int64_t match_steps; /* left for matching patterns with names (regex.h) */
  check_Machine steps; /* of hashing constants, which may share tables */
  int32_t *required;   /* by name, a constant: twice the number (from 1) of the
                          node that requires it last, odd once it was added */
  bool formats;        /* formats assert, whatever the dialect says */
} compile_State;

/* Adds an instruction to the node at hand; valid until the next is added. */
schema_Op *compile_op(compile_State *c, schema_Code code, schema_KeywordId id);

/* Adds one that compares with a keyword's number, if the keyword is there. */
void compile_count(compile_State *c, schema_KeywordId id, schema_Code code);

/* The node of a keyword whose value is a schema; -1 without the keyword. */
int32_t compile_only_child(const compile_State *c, schema_KeywordId id);

/* Adds the regular expression that constant `source` is; what is none goes to
** the tree's issues, as of `keyword`. */
int32_t compile_regex(compile_State *c, int32_t source,
                      schema_KeywordId keyword);

/* Adds the instructions of the keywords of objects. */
void compile_object(compile_State *c);

#endif
