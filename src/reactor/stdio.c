#include "reactor/stdio.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#define FIRST 3 /* the first descriptor after the standard ones */

static stdio_Stream *of(stream_Stream *s) {
  return (stdio_Stream *)s;
}

static ssize_t receive(stream_Stream *s, char *bytes, size_t room) {
  if (of(s)->is_socket) return recv(s->fd, bytes, room, MSG_DONTWAIT);
  return read(s->fd, bytes, room);
}

static ssize_t transmit(stream_Stream *s, const char *bytes, size_t length) {
  if (of(s)->is_socket)
    return platform_send(s->fd, bytes, length, MSG_DONTWAIT);
  return platform_pipe_write(s->fd, bytes, length, &of(s)->masks);
}

static void close_layer(stream_Stream *s) {
  reactor_closing(s->op.reactor, of(s)->fd);
  close(of(s)->fd);
}

static const stream_Layer layer = {receive, transmit, close_layer};

/* A non-blocking descriptor of our own.  O_NONBLOCK is a flag of the open file,
** which other processes may share: a pipe or a terminal is opened again, a
** socket is asked not to wait in each call, a file never blocks. */
static int private_copy(int fd, int mode, bool *is_socket) {
  struct stat found;
  int copy;
  if (fstat(fd, &found) != 0) return -1;
  if (mode == O_WRONLY && (fcntl(fd, F_GETFL) & O_ACCMODE) == O_RDONLY) {
    errno = EBADF; /* stdout was closed, and another file has its number */
    return -1;
  }
  *is_socket = S_ISSOCK(found.st_mode);
  if (*is_socket) platform_socket_adopt(fd);
  if (S_ISFIFO(found.st_mode) || S_ISCHR(found.st_mode)) {
    copy = platform_reopen(fd, mode | O_NONBLOCK | O_CLOEXEC | O_NOCTTY);
    if (copy >= FIRST) return copy;
    if (copy != -1) close(copy);
    (void)fcntl(fd, F_SETFL, fcntl(fd, F_GETFL) | O_NONBLOCK);
  }
  return fcntl(fd, F_DUPFD_CLOEXEC, FIRST);
}

static bool begin(reactor_Reactor *r, stdio_Stream *s, int fd) {
  if (!reactor_opened(r, fd)) {
    close(fd);
    errno = ENOMEM;
    return false;
  }
  s->fd = fd;
  s->stream.layer = &layer;
  reactor_start(r, &s->stream.op);
  stream_begin(&s->stream, fd);
  return true;
}

bool stdio_take_input(reactor_Reactor *r, stdio_Stream *s) {
  /* Where stdin is closed, this takes its number: reading gives nothing. */
  int nothing = open("/dev/null", O_RDONLY | O_CLOEXEC);
  int fd = private_copy(STDIN_FILENO, O_RDONLY, &s->is_socket);
  if (nothing != -1) {
    if (fd != -1) (void)dup2(nothing, STDIN_FILENO);
    if (nothing != STDIN_FILENO) close(nothing);
  }
  return fd != -1 && begin(r, s, fd);
}

bool stdio_take_output(reactor_Reactor *r, stdio_Stream *s) {
  int fd = private_copy(STDOUT_FILENO, O_WRONLY, &s->is_socket);
  if (fd == -1) return false;
  (void)dup2(STDERR_FILENO, STDOUT_FILENO);
  s->stream.over = true; /* nothing comes */
  return begin(r, s, fd);
}
