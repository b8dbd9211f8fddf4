#include "reactor/relay.h"

#include <errno.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <signal.h>
#include <stdint.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#define TICK_MS 250 /* a byte comes at least this often */
#define CONNECT_MS 10000
#define TOKEN_MS 1000
#define STACK_SIZE (128 * 1024)

static void close_fd(int *fd) {
  if (*fd != -1) close(*fd);
  *fd = -1;
}

void reactor_relay_init(reactor_Relay *relay) {
  *relay = (reactor_Relay){.pid = getpid(),
                           .poller = -1,
                           .listener = -1,
                           .socket = -1,
                           .wake.in = -1,
                           .wake.out = -1};
}

/* Listening.  On loopback: nginx's sockets reach Unix sockets only by the path
** of a file, and no directory is certain to be writable. */

static bool make_token(reactor_Relay *relay) {
  static const char digits[] = "0123456789abcdef";
  unsigned char bytes[RELAY_TOKEN / 2];
  size_t i;
  if (!platform_random(bytes, sizeof(bytes))) return false;
  for (i = 0; i < sizeof(bytes); i++) {
    relay->token[2 * i] = digits[bytes[i] >> 4];
    relay->token[2 * i + 1] = digits[bytes[i] & 15];
  }
  return true;
}

static bool listen_on_loopback(reactor_Relay *relay) {
  struct sockaddr_in address = {.sin_family = AF_INET,
                                .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
  socklen_t len = sizeof(address);
  relay->listener = platform_socket(AF_INET, SOCK_STREAM, 0, false);
  if (relay->listener == -1 ||
      bind(relay->listener, (struct sockaddr *)&address, len) != 0 ||
      listen(relay->listener, 8) != 0 ||
      getsockname(relay->listener, (struct sockaddr *)&address, &len) != 0)
    return false;
  relay->port = ntohs(address.sin_port);
  return true;
}

/* The thread */

/* Waits until `fd` can be read.  False when told to quit, or after `ms`. */
static bool await_readable(reactor_Relay *relay, int fd, int ms) {
  struct pollfd polled[2] = {{.fd = fd, .events = POLLIN},
                             {.fd = relay->wake.in, .events = POLLIN}};
  return poll(polled, 2, ms) > 0 && polled[1].revents == 0;
}

/* Other users of this machine can connect as well, but only this process knows
** the token. */
static bool is_own(reactor_Relay *relay, int fd) {
  char said[RELAY_TOKEN];
  size_t len = 0;
  ssize_t n;
  while (len < sizeof(said) && await_readable(relay, fd, TOKEN_MS)) {
    n = recv(fd, said + len, sizeof(said) - len, MSG_DONTWAIT);
    if (n <= 0) return false;
    len += (size_t)n;
  }
  return len == sizeof(said) && memcmp(said, relay->token, len) == 0;
}

/* Accepts the connection of this process.  False when told to quit, or when the
** connection did not come. */
static bool take_connection(reactor_Relay *relay) {
  const int one = 1;
  while (relay->socket == -1) {
    int fd;
    if (!await_readable(relay, relay->listener, CONNECT_MS)) return false;
    fd = platform_accept(relay->listener, true);
    if (fd != -1 && is_own(relay, fd)) relay->socket = fd;
    else close_fd(&fd);
  }
  return setsockopt(relay->socket, IPPROTO_TCP, TCP_NODELAY, &one,
                    sizeof(one)) == 0;
}

static void send_bytes(reactor_Relay *relay) {
  for (;;) {
    struct pollfd polled[2] = {{relay->poller, POLLIN, 0},
                               {relay->wake.in, POLLIN, 0}};
    if (poll(polled, 2, TICK_MS) < 0 && errno != EINTR) return;
    if (polled[1].revents == 0 && platform_send(relay->socket, "", 1, 0) != 1)
      return;
    if (platform_wake_wait(&relay->wake)) return;
  }
}

/* The other end notices a failure when its connection closes. */
static void *run(void *ud) {
  reactor_Relay *relay = (reactor_Relay *)ud;
  bool taken = take_connection(relay);
  close_fd(&relay->listener);
  if (taken) send_bytes(relay);
  if (relay->socket != -1) (void)shutdown(relay->socket, SHUT_RDWR);
  return NULL;
}

/* The thread blocks all signals: they are for the program's own threads. */
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

bool reactor_relay_start(reactor_Relay *relay, int poller) {
  relay->poller = fcntl(poller, F_DUPFD_CLOEXEC, 0);
  return relay->poller != -1 && platform_wake_open(&relay->wake) &&
         make_token(relay) && listen_on_loopback(relay) && start(relay);
}

void reactor_relay_acknowledge(reactor_Relay *relay) {
  if (relay->running) platform_wake_tell(&relay->wake, false);
}

void reactor_relay_close(reactor_Relay *relay) {
  bool forked = relay->pid != getpid();
  if (relay->running && !forked) {
    platform_wake_tell(&relay->wake, true);
    pthread_join(relay->thread, NULL);
  }
  relay->running = false;
  if (relay->poller != -1) platform_close(relay->poller, forked);
  relay->poller = -1;
  close_fd(&relay->listener);
  close_fd(&relay->socket);
  platform_wake_close(&relay->wake);
}
