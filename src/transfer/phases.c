#include "transfer/http.h"

static double ms_of(CURL *curl, CURLINFO info) {
  curl_off_t us = 0;
  curl_easy_getinfo(curl, info, &us);
  return (double)us / 1000;
}

void http_note_phases(http_Transfer *t) {
  http_Phases *phases = &t->phases;
  CURL *curl;
  long opened = 1;
  if (!t->timed || t->easy == NULL) return;
  curl = t->easy->curl;
  phases->name = ms_of(curl, CURLINFO_NAMELOOKUP_TIME_T);
  phases->connect = ms_of(curl, CURLINFO_CONNECT_TIME_T);
  phases->tls = ms_of(curl, CURLINFO_APPCONNECT_TIME_T);
  phases->first_byte = ms_of(curl, CURLINFO_STARTTRANSFER_TIME_T);
  curl_easy_getinfo(curl, CURLINFO_NUM_CONNECTS, &opened);
  phases->reused = opened == 0 && ms_of(curl, CURLINFO_PRETRANSFER_TIME_T) > 0;
}
