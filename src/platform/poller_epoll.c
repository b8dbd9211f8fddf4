#include "platform/platform.h"

#ifndef PLATFORM_KQUEUE

#include <errno.h>
#include <fcntl.h>
#include <sys/epoll.h>
#include <sys/timerfd.h>
#include <unistd.h>

/* The tag of the timerfd in epoll. */
#define TIMER_TAG UINT64_MAX

/* epoll's event bits are ours. */
typedef char same_events[POLLER_READ == EPOLLIN && POLLER_WRITE == EPOLLOUT &&
                                 POLLER_ERROR == EPOLLERR &&
                                 POLLER_HANGUP == EPOLLHUP
                             ? 1
                             : -1];

/* When the program was started without stdin or stdout, their numbers are free;
** the poller must not take them. */
bool platform_poller_open(platform_Poller *p) {
  int fd = epoll_create1(EPOLL_CLOEXEC);
  p->timer = -1;
  p->fd = fd;
  if (fd == -1) return false;
  if (fd > STDERR_FILENO) return true;
  p->fd = fcntl(fd, F_DUPFD_CLOEXEC, STDERR_FILENO + 1);
  close(fd);
  return p->fd != -1;
}

void platform_poller_close(platform_Poller *p, bool forked) {
  (void)forked;
  if (p->fd != -1) close(p->fd);
  if (p->timer != -1) close(p->timer);
  p->fd = p->timer = -1;
}

void platform_poller_set(const platform_Poller *p, int fd, uint32_t generation,
                         uint32_t have, uint32_t want) {
  struct epoll_event event = {
      .events = want, .data.u64 = (uint64_t)generation << 32 | (uint32_t)fd};
  if (want == 0) epoll_ctl(p->fd, EPOLL_CTL_DEL, fd, NULL);
  else if (have == 0) epoll_ctl(p->fd, EPOLL_CTL_ADD, fd, &event);
  else epoll_ctl(p->fd, EPOLL_CTL_MOD, fd, &event);
}

static void read_timer(const platform_Poller *p) {
  uint64_t expirations;
  while (read(p->timer, &expirations, sizeof(expirations)) < 0 &&
         errno == EINTR) {
  }
}

int platform_poller_wait(const platform_Poller *p,
                         platform_Ready ready[POLLER_BATCH], int timeout_ms) {
  struct epoll_event events[POLLER_BATCH];
  int i, n = epoll_wait(p->fd, events, POLLER_BATCH, timeout_ms);
  for (i = 0; i < n; i++) {
    uint64_t tag = events[i].data.u64;
    ready[i].fd = (int)(uint32_t)tag; /* TIMER_TAG becomes POLLER_ALARM */
    ready[i].generation = (uint32_t)(tag >> 32);
    ready[i].events = events[i].events;
    if (tag == TIMER_TAG) read_timer(p);
  }
  return n > 0 ? n : 0;
}

static bool open_timer(platform_Poller *p) {
  struct epoll_event event = {.events = EPOLLIN, .data.u64 = TIMER_TAG};
  if (p->timer != -1) return true;
  p->timer = timerfd_create(CLOCK_MONOTONIC, TFD_NONBLOCK | TFD_CLOEXEC);
  if (p->timer == -1) return false;
  return epoll_ctl(p->fd, EPOLL_CTL_ADD, p->timer, &event) == 0;
}

bool platform_poller_alarm(platform_Poller *p, uint64_t due) {
  struct itimerspec spec = {
      .it_value = {(time_t)(due / 1000000000u), (long)(due % 1000000000u)}};
  if (!open_timer(p)) return false;
  return timerfd_settime(p->timer, TFD_TIMER_ABSTIME, &spec, NULL) == 0;
}

#endif
