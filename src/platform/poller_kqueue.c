#include "platform/platform.h"

#ifdef PLATFORM_KQUEUE

#include <fcntl.h>
#include <sys/event.h>
#include <time.h>
#include <unistd.h>

#define ALARM_IDENT 1

/* When the program was started without stdin or stdout, their numbers are free;
** the poller must not take them. */
bool platform_poller_open(platform_Poller *p) {
  int fd = kqueue();
  p->timer = -1;
  p->fd = fd;
  if (fd == -1) return false;
  if (fd <= STDERR_FILENO) {
    p->fd = fcntl(fd, F_DUPFD_CLOEXEC, STDERR_FILENO + 1);
    close(fd);
  } else {
    (void)fcntl(fd, F_SETFD, FD_CLOEXEC);
  }
  return p->fd != -1;
}

void platform_poller_close(platform_Poller *p, bool forked) {
  if (p->fd != -1) platform_close(p->fd, forked);
  p->fd = -1;
}

/* One change per call: the first that fails (for a closed descriptor, which has
** left the queue) would prevent the others. */
static bool change(const platform_Poller *p, const struct kevent *event) {
  return kevent(p->fd, event, 1, NULL, 0, NULL) == 0;
}

static void set_filter(const platform_Poller *p, int fd, short filter,
                       uint32_t generation, bool wanted) {
  struct kevent event;
  EV_SET(&event, (uintptr_t)fd, filter, wanted ? EV_ADD : EV_DELETE, 0, 0,
         (void *)(uintptr_t)generation);
  (void)change(p, &event);
}

void platform_poller_set(const platform_Poller *p, int fd, uint32_t generation,
                         uint32_t have, uint32_t want) {
  uint32_t changed = have ^ want;
  if (changed & POLLER_READ)
    set_filter(p, fd, EVFILT_READ, generation, (want & POLLER_READ) != 0);
  if (changed & POLLER_WRITE)
    set_filter(p, fd, EVFILT_WRITE, generation, (want & POLLER_WRITE) != 0);
}

static platform_Ready report(const struct kevent *event) {
  platform_Ready ready = {POLLER_ALARM, 0, 0};
  if (event->filter == EVFILT_TIMER) return ready;
  ready.fd = (int)event->ident;
  ready.generation = (uint32_t)(uintptr_t)event->udata;
  ready.events = event->filter == EVFILT_READ ? POLLER_READ : POLLER_WRITE;
  if (event->filter == EVFILT_WRITE && event->flags & EV_EOF)
    ready.events |= event->fflags != 0 ? POLLER_ERROR : POLLER_HANGUP;
  return ready;
}

int platform_poller_wait(const platform_Poller *p,
                         platform_Ready ready[POLLER_BATCH], int timeout_ms) {
  struct kevent events[POLLER_BATCH];
  struct timespec timeout;
  int i, n;
  timeout.tv_sec = timeout_ms / 1000;
  timeout.tv_nsec = timeout_ms % 1000 * 1000000L;
  n = kevent(p->fd, NULL, 0, events, POLLER_BATCH,
             timeout_ms >= 0 ? &timeout : NULL);
  for (i = 0; i < n; i++) ready[i] = report(&events[i]);
  return n > 0 ? n : 0;
}

/* Not every system can change a timer that is set, so it is deleted first. */
bool platform_poller_alarm(platform_Poller *p, uint64_t due) {
  uint64_t now = platform_monotonic();
  struct kevent event;
  EV_SET(&event, ALARM_IDENT, EVFILT_TIMER, EV_DELETE, 0, 0, NULL);
  (void)change(p, &event);
  EV_SET(&event, ALARM_IDENT, EVFILT_TIMER, EV_ADD | EV_ONESHOT, NOTE_NSECONDS,
         (intptr_t)(due > now ? due - now : 1), NULL);
  return change(p, &event);
}

#endif
