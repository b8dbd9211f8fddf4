/*
** fork_page.h - memory that a forked child finds zeroed: asks nobody who runs,
** and holds what two processes must not share.
*/
#ifndef OPERATIONS_FORK_PAGE_H
#define OPERATIONS_FORK_PAGE_H

#include <stddef.h>
#include <sys/mman.h>

#define FORK_PAGE_SIZE 4096

/* FORK_PAGE_SIZE zeroed bytes, or NULL where the system has no such memory
** (Linux before 4.14). */
static inline void *fork_page_new(void) {
  void *page = mmap(NULL, FORK_PAGE_SIZE, PROT_READ | PROT_WRITE,
                    MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (page == MAP_FAILED) return NULL;
  if (madvise(page, FORK_PAGE_SIZE, MADV_WIPEONFORK) == 0) return page;
  munmap(page, FORK_PAGE_SIZE);
  return NULL;
}

/* `page` may be NULL. */
static inline void fork_page_free(void *page) {
  if (page != NULL) munmap(page, FORK_PAGE_SIZE);
}

#endif
