#include "reactor_gzip.h"

#include <string.h>

/* A header, an empty deflate block and a trailer. */
#define SMALLEST 20

enum { CHUNK_SIZE, CHUNK_LINE, CHUNK_DATA, CHUNK_END, CHUNK_LAST };

static void add_tail(gzip_Tail *tail, const char *bytes, size_t length) {
  size_t kept = sizeof(tail->bytes), n = length < kept ? length : kept;
  memmove(tail->bytes, tail->bytes + n, kept - n);
  memcpy(tail->bytes + kept - n, bytes + length - n, n);
  tail->length += length;
}

static int hex_digit(char c) {
  if (c >= '0' && c <= '9') return c - '0';
  if (c >= 'a' && c <= 'f') return c - 'a' + 10;
  if (c >= 'A' && c <= 'F') return c - 'A' + 10;
  return -1;
}

/* One byte of framing. */
static void feed_frame(gzip_Check *check, char c) {
  int digit = hex_digit(c);
  if (check->state == CHUNK_SIZE && digit >= 0) {
    check->left = check->left << 4 | (uint64_t)digit;
  } else if (c == '\n') {
    if (check->state == CHUNK_END) check->state = CHUNK_SIZE;
    else check->state = check->left > 0 ? CHUNK_DATA : CHUNK_LAST;
  } else if (check->state == CHUNK_SIZE) {
    check->state = CHUNK_LINE;
  }
}

void gzip_check_feed(gzip_Check *check, const char *bytes, size_t length) {
  const char *end = bytes + length;
  add_tail(&check->raw, bytes, length);
  while (bytes < end && check->state != CHUNK_LAST) {
    if (check->state == CHUNK_DATA) {
      size_t n = (size_t)(end - bytes);
      if (n > check->left) n = (size_t)check->left;
      add_tail(&check->joined, bytes, n);
      bytes += n;
      check->left -= n;
      if (check->left == 0) check->state = CHUNK_END;
    } else {
      feed_frame(check, *bytes++);
    }
  }
}

/* RFC 1952, 2.3.1: ISIZE, the length modulo 2^32, ends the stream. */
static bool ends_with(const gzip_Tail *tail, uint64_t decoded) {
  const unsigned char *b = tail->bytes;
  uint32_t size = (uint32_t)b[0] | (uint32_t)b[1] << 8 | (uint32_t)b[2] << 16 |
                  (uint32_t)b[3] << 24;
  return tail->length >= SMALLEST && size == (uint32_t)decoded;
}

bool gzip_check_whole(const gzip_Check *check, uint64_t decoded) {
  if (check->raw.length == 0) return true;
  return ends_with(&check->raw, decoded) || ends_with(&check->joined, decoded);
}
