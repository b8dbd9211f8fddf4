/*
** platform.h - the calls that differ between systems: clocks, random bytes,
** pollers, wake-ups between threads, child processes, sockets, pipes and the
** confinement of a process.  The only room that names calls of one system.  No
** Lua.
**
** Linux has epoll, eventfd, pidfd and getrandom; the others (macOS, BSD) have
** kqueue, pipes and arc4random.  -DPLATFORM_KQUEUE uses kqueue on Linux too,
** emulated by a library, to test that code.
*/
#ifndef OPERATIONS_PLATFORM_H
#define OPERATIONS_PLATFORM_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#if !defined(__linux__) && !defined(PLATFORM_KQUEUE)
#define PLATFORM_KQUEUE
#endif

struct stat;
struct timespec;

/* platform/clock.c: nanoseconds */

uint64_t platform_monotonic(void);
int64_t platform_realtime(void); /* since the Unix epoch */

/* When a file was written to. */
struct timespec platform_modified(const struct stat *st);

/* platform/random.c: unpredictable bytes.  False when the system has none; with
** `at_once` also when it would block (during boot). */

bool platform_random(void *bytes, size_t n);
bool platform_random_at_once(void *bytes, size_t n);

/* platform/fork_page.c: memory that a forked child finds zeroed: detects a fork
** without a system call, and holds data that two processes must not share. */

#define PLATFORM_FORK_PAGE 4096

/* PLATFORM_FORK_PAGE zeroed bytes, or NULL where the system has no such memory
** (Linux before 4.14, macOS). */
void *platform_fork_page(void);
void platform_fork_page_free(void *page); /* may be NULL */

/* platform/poller_epoll.c, platform/poller_kqueue.c: descriptors and an alarm,
** behind one descriptor (`fd`) that is readable as long as a wait has something
** to report, so that other loops can poll it.  Level-triggered: what is ready
** is reported by every wait until it is no longer. */

/* What the caller asks for (READ, WRITE) and what is reported.  The other two
** are reported unasked, beside or instead of what was asked for; the caller's
** next read or write then tells what happened. */
#define POLLER_READ 0x01u /* also at the end of the input */
#define POLLER_WRITE 0x04u
#define POLLER_ERROR 0x08u
#define POLLER_HANGUP 0x10u

#define POLLER_ALARM (-1)
/* The most descriptors that one wait reports: few, so that answers are sent
** early while the caller is busy with the rest. */
#define POLLER_BATCH 16

typedef struct platform_Poller {
  int fd;    /* -1 when closed */
  int timer; /* epoll: of the alarm; -1 until it is first set */
} platform_Poller;

/* One report; one wait may report a descriptor twice (kqueue). */
typedef struct platform_Ready {
  int fd;              /* or POLLER_ALARM, which is unset from now on */
  uint32_t generation; /* the one given to platform_poller_set */
  uint32_t events;
} platform_Ready;

/* The name of the call that failed in platform_poller_open. */
#ifdef PLATFORM_KQUEUE
#define POLLER_CALL "kqueue"
#else
#define POLLER_CALL "epoll_create1"
#endif

/* False with errno set.  The descriptor is never 0, 1 or 2. */
bool platform_poller_open(platform_Poller *p);

/* `forked`: in a child of the process that opened it. */
void platform_poller_close(platform_Poller *p, bool forked);

/* Changes what is asked for; nothing must be asked for when the descriptor is
** closed.  `generation` stays the same until nothing is asked for.  A
** descriptor that cannot be polled is never reported. */
void platform_poller_set(const platform_Poller *p, int fd, uint32_t generation,
                         uint32_t have, uint32_t want);

/* Waits for up to `timeout_ms` (-1: without limit).  Returns how many of
** `ready` are filled in; 0 also after a signal. */
int platform_poller_wait(const platform_Poller *p,
                         platform_Ready ready[POLLER_BATCH], int timeout_ms);

/* Sets or changes the alarm; `due` is a time of platform_monotonic; a past time
** fires at once.  False when out of descriptors. */
bool platform_poller_alarm(platform_Poller *p, uint64_t due);

/* platform/child.c */

/* A descriptor that is readable once the child process has ended; -1 where
** there is none: the caller must poll the process. */
int platform_child_exit(pid_t pid);

/* Closes such a descriptor, or a duplicate of a poller's.  A forked child
** has no copies of kqueue's descriptors: their numbers may belong to other
** files. */
void platform_close(int fd, bool forked);

/* Starting a program; these functions may be called between fork and exec.
** Apple's headers deprecate vfork. */
#ifdef __APPLE__
#define PLATFORM_VFORK fork
#else
#define PLATFORM_VFORK vfork
#endif

void platform_close_from(int first); /* this descriptor and those above */
void platform_reset_signals(void);   /* default handlers, none blocked */

/* The environment of this process, ended by NULL, borrowed until it changes. */
char *const *platform_environment(void);

/* platform/wake.c: wakes a thread that polls `in` for reading. */

typedef struct platform_Wake {
  int in, out; /* -1 when closed; may be the same */
} platform_Wake;

bool platform_wake_open(platform_Wake *w); /* false with errno set */
void platform_wake_close(platform_Wake *w);

/* `last`: the thread must end. */
void platform_wake_tell(const platform_Wake *w, bool last);

/* Waits until it is told something; true when that was the last. */
bool platform_wake_wait(const platform_Wake *w);

/* platform/socket.c: programs that are started do not inherit these sockets,
** and no write to one raises SIGPIPE.  -1 or false with errno set. */

int platform_socket(int family, int type, int protocol, bool blocks);
int platform_accept(int fd, bool blocks);
bool platform_pipe(int ends[2]);
ssize_t platform_send(int fd, const void *bytes, size_t length, int flags);

/* Has the peer of a socket sent its last byte, and were all of them read?  Does
** not wait. */
bool platform_has_ended(int fd);

/* Makes platform_send raise no SIGPIPE for a socket made elsewhere. */
void platform_socket_adopt(int fd);

/* Does the other end of a Unix socket belong to our user?  The credentials are
** those of the process that called `listen`.  False with errno EPERM when it
** does not. */
bool platform_is_same_user(int fd);

/* platform/pipe.c */

/* As write, without SIGPIPE when the reading end is closed.  The system
** suppresses it where it can; otherwise the call sets `*masks`, and from then
** on blocks the signal itself, with three system calls in place of one. */
ssize_t platform_pipe_write(int fd, const char *bytes, size_t length,
                            bool *masks);

/* Opens the pipe or terminal of `fd` again, so that its flags are not shared.
** -1 where that is impossible. */
int platform_reopen(int fd, int flags);

/* platform/confine.c: a process from which nothing gets out. */

/* Why this system cannot confine processes; NULL when it can. */
const char *platform_cannot_confine(void);

/* From now on this process can read from descriptor 0, write to 1, get memory
** and the time, and end; any other system call kills it (SIGSYS).  It gets
** about `memory` bytes more and `seconds` of processor time; then allocations
** fail, and SIGXCPU ends it.  NULL, or the name of the call that failed, with
** errno. */
const char *platform_confine(size_t memory, unsigned seconds);

#endif
