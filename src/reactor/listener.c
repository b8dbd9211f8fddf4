#include "reactor/listener.h"

#include <arpa/inet.h>
#include <errno.h>
#include <netdb.h>
#include <netinet/in.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#define ACCEPT_PAUSE_MS 100.0 /* when out of descriptors or memory */

static void on_somebody(reactor_Reactor *r, int fd, uint32_t events) {
  listener_Listener *l = (listener_Listener *)r->sources[fd].op;
  (void)events;
  (void)reactor_watch(r, fd, 0, on_somebody); /* until no client waits */
  reactor_say(&l->op, REACTOR_DATA, false);
}

static void listen_on(reactor_Op *op) {
  listener_Listener *l = (listener_Listener *)op;
  op->reactor->sources[l->fd].op = op;
  (void)reactor_watch(op->reactor, l->fd, POLLER_READ, on_somebody);
}

/* Removes the file only if it is the one made here: another process may have
** replaced it. */
static void remove_file(const listener_Listener *l) {
  struct stat found;
  if (lstat(l->path, &found) == 0 && found.st_dev == l->device &&
      found.st_ino == l->inode)
    (void)unlink(l->path);
}

static void stop_listening(reactor_Op *op) {
  listener_Listener *l = (listener_Listener *)op;
  reactor_timer_unset(op->reactor, &op->timer);
  if (reactor_usable(op->reactor)) {
    reactor_closing(op->reactor, l->fd);
    if (l->path != NULL) remove_file(l);
  }
  close(l->fd);
  if (l->path != NULL)
    ops_free(&op->reactor->alloc, l->path, strlen(l->path) + 1);
}

static struct addrinfo *numeric(const char *host, int port) {
  const struct addrinfo hints = {.ai_socktype = SOCK_STREAM,
                                 .ai_flags = AI_NUMERICHOST | AI_NUMERICSERV};
  struct addrinfo *found = NULL;
  char service[16];
  snprintf(service, sizeof(service), "%d", port);
  if (getaddrinfo(host, service, &hints, &found) == 0) return found;
  errno = EINVAL;
  return NULL;
}

static int port_of(int fd) {
  union {
    struct sockaddr any;
    struct sockaddr_in v4;
    struct sockaddr_in6 v6;
  } address = {0};
  socklen_t length = sizeof(address);
  if (getsockname(fd, &address.any, &length) != 0) return 0;
  return ntohs(address.v4.sin_port); /* in the same place as that of v6 */
}

/* Closes a descriptor and fails; errno stays what it was. */
static int give_up(int fd) {
  int error = errno;
  close(fd);
  errno = error;
  return -1;
}

static int listen_at(const struct addrinfo *address, int backlog) {
  int on = 1, fd = platform_socket(address->ai_family, SOCK_STREAM, 0, false);
  if (fd == -1) return -1;
  (void)setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &on, sizeof(on));
  if (bind(fd, address->ai_addr, address->ai_addrlen) == 0 &&
      listen(fd, backlog) == 0)
    return fd;
  return give_up(fd);
}

static bool begin(reactor_Reactor *r, listener_Listener *l) {
  if (!reactor_opened(r, l->fd)) {
    close(l->fd);
    errno = ENOMEM;
    return false;
  }
  l->op.stop = stop_listening;
  l->op.timer.op = &l->op;
  l->op.timer.on_due = listen_on;
  reactor_start(r, &l->op);
  listen_on(&l->op);
  return true;
}

bool listener_open(reactor_Reactor *r, listener_Listener *l, const char *host,
                   int port, int backlog) {
  struct addrinfo *address = numeric(host, port);
  if (address == NULL) return false;
  l->fd = listen_at(address, backlog);
  freeaddrinfo(address);
  if (l->fd == -1) return false;
  l->port = port_of(l->fd);
  return begin(r, l);
}

/* Unix sockets */

/* Is the file a socket that no process listens at any more? */
static bool is_stale(const struct sockaddr_un *address) {
  struct stat found;
  bool stale;
  int fd;
  if (lstat(address->sun_path, &found) != 0 || !S_ISSOCK(found.st_mode))
    return false;
  fd = platform_socket(AF_UNIX, SOCK_STREAM, 0, false);
  if (fd == -1) return false;
  stale =
      connect(fd, (const struct sockaddr *)address, sizeof(*address)) != 0 &&
      errno == ECONNREFUSED;
  close(fd);
  return stale;
}

static bool bind_path(int fd, const struct sockaddr_un *address) {
  const struct sockaddr *any = (const struct sockaddr *)address;
  if (bind(fd, any, sizeof(*address)) == 0) return true;
  if (errno != EADDRINUSE) return false;
  if (!is_stale(address)) {
    errno = EADDRINUSE;
    return false;
  }
  return unlink(address->sun_path) == 0 && bind(fd, any, sizeof(*address)) == 0;
}

/* Clients cannot connect before `listen`, so `chmod` comes first. */
static int listen_at_path(listener_Listener *l, const char *path, mode_t mode,
                          int backlog) {
  struct sockaddr_un address = {.sun_family = AF_UNIX};
  struct stat made;
  int fd;
  if (strlen(path) >= sizeof(address.sun_path)) {
    errno = ENAMETOOLONG;
    return -1;
  }
  fd = platform_socket(AF_UNIX, SOCK_STREAM, 0, false);
  if (fd == -1) return -1;
  memcpy(address.sun_path, path, strlen(path) + 1);
  if (!bind_path(fd, &address)) return give_up(fd);
  if (chmod(path, mode) == 0 && lstat(path, &made) == 0 &&
      listen(fd, backlog) == 0) {
    l->device = made.st_dev;
    l->inode = made.st_ino;
    return fd;
  }
  (void)give_up(fd);
  (void)unlink(path);
  return -1;
}

bool listener_open_path(reactor_Reactor *r, listener_Listener *l,
                        const char *path, mode_t mode, int backlog) {
  size_t size = strlen(path) + 1;
  char *copy = (char *)ops_alloc(&r->alloc, size);
  if (copy == NULL) {
    errno = ENOMEM;
    return false;
  }
  memcpy(copy, path, size);
  l->fd = listen_at_path(l, path, mode, backlog);
  if (l->fd != -1) {
    l->path = copy;
    if (begin(r, l)) return true;
    remove_file(l);
  }
  ops_free(&r->alloc, copy, size);
  return false;
}

/* Accepting */

static bool adopt(reactor_Reactor *r, stream_Stream *s, int fd) {
  if (!reactor_opened(r, fd)) {
    close(fd);
    errno = ENOMEM;
    return false;
  }
  reactor_start(r, &s->op);
  stream_begin(s, fd);
  return true;
}

bool listener_accept(listener_Listener *l, stream_Stream *s, size_t window,
                     size_t queue) {
  reactor_Reactor *r = l->op.reactor;
  int fd;
  s->window = window;
  s->queue = queue;
  do fd = platform_accept(l->fd, false);
  while (fd == -1 && (errno == EINTR || errno == ECONNABORTED));
  if (fd != -1) return adopt(r, s, fd);
  if (errno == EAGAIN) {
    listen_on(&l->op);
  } else {
    int error = errno;
    (void)reactor_timer_set(r, &l->op.timer, reactor_after(ACCEPT_PAUSE_MS));
    errno = error;
  }
  return false;
}
