/*
** relay.h - tells a program that polls sockets only that a reactor has
** work: a thread that polls the reactor's descriptor and sends a byte.  No Lua.
*/
#ifndef OPERATIONS_REACTOR_RELAY_H
#define OPERATIONS_REACTOR_RELAY_H

#include <pthread.h>
#include <stdbool.h>
#include <sys/types.h>

#include "platform/platform.h"

#define RELAY_TOKEN 32 /* bytes */

/* The thread touches the descriptors only, and sleeps from each byte until it
** is acknowledged. */
typedef struct reactor_Relay {
  pid_t pid;
  int poller;   /* our own duplicate; -1 when closed, as the others */
  int listener; /* the thread's, as the socket, until it has ended */
  int socket;
  platform_Wake wake; /* what the thread is told */
  bool running;
  pthread_t thread;
  unsigned short port;
  char token[RELAY_TOKEN]; /* random: what the connection begins with */
} reactor_Relay;

/* A relay that owns nothing. */
void reactor_relay_init(reactor_Relay *relay);

/* Listens on relay->port of 127.0.0.1 and starts the thread, which takes the
** first connection that begins with relay->token.  There, a byte comes whenever
** `poller` is readable, and when it was not for a while.  False with errno set;
** to be closed in any case. */
bool reactor_relay_start(reactor_Relay *relay, int poller);

/* The byte was taken in. */
void reactor_relay_acknowledge(reactor_Relay *relay);

/* Ends the thread, closes everything.  May be called twice.  In a forked child,
** which has no thread, only closes. */
void reactor_relay_close(reactor_Relay *relay);

#endif
