/*
** location.h - a place in a schema and in a value, as
** JSON Pointers (RFC 6901).
*/
#ifndef OPERATIONS_SCHEMA_LOCATION_H
#define OPERATIONS_SCHEMA_LOCATION_H

#include "lua/compat.h"
#include "schema/program/keyword.h"

/* A place in a schema: a chain up to a document's root. */
typedef struct schema_Location {
  int32_t parent;   /* node, -1 at a root */
  int32_t key;      /* constant: a property's name or a root's URI; or 0 */
  int32_t position; /* of an array element, from 0; or -1 */
  uint8_t keyword;  /* schema_KeywordId */
} schema_Location;

/* The location of node `node` of `owner`. */
typedef const schema_Location *(*schema_LocationOf)(const void *owner,
                                                    int32_t node);

/* Pushes the pointer to `keyword` (KEYWORD_NONE: to the node itself) of a node.
** The table at `constants` has the names. */
void schema_push_location(lua_State *L, int constants, schema_LocationOf of,
                          const void *owner, int32_t node,
                          schema_KeywordId keyword);

/* A step from a value to a member: a chain on the C stack. */
typedef struct schema_Step {
  const struct schema_Step *outer;
  const void *table; /* the address of the table that contains the member */
  const char *name;  /* borrowed; NULL: an item */
  size_t len;
  size_t index; /* of an item, from 0 */
} schema_Step;

/* Pushes the pointer to the value at `step`; NULL: "". */
void schema_push_path(lua_State *L, const schema_Step *step);

#endif
