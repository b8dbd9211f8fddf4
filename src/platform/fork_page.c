#include "platform/platform.h"

#include <sys/mman.h>

/* Linux and FreeBSD have it; macOS has no equivalent. */
static bool wipe_on_fork(void *page) {
#if defined(MADV_WIPEONFORK)
  return madvise(page, PLATFORM_FORK_PAGE, MADV_WIPEONFORK) == 0;
#elif defined(INHERIT_ZERO)
  return minherit(page, PLATFORM_FORK_PAGE, INHERIT_ZERO) == 0;
#else
  (void)page;
  return false;
#endif
}

void *platform_fork_page(void) {
  void *page = mmap(NULL, PLATFORM_FORK_PAGE, PROT_READ | PROT_WRITE,
                    MAP_PRIVATE | MAP_ANON, -1, 0);
  if (page == MAP_FAILED) return NULL;
  if (wipe_on_fork(page)) return page;
  munmap(page, PLATFORM_FORK_PAGE);
  return NULL;
}

void platform_fork_page_free(void *page) {
  if (page != NULL) munmap(page, PLATFORM_FORK_PAGE);
}
