/*
** websocket.h - WebSocket framing (RFC 6455) by wslay: bytes to messages and
** messages to bytes.  No handshake, no I/O, no Lua.
*/
#ifndef OPERATIONS_WEBSOCKET_H
#define OPERATIONS_WEBSOCKET_H

#include <stdint.h>
#include <wslay/wslay.h>

#include "base/buffer.h"

typedef enum websocket_Kind {
  WEBSOCKET_TEXT = WSLAY_TEXT_FRAME,
  WEBSOCKET_BINARY = WSLAY_BINARY_FRAME,
  WEBSOCKET_CLOSE = WSLAY_CONNECTION_CLOSE,
  WEBSOCKET_PING = WSLAY_PING,
  WEBSOCKET_PONG = WSLAY_PONG
} websocket_Kind;

#define WEBSOCKET_MASKS 256

typedef struct websocket_Codec {
  wslay_event_context_ptr wslay; /* NULL when closed */
  const uint8_t *fed;            /* borrowed during websocket_feed */
  size_t fed_left;
  buffer_Buffer
      part; /* the message being received, unless it is a control frame */
  size_t max_message;     /* maximum bytes of a message */
  bool control;           /* a control frame is being received */
  buffer_Buffer messages; /* received and not yet taken */
  buffer_Buffer out;      /* bytes to send */
  bool server;
  uint16_t violation; /* code of the peer's violation of the protocol */
  size_t answered;    /* size of the close frame to be replaced */
  bool starved;       /* out of memory: the codec is unusable */
  uint8_t masks[WEBSOCKET_MASKS];
  size_t masks_left;
} websocket_Codec;

/* Opens a zeroed codec; a server's frames are not masked.  False when out of
** memory. */
bool websocket_open(websocket_Codec *c, ops_Alloc alloc, bool server,
                    size_t max_message);

/* Frees its memory; sends nothing. */
void websocket_close(websocket_Codec *c);

/* Takes received bytes.  Answers pings; a violation of the protocol queues its
** close frame (RFC 6455, 7.4.1).  False when no more can come: the peer closed
** or broke the protocol, or out of memory. */
bool websocket_feed(websocket_Codec *c, const char *bytes, size_t length);

typedef struct websocket_Message {
  websocket_Kind kind;
  uint16_t code;     /* of a close frame; 1005: without a code */
  const char *bytes; /* borrowed until the next feed */
  size_t length;
} websocket_Message;

/* The next message of the last feed, at *position, which it advances; false
** after the last one. */
bool websocket_next(const websocket_Codec *c, size_t *position,
                    websocket_Message *message);

/* Queues a message, or a close frame with `code`; false when it is closed
** already, a control frame has more than 125 bytes, or out of memory. */
bool websocket_send(websocket_Codec *c, const websocket_Message *message);

#endif
