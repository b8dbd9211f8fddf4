#include "transfer/gzip.h"

#include "transfer/loaded.h"

#define PIECE 16384
#define GZIP_WINDOW (15 + 16) /* the largest window; gzip, not zlib */

enum { Z_OK = 0, Z_STREAM_END = 1, Z_BUF_ERROR = -5 }; /* results of inflate */

/* zlib's z_stream, the same since version 1.0.  zlib compares its size with its
** own. */
typedef struct Stream {
  const unsigned char *next_in;
  unsigned avail_in;
  unsigned long total_in;
  unsigned char *next_out;
  unsigned avail_out;
  unsigned long total_out;
  const char *msg;
  void *state, *alloc, *release, *ud;
  int data_type;
  unsigned long adler, reserved;
} Stream;

typedef struct Library {
  int (*init)(Stream *stream, int window, const char *version, int size);
  int (*inflate)(Stream *stream, int flush);
  int (*reset)(Stream *stream);
  int (*end)(Stream *stream);
} Library;

struct gzip_Decoder {
  Library library;
  Stream stream;
  bool fed, within; /* a member */
};

static bool load(Library *library) {
  void *from = loaded_library("libz.so.1", "libz.1.dylib");
  return loaded_find(from, "inflateInit2_", &library->init) &&
         loaded_find(from, "inflate", &library->inflate) &&
         loaded_find(from, "inflateReset", &library->reset) &&
         loaded_find(from, "inflateEnd", &library->end);
}

gzip_Decoder *gzip_new(const ops_Alloc *alloc) {
  gzip_Decoder *d = ops_alloc(alloc, sizeof(*d));
  if (d == NULL) return NULL;
  *d = (gzip_Decoder){.within = true};
  if (load(&d->library) && d->library.init(&d->stream, GZIP_WINDOW, "1",
                                           (int)sizeof(d->stream)) == Z_OK)
    return d;
  ops_free(alloc, d, sizeof(*d));
  return NULL;
}

void gzip_free(const ops_Alloc *alloc, gzip_Decoder *decoder) {
  if (decoder == NULL) return;
  decoder->library.end(&decoder->stream);
  ops_free(alloc, decoder, sizeof(*decoder));
}

/* Zeros between members, and after the last one, are padding. */
static bool begin_member(gzip_Decoder *d) {
  Stream *s = &d->stream;
  while (s->avail_in > 0 && *s->next_in == 0) {
    s->next_in++;
    s->avail_in--;
  }
  d->within = s->avail_in > 0;
  return !d->within || d->library.reset(s) == Z_OK;
}

static bool decode(gzip_Decoder *d, gzip_Take take, void *ud) {
  unsigned char out[PIECE];
  size_t length;
  int result;
  d->stream.next_out = out;
  d->stream.avail_out = sizeof(out);
  result = d->library.inflate(&d->stream, 0);
  length = sizeof(out) - d->stream.avail_out;
  if (length > 0 && !take(ud, (const char *)out, length)) return false;
  if (result == Z_STREAM_END) d->within = false;
  return result == Z_OK || result == Z_STREAM_END || result == Z_BUF_ERROR;
}

bool gzip_feed(gzip_Decoder *d, const char *bytes, size_t length,
               gzip_Take take, void *ud) {
  Stream *s = &d->stream;
  d->fed = d->fed || length > 0;
  s->next_in = (const unsigned char *)bytes;
  s->avail_in = (unsigned)length; /* a piece of libcurl's */
  do {
    if (!d->within && !begin_member(d)) return false;
    if (d->within && !decode(d, take, ud)) return false;
  } while (s->avail_in > 0 || (d->within && s->avail_out == 0));
  return true;
}

bool gzip_is_empty(const gzip_Decoder *d) {
  return !d->fed;
}

bool gzip_is_whole(const gzip_Decoder *d) {
  return d->fed && !d->within;
}
