/*
** alloc.h - the allocator for pure C code: Lua's signature without lua.h.
*/
#ifndef OPERATIONS_ALLOC_H
#define OPERATIONS_ALLOC_H

#include <stddef.h>

/* As lua_Alloc: new_size 0 frees; returns NULL when out of memory. */
typedef void *(*ops_AllocFn)(void *ud, void *ptr, size_t old_size,
                             size_t new_size);

typedef struct ops_Alloc {
  ops_AllocFn fn;
  void *ud;
} ops_Alloc;

/* NULL when out of memory.  The caller owns the block and passes its size when
** freeing it. */
static inline void *ops_alloc(const ops_Alloc *a, size_t size) {
  return a->fn(a->ud, NULL, 0, size);
}

/* NULL when out of memory; the block at `p` is then unchanged. */
static inline void *ops_realloc(const ops_Alloc *a, void *p, size_t old_size,
                                size_t new_size) {
  return a->fn(a->ud, p, old_size, new_size);
}

/* `p` may be NULL; `size` is its allocated size. */
static inline void ops_free(const ops_Alloc *a, void *p, size_t size) {
  if (p != NULL) a->fn(a->ud, p, size, 0);
}

#endif
