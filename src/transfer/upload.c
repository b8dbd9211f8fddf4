#include "transfer/http.h"

size_t http_on_read(char *bytes, size_t size, size_t n, void *ud) {
  http_Transfer *t = (http_Transfer *)ud;
  size_t there = t->upload.len - t->taken, length = size * n;
  if (there == 0 && t->upload_ended) return 0;
  if (there == 0) {
    t->starving = true;
    reactor_say(&t->op, REACTOR_WANT, false);
    return CURL_READFUNC_PAUSE;
  }
  if (length > there) length = there;
  memcpy(bytes, t->upload.data + t->taken, length);
  t->taken += length;
  if (t->taken == t->upload.len) t->taken = t->upload.len = 0;
  return length;
}

bool http_write(http_Transfer *t, const char *bytes, size_t length) {
  if (t->easy == NULL) return true; /* it has ended: the bytes are not needed */
  if (!buffer_add(&t->upload, bytes, length)) return false;
  t->upload_ended = length == 0;
  if (!t->starving) return true;
  t->starving = false; /* before the call, in which curl asks for it */
  curl_easy_pause(t->easy->curl, t->paused ? CURLPAUSE_RECV : CURLPAUSE_CONT);
  return true;
}
