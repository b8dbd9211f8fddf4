#include "reactor/pipe.h"

#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <stdint.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <time.h>
#include <unistd.h>

#ifndef RWF_NOSIGNAL
#define RWF_NOSIGNAL 0x100 /* Linux 6.18 */
#endif

/* As write, while SIGPIPE does not get out. */
static ssize_t write_masked(int fd, const char *bytes, size_t length) {
  static const struct timespec at_once = {0, 0};
  sigset_t pipe_signal, before, waiting;
  ssize_t n;
  int error;
  sigemptyset(&pipe_signal);
  sigaddset(&pipe_signal, SIGPIPE);
  (void)pthread_sigmask(SIG_BLOCK, &pipe_signal, &before);
  sigemptyset(&waiting); /* only what was blocked before can wait already */
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

/* As write, without SIGPIPE, where the kernel can.  Not every C library has a
** function for it (musl 1.2.4 and older); -1 stands for no offset. */
static ssize_t write_unsignalled(int fd, struct iovec *piece) {
  return (ssize_t)syscall(SYS_pwritev2, fd, piece, 1L, -1L, -1L, RWF_NOSIGNAL);
}

ssize_t pipe_write(int fd, const char *bytes, size_t length, bool *masks) {
  struct iovec piece = {(void *)(uintptr_t)bytes, length};
  ssize_t n = 0;
  if (!*masks) {
    do n = write_unsignalled(fd, &piece);
    while (n < 0 && errno == EINTR);
    *masks = n < 0 && errno != EAGAIN && errno != EPIPE;
  }
  return *masks ? write_masked(fd, bytes, length) : n;
}
