/*
** http_native.c URL CONCURRENCY SECONDS - the floor: bare libcurl multi, easy
** handles used again.  Prints requests per second, microseconds of CPU and
** the most MB that were resident.
*/
#include <curl/curl.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <time.h>

static size_t swallow(char *bytes, size_t size, size_t n, void *ud) {
  (void)bytes;
  *(size_t *)ud += size * n;
  return size * n;
}

static double seconds(clockid_t clock) {
  struct timespec t;
  clock_gettime(clock, &t);
  return (double)t.tv_sec + (double)t.tv_nsec / 1e9;
}

static void add(CURLM *multi, CURL *easy, const char *url, size_t *bytes) {
  curl_easy_reset(easy);
  curl_easy_setopt(easy, CURLOPT_URL, url);
  curl_easy_setopt(easy, CURLOPT_NOSIGNAL, 1L);
  curl_easy_setopt(easy, CURLOPT_WRITEFUNCTION, swallow);
  curl_easy_setopt(easy, CURLOPT_WRITEDATA, bytes);
  curl_multi_add_handle(multi, easy);
}

int main(int argc, char **argv) {
  int concurrency = argc > 2 ? atoi(argv[2]) : 1, running = 1, left, i;
  double start = seconds(CLOCK_MONOTONIC), cpu, stop;
  size_t bytes = 0, count = 0;
  CURLM *multi = curl_multi_init();
  CURLMsg *message;
  struct rusage usage;
  if (argc < 4) return 2;
  stop = start + atof(argv[3]);
  for (i = 0; i < concurrency; i++)
    add(multi, curl_easy_init(), argv[1], &bytes);
  while (running > 0) {
    curl_multi_perform(multi, &running);
    while ((message = curl_multi_info_read(multi, &left)) != NULL) {
      CURL *easy = message->easy_handle;
      if (message->msg != CURLMSG_DONE) continue;
      if (message->data.result != CURLE_OK) return 1;
      count++;
      curl_multi_remove_handle(multi, easy);
      if (seconds(CLOCK_MONOTONIC) >= stop) continue;
      add(multi, easy, argv[1], &bytes);
      running = 1;
    }
    if (running > 0) curl_multi_poll(multi, NULL, 0, 1000, NULL);
  }
  cpu = seconds(CLOCK_PROCESS_CPUTIME_ID);
  getrusage(RUSAGE_SELF, &usage);
  printf("%.0f %.1f %.1f\n", (double)count / (seconds(CLOCK_MONOTONIC) - start),
         cpu / (double)count * 1e6, (double)usage.ru_maxrss / 1024);
  return 0;
}
