/*
** platform.h - the calls that differ between systems: clocks, random bytes,
** pollers, wake-ups between threads, child processes, sockets and pipes.  The
** only room that names calls of one system.  No Lua.
**
** Linux has epoll, eventfd, pidfd and getrandom; the others (macOS, BSD) have
** kqueue, pipes and arc4random.  -DPLATFORM_KQUEUE takes kqueue on Linux too,
** where a library emulates it: a check of that code.
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

/* platform/random.c: bytes that nobody can guess.  False: the system has none;
** `at_once`: or would have us wait for them, while it starts. */

bool platform_random(void *bytes, size_t n);
bool platform_random_at_once(void *bytes, size_t n);

/* platform/fork_page.c: memory that a forked child finds zeroed: asks nobody
** who runs, and holds what two processes must not share. */

#define PLATFORM_FORK_PAGE 4096

/* PLATFORM_FORK_PAGE zeroed bytes, or NULL where the system has no such memory
** (Linux before 4.14, macOS). */
void *platform_fork_page(void);
void platform_fork_page_free(void *page); /* may be NULL */

/* platform/poller_epoll.c, platform/poller_kqueue.c: descriptors and an alarm,
** behind one descriptor (`fd`) that is readable as long as a wait has something
** to report, so that other loops can poll it.  Level-triggered: what is ready
** is reported by every wait until it is no longer. */

/* What somebody wants to know of a descriptor (READ, WRITE), and what comes.
** The other two come unasked, beside what was wanted or instead of it; a reader
** then reads and a writer writes, which says what happened. */
#define POLLER_READ 0x01u /* also: nothing will come any more */
#define POLLER_WRITE 0x04u
#define POLLER_ERROR 0x08u
#define POLLER_HANGUP 0x10u

#define POLLER_ALARM (-1)
/* Descriptors taken in by one wait: few, so that what answers lead to is sent
** while who answers is busy with the rest. */
#define POLLER_BATCH 16

typedef struct platform_Poller {
  int fd;    /* -1 when closed */
  int timer; /* epoll: of the alarm; -1 until it is first set */
} platform_Poller;

/* One report; a descriptor may be in two of one wait (kqueue). */
typedef struct platform_Ready {
  int fd;              /* or POLLER_ALARM, which is off from now on */
  uint32_t generation; /* as it was set */
  uint32_t events;
} platform_Ready;

/* What a failed platform_poller_open called. */
#ifdef PLATFORM_KQUEUE
#define POLLER_CALL "kqueue"
#else
#define POLLER_CALL "epoll_create1"
#endif

/* False with errno set. The descriptor is never one of the standard ones. */
bool platform_poller_open(platform_Poller *p);

/* `forked`: in a child of the process that opened it. */
void platform_poller_close(platform_Poller *p, bool forked);

/* Changes what is wanted of a descriptor, which is to be nothing before it is
** closed.  `generation` stays the same until nothing is wanted.  What cannot be
** polled is never ready. */
void platform_poller_set(const platform_Poller *p, int fd, uint32_t generation,
                         uint32_t have, uint32_t want);

/* Waits for up to `timeout_ms` (-1: without limit).  Returns how many of
** `ready` are filled in; 0 also after a signal. */
int platform_poller_wait(const platform_Poller *p,
                         platform_Ready ready[POLLER_BATCH], int timeout_ms);

/* Sets the alarm, anew when it is set; `due` is a time of platform_monotonic,
** at once when it is past.  False when out of descriptors. */
bool platform_poller_alarm(platform_Poller *p, uint64_t due);

/* platform/child.c */

/* A descriptor that is readable once a child process has ended; -1 where there
** is none: ask again and again. */
int platform_child_exit(pid_t pid);

/* Closes such a descriptor, or a duplicate of a poller's.  A forked child has
** no copy of those of kqueue: their numbers may be those of other files. */
void platform_close(int fd, bool forked);

/* Starting a program; what these call may be called between fork and exec.
** Apple's headers warn of vfork. */
#ifdef __APPLE__
#define PLATFORM_VFORK fork
#else
#define PLATFORM_VFORK vfork
#endif

void platform_close_from(int first); /* this descriptor and those above */
void platform_reset_signals(void);   /* to their defaults; none is blocked */

/* Of this process, NULL at its end, borrowed until it is changed. */
char *const *platform_environment(void);

/* platform/wake.c: wakes a thread that polls `in` for reading. */

typedef struct platform_Wake {
  int in, out; /* -1 when closed; may be the same */
} platform_Wake;

bool platform_wake_open(platform_Wake *w); /* false with errno set */
void platform_wake_close(platform_Wake *w);

/* `last`: the thread is to end. */
void platform_wake_tell(const platform_Wake *w, bool last);

/* Waits until it is told something.  True when it was the last. */
bool platform_wake_wait(const platform_Wake *w);

/* platform/socket.c: none of these is inherited by a program that is started,
** and no write to one raises SIGPIPE.  -1 or false with errno set. */

int platform_socket(int family, int type, int protocol, bool blocks);
int platform_accept(int fd, bool blocks);
bool platform_pipe(int ends[2]);
ssize_t platform_send(int fd, const void *bytes, size_t length, int flags);

/* Has a socket from elsewhere raise no SIGPIPE by platform_send. */
void platform_socket_adopt(int fd);

/* Does the other end of a Unix socket belong to our user?  The credentials are
** those of the process that called `listen`.  False with errno EPERM when it
** does not. */
bool platform_is_same_user(int fd);

/* platform/pipe.c */

/* As write, without SIGPIPE where nobody reads: the system keeps it to itself
** or, once `*masks` is set, which this does when it must, we do with three
** calls in place of one. */
ssize_t platform_pipe_write(int fd, const char *bytes, size_t length,
                            bool *masks);

/* Opens once more what `fd` refers to, a pipe or a terminal, so that its flags
** are our own.  -1 where that cannot be. */
int platform_reopen(int fd, int flags);

#endif
