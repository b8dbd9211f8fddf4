#include "platform/platform.h"

#include <errno.h>
#include <string.h>
#include <unistd.h>

#ifndef PLATFORM_KQUEUE

#include <sys/eventfd.h>

/* The value of the eventfd. */
#define GO_ON ((uint64_t)1)
#define LAST ((uint64_t)1 << 32)

bool platform_wake_open(platform_Wake *w) {
  w->in = w->out = eventfd(0, EFD_CLOEXEC);
  return w->in != -1;
}

void platform_wake_tell(const platform_Wake *w, bool last) {
  uint64_t what = last ? LAST : GO_ON;
  while (write(w->out, &what, sizeof(what)) < 0 && errno == EINTR) {
  }
}

bool platform_wake_wait(const platform_Wake *w) {
  uint64_t told;
  while (read(w->in, &told, sizeof(told)) < 0) {
    if (errno != EINTR) return true;
  }
  return told >= LAST;
}

#else

#define GO_ON '+'
#define LAST '.'

bool platform_wake_open(platform_Wake *w) {
  int ends[2];
  w->in = w->out = -1;
  if (!platform_pipe(ends)) return false;
  w->in = ends[0];
  w->out = ends[1];
  return true;
}

void platform_wake_tell(const platform_Wake *w, bool last) {
  const char what = last ? LAST : GO_ON;
  while (write(w->out, &what, 1) < 0 && errno == EINTR) {
  }
}

bool platform_wake_wait(const platform_Wake *w) {
  char told[64];
  ssize_t n;
  do n = read(w->in, told, sizeof(told));
  while (n < 0 && errno == EINTR);
  return n <= 0 || memchr(told, LAST, (size_t)n) != NULL;
}

#endif

void platform_wake_close(platform_Wake *w) {
  if (w->in != -1) close(w->in);
  if (w->out != -1 && w->out != w->in) close(w->out);
  w->in = w->out = -1;
}
