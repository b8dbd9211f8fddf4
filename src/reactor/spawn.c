#include "reactor/spawn.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stddef.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "platform/platform.h"

enum { IN, OUT, ERR, REPORT, PIPES };

/* The step that a child reports through the last pipe when it fails. */
typedef enum spawn_Step { DESCRIPTORS, CWD, COMMAND } spawn_Step;

typedef struct spawn_Report {
  spawn_Step step;
  int error;
} spawn_Report;

static const char *const step_names[] = {"descriptors", "cwd", "command"};

/* In the child, which shares our memory until it runs the program (vfork), so
** that starting one costs the same however large we are: nothing here allocates
** or changes memory that the parent reads. */

static void give_up(int report, spawn_Step step) {
  spawn_Report said = {step, errno};
  ssize_t n = write(report, &said, sizeof(said));
  (void)n;
  _exit(127);
}

/* 0, 1 and 2 become the pipes, 3 the report; all others are closed.  The pipes
** may have any numbers, 0 to 3 among them, so they are moved out of the way
** first. */
static bool place_descriptors(int ends[PIPES]) {
  int i;
  for (i = 0; i < PIPES; i++) {
    ends[i] = fcntl(ends[i], F_DUPFD_CLOEXEC, PIPES);
    if (ends[i] == -1) return false;
  }
  for (i = 0; i < REPORT; i++)
    if (dup2(ends[i], i) < 0) return false;
  if (dup2(ends[REPORT], REPORT) < 0) return false;
  if (fcntl(REPORT, F_SETFD, FD_CLOEXEC) != 0) return false;
  platform_close_from(PIPES);
  return true;
}

/* Tries each file in turn; returns, with errno, when none can be run. */
static void execute(const spawn_Request *q) {
  int refused = ENOENT, i;
  for (i = 0; q->files[i] != NULL; i++) {
    execve(q->files[i], q->arguments, q->environment);
    if (errno == EACCES) refused = EACCES;
    else if (errno != ENOENT && errno != ENOTDIR) return;
  }
  errno = refused;
}

static void become(const spawn_Request *q, const int theirs[PIPES]) {
  int ends[PIPES];
  memcpy(ends, theirs, sizeof(ends));
  if (!place_descriptors(ends)) give_up(ends[REPORT], DESCRIPTORS);
  (void)setpgid(0, 0);
  if (q->directory != NULL && chdir(q->directory) != 0) give_up(REPORT, CWD);
  platform_reset_signals();
  execute(q);
  give_up(REPORT, COMMAND);
}

/* In the parent */

/* Forks with every signal blocked: our handlers must not run in the child. */
static pid_t launch(const spawn_Request *q, const int theirs[PIPES]) {
  sigset_t all, before;
  pid_t pid;
  sigfillset(&all);
  if (pthread_sigmask(SIG_SETMASK, &all, &before) != 0) return -1;
  pid =
      PLATFORM_VFORK(); /* NOLINT(clang-analyzer-security.insecureAPI.vfork) */
  if (pid == 0) become(q, theirs); /* NOLINT(clang-analyzer-unix.Vfork) */
  (void)pthread_sigmask(SIG_SETMASK, &before, NULL);
  return pid;
}

static void close_all(const int fds[PIPES]) {
  int i;
  for (i = 0; i < PIPES; i++)
    if (fds[i] != -1) close(fds[i]);
}

/* Only our ends are non-blocking: most programs expect theirs to block. */
static bool open_pipes(int ours[PIPES], int theirs[PIPES]) {
  int i;
  for (i = 0; i < PIPES; i++) ours[i] = theirs[i] = -1;
  for (i = 0; i < PIPES; i++) {
    int ends[2];
    if (!platform_pipe(ends)) return false;
    ours[i] = ends[i == IN];
    theirs[i] = ends[i != IN];
    if (i != REPORT && fcntl(ours[i], F_SETFL, O_NONBLOCK) != 0) return false;
  }
  return true;
}

/* Reads the child's report; it is empty when the program was started. */
static bool read_report(int fd, spawn_Report *report) {
  ssize_t n;
  do n = read(fd, report, sizeof(*report));
  while (n < 0 && errno == EINTR);
  return n == (ssize_t)sizeof(*report);
}

static bool fail(spawn_Failure *failure, const char *step, int error) {
  failure->step = step;
  failure->error = error;
  return false;
}

static bool reap_failed(pid_t pid, const spawn_Report *report,
                        spawn_Failure *failure) {
  while (waitpid(pid, NULL, 0) < 0 && errno == EINTR) {
  }
  return fail(failure, step_names[report->step], report->error);
}

bool spawn_start(const spawn_Request *q, spawn_Child *child,
                 spawn_Failure *failure) {
  int ours[PIPES], theirs[PIPES];
  spawn_Report report;
  bool started = false;
  if (!open_pipes(ours, theirs)) fail(failure, "descriptors", errno);
  else if ((child->pid = launch(q, theirs)) < 0) fail(failure, "fork", errno);
  else started = true;
  close_all(theirs);
  if (started && read_report(ours[REPORT], &report))
    started = reap_failed(child->pid, &report, failure);
  if (!started) {
    close_all(ours);
    return false;
  }
  close(ours[REPORT]);
  child->in = ours[IN];
  child->out = ours[OUT];
  child->err = ours[ERR];
  child->exit = q->no_pidfd ? -1 : platform_child_exit(child->pid);
  return true;
}
