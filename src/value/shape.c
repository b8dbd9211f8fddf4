#include "value/shape.h"

#include "json/utf8.h"

void shape_push_slots(const shape_Shape *shape, shape_Maker *m) {
  lua_State *L = m->builder->L;
  int i, n = shape->any.steps > 0 ? shape->slots : 0;
  luaL_checkstack(L, SHAPE_MAX_SLOTS + SHAPE_ROOM + LUA_MINSTACK, "JSON");
  m->first = lua_gettop(L);
  for (i = 1; i <= n; i++) (void)ops_rawgeti(L, m->table, m->place + (size_t)i);
  lua_settop(L, m->first + SHAPE_MAX_SLOTS);
}

/* Pops a value into a slot. */
static void set_slot(const shape_Maker *m, int slot) {
  lua_State *L = m->builder->L;
  lua_pushvalue(L, -1);
  lua_replace(L, m->first + slot);
  ops_rawseti(L, m->table, m->place + (size_t)slot);
}

/* --- making values ------------------------------------------------------- */

/* Integers of so many digits are exact in any Lua. */
#define MAX_DIGITS 15

/* Pushes what the reader makes of a scalar; what is none is left to it too. */
static bool push_scalar(const shape_Maker *m, const char *p, const char *end) {
  json_restart(m->reader);
  build_restart(m->builder);
  return json_read(m->reader, p, (size_t)(end - p)) == JSON_OK;
}

static bool is_of_number(char c) {
  return (c >= '0' && c <= '9') || c == '.' || c == '-' || c == '+' ||
         c == 'e' || c == 'E';
}

static const char *skip_number(const char *p, const char *end) {
  while (p < end && is_of_number(*p)) p++;
  return p;
}

static inline const char *push_number(const shape_Maker *m, const char *p,
                                      const char *end) {
  bool negative = p < end && *p == '-';
  const char *s = p + negative, *first = s;
  int64_t n = 0;
  while (s < end && s - first <= MAX_DIGITS && *s >= '0' && *s <= '9')
    n = n * 10 + (*s++ - '0');
  if (s == first || s - first > MAX_DIGITS ||
      (*first == '0' && (negative || s > first + 1)) ||
      (s < end && (*s == '.' || *s == 'e' || *s == 'E'))) {
    s = skip_number(p, end);
    return push_scalar(m, p, s) ? s : NULL;
  }
  core_push_integer(m->builder->L, negative ? -n : n);
  return s;
}

/* Where the string ends of which `p` is behind the '"': at its last one, or
** where it is none. */
static const char *skip_string(const char *p, const char *end) {
  for (;;) {
    p = utf8_skip_text(p, end);
    if (end - p < 2 || *p != '\\') return p;
    p += 2;
  }
}

static inline const char *push_string(const shape_Maker *m, const char *p,
                                      const char *end) {
  const char *q = utf8_skip_text(p, end);
  if (q < end && *q == '\\') {
    q = skip_string(q, end);
    return q < end && push_scalar(m, p - 1, q + 1) ? q : NULL;
  }
  if (q == end || *q != '"') return NULL;
  build_push_string(m->builder, p, (size_t)(q - p));
  return q;
}

/* Makes the value of a step, whose token is at `p`; returns what follows that,
** or NULL. */
static inline const char *make(const shape_Maker *m, const shape_Step *step,
                               const char *p, const char *end) {
  lua_State *L = m->builder->L;
  switch ((shape_Kind)step->kind) {
  case SHAPE_OBJECT:
    lua_createtable(L, 0, step->n);
    if (step->n == 0) {
      core_push_object_mt(L);
      lua_setmetatable(L, -2);
    }
    return p;
  case SHAPE_ARRAY:
    lua_createtable(L, step->n, 0);
    lua_pushvalue(L, m->builder->array_mt);
    lua_setmetatable(L, -2);
    return p;
  case SHAPE_CLOSE: return p;
  case SHAPE_STRING: return push_string(m, p, end);
  case SHAPE_NUMBER: return push_number(m, p, end);
  case SHAPE_KNOWN: lua_pushvalue(L, m->first + step->value); return p;
  case SHAPE_TRUE: lua_pushboolean(L, 1); return p;
  case SHAPE_FALSE: lua_pushboolean(L, 0); return p;
  case SHAPE_NULL: lua_pushlightuserdata(L, NULL); return p;
  case SHAPE_END: break;
  }
  return p == end ? p : NULL;
}

/* Pushes the value of a text for which the program was made; or returns false,
** with the stack as it was. */
static bool run(const shape_Program *program, const char *known,
                const shape_Maker *m, const char *p, const char *end) {
  const shape_Step *step = program->step, *last = step + program->steps;
  lua_State *L = m->builder->L;
  int top = lua_gettop(L);
  if (step == last) return false;
  for (; step < last; step++) {
    size_t n = step->literal;
    if (n > 0) {
      if ((size_t)(end - p) < n || memcmp(p, known + step->at, n) != 0) break;
      p += n;
    }
    if (step->key != 0) lua_pushvalue(L, m->first + step->key);
    p = make(m, step, p, end);
    if (p == NULL) break;
    if (step->place == SHAPE_MEMBER) lua_rawset(L, -3);
    else if (step->place == SHAPE_ITEM) ops_rawseti(L, -2, step->n);
  }
  if (step == last) return true;
  lua_settop(L, top);
  return false;
}

/* --- what is the same in all texts --------------------------------------- */

static bool is_hole(const shape_Step *step) {
  return step->kind == SHAPE_STRING || step->kind == SHAPE_NUMBER;
}

/* Notes in which strings and integers a text that has the shape differs. */
static void compare(shape_Shape *shape, const char *p, const char *end) {
  int i;
  for (i = 0; i < shape->any.steps; i++) {
    const shape_Step *step = &shape->any.step[i];
    shape_Hole *hole = &shape->hole[i];
    const char *q;
    p += step->literal;
    if (!is_hole(step)) continue;
    q = step->kind == SHAPE_STRING ? skip_string(p, end) : skip_number(p, end);
    if ((size_t)(q - p) != hole->size ||
        memcmp(p, shape->text + hole->at, hole->size) != 0)
      hole->varies = true;
    p = q;
  }
}

/* Puts the value that the shape's text has at step `i` into a new slot; returns
** the slot, or 0 when it is none or another one each time. */
static int know(shape_Shape *shape, const shape_Maker *m, int i) {
  const shape_Step *step = &shape->any.step[i];
  const shape_Hole *hole = &shape->hole[i];
  const char *p = shape->text + hole->at, *end = p + hole->size;
  if (!is_hole(step) || hole->varies || shape->slots == SHAPE_MAX_SLOTS)
    return 0;
  if (step->kind == SHAPE_STRING) { /* with its quotes */
    p--;
    end++;
  }
  if (!push_scalar(m, p, end)) return 0;
  set_slot(m, ++shape->slots);
  return shape->slots;
}

/* Makes the program for texts that have all in common which those before had:
** what is known is a part of the bytes in between. */
static void narrow(shape_Shape *shape, const shape_Maker *m) {
  int i, steps = shape->any.steps;
  shape_Step *check = shape->narrow.step; /* it has the bytes from `at` on */
  size_t at = 0;
  shape->narrow.steps = 0; /* stays so when Lua runs out of memory */
  shape->slots = shape->keys;
  for (i = 0; i < steps; i++) {
    shape_Step *step = &shape->narrow.step[i];
    const shape_Hole *hole = &shape->hole[i];
    int slot = know(shape, m, i);
    *step = shape->any.step[i];
    step->literal = 0;
    if (slot > 0) {
      step->kind = SHAPE_KNOWN;
      step->value = (unsigned char)slot;
    } else if (is_hole(step) || step->kind == SHAPE_END) {
      check->at = (uint16_t)at;
      check->literal = (uint16_t)(hole->at - at);
      check = step + 1;
      at = (size_t)hole->at + hole->size;
    }
  }
  if (shape->slots > shape->keys) shape->narrow.steps = steps;
}

#define NARROW_HITS 4

bool shape_push(shape_Shape *shape, const shape_Maker *m, const char *text,
                size_t len) {
  if (text == NULL) return false; /* an empty one may be */
  if (!run(&shape->narrow, shape->text, m, text, text + len)) {
    if (!run(&shape->any, shape->text, m, text, text + len)) return false;
    if (shape->narrow.steps > 0 || shape->hits == NARROW_HITS) {
      compare(shape, text, text + len);
      narrow(shape, m);
    }
  }
  shape->hits++;
  shape->misses = 0;
  return true;
}

/* --- learning ------------------------------------------------------------ */

typedef struct Level {
  bool is_object;
  int step, count;
} Level;

typedef struct Learner {
  shape_Shape *shape;
  const shape_Maker *maker;
  const char *text;
  int steps, key;
  int next_key;        /* that of the value to come; 0: none */
  const char *literal; /* the bytes since the last hole start here ... */
  int literal_step;    /* ... and are checked with this step */
  int depth;
  Level levels[SHAPE_MAX_DEPTH + 1]; /* the first one is around the text */
  bool failed;
} Learner;

static void add_step(Learner *l, shape_Kind kind, int n) {
  shape_Step *step = &l->shape->any.step[l->steps];
  if (l->steps + 1 == SHAPE_MAX_STEPS) l->failed = true;
  else l->steps++;
  memset(step, 0, sizeof(*step));
  step->kind = (unsigned char)kind;
  step->place = SHAPE_NOWHERE;
  step->key = (unsigned char)l->next_key;
  l->next_key = 0;
  step->n = (uint16_t)n;
}

/* The bytes up to `p` are the same in every text of the shape. */
static void end_literal(Learner *l, const char *p) {
  shape_Step *step = &l->shape->any.step[l->literal_step];
  step->at = (uint16_t)(l->literal - l->text);
  step->literal = (uint16_t)(p - l->literal);
}

static void begin_literal(Learner *l, const char *p) {
  l->literal = p;
  l->literal_step = l->steps;
}

/* What the last step made, or completed, is whole. */
static void end_value(Learner *l) {
  Level *level = &l->levels[l->depth];
  shape_Step *step;
  level->count++;
  if (l->depth == 0 || l->failed) return;
  step = &l->shape->any.step[l->steps - 1];
  step->place = level->is_object ? SHAPE_MEMBER : SHAPE_ITEM;
  if (!level->is_object) step->n = (uint16_t)level->count;
}

static void begin_level(Learner *l, bool is_object) {
  Level *level;
  if (l->depth == SHAPE_MAX_DEPTH) {
    l->failed = true;
    return;
  }
  level = &l->levels[++l->depth];
  level->is_object = is_object;
  level->step = l->steps;
  level->count = 0;
  add_step(l, is_object ? SHAPE_OBJECT : SHAPE_ARRAY, 0);
}

static void end_level(Learner *l) {
  const Level *level = &l->levels[l->depth--];
  l->shape->any.step[level->step].n = (uint16_t)level->count;
  add_step(l, SHAPE_CLOSE, 0);
  end_value(l);
}

/* What lies from `p` to `q` is another one in each text. */
static void add_hole(Learner *l, shape_Kind kind, const char *p,
                     const char *q) {
  shape_Hole *hole = &l->shape->hole[l->steps];
  hole->at = (uint16_t)(p - l->text);
  hole->size = (uint16_t)(q - p);
  hole->varies = false;
  add_step(l, kind, 0);
  end_literal(l, p);
  begin_literal(l, q);
  end_value(l);
}

static void learn_key(Learner *l, const char *s, size_t len) {
  if (l->key == SHAPE_MAX_SLOTS) {
    l->failed = true;
    return;
  }
  l->key++;
  lua_pushlstring(l->maker->builder->L, s, len);
  set_slot(l->maker, l->key);
  l->next_key = l->key;
}

/* `p` is after the '"'. */
static const char *learn_string(Learner *l, const char *p, const char *end) {
  const char *q = skip_string(p, end), *colon = q + 1;
  while (colon < end && (unsigned char)*colon <= ' ') colon++;
  if (colon == end || *colon != ':') {
    add_hole(l, SHAPE_STRING, p, q);
  } else if (memchr(p, '\\', (size_t)(q - p)) == NULL) {
    learn_key(l, p, (size_t)(q - p));
  } else {
    l->failed = true;
  }
  return q + 1;
}

static const char *learn_number(Learner *l, const char *p, const char *end) {
  const char *q = skip_number(p, end);
  add_hole(l, SHAPE_NUMBER, p, q);
  return q;
}

static const char *learn_word(Learner *l, const char *p, shape_Kind kind) {
  add_step(l, kind, 0);
  end_value(l);
  return p + (kind == SHAPE_FALSE ? 5 : 4);
}

static const char *learn_token(Learner *l, const char *p, const char *end) {
  switch (*p) {
  case '{':
  case '[': begin_level(l, *p == '{'); return p + 1;
  case '}':
  case ']': end_level(l); return p + 1;
  case '"': return learn_string(l, p + 1, end);
  case 't': return learn_word(l, p, SHAPE_TRUE);
  case 'f': return learn_word(l, p, SHAPE_FALSE);
  case 'n': return learn_word(l, p, SHAPE_NULL);
  default: break;
  }
  if (*p == '-' || (*p >= '0' && *p <= '9')) return learn_number(l, p, end);
  return p + 1; /* a comma, a colon, white space, a byte order mark */
}

static void learn(shape_Shape *shape, const shape_Maker *m, const char *text,
                  size_t len) {
  Learner l;
  const char *p = text, *end = text + len;
  memset(&l, 0, sizeof(l));
  l.shape = shape;
  l.maker = m;
  l.text = l.literal = text;
  while (p < end && !l.failed) p = learn_token(&l, p, end);
  if (!l.failed) add_hole(&l, SHAPE_END, end, end);
  if (l.failed) return;
  memcpy(shape->text, text, len);
  shape->any.steps = l.steps;
  shape->keys = shape->slots = l.key;
}

#define USEFUL_HITS 8
#define USEFUL_PATIENCE 2
#define MAX_PATIENCE 1024

void shape_learn(shape_Shape *shape, const shape_Maker *m, const char *text,
                 size_t len) {
  if (len > SHAPE_MAX_LEN || ++shape->misses < shape->patience) return;
  if (shape->hits >= USEFUL_HITS) shape->patience = USEFUL_PATIENCE;
  else if (shape->patience < MAX_PATIENCE)
    shape->patience = 2 * shape->patience + 1;
  shape->hits = shape->misses = 0;
  /* They stay so when Lua runs out of memory. */
  shape->any.steps = shape->narrow.steps = 0;
  learn(shape, m, text, len);
}
