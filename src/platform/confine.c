#include "platform/platform.h"

#include <errno.h>
#include <stddef.h>
#include <sys/resource.h>

#if defined(__linux__) && (defined(__x86_64__) || defined(__aarch64__))
#define HAS_FILTER
#endif

#ifdef HAS_FILTER

#include <linux/audit.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/syscall.h>

#if defined(__x86_64__)
#define ARCHITECTURE AUDIT_ARCH_X86_64
#else
#define ARCHITECTURE AUDIT_ARCH_AARCH64
#endif
#ifndef SECCOMP_RET_KILL_PROCESS
#define SECCOMP_RET_KILL_PROCESS 0x80000000u
#endif

#if defined(__SANITIZE_ADDRESS__)
#define SANITIZED
#elif defined(__has_feature)
#if __has_feature(address_sanitizer)
#define SANITIZED
#endif
#endif

/* What the address space needs beside the memory that is asked for: the
** interpreter, its libraries, what the C library's allocator keeps free. */
#define MEMORY_MARGIN ((rlim_t)32 << 20)

#define LOAD(field)                                                            \
  BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, field))
/* The lower half of an argument, which is all that these arguments have; both
** architectures are little-endian. */
#define LOAD_ARGUMENT(i)                                                       \
  BPF_STMT(BPF_LD | BPF_W | BPF_ABS,                                           \
           offsetof(struct seccomp_data, args) + 8 * (i))
#define IF_EQUAL(value, yes, no)                                               \
  BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, value, yes, no)
#define IF_ANY(bits, yes, no)                                                  \
  BPF_JUMP(BPF_JMP | BPF_JSET | BPF_K, bits, yes, no)
#define KEEP(bits) BPF_STMT(BPF_ALU | BPF_AND | BPF_K, bits)
#define ALLOW BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW)
#define KILL BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_KILL_PROCESS)

#define ALLOW_CALL(name) IF_EQUAL(SYS_##name, 0, 1), ALLOW
/* Only on this descriptor. */
#define ALLOW_ON(name, fd)                                                     \
  IF_EQUAL(SYS_##name, 0, 4), LOAD_ARGUMENT(0), IF_EQUAL(fd, 0, 1), ALLOW, KILL

/* Reading from 0, writing to 1, memory without code, clocks, the end.  Every
** other call kills the process. */
static struct sock_filter filter[] = {
    LOAD(arch),
    IF_EQUAL(ARCHITECTURE, 1, 0),
    KILL,
    LOAD(nr),
    ALLOW_ON(read, 0),
    ALLOW_ON(write, 1),
    IF_EQUAL(SYS_mmap, 0, 7),
    LOAD_ARGUMENT(2),
    IF_ANY(PROT_EXEC, 4, 0),
    LOAD_ARGUMENT(3),
    KEEP(MAP_ANONYMOUS | MAP_SHARED | MAP_PRIVATE),
    IF_EQUAL(MAP_ANONYMOUS | MAP_PRIVATE, 0, 1),
    ALLOW,
    KILL,
    IF_EQUAL(SYS_mprotect, 0, 4),
    LOAD_ARGUMENT(2),
    IF_ANY(PROT_EXEC, 1, 0),
    ALLOW,
    KILL,
    ALLOW_CALL(brk),
    ALLOW_CALL(munmap),
    ALLOW_CALL(mremap),
    ALLOW_CALL(madvise),
    ALLOW_CALL(clock_gettime),
#ifdef SYS_time
    ALLOW_CALL(time),
#endif
    ALLOW_CALL(gettimeofday),
    ALLOW_CALL(rt_sigreturn),
    ALLOW_CALL(restart_syscall),
    ALLOW_CALL(exit_group),
#ifdef SANITIZED
    ALLOW_CALL(sigaltstack),
    ALLOW_CALL(sched_yield),
    ALLOW_CALL(futex),
    ALLOW_CALL(gettid),
#endif
    KILL,
};

static bool limit(int resource, rlim_t most, rlim_t at_last) {
  const struct rlimit both = {most, at_last};
  return setrlimit(resource, &both) == 0;
}

/* Beside memory and time, a second wall behind the filter.  RLIMIT_NPROC alone
** would not bind root. */
static bool set_limits(size_t memory, unsigned seconds) {
#ifndef SANITIZED /* whose shadow memory is larger */
  const rlim_t most = (rlim_t)memory + MEMORY_MARGIN;
  if (!limit(RLIMIT_DATA, most, most)) return false;
#else
  (void)memory;
#endif
  return limit(RLIMIT_CPU, seconds, seconds + 1) && limit(RLIMIT_CORE, 0, 0) &&
         limit(RLIMIT_FSIZE, 0, 0) && limit(RLIMIT_NOFILE, 0, 0) &&
         limit(RLIMIT_NPROC, 0, 0) && limit(RLIMIT_MEMLOCK, 0, 0);
}

const char *platform_cannot_confine(void) {
  if (prctl(PR_GET_SECCOMP, 0, 0, 0, 0) >= 0) return NULL;
  return "this kernel has no seccomp";
}

const char *platform_confine(size_t memory, unsigned seconds) {
  const struct sock_fprog program = {sizeof(filter) / sizeof(*filter), filter};
  if (!set_limits(memory, seconds)) return "setrlimit";
  if (prctl(PR_SET_DUMPABLE, 0, 0, 0, 0) != 0) return "prctl(PR_SET_DUMPABLE)";
  if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) != 0)
    return "prctl(PR_SET_NO_NEW_PRIVS)";
  if (prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program, 0, 0) != 0)
    return "prctl(PR_SET_SECCOMP)";
  return NULL;
}

#else

const char *platform_cannot_confine(void) {
  return "only Linux on x86-64 and aarch64 has the filter of system calls "
         "that it needs";
}

const char *platform_confine(size_t memory, unsigned seconds) {
  (void)memory;
  (void)seconds;
  errno = ENOSYS;
  return "seccomp";
}

#endif
