/*
** relay.h - a thread that polls the reactor's descriptor and sends a byte over
** a socket: for programs that can only poll sockets.  No Lua.
*/
#ifndef OPERATIONS_REACTOR_RELAY_H
#define OPERATIONS_REACTOR_RELAY_H

#include <pthread.h>
#include <stdbool.h>
#include <sys/types.h>

#include "platform/platform.h"

#define RELAY_TOKEN 32 /* bytes */

/* The thread only touches the descriptors.  After each byte it sleeps until the
** byte is acknowledged. */
typedef struct reactor_Relay {
  pid_t pid;
  int poller;   /* a duplicate of our own; -1 when closed, as the others */
  int listener; /* the thread's, as is the socket, until it has ended */
  int socket;
  platform_Wake wake; /* tells the thread to continue or to quit */
  bool running;
  pthread_t thread;
  unsigned short port;
  char token[RELAY_TOKEN]; /* random; the connection begins with it */
} reactor_Relay;

/* Initializes a relay that owns nothing. */
void reactor_relay_init(reactor_Relay *relay);

/* Listens on relay->port of 127.0.0.1 and starts the thread, which accepts the
** first connection that begins with relay->token.  It then sends a byte
** whenever `poller` is readable, and at least every TICK_MS.  False with errno
** set; call reactor_relay_close in any case. */
bool reactor_relay_start(reactor_Relay *relay, int poller);

/* The program has read the byte; another may come. */
void reactor_relay_acknowledge(reactor_Relay *relay);

/* Ends the thread and closes everything.  May be called twice.  In a forked
** child, which has no thread, it only closes. */
void reactor_relay_close(reactor_Relay *relay);

#endif
