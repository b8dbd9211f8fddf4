#include "platform/platform.h"

#include <fcntl.h>
#include <signal.h>
#include <string.h>
#include <unistd.h>

#ifdef __linux__
#include <sys/syscall.h>
#ifndef SYS_pidfd_open
#define SYS_pidfd_open 434
#endif
#ifndef SYS_close_range
#define SYS_close_range 436
#endif
#endif

#ifdef __APPLE__
#include <crt_externs.h>
#elif !defined(__linux__)
extern char **environ;
#endif

#if defined(PLATFORM_KQUEUE) && !defined(__linux__)
#include <sys/event.h>
#endif

#define MAX_DESCRIPTORS 65536 /* the loop that closes descriptors ends here */

#ifdef __linux__

/* -1 on Linux before 5.3.  Queues of an emulated kqueue cannot be polled. */
int platform_child_exit(pid_t pid) {
#ifdef PLATFORM_KQUEUE
  (void)pid;
  return -1;
#else
  return (int)syscall(SYS_pidfd_open, pid, 0u);
#endif
}

void platform_close(int fd, bool forked) {
  (void)forked;
  close(fd);
}

#else

/* Makes a kqueue of its own, which is readable as a pidfd is.  It may refuse a
** process that has ended already: the caller notices that at once. */
int platform_child_exit(pid_t pid) {
  struct kevent event;
  int fd = kqueue();
  if (fd == -1) return -1;
  (void)fcntl(fd, F_SETFD, FD_CLOEXEC);
  EV_SET(&event, (uintptr_t)pid, EVFILT_PROC, EV_ADD, NOTE_EXIT, 0, NULL);
  if (kevent(fd, &event, 1, NULL, 0, NULL) == 0) return fd;
  close(fd);
  return -1;
}

void platform_close(int fd, bool forked) {
  if (!forked) close(fd);
}

#endif

/* Linux 5.9 and newer have close_range. */
static bool close_at_once(int first) {
#ifdef __linux__
  return syscall(SYS_close_range, (unsigned)first, ~0u, 0u) == 0;
#elif defined(__FreeBSD__) || defined(__NetBSD__) || defined(__OpenBSD__)
  closefrom(first);
  return true;
#else
  (void)first;
  return false;
#endif
}

void platform_close_from(int first) {
  long fd, end;
  if (close_at_once(first)) return;
  end = sysconf(_SC_OPEN_MAX);
  if (end < 0 || end > MAX_DESCRIPTORS) end = MAX_DESCRIPTORS;
  for (fd = first; fd < end; fd++) close((int)fd);
}

/* On Linux by the system call: the C library's function leaves out two signals
** that it reserves for itself. */
static void set_default(int number) {
#ifdef __linux__
  static const char by_default[64] = {
      0}; /* large enough for the kernel's struct */
  (void)syscall(SYS_rt_sigaction, number, by_default, NULL, (size_t)(NSIG / 8));
#else
  struct sigaction by_default;
  memset(&by_default, 0, sizeof(by_default));
  by_default.sa_handler = SIG_DFL;
  (void)sigaction(number, &by_default, NULL);
#endif
}

void platform_reset_signals(void) {
  sigset_t none;
  int i;
  for (i = 1; i < NSIG; i++) set_default(i);
  sigemptyset(&none);
  (void)sigprocmask(SIG_SETMASK, &none, NULL);
}

char *const *platform_environment(void) {
#ifdef __APPLE__
  return *_NSGetEnviron(); /* libraries cannot see `environ` on macOS */
#else
  return environ;
#endif
}
