/*
** sse.h - event-stream parser (WHATWG HTML, 9.2.5 and 9.2.6): bytes in, events
** out.  No I/O, no Lua, no reconnection.
**
** Takes the stream in pieces cut anywhere, empty ones too, and hands out each
** event as soon as the byte that ends it has come (a CR that ends a blank line
** does not wait for its LF).  Invalid UTF-8 is repaired with U+FFFD. Comments
** and unknown fields are skipped, never stored.  Time is linear in the number
** of bytes fed, however they are cut.
*/
#ifndef OPERATIONS_SSE_H
#define OPERATIONS_SSE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/alloc.h"

typedef struct sse_Parser sse_Parser;

/* The largest retry value; larger numbers become this one. */
#define SSE_MAX_RETRY INT64_C(9007199254740991)

/* Borrowed: valid during the callback only.  Not terminated by a NUL; type and
** data may contain NULs. */
typedef struct sse_Event {
  const char *type, *data, *id; /* id: the last event ID, "" when none */
  size_t type_len, data_len, id_len;
  bool new_id;   /* false: the id equals that of the previous event */
  int64_t retry; /* ms; -1 when none was read since the last event */
} sse_Event;

typedef enum sse_Status {
  SSE_OK,
  SSE_TOO_LARGE, /* an event is larger than max_event */
  SSE_NO_MEMORY,
  SSE_FINISHED,
  SSE_BUSY /* a callback is running, or did not return: bytes are lost */
} sse_Status;

/* May not return (a Lua error): the parser can then only be freed.  Must not
** feed or free the parser. */
typedef void (*sse_OnEvent)(void *ud, const sse_Event *event);

/* Returns NULL when out of memory.  The caller owns the parser.  `max_event`
** limits the bytes of data, type and id of one event together. */
sse_Parser *sse_new(const ops_Alloc *alloc, size_t max_event,
                    sse_OnEvent on_event, void *ud);

/* `p` may be NULL. */
void sse_free(sse_Parser *p);

/* Takes the next piece of the stream; `bytes` is not kept.  Any status but
** SSE_OK is final: later calls return the same.  The events before the failure
** have been handed out. */
sse_Status sse_feed(sse_Parser *p, const char *bytes, size_t len);

/* Ends the stream: discards an unfinished event and its id. */
void sse_finish(sse_Parser *p);

/* The last event ID at the last blank line, for a reconnection; borrowed until
** the next call. */
const char *sse_last_id(const sse_Parser *p, size_t *len);

/* Sets the last event ID of the previous connection on a new parser. */
sse_Status sse_set_last_id(sse_Parser *p, const char *id, size_t len);

/* The reconnection time in ms, -1 when the stream set none. */
int64_t sse_retry(const sse_Parser *p);

#endif
