#include "transfer/http.h"

/* curl counts idle time in whole seconds and searches for idle connections at
** most once a second, even when transfers begin. */
#define SECOND_MS 1000.0
#define SECOND ((reactor_Time)1000000000)

void http_sweep_init(http_Sweep *sweep) {
  sweep->due = REACTOR_NEVER;
  sweep->keep_alive = SECOND_MS;
}

void http_sweep_began(http_Sweep *sweep, double keep_alive) {
  sweep->begun = reactor_now();
  sweep->keep_alive = keep_alive < SECOND_MS ? SECOND_MS : keep_alive;
}

void http_sweep_ended(http_Sweep *sweep) {
  sweep->ended = reactor_now();
  if (sweep->due == REACTOR_NEVER)
    sweep->due = reactor_after(sweep->keep_alive);
}

bool http_sweep_is_due(http_Sweep *sweep, reactor_Time now) {
  if (sweep->due > now) return false;
  if (now >= sweep->begun + SECOND) return true;
  sweep->due = sweep->begun + SECOND;
  return false;
}

/* Sets the time when the connections that became idle since the last sweep are
** old enough. */
static void set_next(http_Sweep *sweep) {
  reactor_Time now = reactor_now();
  reactor_Time old = sweep->ended + (reactor_Time)(sweep->keep_alive * 1e6);
  sweep->begun = now;
  sweep->due = old > now ? old : REACTOR_NEVER;
}

static curl_socket_t open_none(void *ud, curlsocktype purpose,
                               struct curl_sockaddr *address) {
  (void)ud, (void)purpose, (void)address;
  return CURL_SOCKET_BAD;
}

static void set_transfer(CURL *easy, long max_age) {
  curl_easy_setopt(easy, CURLOPT_URL, "http://127.0.0.1/");
  curl_easy_setopt(easy, CURLOPT_PROXY, "");
  curl_easy_setopt(easy, CURLOPT_NOSIGNAL, 1L);
  curl_easy_setopt(easy, CURLOPT_FRESH_CONNECT, 1L);
  curl_easy_setopt(easy, CURLOPT_OPENSOCKETFUNCTION, open_none);
  curl_easy_setopt(easy, CURLOPT_MAXAGE_CONN, max_age);
}

void http_sweep(http_Sweep *sweep, CURLM *multi) {
  CURL *easy = curl_easy_init();
  int running;
  set_next(sweep);
  if (easy == NULL) return;
  set_transfer(easy, (long)(sweep->keep_alive / SECOND_MS) - 1);
  if (curl_multi_add_handle(multi, easy) == CURLM_OK) {
    curl_multi_socket_action(multi, CURL_SOCKET_TIMEOUT, 0, &running);
    curl_multi_remove_handle(multi, easy);
  }
  curl_easy_cleanup(easy);
}
