/*
** fuzz_websocket.c - frames from any peer, cut anywhere, give the same messages
** and the same answers as in one piece, and none is longer than it may be; what
** a codec sends, one of the other side reads.
**
** The first two bytes of the input say which side reads, how long a message may
** be and how to cut; the rest are the frames.
*/
#include <stdlib.h>

#include "websocket/websocket.h"

#define MAX_RECORD (1 << 24)

static void *allocate(void *ud, void *p, size_t old_size, size_t new_size) {
  (void)ud;
  (void)old_size;
  if (new_size > 0) return realloc(p, new_size);
  free(p);
  return NULL;
}

static const ops_Alloc alloc = {allocate, NULL};

static void require(int truth) {
  if (!truth) abort();
}

static void open_codec(websocket_Codec *c, bool server, size_t max) {
  memset(c, 0, sizeof(*c));
  require(websocket_open(c, alloc, server, max));
}

/* Sends data frames to a codec of the other side. */
static void send_on(const websocket_Message *message, bool server) {
  websocket_Codec from, to;
  websocket_Message got;
  size_t position = 0;
  open_codec(&from, server, 65536);
  open_codec(&to, !server, 65536);
  require(websocket_send(&from, message));
  require(websocket_feed(&to, from.out.data, from.out.len));
  require(websocket_next(&to, &position, &got));
  require(got.kind == message->kind && got.length == message->length);
  require(got.length == 0 ||
          memcmp(got.bytes, message->bytes, got.length) == 0);
  require(!websocket_next(&to, &position, &got));
  websocket_close(&from);
  websocket_close(&to);
}

/* A close frame is not recorded: of one that comes in pieces wslay takes parts
** of the code for text, and refuses what it would take in one piece. */
static void record_messages(buffer_Buffer *record, const websocket_Codec *c) {
  websocket_Message message;
  size_t position = 0;
  while (websocket_next(c, &position, &message)) {
    bool control = message.kind >= WEBSOCKET_CLOSE;
    require(message.length <= (control ? 125 : c->max_message));
    if (message.kind == WEBSOCKET_CLOSE) continue;
    require(buffer_add(record, (const char *)&message.kind, sizeof(int)));
    require(buffer_add(record, (const char *)&message.length, sizeof(size_t)));
    require(buffer_add(record, message.bytes, message.length));
    send_on(&message, c->server);
  }
}

/* The answers: control frames, but none where the connection ends: a ping right
** before may stay without its pong (RFC 6455, 5.5.2).  What a client sends is
** masked by chance: there the length counts. */
static void record_answers(buffer_Buffer *record, const websocket_Codec *c,
                           bool open) {
  size_t head = c->server ? 2 : 6, next = 0;
  while (next < c->out.len) {
    size_t length = (unsigned char)c->out.data[next + 1] & 127;
    next += head + length;
    require(length <= 125 && next <= c->out.len);
  }
  require(buffer_add(record, (const char *)&open, sizeof(open)));
  if (!open) return;
  require(buffer_add(record, (const char *)&next, sizeof(next)));
  if (c->server) require(buffer_add(record, c->out.data, next));
}

/* Feeds pieces of 0 to `largest` bytes (0: all at once), records what comes. */
static void run(buffer_Buffer *record, const char *s, size_t len, bool server,
                size_t max, size_t largest, unsigned random) {
  websocket_Codec c;
  bool open = true;
  open_codec(&c, server, max);
  buffer_init(record, alloc, MAX_RECORD);
  while (len > 0 && open) {
    size_t n = largest == 0 ? len : (random >> 16) % (largest + 1);
    char *piece;
    random = random * 1103515245U + 12345U;
    if (n > len) n = len;
    piece = malloc(n + 1); /* so that a read beyond or after it is seen */
    memcpy(piece, s, n);
    open = websocket_feed(&c, piece, n);
    free(piece);
    require(!c.starved);
    record_messages(record, &c);
    s += n;
    len -= n;
  }
  record_answers(record, &c, open);
  websocket_close(&c);
}

int LLVMFuzzerTestOneInput(const unsigned char *data, size_t size);

/* What follows the input, so that no control frame stays without its end: what
** is wrong in one that comes in pieces may be found only there. */
#define ENDING 128

int LLVMFuzzerTestOneInput(const unsigned char *data, size_t size) {
  buffer_Buffer whole, cut;
  char *s;
  bool server;
  size_t max, largest, len;
  if (size < 2) return 0;
  len = size - 2 + ENDING;
  server = (data[0] & 1) != 0;
  max = 1 + (size_t)data[1] * 8;
  largest = 1 + data[0] / 2 % 64;
  s = calloc(len, 1);
  require(s != NULL);
  memcpy(s, data + 2, size - 2);
  run(&whole, s, len, server, max, 0, 0);
  run(&cut, s, len, server, max, largest, data[0] * 256U + data[1]);
  require(whole.len == cut.len);
  require(memcmp(whole.data, cut.data, whole.len) == 0);
  buffer_free(&whole);
  buffer_free(&cut);
  free(s);
  return 0;
}
