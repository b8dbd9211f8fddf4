/*
** serve_floor.c - what no HTTP server on epoll can be faster than: one read and
** one write of a fixed answer for each request, which it does not look at.
** Prints its port and serves until it is killed.
*/
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <unistd.h>

#define EVENTS 64

/* As long as the answer of operations. */
static const char answer[] =
    "HTTP/1.1 200 OK\r\nCache-Control: no-store\r\nContent-Type: "
    "application/json\r\nX-Content-Type-Options: nosniff\r\nX-Request-Id: "
    "0123456789abcdef0123456789abcdef\r\nDate: Thu, 01 Jan 2026 00:00:00 "
    "GMT\r\nContent-Length: 110\r\n\r\n"
    "{\"id\":7,\"title\":\"write the documentation of the server\",\"done\":"
    "false,\"owner\":\"ada\",\"labels\":[\"doc\",\"web\",\"a\"]}";

static int check(int result, const char *what) {
  if (result >= 0) return result;
  perror(what);
  exit(1);
}

static int listen_anywhere(void) {
  struct sockaddr_in address;
  socklen_t size = sizeof(address);
  int listener = check(socket(AF_INET, SOCK_STREAM, 0), "socket");
  memset(&address, 0, size);
  address.sin_family = AF_INET;
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  (void)check(bind(listener, (struct sockaddr *)&address, size), "bind");
  (void)check(listen(listener, 128), "listen");
  (void)check(getsockname(listener, (struct sockaddr *)&address, &size),
              "getsockname");
  printf("%d\n", ntohs(address.sin_port));
  (void)fflush(stdout);
  return listener;
}

static void watch(int poller, int fd) {
  struct epoll_event event;
  memset(&event, 0, sizeof(event));
  event.events = EPOLLIN;
  event.data.fd = fd;
  (void)check(epoll_ctl(poller, EPOLL_CTL_ADD, fd, &event), "epoll_ctl");
}

static void serve(int fd) {
  char request[4096];
  if (recv(fd, request, sizeof(request), 0) <= 0 ||
      send(fd, answer, sizeof(answer) - 1, MSG_NOSIGNAL) < 0)
    (void)close(fd);
}

int main(void) {
  struct epoll_event events[EVENTS];
  int poller = check(epoll_create1(0), "epoll_create1"), yes = 1, i;
  int listener = listen_anywhere();
  watch(poller, listener);
  for (;;) {
    int count = epoll_wait(poller, events, EVENTS, -1);
    for (i = 0; i < count; i++) {
      int fd = events[i].data.fd;
      if (fd != listener) {
        serve(fd);
        continue;
      }
      fd = check(accept(listener, NULL, NULL), "accept");
      (void)setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &yes, sizeof(yes));
      watch(poller, fd);
    }
  }
}
