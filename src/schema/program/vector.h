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

/* Appends `n` zeroed items and returns the index of the first; raises when
** memory is out, so the vector must hang on a userdata with __gc.  Pointers to
** items end here. */
int32_t schema_vector_add(lua_State *L, const ops_Alloc *alloc,
                          schema_Vector *vector, size_t item_size, size_t n);

/* Gives back the room that no item takes. */
void schema_vector_trim(const ops_Alloc *alloc, schema_Vector *vector,
                        size_t item_size);

/* Gives back all items; the vector is empty then. */
void schema_vector_free(const ops_Alloc *alloc, schema_Vector *vector,
                        size_t item_size);

#define schema_vector_at(vector, type, i) (&((type *)(vector).items)[i])

#endif
