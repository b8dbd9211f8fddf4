#include "reactor/local.h"

#include <errno.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

/* Connects only to a server of our user: anyone who may write the directory can
** put a socket of their own at the path. */
static int connect_to(const struct sockaddr_un *address) {
  int error, fd = platform_socket(AF_UNIX, SOCK_STREAM, 0, false);
  if (fd == -1) return -1;
  if (connect(fd, (const struct sockaddr *)address, sizeof(*address)) == 0 &&
      platform_is_same_user(fd))
    return fd;
  error = errno;
  close(fd);
  errno = error;
  return -1;
}

bool local_connect(reactor_Reactor *r, stream_Stream *s, const char *path,
                   size_t window, size_t queue) {
  struct sockaddr_un address = {.sun_family = AF_UNIX};
  int fd;
  s->window = window;
  s->queue = queue;
  if (strlen(path) >= sizeof(address.sun_path)) {
    errno = ENAMETOOLONG;
    return false;
  }
  memcpy(address.sun_path, path, strlen(path) + 1);
  fd = connect_to(&address);
  if (fd == -1) return false;
  if (!reactor_opened(r, fd)) {
    close(fd);
    errno = ENOMEM;
    return false;
  }
  reactor_start(r, &s->op);
  stream_begin(s, fd);
  return true;
}
