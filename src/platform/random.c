#include "platform/platform.h"

#include <errno.h>
#include <stdlib.h>

#ifdef __linux__

#include <sys/random.h>

/* A signal may interrupt it. */
static bool get(unsigned char *bytes, size_t n, unsigned flags) {
  while (n > 0) {
    ssize_t got = getrandom(bytes, n, flags);
    if (got < 0 && errno != EINTR) return false;
    if (got > 0) {
      bytes += got;
      n -= (size_t)got;
    }
  }
  return true;
}

bool platform_random(void *bytes, size_t n) {
  return get((unsigned char *)bytes, n, 0);
}

bool platform_random_at_once(void *bytes, size_t n) {
  return get((unsigned char *)bytes, n, GRND_NONBLOCK);
}

#else

bool platform_random(void *bytes, size_t n) {
  arc4random_buf(bytes, n);
  return true;
}

bool platform_random_at_once(void *bytes, size_t n) {
  return platform_random(bytes, n);
}

#endif
