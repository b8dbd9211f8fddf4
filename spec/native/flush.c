/*
** flush.c - linked into the modules for `make coverage`: a process that ends
** by a signal that it sends itself, or without its exit functions, writes its
** counters first.
*/
#include <unistd.h>

void __gcov_dump(void);
void __gcov_reset(void);
int __real_raise(int number);
int __wrap_raise(int number);
void __real__exit(int status) __attribute__((noreturn));
void __wrap__exit(int status) __attribute__((noreturn));

static void flush(void) {
  __gcov_dump();
  __gcov_reset();
}

int __wrap_raise(int number) {
  flush();
  return __real_raise(number);
}

void __wrap__exit(int status) {
  flush();
  __real__exit(status);
}
