/*
** vector.h - growing arrays that a userdata owns.
*/
#ifndef OPERATIONS_SCHEMA_VECTOR_H
#define OPERATIONS_SCHEMA_VECTOR_H

#include "base/alloc.h"
#include "lua/compat.h"

typedef struct schema_Vector {
  void *items; /* owned */
  size_t count, capacity;
} schema_Vector;

/* Appends `n` zeroed items and returns the index of the first; raises when out
** of memory, so the vector must belong to a userdata with __gc.  Invalidates
** pointers to items. */
int32_t schema_vector_add(lua_State *L, const ops_Alloc *alloc,
                          schema_Vector *vector, size_t item_size, size_t n);

/* Frees unused room. */
void schema_vector_trim(const ops_Alloc *alloc, schema_Vector *vector,
                        size_t item_size);

/* Frees all items; the vector is then empty. */
void schema_vector_free(const ops_Alloc *alloc, schema_Vector *vector,
                        size_t item_size);

#define schema_vector_at(vector, type, i) (&((type *)(vector).items)[i])

#endif
