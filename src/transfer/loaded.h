/*
** loaded.h - functions of the libraries that libcurl has loaded: we have no
** headers of them to build against.
*/
#ifndef OPERATIONS_TRANSFER_LOADED_H
#define OPERATIONS_TRANSFER_LOADED_H

#include <dlfcn.h>
#include <stdbool.h>
#include <stddef.h>

/* A library by the name of its file on Linux or on macOS; NULL when this
** process has not loaded it.  It is libcurl that keeps it loaded. */
static inline void *loaded_library(const char *elf, const char *macho) {
  void *loaded = dlopen(elf, RTLD_LAZY | RTLD_NOLOAD);
  if (loaded == NULL) loaded = dlopen(macho, RTLD_LAZY | RTLD_NOLOAD);
  if (loaded != NULL) dlclose(loaded);
  return loaded;
}

/* POSIX lets data pointers hold functions; C does not. */
static inline bool loaded_find(void *from, const char *name, void *function) {
  void *symbol = from != NULL ? dlsym(from, name) : NULL;
  *(void **)function = symbol;
  return symbol != NULL;
}

#endif
