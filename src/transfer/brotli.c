#include "transfer/brotli.h"

#include <stdint.h>

#include "transfer/loaded.h"

/* The functions of libbrotlidec that we use. */
typedef struct Decoder Decoder;

enum { FAILED = 0, FULL = 3 };

typedef struct Library {
  Decoder *(*create)(void *alloc, void *release, void *ud);
  void (*destroy)(Decoder *decoder);
  int (*decode)(Decoder *decoder, size_t *in_left, const uint8_t **in,
                size_t *out_left, uint8_t **out, size_t *total);
  const uint8_t *(*take)(Decoder *decoder, size_t *size);
  int (*finished)(const Decoder *decoder);
} Library;

struct brotli_Check {
  Library library;
  Decoder *decoder; /* owned; NULL after invalid bytes */
};

static bool load(Library *library) {
  void *from = loaded_library("libbrotlidec.so.1", "libbrotlidec.1.dylib");
  return loaded_find(from, "BrotliDecoderCreateInstance", &library->create) &&
         loaded_find(from, "BrotliDecoderDestroyInstance", &library->destroy) &&
         loaded_find(from, "BrotliDecoderDecompressStream", &library->decode) &&
         loaded_find(from, "BrotliDecoderTakeOutput", &library->take) &&
         loaded_find(from, "BrotliDecoderIsFinished", &library->finished);
}

brotli_Check *brotli_new(const ops_Alloc *alloc) {
  brotli_Check *check = ops_alloc(alloc, sizeof(*check));
  if (check == NULL) return NULL;
  if (load(&check->library) &&
      (check->decoder = check->library.create(NULL, NULL, NULL)) != NULL)
    return check;
  ops_free(alloc, check, sizeof(*check));
  return NULL;
}

void brotli_free(const ops_Alloc *alloc, brotli_Check *check) {
  if (check == NULL) return;
  if (check->decoder != NULL) check->library.destroy(check->decoder);
  ops_free(alloc, check, sizeof(*check));
}

void brotli_feed(brotli_Check *check, const char *bytes, size_t length) {
  const uint8_t *in = (const uint8_t *)bytes;
  int result = FULL;
  while (check->decoder != NULL && result == FULL) {
    size_t none = 0, all = 0;
    uint8_t *out = NULL;
    result =
        check->library.decode(check->decoder, &length, &in, &none, &out, NULL);
    (void)check->library.take(check->decoder,
                              &all); /* takes and drops all output */
    if (result != FAILED) continue;
    check->library.destroy(check->decoder);
    check->decoder = NULL;
  }
}

bool brotli_whole(const brotli_Check *check) {
  return check->decoder != NULL && check->library.finished(check->decoder);
}
