#include "platform/platform.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/socket.h>
#include <unistd.h>

/* macOS has no flag for a single write, but one for the socket. */
void platform_socket_adopt(int fd) {
#ifdef SO_NOSIGPIPE
  const int on = 1;
  (void)setsockopt(fd, SOL_SOCKET, SO_NOSIGPIPE, &on, sizeof(on));
#else
  (void)fd;
#endif
}

ssize_t platform_send(int fd, const void *bytes, size_t length, int flags) {
#ifdef SO_NOSIGPIPE
  return send(fd, bytes, length, flags);
#else
  return send(fd, bytes, length, flags | MSG_NOSIGNAL);
#endif
}

bool platform_has_ended(int fd) {
  char byte;
  return recv(fd, &byte, 1, MSG_PEEK | MSG_DONTWAIT) == 0;
}

#ifdef __APPLE__

/* macOS has no flags for the calls that make descriptors.  A program that
** another thread starts in between inherits the descriptor. */
static int prepare(int fd, bool blocks) {
  int error;
  if (fd == -1) return -1;
  platform_socket_adopt(fd);
  if (fcntl(fd, F_SETFD, FD_CLOEXEC) == 0 &&
      fcntl(fd, F_SETFL, blocks ? 0 : O_NONBLOCK) == 0)
    return fd;
  error = errno;
  close(fd);
  errno = error;
  return -1;
}

int platform_socket(int family, int type, int protocol, bool blocks) {
  return prepare(socket(family, type, protocol), blocks);
}

int platform_accept(int fd, bool blocks) {
  return prepare(accept(fd, NULL, NULL), blocks);
}

bool platform_pipe(int ends[2]) {
  if (pipe(ends) != 0) return false;
  (void)fcntl(ends[0], F_SETFD, FD_CLOEXEC);
  (void)fcntl(ends[1], F_SETFD, FD_CLOEXEC);
  return true;
}

#else

static int flags(bool blocks) {
  return SOCK_CLOEXEC | (blocks ? 0 : SOCK_NONBLOCK);
}

int platform_socket(int family, int type, int protocol, bool blocks) {
  int fd = socket(family, type | flags(blocks), protocol);
  if (fd != -1) platform_socket_adopt(fd);
  return fd;
}

int platform_accept(int fd, bool blocks) {
  int accepted = accept4(fd, NULL, NULL, flags(blocks));
  if (accepted >= 0) platform_socket_adopt(accepted);
  return accepted;
}

bool platform_pipe(int ends[2]) {
  return pipe2(ends, O_CLOEXEC) == 0;
}

#endif

static bool owner_of(int fd, uid_t *owner) {
#ifdef __linux__
  struct ucred other;
  socklen_t length = sizeof(other);
  if (getsockopt(fd, SOL_SOCKET, SO_PEERCRED, &other, &length) != 0)
    return false;
  *owner = other.uid;
  return true;
#else
  gid_t group;
  return getpeereid(fd, owner, &group) == 0;
#endif
}

bool platform_is_same_user(int fd) {
  uid_t owner;
  if (!owner_of(fd, &owner)) return false;
  if (owner == geteuid()) return true;
  errno = EPERM;
  return false;
}
