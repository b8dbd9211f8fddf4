#include "reactor/relay.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <unistd.h>

#define TICK_MS 250 /* a byte comes at least this often */
#define STACK_SIZE (128 * 1024)

/* What the eventfd counts. */
#define ACKNOWLEDGED ((uint64_t)1)
#define QUIT ((uint64_t)1 << 32)

static void close_fd(int *fd) {
  if (*fd >= 0) close(*fd);
  *fd = -1;
}

void reactor_relay_init(reactor_Relay *relay) {
  memset(relay, 0, sizeof(*relay));
  relay->pid = getpid();
  relay->epoll = relay->listener = relay->socket = relay->wake = -1;
}

/* Listening */

static bool make_path(reactor_Relay *relay) {
  const char *parent = getenv("TMPDIR");
  size_t size = sizeof(relay->path) - sizeof("/relay") + 1;
  int len = snprintf(relay->path, size, "%s/operations-XXXXXX",
                     parent != NULL && *parent != '\0' ? parent : "/tmp");
  if (len >= 0 && (size_t)len < size && mkdtemp(relay->path) != NULL) {
    memcpy(relay->path + len, "/relay", sizeof("/relay"));
    return true;
  }
  if ((size_t)len >= size) errno = ENAMETOOLONG;
  relay->path[0] = '\0';
  return false;
}

static void remove_path(reactor_Relay *relay) {
  int saved = errno;
  if (relay->path[0] == '\0') return;
  unlink(relay->path);
  *strrchr(relay->path, '/') = '\0';
  rmdir(relay->path);
  relay->path[0] = '\0';
  errno = saved;
}

bool reactor_relay_listen(reactor_Relay *relay, int epoll) {
  struct sockaddr_un address;
  relay->epoll = fcntl(epoll, F_DUPFD_CLOEXEC, 0);
  relay->wake = eventfd(0, EFD_CLOEXEC);
  relay->listener =
      socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
  if (relay->epoll < 0 || relay->wake < 0 || relay->listener < 0) return false;
  if (!make_path(relay)) return false;
  memset(&address, 0, sizeof(address));
  address.sun_family = AF_UNIX;
  memcpy(address.sun_path, relay->path, sizeof(address.sun_path));
  if (bind(relay->listener, (struct sockaddr *)&address, sizeof(address)) != 0)
    return false;
  return listen(relay->listener, 8) == 0;
}

/* The thread */

static bool told_to_quit(reactor_Relay *relay) {
  uint64_t told;
  while (read(relay->wake, &told, sizeof(told)) < 0) {
    if (errno != EINTR) return true;
  }
  return told >= QUIT;
}

static void *run(void *ud) {
  reactor_Relay *relay = (reactor_Relay *)ud;
  for (;;) {
    struct pollfd polled[2] = {{relay->epoll, POLLIN, 0},
                               {relay->wake, POLLIN, 0}};
    if (poll(polled, 2, TICK_MS) < 0 && errno != EINTR) return NULL;
    if (polled[1].revents == 0 && send(relay->socket, "", 1, MSG_NOSIGNAL) != 1)
      return NULL;
    if (told_to_quit(relay)) return NULL;
  }
}

/* Signals are for the program's own thread. */
static bool start(reactor_Relay *relay) {
  pthread_attr_t attributes;
  sigset_t all, before;
  int failed = pthread_attr_init(&attributes);
  if (failed == 0) {
    sigfillset(&all);
    (void)pthread_attr_setstacksize(&attributes, STACK_SIZE);
    pthread_sigmask(SIG_SETMASK, &all, &before);
    failed = pthread_create(&relay->thread, &attributes, run, relay);
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    pthread_attr_destroy(&attributes);
  }
  relay->running = failed == 0;
  if (failed != 0) errno = failed;
  return relay->running;
}

static bool is_own(const reactor_Relay *relay, int fd) {
  struct ucred peer;
  socklen_t len = sizeof(peer);
  return getsockopt(fd, SOL_SOCKET, SO_PEERCRED, &peer, &len) == 0 &&
         peer.pid == relay->pid;
}

bool reactor_relay_accept(reactor_Relay *relay) {
  while (relay->socket < 0) {
    int fd = accept4(relay->listener, NULL, NULL, SOCK_CLOEXEC);
    if (fd < 0) return false;
    if (is_own(relay, fd)) relay->socket = fd;
    else close(fd);
  }
  close_fd(&relay->listener);
  remove_path(relay);
  return start(relay);
}

static void tell(reactor_Relay *relay, uint64_t what) {
  while (write(relay->wake, &what, sizeof(what)) < 0 && errno == EINTR) {
  }
}

void reactor_relay_acknowledge(reactor_Relay *relay) {
  if (relay->running) tell(relay, ACKNOWLEDGED);
}

void reactor_relay_close(reactor_Relay *relay) {
  bool forked = relay->pid != getpid();
  if (relay->running && !forked) {
    tell(relay, QUIT);
    pthread_join(relay->thread, NULL);
  }
  relay->running = false;
  close_fd(&relay->epoll);
  close_fd(&relay->listener);
  close_fd(&relay->socket);
  close_fd(&relay->wake);
  if (!forked) remove_path(relay);
}
