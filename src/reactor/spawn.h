/*
** spawn.h - starts a program: no shell, and the program inherits only what the
** request names.  No Lua; does not wait for its end.
*/
#ifndef OPERATIONS_REACTOR_SPAWN_H
#define OPERATIONS_REACTOR_SPAWN_H

#include <stdbool.h>
#include <sys/types.h>

/* Borrowed; each array has NULL at its end. */
typedef struct spawn_Request {
  char *const *files; /* tried in turn, as a search of PATH does */
  char *const *arguments;
  char *const *environment;
  const char *directory; /* NULL: ours */
  bool no_pidfd;         /* as on a system that does not report the end */
} spawn_Request;

/* The caller owns the descriptors and the process. */
typedef struct spawn_Child {
  pid_t pid;        /* leads a process group of its own */
  int exit;         /* readable when it has ended; -1: not reported */
  int in, out, err; /* our ends of its standard streams; never block */
} spawn_Child;

typedef struct spawn_Failure {
  const char *step; /* "descriptors", "fork", "cwd", "command" */
  int error;        /* errno */
} spawn_Failure;

/* Returns once the program runs.  False with the failure filled in. */
bool spawn_start(const spawn_Request *request, spawn_Child *child,
                 spawn_Failure *failure);

#endif
