#include "transfer/http.h"

#include <netinet/in.h>
#include <sys/socket.h>

void http_sockets_init(http_Sockets *sockets) {
  size_t i;
  memset(sockets, 0, sizeof(*sockets));
  for (i = 0; i < HTTP_SOCKETS; i++) sockets->fds[i] = -1;
}

/* The port of a socket's own end; 0: it has none. */
static int port_of(int fd) {
  struct sockaddr_storage address;
  socklen_t size = sizeof(address);
  memset(&address, 0, sizeof(address));
  if (getsockname(fd, (struct sockaddr *)&address, &size) != 0) return 0;
  if (address.ss_family == AF_INET) {
    struct sockaddr_in in;
    memcpy(&in, &address, sizeof(in));
    return ntohs(in.sin_port);
  }
  if (address.ss_family == AF_INET6) {
    struct sockaddr_in6 in6;
    memcpy(&in6, &address, sizeof(in6));
    return ntohs(in6.sin6_port);
  }
  return 0;
}

static size_t place_of(int port) {
  return (unsigned)port % HTTP_SOCKETS;
}

void http_socket_opened(http_Transfer *t, int fd) {
  t->opened[t->opened_count++ % HTTP_OPENED] = fd;
}

void http_sockets_add(http_Sockets *sockets, const http_Transfer *t, int port) {
  size_t i;
  for (i = 0; i < HTTP_OPENED && i < t->opened_count; i++)
    if (port_of(t->opened[i]) == port)
      sockets->fds[place_of(port)] = t->opened[i];
  sockets->single[place_of(port)] = !t->shared;
}

void http_sockets_set_single(http_Sockets *sockets, int port, bool single) {
  sockets->single[place_of(port)] = single;
}

bool http_sockets_is_single(const http_Sockets *sockets, int port) {
  return sockets->single[place_of(port)];
}

bool http_sockets_unasked(const http_Sockets *sockets, int port) {
  int fd = sockets->fds[place_of(port)];
  char byte;
  return fd >= 0 && recv(fd, &byte, 1, MSG_PEEK | MSG_DONTWAIT) > 0 &&
         port_of(fd) == port;
}
