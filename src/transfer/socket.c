#include "transfer/http.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <sys/socket.h>

struct http_Socket {
  http_Socket *next; /* in its bucket */
  http_Route route;
  int fd;
  bool single;
};

void http_sockets_free(http_Sockets *sockets) {
  size_t i;
  for (i = 0; i < HTTP_BUCKETS; i++) {
    while (sockets->buckets[i] != NULL) {
      http_Socket *socket = sockets->buckets[i];
      sockets->buckets[i] = socket->next;
      ops_free(&sockets->alloc, socket, sizeof(*socket));
    }
  }
}

/* The local port of a socket; 0 without one.  curl names the connection of a
** transfer by its addresses and ports, never by its descriptor. */
static int port_of(int fd) {
  struct sockaddr_storage address = {.ss_family = AF_UNSPEC};
  socklen_t size = sizeof(address);
  (void)getsockname(fd, (struct sockaddr *)&address, &size);
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

static http_Socket **bucket_of(http_Sockets *sockets, int local_port) {
  return &sockets->buckets[(unsigned)local_port % HTTP_BUCKETS];
}

void http_route_set(http_Route *route, const char *ip, int port,
                    int local_port) {
  *route = (http_Route){.local_port = local_port, .port = port};
  strncpy(route->ip, ip, sizeof(route->ip) - 1);
}

static http_Socket *find(http_Sockets *sockets, const http_Route *route) {
  http_Socket *socket = *bucket_of(sockets, route->local_port);
  while (socket != NULL && (socket->route.local_port != route->local_port ||
                            socket->route.port != route->port ||
                            strcmp(socket->route.ip, route->ip) != 0))
    socket = socket->next;
  return socket;
}

void http_socket_opened(http_Transfer *t, int fd) {
  t->opened[t->opened_count++ % HTTP_OPENED] = fd;
}

/* The socket that became the transfer's connection; -1: unknown. */
static int connected_of(const http_Transfer *t) {
  size_t i;
  for (i = 0; i < HTTP_OPENED && i < t->opened_count; i++)
    if (port_of(t->opened[i]) == t->route.local_port) return t->opened[i];
  return -1;
}

void http_sockets_add(http_Sockets *sockets, const http_Transfer *t) {
  http_Socket **bucket = bucket_of(sockets, t->route.local_port);
  http_Socket *socket;
  int fd = connected_of(t);
  if (fd == -1) return;
  socket = ops_alloc(&sockets->alloc, sizeof(*socket));
  if (socket == NULL) return; /* unknown: its connection is not kept */
  socket->route = t->route;
  socket->fd = fd;
  socket->single = !t->shared;
  socket->next = *bucket;
  *bucket = socket;
}

void http_sockets_remove(http_Sockets *sockets, int fd) {
  http_Socket **place = bucket_of(sockets, port_of(fd)), *socket;
  while (*place != NULL && (*place)->fd != fd) place = &(*place)->next;
  socket = *place;
  if (socket == NULL) return;
  *place = socket->next;
  ops_free(&sockets->alloc, socket, sizeof(*socket));
}

void http_sockets_set_single(http_Sockets *sockets, const http_Route *route,
                             bool single) {
  http_Socket *socket = find(sockets, route);
  if (socket != NULL) socket->single = single;
}

bool http_sockets_is_single(http_Sockets *sockets, const http_Route *route) {
  const http_Socket *socket = find(sockets, route);
  return socket != NULL && socket->single;
}

bool http_sockets_unasked(http_Sockets *sockets, const http_Route *route) {
  const http_Socket *socket = find(sockets, route);
  char byte;
  return socket == NULL ||
         recv(socket->fd, &byte, 1, MSG_PEEK | MSG_DONTWAIT) > 0;
}
