/*
** websocket.h - WebSocket framing (RFC 6455) by wslay: bytes in, messages out,
** and the other way round.  No handshake, no I/O, no Lua.
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
  buffer_Buffer part;     /* what came of a message that is no control frame */
  size_t max_message;     /* of its bytes */
  bool control;           /* the frame that comes is a control frame */
  buffer_Buffer messages; /* came and were not taken */
  buffer_Buffer out;      /* bytes to send */
  bool server;
  uint16_t violation; /* the peer broke the rules: the code that tells it */
  size_t answered;    /* bytes in the close frame that says something else */
  bool starved;       /* memory was out: the codec is of no use any more */
  uint8_t masks[WEBSOCKET_MASKS];
  size_t masks_left;
} websocket_Codec;

/* Opens a zeroed codec; a server's frames are not masked.  False when out of
** memory. */
bool websocket_open(websocket_Codec *c, ops_Alloc alloc, bool server,
                    size_t max_message);

/* Gives back what it holds; sends nothing. */
void websocket_close(websocket_Codec *c);

/* Takes bytes in.  Pings are answered, a violation of the protocol queues the
** close frame that it asks for (RFC 6455, 7.4.1).  False when no more can come:
** the peer closed or broke the rules, or memory is out. */
bool websocket_feed(websocket_Codec *c, const char *bytes, size_t length);

typedef struct websocket_Message {
  websocket_Kind kind;
  uint16_t code;     /* of a close; 1005: none was given */
  const char *bytes; /* borrowed until the next feed */
  size_t length;
} websocket_Message;

/* The message at *position of those that the last feed found, and moves on;
** false after the last one. */
bool websocket_next(const websocket_Codec *c, size_t *position,
                    websocket_Message *message);

/* Queues a message, or a close frame with `code`; false when that cannot be:
** closed already, a control frame of more than 125 bytes, out of memory. */
bool websocket_send(websocket_Codec *c, const websocket_Message *message);

#endif
