/*
** fail.c - calls of the system that fail, for one program at a time: loaded
** before the others (LD_PRELOAD), it has the next calls of one name fail.
** os.getenv("FAIL accept4 24 1") says which: its name, the error and how often.
** Calls by number are pidfd_open, close_range and pwritev2.  It also forks:
** os.getenv("FORK") is the new process's id, "0" in that process, which
** os.getenv("EXIT") ends; os.getenv("WAIT 123") waits for its end.
*/
#include <dlfcn.h>
#include <errno.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/mman.h>
#include <sys/random.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/timerfd.h>
#include <sys/types.h>
#include <sys/wait.h>
#include <unistd.h>

static struct {
  char name[32];
  int error;
  volatile int count;
} next;

static bool fails(const char *name) {
  if (next.count == 0 || strcmp(name, next.name) != 0) return false;
  next.count--;
  errno = next.error;
  return true;
}

/* The function that would be called without this library. */
static void *real(const char *name) {
  return dlsym(RTLD_NEXT, name);
}

#define REAL(name, type)                                                       \
  static type called;                                                          \
  if (called == NULL) *(void **)&called = real(#name)

/* NOLINTBEGIN(bugprone-macro-parentheses): types */
#define FAILING(result, failure, name, parameters, arguments)                  \
  result name parameters {                                                     \
    typedef result(*Function) parameters;                                      \
    REAL(name, Function);                                                      \
    return fails(#name) ? failure : called arguments;                          \
  }

/* The same of a library that a module brings with it. */
static void *real_of(const char *library, const char *name) {
  void *loaded = dlopen(library, RTLD_LAZY | RTLD_NOLOAD);
  return loaded != NULL ? dlsym(loaded, name) : NULL;
}

#define FAILING_OF(library, result, failure, name, parameters, arguments)      \
  result name parameters {                                                     \
    typedef result(*Function) parameters;                                      \
    static Function called;                                                    \
    if (called == NULL) *(void **)&called = real_of(library, #name);           \
    return fails(#name) ? failure : called arguments;                          \
  }

/* NOLINTEND(bugprone-macro-parentheses) */

/* glibc's headers have other types for these. */
#if defined(__GLIBC__)
#define ADDRESS __SOCKADDR_ARG
#define CONST_ADDRESS __CONST_SOCKADDR_ARG
#else
#define ADDRESS struct sockaddr *
#define CONST_ADDRESS const struct sockaddr *
#endif

/* The headers say of some what callers of theirs need not know. */
#pragma GCC diagnostic ignored "-Wmissing-prototypes"
#if defined(__clang__)
#pragma GCC diagnostic ignored "-Wmissing-variable-declarations"
#endif

static char *fork_here(void) {
  static char id[16];
  snprintf(id, sizeof(id), "%d", (int)fork());
  return id;
}

char *getenv(const char *name) {
  typedef char *(*Function)(const char *);
  REAL(getenv, Function);
  if (strcmp(name, "FORK") == 0) return fork_here();
  if (strcmp(name, "EXIT") == 0) _exit(0);
  if (strncmp(name, "WAIT ", 5) == 0)
    return waitpid(atoi(name + 5), NULL, 0) > 0 ? "ended" : NULL;
  if (strncmp(name, "FAIL ", 5) != 0) return called(name);
  next.count = 0;
  if (sscanf(name + 5, "%31s %d", next.name, &next.error) == 2)
    next.count = atoi(strrchr(name, ' '));
  return NULL;
}

FAILING(int, -1, epoll_create1, (int flags), (flags))
FAILING(int, -1, epoll_ctl, (int p, int op, int fd, struct epoll_event *e),
        (p, op, fd, e))
FAILING(int, -1, timerfd_create, (clockid_t clock, int flags), (clock, flags))
FAILING(int, -1, timerfd_settime,
        (int fd, int flags, const struct itimerspec *to,
         struct itimerspec *was),
        (fd, flags, to, was))
FAILING(int, -1, eventfd, (unsigned n, int flags), (n, flags))
FAILING(ssize_t, -1, getrandom, (void *to, size_t n, unsigned flags),
        (to, n, flags))
FAILING(void *, MAP_FAILED, mmap,
        (void *at, size_t n, int prot, int flags, int fd, off_t offset),
        (at, n, prot, flags, fd, offset))
FAILING(int, -1, madvise, (void *at, size_t n, int advice), (at, n, advice))
FAILING(int, -1, socket, (int domain, int type, int protocol),
        (domain, type, protocol))
FAILING(int, -1, bind, (int fd, CONST_ADDRESS at, socklen_t n), (fd, at, n))
FAILING(int, -1, listen, (int fd, int backlog), (fd, backlog))
FAILING(int, -1, getsockname, (int fd, ADDRESS at, socklen_t *n), (fd, at, n))
FAILING(int, -1, getpeername, (int fd, ADDRESS at, socklen_t *n), (fd, at, n))
FAILING(int, -1, getsockopt,
        (int fd, int level, int name, void *value, socklen_t *n),
        (fd, level, name, value, n))
/* Another user than any that runs the specs. */
FAILING(uid_t, 65534, geteuid, (void), ())
FAILING(int, -1, accept4, (int fd, ADDRESS at, socklen_t *n, int flags),
        (fd, at, n, flags))
FAILING(int, -1, chmod, (const char *path, mode_t mode), (path, mode))
FAILING(int, -1, lstat, (const char *path, struct stat *found), (path, found))
FAILING(int, -1, unlink, (const char *path), (path))
FAILING(int, -1, rename, (const char *from, const char *to), (from, to))
FAILING(int, -1, fsync, (int fd), (fd))
FAILING(int, -1, pipe2, (int ends[2], int flags), (ends, flags))
FAILING(int, -1, dup2, (int from, int to), (from, to))
FAILING(int, -1, waitid, (idtype_t type, id_t id, siginfo_t *info, int options),
        (type, id, info, options))
FAILING(pid_t, -1, waitpid, (pid_t pid, int *status, int options),
        (pid, status, options))
FAILING(int, -1, poll, (struct pollfd * list, nfds_t n, int ms), (list, n, ms))
FAILING(ssize_t, -1, read, (int fd, void *to, size_t n), (fd, to, n))
FAILING(ssize_t, -1, write, (int fd, const void *from, size_t n), (fd, from, n))
FAILING(ssize_t, -1, recv, (int fd, void *to, size_t n, int flags),
        (fd, to, n, flags))
FAILING(ssize_t, -1, send, (int fd, const void *from, size_t n, int flags),
        (fd, from, n, flags))

int pthread_create(pthread_t *thread, const pthread_attr_t *attributes,
                   void *(*run)(void *), void *ud) {
  typedef int (*Function)(pthread_t *, const pthread_attr_t *,
                          void *(*)(void *), void *);
  REAL(pthread_create, Function);
  if (!fails("pthread_create")) return called(thread, attributes, run, ud);
  errno = 0; /* it returns the error, and sets nothing */
  return next.error;
}

int fcntl(int fd, int what, ...) {
  typedef int (*Function)(int, int, ...);
  va_list rest;
  long value;
  REAL(fcntl, Function);
  va_start(rest, what);
  value = va_arg(rest, long);
  va_end(rest);
  return fails("fcntl") ? -1 : called(fd, what, value);
}

int prctl(int option, ...) {
  typedef int (*Function)(int, ...);
  unsigned long v[4];
  int i;
  va_list rest;
  REAL(prctl, Function);
  va_start(rest, option);
  for (i = 0; i < 4; i++) v[i] = va_arg(rest, unsigned long);
  va_end(rest);
  return fails("prctl") ? -1 : called(option, v[0], v[1], v[2], v[3]);
}

long syscall(long number, ...) {
  typedef long (*Function)(long, ...);
  const char *name = number == SYS_pidfd_open    ? "pidfd_open"
                     : number == SYS_close_range ? "close_range"
                     : number == SYS_pwritev2    ? "pwritev2"
                                                 : "";
  long v[6];
  int i;
  va_list rest;
  REAL(syscall, Function);
  va_start(rest, number);
  for (i = 0; i < 6; i++) v[i] = va_arg(rest, long);
  va_end(rest);
  return fails(name) ? -1 : called(number, v[0], v[1], v[2], v[3], v[4], v[5]);
}

#define CURL "libcurl.so.4"
#define SSL "libssl.so.3"
#define CRYPTO "libcrypto.so.3"

FAILING_OF(CURL, int, next.error, curl_global_init, (long flags), (flags))
FAILING_OF(CURL, void *, NULL, curl_easy_init, (void), ())
FAILING_OF(CURL, void *, NULL, curl_multi_init, (void), ())
FAILING_OF(CURL, int, next.error, curl_multi_add_handle,
           (void *multi, void *easy), (multi, easy))
FAILING_OF(CURL, void *, NULL, curl_slist_append,
           (void *list, const char *line), (list, line))
FAILING_OF(SSL, void *, NULL, SSL_new, (void *context), (context))
FAILING_OF(SSL, void *, NULL, SSL_CTX_new, (const void *method), (method))
FAILING_OF(SSL, int, 0, SSL_CTX_use_cert_and_key,
           (void *c, void *leaf, void *key, void *chain, int over),
           (c, leaf, key, chain, over))
FAILING_OF(SSL, int, 0, SSL_CTX_set_cipher_list, (void *c, const char *list),
           (c, list))
FAILING_OF(CRYPTO, void *, NULL, BIO_new_mem_buf, (const void *from, int n),
           (from, n))
FAILING_OF(CRYPTO, int, 0, RAND_bytes, (unsigned char *to, int n), (to, n))
FAILING_OF(CRYPTO, int, 0, RAND_priv_bytes, (unsigned char *to, int n), (to, n))
FAILING_OF(CRYPTO, void *, NULL, EVP_PKEY_CTX_new_from_name,
           (void *library, const char *name, const char *query),
           (library, name, query))
FAILING_OF(CRYPTO, void *, NULL, BN_bin2bn,
           (const unsigned char *from, int n, void *to), (from, n, to))
FAILING_OF(CRYPTO, void *, NULL, OSSL_PARAM_BLD_new, (void), ())
FAILING_OF(CRYPTO, void *, NULL, EVP_MD_CTX_new, (void), ())
FAILING_OF(CRYPTO, void *, NULL, ECDSA_SIG_new, (void), ())
