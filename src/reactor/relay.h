/*
** relay.h - tells a program that polls sockets only that a reactor has
** work: a thread that polls the reactor's descriptor and sends a byte.  No Lua.
*/
#ifndef OPERATIONS_REACTOR_RELAY_H
#define OPERATIONS_REACTOR_RELAY_H

#include <pthread.h>
#include <stdbool.h>
#include <sys/types.h>
#include <sys/un.h>

/* The thread touches the descriptors only, and sleeps from each byte until it
** is acknowledged. */
typedef struct reactor_Relay {
  pid_t pid;
  int epoll;    /* our own duplicate; -1 when closed, as the others */
  int listener; /* until the connection is accepted */
  int socket;
  int wake; /* an eventfd: what the thread is told */
  bool running;
  pthread_t thread;
  char path[sizeof(((struct sockaddr_un *)0)->sun_path)];
} reactor_Relay;

/* A relay that owns nothing. */
void reactor_relay_init(reactor_Relay *relay);

/* Listens at relay->path, in a directory that only this user may enter.  False
** with errno set; to be closed in any case. */
bool reactor_relay_listen(reactor_Relay *relay, int epoll);

/* Takes the connection that this process has made, removes the path and starts
** the thread.  A byte comes whenever `epoll` is readable, and when it was not
** for a while.  False with errno set. */
bool reactor_relay_accept(reactor_Relay *relay);

/* The byte was taken in. */
void reactor_relay_acknowledge(reactor_Relay *relay);

/* Ends the thread, closes everything.  May be called twice.  In a forked child,
** which has no thread, only closes. */
void reactor_relay_close(reactor_Relay *relay);

#endif
