#include "base/sha1.h"

#include <string.h>

#define BLOCK 64

static uint32_t rotate(uint32_t x, int n) {
  return x << n | x >> (32 - n);
}

static uint32_t mix(int t, uint32_t b, uint32_t c, uint32_t d) {
  if (t < 20) return ((b & c) | (~b & d)) + 0x5a827999u;
  if (t < 40) return (b ^ c ^ d) + 0x6ed9eba1u;
  if (t < 60) return ((b & c) | (b & d) | (c & d)) + 0x8f1bbcdcu;
  return (b ^ c ^ d) + 0xca62c1d6u;
}

static void take_block(uint32_t state[5], const unsigned char *p) {
  uint32_t w[80], v[5];
  int t;
  for (t = 0; t < 16; t++, p += 4)
    w[t] = (uint32_t)p[0] << 24 | (uint32_t)p[1] << 16 | (uint32_t)p[2] << 8 |
           p[3];
  for (; t < 80; t++)
    w[t] = rotate(w[t - 3] ^ w[t - 8] ^ w[t - 14] ^ w[t - 16], 1);
  memcpy(v, state, sizeof(v));
  for (t = 0; t < 80; t++) {
    uint32_t next = rotate(v[0], 5) + mix(t, v[1], v[2], v[3]) + v[4] + w[t];
    v[4] = v[3];
    v[3] = v[2];
    v[2] = rotate(v[1], 30);
    v[1] = v[0];
    v[0] = next;
  }
  for (t = 0; t < 5; t++) state[t] += v[t];
}

static void put(unsigned char *p, uint64_t value, int bytes) {
  while (bytes-- > 0) *p++ = (unsigned char)(value >> 8 * bytes);
}

void sha1(const void *bytes, size_t length, unsigned char digest[SHA1_SIZE]) {
  uint32_t state[5] = {0x67452301u, 0xefcdab89u, 0x98badcfeu, 0x10325476u,
                       0xc3d2e1f0u};
  const unsigned char *p = bytes;
  unsigned char last[2 * BLOCK] = {0};
  size_t left = length, tail;
  int i;
  for (; left >= BLOCK; left -= BLOCK, p += BLOCK) take_block(state, p);
  if (left > 0) memcpy(last, p, left);
  last[left] = 0x80;
  tail = left + 9 <= BLOCK ? BLOCK : 2 * BLOCK;
  put(last + tail - 8, (uint64_t)length * 8, 8);
  take_block(state, last);
  if (tail > BLOCK) take_block(state, last + BLOCK);
  for (i = 0; i < 5; i++) put(digest + 4 * i, state[i], 4);
}
