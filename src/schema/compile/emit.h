/*
** emit.h - adds the instructions of the current node to a program.  Only the
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
  const tree_Keyword *k[KEYWORD_COUNT]; /* of the current node */
  int32_t node;
  int32_t true_node;
  int64_t match_steps; /* left for matching names against patterns (regex.h) */
  check_Machine steps; /* for hashing constants, which may share tables */
  int32_t *required;   /* by name, a constant: twice the number (from 1) of the
                          node that requires it last, odd once it was added */
  bool formats;        /* formats assert in any dialect */
} compile_State;

/* Adds an instruction to the current node; valid until the next one is
** added. */
schema_Op *compile_op(compile_State *c, schema_Code code, schema_KeywordId id);

/* Adds one that compares with a keyword's number, if the node has the
** keyword. */
void compile_count(compile_State *c, schema_KeywordId id, schema_Code code);

/* The node of a keyword whose value is a schema; -1 without the keyword. */
int32_t compile_only_child(const compile_State *c, schema_KeywordId id);

/* Adds the regular expression whose source is the constant; an invalid one is
** added to the tree's issues, under `keyword`. */
int32_t compile_regex(compile_State *c, int32_t source,
                      schema_KeywordId keyword);

/* Adds the instructions of the keywords of objects. */
void compile_object(compile_State *c);

#endif
