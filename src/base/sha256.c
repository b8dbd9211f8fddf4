#include "base/sha256.h"

#include <string.h>

#define LENGTH_AT 56 /* in the last block: the length in bits */

static const uint32_t constants[64] = {
    0x428a2f98, 0x71374491, 0xb5c0fbcf, 0xe9b5dba5, 0x3956c25b, 0x59f111f1,
    0x923f82a4, 0xab1c5ed5, 0xd807aa98, 0x12835b01, 0x243185be, 0x550c7dc3,
    0x72be5d74, 0x80deb1fe, 0x9bdc06a7, 0xc19bf174, 0xe49b69c1, 0xefbe4786,
    0x0fc19dc6, 0x240ca1cc, 0x2de92c6f, 0x4a7484aa, 0x5cb0a9dc, 0x76f988da,
    0x983e5152, 0xa831c66d, 0xb00327c8, 0xbf597fc7, 0xc6e00bf3, 0xd5a79147,
    0x06ca6351, 0x14292967, 0x27b70a85, 0x2e1b2138, 0x4d2c6dfc, 0x53380d13,
    0x650a7354, 0x766a0abb, 0x81c2c92e, 0x92722c85, 0xa2bfe8a1, 0xa81a664b,
    0xc24b8b70, 0xc76c51a3, 0xd192e819, 0xd6990624, 0xf40e3585, 0x106aa070,
    0x19a4c116, 0x1e376c08, 0x2748774c, 0x34b0bcb5, 0x391c0cb3, 0x4ed8aa4a,
    0x5b9cca4f, 0x682e6ff3, 0x748f82ee, 0x78a5636f, 0x84c87814, 0x8cc70208,
    0x90befffa, 0xa4506ceb, 0xbef9a3f7, 0xc67178f2,
};

static uint32_t rotate(uint32_t x, int n) {
  return x >> n | x << (32 - n);
}

/* Names of the standard's section 4.1.2 */
static uint32_t sum0(uint32_t x) {
  return rotate(x, 2) ^ rotate(x, 13) ^ rotate(x, 22);
}

static uint32_t sum1(uint32_t x) {
  return rotate(x, 6) ^ rotate(x, 11) ^ rotate(x, 25);
}

static uint32_t sigma0(uint32_t x) {
  return rotate(x, 7) ^ rotate(x, 18) ^ x >> 3;
}

static uint32_t sigma1(uint32_t x) {
  return rotate(x, 17) ^ rotate(x, 19) ^ x >> 10;
}

static uint32_t read_word(const unsigned char *b) {
  return (uint32_t)b[0] << 24 | (uint32_t)b[1] << 16 | (uint32_t)b[2] << 8 |
         b[3];
}

static void write_word(unsigned char *b, uint32_t word) {
  b[0] = (unsigned char)(word >> 24);
  b[1] = (unsigned char)(word >> 16);
  b[2] = (unsigned char)(word >> 8);
  b[3] = (unsigned char)word;
}

static void schedule(const unsigned char *block, uint32_t w[64]) {
  int t;
  for (t = 0; t < 16; t++) w[t] = read_word(block + 4 * (size_t)t);
  for (; t < 64; t++)
    w[t] = sigma1(w[t - 2]) + w[t - 7] + sigma0(w[t - 15]) + w[t - 16];
}

/* Adds one block to the hash. */
static void compress(uint32_t hash[8], const unsigned char *block) {
  uint32_t w[64], v[8]; /* v: the working variables a to h */
  int t;
  schedule(block, w);
  memcpy(v, hash, sizeof(v));
  for (t = 0; t < 64; t++) {
    uint32_t choice = (v[4] & v[5]) ^ (~v[4] & v[6]);
    uint32_t majority = (v[0] & v[1]) ^ (v[0] & v[2]) ^ (v[1] & v[2]);
    uint32_t t1 = v[7] + sum1(v[4]) + choice + constants[t] + w[t];
    uint32_t t2 = sum0(v[0]) + majority;
    memmove(v + 1, v, 7 * sizeof(*v));
    v[4] += t1;
    v[0] = t1 + t2;
  }
  for (t = 0; t < 8; t++) hash[t] += v[t];
}

void sha256_begin(sha256_State *state) {
  static const uint32_t first[8] = {0x6a09e667, 0xbb67ae85, 0x3c6ef372,
                                    0xa54ff53a, 0x510e527f, 0x9b05688c,
                                    0x1f83d9ab, 0x5be0cd19};
  memcpy(state->hash, first, sizeof(first));
  state->bytes = 0;
}

void sha256_add(sha256_State *state, const void *bytes, size_t n) {
  const unsigned char *at = (const unsigned char *)bytes;
  size_t held = (size_t)(state->bytes % SHA256_BLOCK);
  state->bytes += n;
  if (held > 0) {
    size_t room = SHA256_BLOCK - held, taken = n < room ? n : room;
    if (taken > 0) memcpy(state->rest + held, at, taken);
    if (n < room) return;
    compress(state->hash, state->rest);
    at += taken;
    n -= taken;
  }
  for (; n >= SHA256_BLOCK; at += SHA256_BLOCK, n -= SHA256_BLOCK)
    compress(state->hash, at);
  if (n > 0) memcpy(state->rest, at, n);
}

/* The last block: the rest, a one bit, zeros, the total length in bits. */
void sha256_end(const sha256_State *state, unsigned char digest[SHA256_SIZE]) {
  unsigned char block[SHA256_BLOCK] = {0};
  uint32_t hash[8];
  size_t held = (size_t)(state->bytes % SHA256_BLOCK), i;
  memcpy(hash, state->hash, sizeof(hash));
  memcpy(block, state->rest, held);
  block[held] = 0x80;
  if (held >= LENGTH_AT) {
    compress(hash, block);
    memset(block, 0, sizeof(block));
  }
  write_word(block + LENGTH_AT, (uint32_t)(state->bytes >> 29));
  write_word(block + LENGTH_AT + 4, (uint32_t)(state->bytes << 3));
  compress(hash, block);
  for (i = 0; i < 8; i++) write_word(digest + 4 * i, hash[i]);
}

void sha256(const void *bytes, size_t n, unsigned char digest[SHA256_SIZE]) {
  sha256_State state;
  sha256_begin(&state);
  sha256_add(&state, bytes, n);
  sha256_end(&state, digest);
}
