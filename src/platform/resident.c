#include "platform/platform.h"

#ifdef __APPLE__

#include <dlfcn.h>

static void stay_loaded(void) __attribute__((constructor));

/* macOS: the equivalent of -z nodelete, which its linker lacks. */
static void stay_loaded(void) {
  static const char mark;
  Dl_info image;
  if (dladdr(&mark, &image) != 0)
    (void)dlopen(image.dli_fname, RTLD_LAZY | RTLD_NOLOAD | RTLD_NODELETE);
}

#endif
