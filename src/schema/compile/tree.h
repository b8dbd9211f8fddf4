/*
** tree.h - reads a schema's Lua tables into a tree: subschemas with their
** keywords, `$id`s, anchors and references.  It represents the schema, not how
** to check it.  Used during compilation only.
**
** Machine: keyword_value.c resolve.c tree.c.
*/
#ifndef OPERATIONS_SCHEMA_TREE_H
#define OPERATIONS_SCHEMA_TREE_H

#include "base/buffer.h"
#include "value/core.h"
#include "schema/program/keyword.h"
#include "schema/program/program.h"
#include "schema/compile/uri.h"
#include "schema/program/vector.h"

#define SCHEMA_MAX_DEPTH 256 /* subschemas within subschemas */
#define TREE_MAX_ISSUES 100  /* reported of a schema */

/* Tables that are shared below several base URIs are subschemas of each, whose
** number may grow without bound: how often such a table is looked for. */
#define TREE_MAX_SHARED 300000

typedef struct tree_Node {
  int32_t first;    /* index of the last keyword read; -1: none */
  int32_t resource; /* its resource */
  int32_t outer;    /* its parent's resource */
  int32_t anchor;   /* its dynamic anchor: a constant, 0 of $recursiveAnchor, -1
                       when there is none */
  schema_Location location;
  bool is_false; /* the schema `false` */
} tree_Node;

typedef struct tree_Keyword {
  int32_t next;         /* the one read before it of the same subschema, -1 */
  int32_t value;        /* constant: the keyword's value, 0 without one */
  int32_t first, count; /* its subschemas or names: a range of children */
  schema_Number number;
  uint16_t mask; /* type: TYPE_... */
  uint8_t id;    /* schema_KeywordId */
  uint8_t flag;  /* booleans; items: an array of schemas */
} tree_Keyword;

typedef struct tree_Child {
  int32_t node;         /* -1: none */
  int32_t key;          /* constant: the property's name, or 0 */
  int32_t first, count; /* names (dependentRequired): a range of children */
} tree_Child;

/* The scope of a `$id` (or a document): relative references are resolved
** against its URI. */
typedef struct tree_Resource {
  int32_t uri;  /* constant */
  int32_t node; /* its root; -1: not read yet */
  schema_Dialect dialect;
  bool whole;    /* all its subschemas were read */
  bool declared; /* its root's `$id` is part of its URI already */
} tree_Resource;

typedef struct tree_DynamicAnchor {
  int32_t resource, name, node; /* name: a constant, 0 for $recursiveAnchor */
} tree_DynamicAnchor;

typedef struct tree_Reference {
  int32_t node, keyword;
} tree_Reference;

/* A userdata: freed by the collector. */
typedef struct tree_Tree {
  ops_Alloc alloc;
  const core_State *core;
  size_t read; /* resources before this one were read or left out */
  schema_Vector nodes, keywords, children, resources, anchors, references;
  buffer_Buffer text;     /* for URIs and pointers */
  schema_Dialect dialect; /* for documents that declare none */
  bool has_dynamic_ref;
  int32_t constants_count;
  int32_t looked; /* how often a shared table was looked for */
  /* stack indices of Lua tables */
  int constants;  /* index -> value */
  int interned;   /* string -> index in constants */
  int memo;       /* schema table -> the last node read from it */
  int shared;     /* the address of one read again, resource -> node */
  int by_uri;     /* URI -> resource */
  int by_anchor;  /* URI#name -> node */
  int roots;      /* resource + 1 -> schema table */
  int documents;  /* URI -> document, given by the caller */
  int issues;     /* array of errors in the schema */
  int unresolved; /* array of URIs without a document */
} tree_Tree;

/* Pushes a new tree userdata and the tables that it works with. */
tree_Tree *tree_new(lua_State *L, const core_State *core, int constants,
                    int documents);

/* Reads the schema at `i` with everything it refers to, and adds its errors to
** the issues table.  Returns the root node. */
int32_t tree_build(lua_State *L, tree_Tree *t, int i, const char *uri);

/* For the files of the tree builder: */

/* Adds the value on top of the stack to the constants and pops it; equal
** strings share one constant. */
int32_t tree_constant(lua_State *L, tree_Tree *t);
int32_t tree_string(lua_State *L, tree_Tree *t, const char *s, size_t len);

/* Adds `uri` without its fragment to the list of URIs without a document. */
void tree_unresolved(lua_State *L, const tree_Tree *t, const char *uri,
                     size_t len);

/* The string of a constant, borrowed. */
const char *tree_text(lua_State *L, const tree_Tree *t, int32_t constant,
                      size_t *len);

/* Reads the subschema on top of the stack, which stays; returns its node. */
int32_t tree_parse(lua_State *L, tree_Tree *t, const schema_Location *at,
                   int32_t resource, int depth);

/* The resource of the subschema at `schema`: a new one if it has a `$id`, else
** `outer`. */
int32_t tree_enter(lua_State *L, tree_Tree *t, int32_t outer, int schema);

/* Adds a resource for the document at `document`; pops its URI from the top of
** the stack. */
int32_t tree_add_document(lua_State *L, tree_Tree *t, int document);

/* Pushes `ref` resolved against the URI of the resource. */
void tree_push_resolved(lua_State *L, tree_Tree *t, int32_t resource,
                        const char *ref, size_t len);

/* Resolves all references and reads their targets. */
void tree_resolve(lua_State *L, tree_Tree *t);

/* Reads a keyword's value (on top of the stack) into its entry. */
void tree_read_value(lua_State *L, tree_Tree *t, int32_t node, int32_t keyword,
                     int depth);

/* Adds an issue at `keyword` (KEYWORD_NONE: at the node itself), with a format
** and arguments as in lua_pushfstring. */
void tree_issue(lua_State *L, tree_Tree *t, int32_t node,
                schema_KeywordId keyword, const char *message, ...);

static inline tree_Node *tree_node(const tree_Tree *t, int32_t i) {
  return schema_vector_at(t->nodes, tree_Node, i);
}

static inline tree_Keyword *tree_keyword(const tree_Tree *t, int32_t i) {
  return schema_vector_at(t->keywords, tree_Keyword, i);
}

static inline tree_Child *tree_child(const tree_Tree *t, int32_t i) {
  return schema_vector_at(t->children, tree_Child, i);
}

static inline tree_Resource *tree_resource(const tree_Tree *t, int32_t i) {
  return schema_vector_at(t->resources, tree_Resource, i);
}

static inline tree_DynamicAnchor *tree_anchor(const tree_Tree *t, int32_t i) {
  return schema_vector_at(t->anchors, tree_DynamicAnchor, i);
}

#endif
