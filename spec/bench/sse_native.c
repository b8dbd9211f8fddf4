/*
** sse_native.c - the C parser by itself: events of a file per CPU second.
** Usage: sse_native FILE CHUNK TIMES; reads the file TIMES times in a row in
** each pass; prints the events and the median of the passes.
*/
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#include "sse/sse.h"

#define PASSES 11

static void *allocate(void *ud, void *p, size_t old_size, size_t new_size) {
  (void)ud;
  (void)old_size;
  if (new_size > 0) return realloc(p, new_size);
  free(p);
  return NULL;
}

static void on_event(void *ud, const sse_Event *event) {
  size_t *count = (size_t *)ud;
  *count += event->data_len > 0;
}

static int by_size(const void *a, const void *b) {
  double x = *(const double *)a, y = *(const double *)b;
  return (x > y) - (x < y);
}

static double pass(const char *bytes, size_t len, size_t chunk, long times,
                   size_t *count) {
  const ops_Alloc alloc = {allocate, NULL};
  clock_t start = clock();
  sse_Parser *p;
  *count = 0;
  p = sse_new(&alloc, 1 << 20, on_event, count);
  for (long i = 0; i < times; i++)
    for (size_t at = 0; at < len; at += chunk)
      sse_feed(p, bytes + at, len - at < chunk ? len - at : chunk);
  sse_free(p);
  return (double)(clock() - start) / CLOCKS_PER_SEC;
}

int main(int argc, char **argv) {
  static char bytes[16 << 20];
  double times[PASSES];
  size_t len, count = 0;
  FILE *file = argc == 4 ? fopen(argv[1], "rb") : NULL;
  if (file == NULL) return 1;
  len = fread(bytes, 1, sizeof(bytes), file);
  fclose(file);
  for (int i = 0; i < PASSES; i++)
    times[i] = pass(bytes, len, (size_t)atol(argv[2]), atol(argv[3]), &count);
  qsort(times, PASSES, sizeof(times[0]), by_size);
  printf("%zu %.9f\n", count, times[PASSES / 2]);
  return 0;
}
