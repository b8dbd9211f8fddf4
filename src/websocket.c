#include "websocket.h"

#include <sys/random.h>

/* What stands before each message in `messages`. */
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

static int on_mask(wslay_event_context_ptr wslay, uint8_t *mask, size_t length,
                   void *ud) {
  websocket_Codec *c = (websocket_Codec *)ud;
  if (c->masks_left < length) {
    if (getrandom(c->masks, sizeof(c->masks), 0) != (ssize_t)sizeof(c->masks)) {
      wslay_event_set_error(wslay, WSLAY_ERR_CALLBACK_FAILURE);
      return -1;
    }
    c->masks_left = sizeof(c->masks);
  }
  c->masks_left -= length;
  memcpy(mask, c->masks + c->masks_left, length);
  return 0;
}

static void on_message(wslay_event_context_ptr wslay,
                       const struct wslay_event_on_msg_recv_arg *arg,
                       void *ud) {
  websocket_Codec *c = (websocket_Codec *)ud;
  const uint8_t *bytes = arg->msg;
  Head head;
  (void)wslay;
  memset(&head, 0, sizeof(head));
  head.length = arg->msg_length;
  head.code = arg->status_code;
  head.kind = arg->opcode;
  if (arg->opcode == WSLAY_CONNECTION_CLOSE && head.length >= 2) {
    bytes += 2; /* the code */
    head.length -= 2;
  } else if (arg->opcode == WSLAY_CONNECTION_CLOSE) {
    head.code = WSLAY_CODE_NO_STATUS_RCVD;
  }
  if (!buffer_add(&c->messages, &head, sizeof(head)) ||
      !buffer_add(&c->messages, bytes, head.length))
    c->starved = true;
}

bool websocket_open(websocket_Codec *c, ops_Alloc alloc, bool server,
                    size_t max_message) {
  static const struct wslay_event_callbacks callbacks = {
      on_recv, on_send, on_mask, NULL, NULL, NULL, on_message};
  buffer_init(&c->messages, alloc, SIZE_MAX / 2);
  buffer_init(&c->out, alloc, SIZE_MAX / 2);
  if ((server
           ? wslay_event_context_server_init
           : wslay_event_context_client_init)(&c->wslay, &callbacks, c) != 0) {
    c->wslay = NULL;
    return false;
  }
  wslay_event_config_set_max_recv_msg_length(c->wslay, max_message);
  return true;
}

void websocket_close(websocket_Codec *c) {
  if (c->wslay != NULL) wslay_event_context_free(c->wslay);
  c->wslay = NULL;
  buffer_free(&c->messages);
  buffer_free(&c->out);
}

/* What wslay only reports is answered here: the peer learns what it did. */
static void take_in(websocket_Codec *c) {
  int failed = wslay_event_recv(c->wslay);
  if (failed == WSLAY_ERR_NOMEM) {
    c->starved = true;
  } else if (failed != 0) {
    c->broken = true;
    (void)wslay_event_queue_close(c->wslay, WSLAY_CODE_PROTOCOL_ERROR, NULL, 0);
  }
}

bool websocket_feed(websocket_Codec *c, const char *bytes, size_t length) {
  c->messages.len = 0;
  if (c->wslay == NULL || c->starved || c->broken) return false;
  c->fed = (const uint8_t *)bytes;
  c->fed_left = length;
  take_in(c);
  if (!c->starved && wslay_event_send(c->wslay) != 0) c->starved = true;
  c->fed = NULL;
  return !c->starved && !c->broken && wslay_event_get_read_enabled(c->wslay) &&
         !wslay_event_get_close_received(c->wslay);
}

bool websocket_next(const websocket_Codec *c, size_t *position,
                    websocket_Message *message) {
  Head head;
  if (c->messages.len - *position < sizeof(head)) return false;
  memcpy(&head, c->messages.data + *position, sizeof(head));
  if (c->messages.len - *position - sizeof(head) < head.length) return false;
  message->kind = (websocket_Kind)head.kind;
  message->code = head.code;
  message->length = head.length;
  message->bytes = c->messages.data + *position + sizeof(head);
  *position += sizeof(head) + head.length;
  return true;
}

bool websocket_send(websocket_Codec *c, const websocket_Message *message) {
  struct wslay_event_msg queued;
  const uint8_t *bytes = (const uint8_t *)message->bytes;
  int failed;
  if (c->wslay == NULL || c->starved) return false;
  if (message->kind == WEBSOCKET_CLOSE) {
    failed = wslay_event_queue_close(c->wslay, message->code, bytes,
                                     message->length);
  } else {
    queued.opcode = (uint8_t)message->kind;
    queued.msg = bytes;
    queued.msg_length = message->length;
    failed = wslay_event_queue_msg(c->wslay, &queued);
  }
  return failed == 0 && wslay_event_send(c->wslay) == 0 && !c->starved;
}
