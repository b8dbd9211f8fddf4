#include "platform/platform.h"

#include <sys/stat.h>
#include <time.h>

static int64_t read_clock(clockid_t clock) {
  struct timespec t;
  clock_gettime(clock, &t);
  return (int64_t)t.tv_sec * 1000000000 + t.tv_nsec;
}

uint64_t platform_monotonic(void) {
  return (uint64_t)read_clock(CLOCK_MONOTONIC);
}

int64_t platform_realtime(void) {
  return read_clock(CLOCK_REALTIME);
}

struct timespec platform_modified(const struct stat *st) {
#ifdef __APPLE__
  return st->st_mtimespec;
#else
  return st->st_mtim;
#endif
}
