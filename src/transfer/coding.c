#include "transfer/coding.h"

#include <curl/curl.h>
#include <string.h>
#include <strings.h>

/* A header, an empty deflate block and a trailer. */
#define SMALLEST_GZIP 20
#define SMALLEST_ZLIB 8
#define SMALLEST_BARE 2 /* the block alone */

#define ADLER_BASE 65521u
#define ADLER_RUN 5552 /* bytes before the sums could overflow 32 bits */

enum {
  CHUNK_BEGIN, /* before the first digit of a size */
  CHUNK_SIZE,
  CHUNK_LINE, /* the rest of its line */
  CHUNK_DATA,
  CHUNK_END,  /* the line end after the data */
  CHUNK_LAST, /* the last chunk came: the body is over */
  CHUNK_NONE  /* these bytes have no framing */
};

enum {
  ZSTD_MAGIC,      /* 4 bytes that begin a frame; the stream may end here */
  ZSTD_DESCRIPTOR, /* 1 byte: which fields its header has */
  ZSTD_BLOCK,      /* 3 bytes before a block */
  ZSTD_SKIPPABLE,  /* 4 bytes: the length of a skippable frame */
  ZSTD_BROKEN
};

static coding_Kind kind_of_name(const char *name, size_t length) {
  static const struct {
    const char *name;
    coding_Kind kind;
  } names[] = {{"gzip", CODING_GZIP},       {"x-gzip", CODING_GZIP},
               {"deflate", CODING_DEFLATE}, {"zstd", CODING_ZSTD},
               {"br", CODING_BROTLI},       {"identity", CODING_NONE},
               {"none", CODING_NONE}}; /* as libcurl has it */
  size_t i;
  for (i = 0; i < sizeof(names) / sizeof(names[0]); i++)
    if (strlen(names[i].name) == length &&
        strncasecmp(names[i].name, name, length) == 0)
      return names[i].kind;
  return CODING_UNKNOWN;
}

coding_Kind coding_kind(coding_Kind before, const char *value, size_t length) {
  const char *p = value, *end = value + length;
  coding_Kind kind = before, name;
  while (p < end) {
    const char *start = p, *last;
    while (p < end && *p != ',') p++;
    for (last = p++; last > start && (last[-1] == ' ' || last[-1] == '\t');)
      last--;
    while (start < last && (*start == ' ' || *start == '\t')) start++;
    if (start == last) continue;
    name = kind_of_name(start, (size_t)(last - start));
    if (kind == CODING_UNKNOWN || name == CODING_UNKNOWN) return CODING_UNKNOWN;
    if (name != CODING_NONE) kind = kind == CODING_NONE ? name : CODING_SEVERAL;
  }
  return kind;
}

/* Since version 8.7, libcurl has begun to decode before it shows the head. */
static bool may_decode(void) {
  return curl_version_info(CURLVERSION_NOW)->version_num < 0x080700;
}

void coding_begin(coding_Check *check, coding_Kind kind, ops_Alloc alloc) {
  coding_end(check);
  *check = (coding_Check){.kind = kind, .alloc = alloc, .adler_a = 1};
  if (kind == CODING_GZIP && may_decode())
    check->gzip = gzip_new(&check->alloc);
  if (kind != CODING_BROTLI) return;
  check->raw.brotli = brotli_new(&check->alloc);
  check->joined.brotli = brotli_new(&check->alloc);
}

void coding_end(coding_Check *check) {
  brotli_free(&check->alloc, check->raw.brotli);
  brotli_free(&check->alloc, check->joined.brotli);
  check->raw.brotli = check->joined.brotli = NULL;
  gzip_free(&check->alloc, check->gzip);
  check->gzip = NULL;
  check->kind = CODING_NONE;
}

/* zstd: the sizes in headers and blocks lead from frame to frame. */

static void zstd_header(coding_Zstd *z, unsigned descriptor) {
  static const unsigned char dictionary[] = {0, 1, 2, 4};
  static const unsigned char content[] = {0, 2, 4, 8};
  bool single = (descriptor & 0x20) != 0;
  unsigned size = content[descriptor >> 6];
  if (size == 0 && single) size = 1;
  z->skip = dictionary[descriptor & 3] + size + (single ? 0 : 1);
  z->checksum = (descriptor & 4) != 0;
  z->state = ZSTD_BLOCK;
}

static void zstd_block(coding_Zstd *z, uint32_t header) {
  unsigned type = header >> 1 & 3;
  z->last = (header & 1) != 0;
  z->skip = type == 1 ? 1 : header >> 3; /* 1: one byte, repeated */
  if (type == 3) z->state = ZSTD_BROKEN;
  else if (z->last) {
    z->skip += z->checksum ? 4 : 0;
    z->state = ZSTD_MAGIC;
  }
}

static void zstd_magic(coding_Zstd *z, uint32_t magic) {
  if (magic == 0xFD2FB528u) z->state = ZSTD_DESCRIPTOR;
  else if ((magic & 0xFFFFFFF0u) == 0x184D2A50u) z->state = ZSTD_SKIPPABLE;
  else z->state = ZSTD_BROKEN;
}

static void zstd_field(coding_Zstd *z, uint32_t value) {
  switch (z->state) {
  case ZSTD_MAGIC: zstd_magic(z, value); break;
  case ZSTD_DESCRIPTOR: zstd_header(z, value); break;
  case ZSTD_BLOCK: zstd_block(z, value); break;
  default: z->skip = value; z->state = ZSTD_MAGIC;
  }
}

static void zstd_feed(coding_Zstd *z, const char *bytes, size_t length) {
  static const unsigned char sizes[] = {4, 1, 3, 4};
  const char *end = bytes + length;
  while (bytes < end && z->state != ZSTD_BROKEN) {
    if (z->skip > 0) {
      size_t n = (size_t)(end - bytes);
      if (n > z->skip) n = (size_t)z->skip;
      z->skip -= n;
      bytes += n;
      continue;
    }
    z->value |= (uint64_t)(unsigned char)*bytes++ << (8 * z->read++);
    if (z->read == sizes[z->state]) {
      uint32_t value = (uint32_t)z->value;
      z->value = z->read = 0;
      zstd_field(z, value);
    }
  }
}

static bool zstd_whole(const coding_Zstd *z) {
  return z->state == ZSTD_MAGIC && z->read == 0 && z->skip == 0;
}

/* Runs of encoded bytes */

static void add(coding_Run *run, coding_Kind kind, const char *bytes,
                size_t length) {
  size_t kept = sizeof(run->tail), n = length < kept ? length : kept;
  size_t i = run->length < 2 ? (size_t)run->length : 2, j;
  for (j = 0; i < 2 && j < length; i++, j++)
    run->first[i] = (unsigned char)bytes[j];
  memmove(run->tail, run->tail + n, kept - n);
  memcpy(run->tail + kept - n, bytes + length - n, n);
  run->length += length;
  if (kind == CODING_ZSTD) zstd_feed(&run->zstd, bytes, length);
  if (run->brotli != NULL) brotli_feed(run->brotli, bytes, length);
}

static int hex_digit(char c) {
  if (c >= '0' && c <= '9') return c - '0';
  if (c >= 'a' && c <= 'f') return c - 'a' + 10;
  if (c >= 'A' && c <= 'F') return c - 'A' + 10;
  return -1;
}

static int after_size(const coding_Check *check, char c) {
  if (c == '\n') return check->left > 0 ? CHUNK_DATA : CHUNK_LAST;
  if (check->state == CHUNK_LINE) return CHUNK_LINE;
  return c == '\r' || c == ';' || c == ' ' || c == '\t' ? CHUNK_LINE
                                                        : CHUNK_NONE;
}

/* Reads one byte of framing. */
static void feed_frame(coding_Check *check, char c) {
  int digit = hex_digit(c);
  if (check->state == CHUNK_END) {
    if (c != '\r') check->state = c == '\n' ? CHUNK_BEGIN : CHUNK_NONE;
  } else if (check->state != CHUNK_LINE && digit >= 0) {
    check->state = CHUNK_SIZE;
    check->left = check->left << 4 | (uint64_t)digit;
  } else {
    check->state =
        check->state == CHUNK_BEGIN ? CHUNK_NONE : after_size(check, c);
  }
}

void coding_feed(coding_Check *check, const char *bytes, size_t length) {
  const char *end = bytes + length;
  add(&check->raw, check->kind, bytes, length);
  while (bytes < end && check->state < CHUNK_LAST) {
    if (check->state == CHUNK_DATA) {
      size_t n = (size_t)(end - bytes);
      if (n > check->left) n = (size_t)check->left;
      add(&check->joined, check->kind, bytes, n);
      bytes += n;
      check->left -= n;
      if (check->left == 0) check->state = CHUNK_END;
    } else {
      feed_frame(check, *bytes++);
    }
  }
}

void coding_decoded(coding_Check *check, const char *bytes, size_t length) {
  uint32_t a = check->adler_a, b = check->adler_b;
  check->decoded += length;
  if (check->kind != CODING_DEFLATE) return;
  while (length > 0) {
    size_t n = length < ADLER_RUN ? length : ADLER_RUN;
    length -= n;
    for (; n > 0; n--) {
      a += (unsigned char)*bytes++;
      b += a;
    }
    a %= ADLER_BASE;
    b %= ADLER_BASE;
  }
  check->adler_a = a;
  check->adler_b = b;
}

/* RFC 1952, 2.3.1: ISIZE, the length modulo 2^32, ends the stream. */
static bool gzip_whole(const coding_Run *run, uint64_t decoded) {
  const unsigned char *b = run->tail;
  uint32_t size = (uint32_t)b[0] | (uint32_t)b[1] << 8 | (uint32_t)b[2] << 16 |
                  (uint32_t)b[3] << 24;
  return run->length >= SMALLEST_GZIP && size == (uint32_t)decoded;
}

/* RFC 1950, 2.2: the checksum, its first byte first, ends the stream. */
static bool zlib_whole(const coding_Run *run, const coding_Check *check) {
  const unsigned char *b = run->tail, *first = run->first;
  uint32_t sum = (uint32_t)b[0] << 24 | (uint32_t)b[1] << 16 |
                 (uint32_t)b[2] << 8 | (uint32_t)b[3];
  if ((first[0] & 15) != 8 || (first[0] << 8 | first[1]) % 31 != 0)
    return run->length >= SMALLEST_BARE; /* no zlib header: the bare form */
  return run->length >= SMALLEST_ZLIB &&
         sum == (check->adler_b << 16 | check->adler_a);
}

static bool run_whole(const coding_Check *check, const coding_Run *run) {
  switch (check->kind) {
  case CODING_GZIP: return gzip_whole(run, check->decoded);
  case CODING_DEFLATE: return zlib_whole(run, check);
  case CODING_ZSTD: return run->length > 0 && zstd_whole(&run->zstd);
  case CODING_BROTLI:
    return run->length > 0 &&
           (run->brotli == NULL || brotli_whole(run->brotli));
  default: return true;
  }
}

/* Some versions of libcurl show the bytes without the framing of chunks. */
bool coding_whole(const coding_Check *check, bool chunked) {
  if (check->kind == CODING_GZIP && check->gzip != NULL)
    return gzip_is_whole(check->gzip) ||
           (chunked && gzip_is_empty(check->gzip));
  if (!chunked || check->state != CHUNK_LAST)
    return run_whole(check, &check->raw);
  return check->joined.length == 0 || run_whole(check, &check->joined);
}
