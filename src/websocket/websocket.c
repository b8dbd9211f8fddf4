#include "websocket/websocket.h"

#include "base/utf8.h"

#include "platform/platform.h"

/* The header of each message in `messages`. */
typedef struct Head {
  size_t length;
  uint16_t code;
  uint8_t kind;
} Head;

static ssize_t on_recv(wslay_event_context_ptr wslay, uint8_t *bytes,
                       size_t room, int flags, void *ud) {
  websocket_Codec *c = (websocket_Codec *)ud;
  size_t n = c->fed_left < room ? c->fed_left : room;
  (void)flags;
  if (n == 0) {
    wslay_event_set_error(wslay, WSLAY_ERR_WOULDBLOCK);
    return -1;
  }
  memcpy(bytes, c->fed, n);
  c->fed += n;
  c->fed_left -= n;
  return (ssize_t)n;
}

static ssize_t on_send(wslay_event_context_ptr wslay, const uint8_t *bytes,
                       size_t length, int flags, void *ud) {
  websocket_Codec *c = (websocket_Codec *)ud;
  (void)flags;
  if (buffer_add(&c->out, bytes, length)) return (ssize_t)length;
  c->starved = true;
  wslay_event_set_error(wslay, WSLAY_ERR_CALLBACK_FAILURE);
  return -1;
}

static bool make_mask(websocket_Codec *c, uint8_t *mask, size_t length) {
  if (c->masks_left < length) {
    if (!platform_random(c->masks, sizeof(c->masks))) return false;
    c->masks_left = sizeof(c->masks);
  }
  c->masks_left -= length;
  memcpy(mask, c->masks + c->masks_left, length);
  return true;
}

static int on_mask(wslay_event_context_ptr wslay, uint8_t *mask, size_t length,
                   void *ud) {
  if (make_mask((websocket_Codec *)ud, mask, length)) return 0;
  wslay_event_set_error(wslay, WSLAY_ERR_CALLBACK_FAILURE);
  return -1;
}

/* Stops reading after a violation.  The answer is the close frame of `answered`
** bytes that wslay queues, or one that is queued here. */
static void refuse(websocket_Codec *c, uint16_t code, size_t answered) {
  c->violation = code;
  c->answered = answered;
  wslay_event_shutdown_read(c->wslay);
  (void)wslay_event_queue_close(c->wslay, 0, NULL, 0);
}

/* wslay keeps a block of memory for each fragment, even of one byte, so
** messages are assembled here. */
static void on_frame(wslay_event_context_ptr wslay,
                     const struct wslay_event_on_frame_recv_start_arg *arg,
                     void *ud) {
  websocket_Codec *c = (websocket_Codec *)ud;
  (void)wslay;
  c->control = wslay_is_ctrl_frame(arg->opcode);
  if (!c->control && arg->payload_length > c->max_message - c->part.len)
    refuse(c, WSLAY_CODE_MESSAGE_TOO_BIG, 0);
}

static void on_chunk(wslay_event_context_ptr wslay,
                     const struct wslay_event_on_frame_recv_chunk_arg *arg,
                     void *ud) {
  websocket_Codec *c = (websocket_Codec *)ud;
  (void)wslay;
  if (c->control || c->violation != 0) return;
  if (!buffer_add(&c->part, arg->data, arg->data_length)) c->starved = true;
}

static bool is_text(const char *p, size_t length) {
  const char *end = p + length;
  while (p < end) {
    int width = (unsigned char)*p < 0x80 ? 1 : utf8_check(p, end);
    if (width == 0) return false;
    p += width;
  }
  return true;
}

static void give(websocket_Codec *c, uint8_t kind, uint16_t code,
                 const void *bytes, size_t length) {
  const Head head = {.length = length, .code = code, .kind = kind};
  if (!buffer_add(&c->messages, &head, sizeof(head)) ||
      !buffer_add(&c->messages, bytes, length))
    c->starved = true;
}

/* wslay has queued an answer to the close frame; violations in fragmented close
** frames that wslay misses are found here. */
static void take_close(websocket_Codec *c, uint16_t code, const uint8_t *bytes,
                       size_t length) {
  if (length == 1) refuse(c, WSLAY_CODE_PROTOCOL_ERROR, 0);
  else if (length == 0)
    give(c, WEBSOCKET_CLOSE, WSLAY_CODE_NO_STATUS_RCVD, bytes, 0);
  else if (is_text((const char *)bytes + 2, length - 2))
    give(c, WEBSOCKET_CLOSE, code, bytes + 2, length - 2);
  else refuse(c, WSLAY_CODE_INVALID_FRAME_PAYLOAD_DATA, length);
}

static void release(buffer_Buffer *b) {
  b->len = 0;
  if (b->capacity > 65536) buffer_free(b);
}

static void on_message(wslay_event_context_ptr wslay,
                       const struct wslay_event_on_msg_recv_arg *arg,
                       void *ud) {
  websocket_Codec *c = (websocket_Codec *)ud;
  (void)wslay;
  if (c->violation != 0) return;
  if (arg->opcode == WSLAY_CONNECTION_CLOSE) {
    take_close(c, arg->status_code, arg->msg, arg->msg_length);
  } else if (wslay_is_ctrl_frame(arg->opcode)) {
    give(c, arg->opcode, 0, arg->msg, arg->msg_length);
  } else {
    give(c, arg->opcode, 0, c->part.data, c->part.len);
    release(&c->part);
  }
}

bool websocket_open(websocket_Codec *c, ops_Alloc alloc, bool server,
                    size_t max_message) {
  static const struct wslay_event_callbacks callbacks = {
      on_recv, on_send, on_mask, on_frame, on_chunk, NULL, on_message};
  buffer_init(&c->part, alloc, BUFFER_UNLIMITED);
  buffer_init(&c->messages, alloc, BUFFER_UNLIMITED);
  buffer_init(&c->out, alloc, BUFFER_UNLIMITED);
  c->server = server;
  c->max_message = max_message;
  if ((server
           ? wslay_event_context_server_init
           : wslay_event_context_client_init)(&c->wslay, &callbacks, c) != 0) {
    c->wslay = NULL;
    return false;
  }
  wslay_event_config_set_no_buffering(c->wslay, 1);
  wslay_event_config_set_max_recv_msg_length(c->wslay, max_message);
  return true;
}

void websocket_close(websocket_Codec *c) {
  if (c->wslay != NULL) wslay_event_context_free(c->wslay);
  c->wslay = NULL;
  buffer_free(&c->part);
  buffer_free(&c->messages);
  buffer_free(&c->out);
}

/* Errors that wslay only reports get a close frame without a code. */
static void take_in(websocket_Codec *c) {
  int failed = wslay_event_recv(c->wslay);
  if (failed == WSLAY_ERR_NOMEM) c->starved = true;
  else if (failed != 0 && c->violation == 0)
    refuse(c, WSLAY_CODE_PROTOCOL_ERROR, 0);
}

/* Replaces the code in the last frame of `out`, the close frame that wslay
** made, by the code of the violation. */
static void tell_violation(websocket_Codec *c) {
  size_t head = c->server ? 2 : 6, n = 0;
  uint8_t frame[8], mask[4] = {0};
  if (c->out.len < head + c->answered ||
      (!c->server && !make_mask(c, mask, sizeof(mask))))
    return;
  frame[n++] = 0x80 | WSLAY_CONNECTION_CLOSE;
  frame[n++] = c->server ? 2 : 0x82;
  if (!c->server) {
    memcpy(frame + n, mask, sizeof(mask));
    n += sizeof(mask);
  }
  frame[n++] = (uint8_t)(c->violation >> 8) ^ mask[0];
  frame[n++] = (uint8_t)(c->violation & 0xFF) ^ mask[1];
  c->out.len -= head + c->answered;
  if (!buffer_add(&c->out, frame, n)) c->starved = true;
}

bool websocket_feed(websocket_Codec *c, const char *bytes, size_t length) {
  release(&c->messages);
  if (c->wslay == NULL || c->starved || c->violation != 0) return false;
  c->fed = (const uint8_t *)bytes;
  c->fed_left = length;
  take_in(c);
  if (!c->starved && wslay_event_send(c->wslay) != 0) c->starved = true;
  if (!c->starved && c->violation != 0) tell_violation(c);
  c->fed = NULL;
  return !c->starved && c->violation == 0 &&
         wslay_event_get_read_enabled(c->wslay) &&
         !wslay_event_get_close_received(c->wslay);
}

bool websocket_next(const websocket_Codec *c, size_t *position,
                    websocket_Message *message) {
  Head head;
  if (*position == c->messages.len) return false;
  memcpy(&head, c->messages.data + *position, sizeof(head));
  message->kind = (websocket_Kind)head.kind;
  message->code = head.code;
  message->length = head.length;
  message->bytes = c->messages.data + *position + sizeof(head);
  *position += sizeof(head) + head.length;
  return true;
}

bool websocket_send(websocket_Codec *c, const websocket_Message *message) {
  const uint8_t *bytes = (const uint8_t *)message->bytes;
  int failed;
  if (c->wslay == NULL || c->starved) return false;
  if (message->kind == WEBSOCKET_CLOSE) {
    failed = wslay_event_queue_close(c->wslay, message->code, bytes,
                                     message->length);
  } else {
    const struct wslay_event_msg queued = {.opcode = (uint8_t)message->kind,
                                           .msg = bytes,
                                           .msg_length = message->length};
    failed = wslay_event_queue_msg(c->wslay, &queued);
  }
  return failed == 0 && wslay_event_send(c->wslay) == 0 && !c->starved;
}
