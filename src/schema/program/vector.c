#include "schema/program/vector.h"

#define VECTOR_MAX_ITEMS 0x3fffffff /* indices are int32_t */

int32_t schema_vector_add(lua_State *L, const ops_Alloc *alloc,
                          schema_Vector *vector, size_t item_size, size_t n) {
  size_t first = vector->count;
  if (n > vector->capacity - first) {
    size_t capacity = vector->capacity * 2 + 8;
    void *items;
    if (n > VECTOR_MAX_ITEMS - first) luaL_error(L, "schema too large");
    if (capacity < first + n) capacity = first + n;
    items = ops_realloc(alloc, vector->items, vector->capacity * item_size,
                        capacity * item_size);
    if (items == NULL) return luaL_error(L, "not enough memory");
    vector->items = items;
    vector->capacity = capacity;
  }
  if (n > 0)
    memset((char *)vector->items + first * item_size, 0, n * item_size);
  vector->count += n;
  return (int32_t)first;
}

void schema_vector_trim(const ops_Alloc *alloc, schema_Vector *vector,
                        size_t item_size) {
  void *items;
  if (vector->count == vector->capacity) return;
  items = ops_realloc(alloc, vector->items, vector->capacity * item_size,
                      vector->count * item_size);
  if (items == NULL && vector->count > 0) return; /* keeps the larger block */
  vector->items = items;
  vector->capacity = vector->count;
}

void schema_vector_free(const ops_Alloc *alloc, schema_Vector *vector,
                        size_t item_size) {
  ops_free(alloc, vector->items, vector->capacity * item_size);
  memset(vector, 0, sizeof(*vector));
}
