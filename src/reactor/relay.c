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
#define CANDIDATES 8
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

/* A connection that has not said the token yet.  Other users of this machine
** can connect as well, but only this process knows the token. */
typedef struct Candidate {
  int fd;
  size_t len;
  char said[RELAY_TOKEN];
} Candidate;

typedef struct Candidates {
  Candidate list[CANDIDATES];
  nfds_t count;
} Candidates;

static void drop(Candidates *all, nfds_t i) {
  close_fd(&all->list[i].fd);
  all->count--;
  memmove(&all->list[i], &all->list[i + 1],
          (all->count - i) * sizeof(*all->list));
}

/* The oldest one makes room for a new one. */
static void accept_one(reactor_Relay *relay, Candidates *all) {
  int fd = platform_accept(relay->listener, true);
  if (fd == -1) return;
  if (all->count == CANDIDATES) drop(all, 0);
  all->list[all->count].fd = fd;
  all->list[all->count++].len = 0;
}

/* Reads from a candidate, and drops one that says something else or ends. */
static void hear(reactor_Relay *relay, Candidates *all, nfds_t i) {
  Candidate *one = &all->list[i];
  ssize_t n =
      recv(one->fd, one->said + one->len, RELAY_TOKEN - one->len, MSG_DONTWAIT);
  if (n < 0 && (errno == EAGAIN || errno == EINTR)) return;
  if (n > 0) one->len += (size_t)n;
  if (n > 0 && one->len < RELAY_TOKEN) return;
  if (n > 0 && memcmp(one->said, relay->token, RELAY_TOKEN) == 0) {
    relay->socket = one->fd;
    one->fd = -1;
  }
  drop(all, i);
}

/* Accepts the connection of this process.  The program may be busy before it
** says the token, so that others are heard meanwhile.  False when told to quit,
** or when nothing came for CONNECT_MS. */
static bool take_connection(reactor_Relay *relay) {
  const int one = 1;
  Candidates all = {.count = 0};
  while (relay->socket == -1) {
    struct pollfd polled[2 + CANDIDATES] = {{relay->wake.in, POLLIN, 0},
                                            {relay->listener, POLLIN, 0}};
    nfds_t i;
    int ready;
    for (i = 0; i < all.count; i++)
      polled[2 + i] = (struct pollfd){all.list[i].fd, POLLIN, 0};
    ready = poll(polled, 2 + all.count, CONNECT_MS);
    if (ready < 0 && errno == EINTR) continue;
    if (ready <= 0 || polled[0].revents != 0) break;
    for (i = all.count; i-- > 0 && relay->socket == -1;)
      if (polled[2 + i].revents != 0) hear(relay, &all, i);
    if (polled[1].revents != 0) accept_one(relay, &all);
  }
  while (all.count > 0) drop(&all, all.count - 1);
  return relay->socket != -1 && setsockopt(relay->socket, IPPROTO_TCP,
                                           TCP_NODELAY, &one, sizeof(one)) == 0;
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
