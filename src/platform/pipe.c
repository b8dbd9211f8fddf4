#include "platform/platform.h"

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <time.h>
#include <unistd.h>

#ifdef __linux__
#include <sys/syscall.h>
#include <sys/uio.h>
#ifndef RWF_NOSIGNAL
#define RWF_NOSIGNAL 0x100 /* Linux 6.18 */
#endif
#endif

#ifdef F_SETNOSIGPIPE

/* macOS: a flag of the descriptor. */
ssize_t platform_pipe_write(int fd, const char *bytes, size_t length,
                            bool *masks) {
  ssize_t n;
  (void)masks;
  (void)fcntl(fd, F_SETNOSIGPIPE, 1);
  do n = write(fd, bytes, length);
  while (n < 0 && errno == EINTR);
  return n;
}

#else

/* As write, but blocks SIGPIPE and discards it. */
static ssize_t write_masked(int fd, const char *bytes, size_t length) {
  static const struct timespec at_once = {0, 0};
  sigset_t pipe_signal, before, waiting;
  ssize_t n;
  int error;
  sigemptyset(&pipe_signal);
  sigaddset(&pipe_signal, SIGPIPE);
  (void)pthread_sigmask(SIG_BLOCK, &pipe_signal, &before);
  sigemptyset(&waiting); /* a signal that was not blocked cannot be pending */
  if (sigismember(&before, SIGPIPE)) (void)sigpending(&waiting);
  do n = write(fd, bytes, length);
  while (n < 0 && errno == EINTR);
  error = errno;
  if (n < 0 && error == EPIPE && !sigismember(&waiting, SIGPIPE)) {
    while (sigtimedwait(&pipe_signal, NULL, &at_once) < 0 && errno == EINTR) {
    }
  }
  (void)pthread_sigmask(SIG_SETMASK, &before, NULL);
  errno = error;
  return n;
}

/* As write, but without SIGPIPE where the kernel supports that.  Not every C
** library has the function (musl 1.2.4 and older); -1 means no offset. */
static ssize_t write_unsignalled(int fd, const char *bytes, size_t length) {
#ifdef __linux__
  struct iovec piece = {(void *)(uintptr_t)bytes, length};
  return (ssize_t)syscall(SYS_pwritev2, fd, &piece, 1L, -1L, -1L, RWF_NOSIGNAL);
#else
  (void)fd, (void)bytes, (void)length;
  errno = ENOSYS;
  return -1;
#endif
}

ssize_t platform_pipe_write(int fd, const char *bytes, size_t length,
                            bool *masks) {
  ssize_t n = 0;
  if (!*masks) {
    do n = write_unsignalled(fd, bytes, length);
    while (n < 0 && errno == EINTR);
    *masks = n < 0 && errno != EAGAIN && errno != EPIPE;
  }
  return *masks ? write_masked(fd, bytes, length) : n;
}

#endif

/* On other systems, opening a descriptor's path duplicates it, and the
** duplicate shares its flags; only a terminal has a path of its own. */
int platform_reopen(int fd, int flags) {
  char name[128];
#ifdef __linux__
  (void)snprintf(name, sizeof(name), "/proc/self/fd/%d", fd);
#else
  if (ttyname_r(fd, name, sizeof(name)) != 0) return -1;
#endif
  return open(name, flags);
}
