#include "sse/sse.h"

#include <stdbool.h>
#include <string.h>

#include "base/buffer.h"
#include "base/utf8.h"
#include "base/utf8_repair.h"

/* The length of the longest field names, "event" and "retry"; a longer name is
** unknown. */
#define NAME_MAX_LEN 5

typedef enum Field {
  FIELD_UNKNOWN, /* also comments: their name is empty */
  FIELD_DATA,
  FIELD_EVENT,
  FIELD_ID,
  FIELD_RETRY
} Field;

/* The place of the next byte in its line. */
typedef enum Place { IN_NAME, AFTER_COLON, IN_VALUE } Place;

/* A text being read.  Its first piece is borrowed from the bytes being fed, and
** copied only when more is added or those bytes go away. */
typedef struct Text {
  buffer_Buffer own;
  const char *p;
  size_t len;
  bool borrowed, ascii;
} Text;

struct sse_Parser {
  ops_Alloc alloc;
  size_t max_event;
  sse_OnEvent on_event;
  void *ud;
  sse_Status status;

  Place place;
  Field field;
  char name[NAME_MAX_LEN];
  unsigned char name_len;
  unsigned char bom; /* bytes of a byte order mark seen at the start; 3: done */
  bool after_cr;     /* a LF now belongs to the previous line end */
  bool ascii;        /* all bytes being fed are ASCII */

  bool has_data, has_id;
  bool new_id;           /* last_id was set since the last event */
  bool id_nul;           /* the id line being read holds a NUL */
  Text data, type, id;   /* of the event being read */
  Text line_id;          /* the value of the id line being read */
  buffer_Buffer last_id; /* committed */
  buffer_Buffer spare;   /* for repairs */

  int64_t line_retry;       /* of the retry line being read; -1: not a number */
  int64_t retry, new_retry; /* new_retry: not yet reported with an event */
};

static void text_clear(Text *t) {
  t->p = "";
  t->len = 0;
  t->borrowed = false;
  t->ascii = true;
}

static void text_init(Text *t, const ops_Alloc *alloc, size_t max) {
  buffer_init(&t->own, *alloc, max);
  text_clear(t);
}

static bool text_keep(Text *t) {
  if (!t->borrowed) return true;
  t->own.len = 0;
  if (!buffer_add(&t->own, t->p, t->len)) return false;
  t->p = t->own.data;
  t->borrowed = false;
  return true;
}

static bool text_add(Text *t, const char *s, size_t n) {
  if (t->len == 0) {
    t->p = s;
    t->len = n;
    t->borrowed = true;
    return true;
  }
  if (!text_keep(t) || !buffer_add(&t->own, s, n)) return false;
  t->p = t->own.data;
  t->len = t->own.len;
  return true;
}

static void text_swap(Text *a, Text *b) {
  Text t = *a;
  *a = *b;
  *b = t;
}

sse_Parser *sse_new(const ops_Alloc *alloc, size_t max_event,
                    sse_OnEvent on_event, void *ud) {
  sse_Parser *p = ops_alloc(alloc, sizeof(*p));
  if (p == NULL) return NULL;
  *p = (sse_Parser){.alloc = *alloc,
                    .max_event = max_event,
                    .on_event = on_event,
                    .ud = ud,
                    .retry = -1,
                    .new_retry = -1};
  text_init(&p->data, alloc, max_event);
  text_init(&p->type, alloc, max_event);
  text_init(&p->id, alloc, max_event);
  text_init(&p->line_id, alloc, max_event);
  buffer_init(&p->last_id, *alloc, max_event);
  buffer_init(&p->spare, *alloc, max_event);
  return p;
}

void sse_free(sse_Parser *p) {
  ops_Alloc alloc;
  if (p == NULL) return;
  alloc = p->alloc;
  buffer_free(&p->data.own);
  buffer_free(&p->type.own);
  buffer_free(&p->id.own);
  buffer_free(&p->line_id.own);
  buffer_free(&p->last_id);
  buffer_free(&p->spare);
  ops_free(&alloc, p, sizeof(*p));
}

static bool fail(sse_Parser *p, sse_Status status) {
  p->status = status;
  return false;
}

static size_t event_size(const sse_Parser *p) {
  return p->data.len + p->type.len + p->id.len + p->line_id.len;
}

static bool add(sse_Parser *p, Text *t, const char *s, size_t n) {
  if (n > p->max_event - event_size(p)) return fail(p, SSE_TOO_LARGE);
  if (!p->ascii && t->ascii) t->ascii = utf8_is_ascii(s, n);
  return text_add(t, s, n) || fail(p, SSE_NO_MEMORY);
}

/* Repairing the whole text gives the same result as repairing each line: no
** ill-formed sequence crosses a LF. */
static bool repair_text(sse_Parser *p, Text *t) {
  size_t size = utf8_repaired_size(t->p, t->len); /* never less */
  buffer_Buffer own = t->own;
  if (size - t->len > p->max_event - event_size(p))
    return fail(p, SSE_TOO_LARGE);
  if (!buffer_reserve(&p->spare, size)) return fail(p, SSE_NO_MEMORY);
  utf8_repair(t->p, t->len, p->spare.data);
  t->own = p->spare; /* nothing is added to the text from here on */
  t->p = t->own.data;
  t->len = size;
  p->spare = own;
  p->spare.len = 0;
  return true;
}

static bool repair(sse_Parser *p, Text *t) {
  return t->ascii || utf8_valid(t->p, t->len) || repair_text(p, t);
}

static void forget_event(sse_Parser *p) {
  p->has_data = p->has_id = false;
  text_clear(&p->data);
  text_clear(&p->type);
  text_clear(&p->id);
}

static bool commit_id(sse_Parser *p) {
  if (!repair(p, &p->id)) return false;
  p->last_id.len = 0;
  p->new_id = true;
  return buffer_add(&p->last_id, p->id.p, p->id.len) || fail(p, SSE_NO_MEMORY);
}

static void hand_out(sse_Parser *p, const char *data, size_t len) {
  sse_Event event;
  event.type = p->type.len > 0 ? p->type.p : "message";
  event.type_len = p->type.len > 0 ? p->type.len : 7;
  event.data = data;
  event.data_len = len;
  event.id = p->last_id.len > 0 ? p->last_id.data : "";
  event.id_len = p->last_id.len;
  event.new_id = p->new_id;
  event.retry = p->new_retry;
  p->new_id = false;
  p->new_retry = -1;
  forget_event(p);
  p->on_event(p->ud, &event);
}

/* Handles a blank line: the id counts from here on, with or without an
** event. */
static bool dispatch(sse_Parser *p) {
  if (p->has_id && !commit_id(p)) return false;
  if (!p->has_data) {
    forget_event(p);
    return true;
  }
  if (!repair(p, &p->data) || !repair(p, &p->type)) return false;
  hand_out(p, p->data.p, p->data.len);
  return true;
}

static Field field_of(const char *name, size_t len) {
  if (len == 4 && memcmp(name, "data", 4) == 0) return FIELD_DATA;
  if (len == 5 && memcmp(name, "event", 5) == 0) return FIELD_EVENT;
  if (len == 2 && memcmp(name, "id", 2) == 0) return FIELD_ID;
  if (len == 5 && memcmp(name, "retry", 5) == 0) return FIELD_RETRY;
  return FIELD_UNKNOWN;
}

static bool begin_field(sse_Parser *p, Field field) {
  p->field = field;
  switch (field) {
  case FIELD_DATA:
    if (p->has_data && !add(p, &p->data, "\n", 1)) return false;
    p->has_data = true;
    break;
  case FIELD_EVENT: text_clear(&p->type); break;
  case FIELD_ID: p->id_nul = false; break;
  case FIELD_RETRY: p->line_retry = -1; break;
  case FIELD_UNKNOWN: break;
  }
  return true;
}

/* Continues the number of a retry line; -2: it is not a number. */
static int64_t read_digits(int64_t n, const char *s, size_t len) {
  for (size_t i = 0; i < len && n != -2; i++) {
    if (s[i] < '0' || s[i] > '9') return -2;
    n = (n < 0 ? 0 : n) * 10 + (s[i] - '0');
    if (n > SSE_MAX_RETRY) n = SSE_MAX_RETRY;
  }
  return n;
}

static bool take_value(sse_Parser *p, const char *s, size_t n) {
  switch (p->field) {
  case FIELD_DATA: return add(p, &p->data, s, n);
  case FIELD_EVENT: return add(p, &p->type, s, n);
  case FIELD_ID:
    if (memchr(s, '\0', n) != NULL) p->id_nul = true;
    return add(p, &p->line_id, s, n);
  case FIELD_RETRY: p->line_retry = read_digits(p->line_retry, s, n); break;
  case FIELD_UNKNOWN: break;
  }
  return true;
}

static void end_field(sse_Parser *p) {
  if (p->field == FIELD_ID) {
    if (!p->id_nul) {
      text_swap(&p->id, &p->line_id);
      p->has_id = true;
    }
    text_clear(&p->line_id);
  } else if (p->field == FIELD_RETRY && p->line_retry >= 0) {
    p->retry = p->new_retry = p->line_retry;
  }
}

static const char *take_known(sse_Parser *p, Field field, const char *value) {
  p->place = AFTER_COLON;
  return begin_field(p, field) ? value : NULL;
}

/* Continues a field name; returns the position after its colon. */
static const char *take_name(sse_Parser *p, const char *s, const char *end) {
  while (s < end && *s != ':') {
    if (p->name_len == NAME_MAX_LEN) {
      p->field = FIELD_UNKNOWN;
      p->place = IN_VALUE;
      return end;
    }
    p->name[p->name_len++] = *s++;
  }
  if (s == end) return end;
  return take_known(p, field_of(p->name, p->name_len), s + 1);
}

/* Do the bytes from `s` to `end` begin with a literal? */
#define BEGINS(s, end, literal)                                                \
  ((size_t)((end) - (s)) >= sizeof(literal) - 1 &&                             \
   memcmp(s, literal, sizeof(literal) - 1) == 0)

/* Fast path at the start of a line: name and colon usually come in one
** piece. */
static const char *take_start(sse_Parser *p, const char *s, const char *end) {
  if (BEGINS(s, end, "data:")) return take_known(p, FIELD_DATA, s + 5);
  if (BEGINS(s, end, "event:")) return take_known(p, FIELD_EVENT, s + 6);
  if (BEGINS(s, end, "id:")) return take_known(p, FIELD_ID, s + 3);
  return take_name(p, s, end);
}

/* Takes a piece of one line, without its line end. */
static bool take(sse_Parser *p, const char *s, const char *end) {
  if (p->place == IN_NAME) {
    s = p->name_len == 0 ? take_start(p, s, end) : take_name(p, s, end);
  }
  if (s == NULL) return false;
  if (s < end && p->place == AFTER_COLON) {
    p->place = IN_VALUE;
    if (*s == ' ') s++;
  }
  return s == end || take_value(p, s, (size_t)(end - s));
}

static bool end_line(sse_Parser *p) {
  if (p->place == IN_NAME) {
    if (p->name_len == 0) return dispatch(p);
    if (!begin_field(p, field_of(p->name, p->name_len))) return false;
  }
  end_field(p);
  p->place = IN_NAME;
  p->name_len = 0;
  return true;
}

/* Skips a byte order mark at the very start.  The beginning of an incomplete
** one belongs to the name of an unknown field. */
static const char *skip_bom(sse_Parser *p, const char *s, const char *end) {
  static const char bom[] = "\xEF\xBB\xBF";
  while (p->bom < 3 && s < end) {
    if (*s != bom[p->bom]) {
      if (p->bom > 0) p->place = IN_VALUE;
      p->bom = 3;
      return s;
    }
    p->bom++;
    s++;
  }
  return s;
}

static const char *find(const char *s, const char *end, char c) {
  const char *found = memchr(s, c, (size_t)(end - s));
  return found != NULL ? found : end;
}

/* Fast path for the usual event: one line of data, perhaps after its name.  If
** the line at `s`, ended by `lf`, is one and a blank line follows, takes it and
** returns the position after that; else returns NULL. */
static const char *take_event(sse_Parser *p, const char *s, const char *lf,
                              const char *end) {
  size_t n;
  if (!BEGINS(lf, end, "\n\n") || !BEGINS(s, lf, "data:")) return NULL;
  if (p->place != IN_NAME || p->name_len > 0 || p->has_data || p->has_id ||
      !p->type.ascii)
    return NULL;
  s += s[5] == ' ' ? 6 : 5;
  n = (size_t)(lf - s);
  if (n > p->max_event - p->type.len || !(p->ascii || utf8_valid(s, n)))
    return NULL;
  hand_out(p, s, n);
  return lf + 2;
}

/* Searches each byte once for a LF and once for a CR, however long the lines
** are. */
static bool take_lines(sse_Parser *p, const char *s, const char *end) {
  const char *lf = find(s, end, '\n');
  const char *cr = find(s, end, '\r');
  while (s < end) {
    const char *stop, *next;
    if (p->after_cr) {
      p->after_cr = false;
      if (*s == '\n') s++;
      if (s == end) break;
    }
    if (lf < s) lf = *s == '\n' ? s : find(s, end, '\n');
    if (cr < s) cr = find(s, end, '\r');
    stop = lf < cr ? lf : cr;
    next = stop == lf ? take_event(p, s, lf, end) : NULL;
    if (next != NULL) {
      s = next;
      continue;
    }
    if (s < stop && !take(p, s, stop)) return false;
    if (stop == end) break;
    if (!end_line(p)) return false;
    p->after_cr = *stop == '\r';
    s = stop + 1;
  }
  return true;
}

static bool keep(sse_Parser *p) {
  return (text_keep(&p->data) && text_keep(&p->type) && text_keep(&p->id) &&
          text_keep(&p->line_id)) ||
         fail(p, SSE_NO_MEMORY);
}

sse_Status sse_feed(sse_Parser *p, const char *bytes, size_t len) {
  const char *end = bytes + len;
  if (p->status != SSE_OK || len == 0) return p->status;
  p->status = SSE_BUSY;
  if (p->bom < 3) bytes = skip_bom(p, bytes, end);
  p->ascii = utf8_is_ascii(bytes, (size_t)(end - bytes));
  if (take_lines(p, bytes, end) && keep(p)) p->status = SSE_OK;
  return p->status;
}

void sse_finish(sse_Parser *p) {
  if (p->status == SSE_OK) p->status = SSE_FINISHED;
}

const char *sse_last_id(const sse_Parser *p, size_t *len) {
  *len = p->last_id.len;
  return p->last_id.len > 0 ? p->last_id.data : "";
}

sse_Status sse_set_last_id(sse_Parser *p, const char *id, size_t len) {
  if (len > p->max_event) return SSE_TOO_LARGE;
  return buffer_add(&p->last_id, id, len) ? SSE_OK : SSE_NO_MEMORY;
}

int64_t sse_retry(const sse_Parser *p) {
  return p->retry;
}
