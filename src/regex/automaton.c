#include "regex/automaton.h"

#include <string.h>

#include "regex/nfa.h"
#include "base/utf8.h"

#define MAX_STATES 255
#define MAX_KINDS 31    /* of bytes: a bit each, and one for STATE_ENDS */
#define MAX_WORK 200000 /* nodes looked at to build it: about a millisecond */
#define WORDS (NFA_MAX_NODES / 64)

enum { STATE_DEAD, STATE_MATCHED, STATE_FIRST };

#define STATE_ENDS (UINT32_C(1) << MAX_KINDS) /* the subject may end here */

/* Most bytes are decided without looking for the next state: a processor can
** foresee these branches, and need not wait for what the byte before led to. */
typedef struct State {
  uint32_t go;   /* kinds of bytes that lead to the state behind this one */
  uint32_t stay; /* kinds that lead to this one again; STATE_ENDS */
} State;

struct automaton_Automaton {
  size_t size; /* of the block, with what follows */
  uint8_t kind_of[256];
  int kinds, first;
  bool ascii;          /* no other subject passes all states */
  const uint8_t *next; /* by state and kind */
  State states[];      /* then what `next` points to */
};

typedef struct Nodes {
  uint64_t bits[WORDS];
} Nodes;

typedef struct Builder {
  nfa_Nfa nfa;
  int count, kinds, words, work;
  bool ascii;
  uint8_t kind_of[256];
  uint8_t sample[MAX_KINDS]; /* a byte of each kind */
  uint16_t stack[2 * NFA_MAX_NODES];
  Nodes seen, restart; /* restart: where a match that starts later starts */
  uint32_t hashes[MAX_STATES];
  Nodes nodes[MAX_STATES + 1]; /* the last one is being made */
  bool at_end[MAX_STATES];
  uint8_t next[MAX_STATES][MAX_KINDS];
} Builder;

static bool has(const Nodes *nodes, int i) {
  return nodes->bits[i / 64] >> (i % 64) & 1;
}

static void put(Nodes *nodes, int i) {
  nodes->bits[i / 64] |= UINT64_C(1) << (i % 64);
}

/* The lowest bit of `bits`, which has one. */
static int lowest(uint64_t bits) {
#if defined(__GNUC__)
  return __builtin_ctzll(bits);
#else
  int i = 0;
  while ((bits >> i & 1) == 0) i++;
  return i;
#endif
}

static void clear(const Builder *b, Nodes *nodes) {
  memset(nodes, 0, (size_t)b->words * sizeof(uint64_t));
}

/* Adds to `to` the nodes that wait for a byte, or for the end, and can be
** reached from `node` without a byte.  True when the pattern matches there. */
static bool reach(Builder *b, Nodes *to, uint16_t node, bool start, bool end) {
  int height = 0;
  b->stack[height++] = node;
  while (height > 0) {
    const nfa_Node *n;
    node = b->stack[--height];
    b->work++;
    if (node == 0 || has(&b->seen, node)) continue;
    put(&b->seen, node);
    n = &b->nfa.nodes[node];
    if (n->kind == NFA_MATCH) return true;
    if (n->kind == NFA_BYTE || n->kind == NFA_END) put(to, node);
    if (n->kind == NFA_SPLIT) b->stack[height++] = n->other;
    if (n->kind == NFA_SPLIT || (n->kind == NFA_START && start) ||
        (n->kind == NFA_END && end))
      b->stack[height++] = n->out;
  }
  return false;
}

/* Bytes that no node tells apart are of one kind. */
static bool find_kinds(Builder *b) {
  bool starts[257] = {true};
  int i;
  for (i = 1; i < b->nfa.count; i++) {
    const nfa_Node *n = &b->nfa.nodes[i];
    if (n->kind != NFA_BYTE) continue;
    starts[n->low] = starts[n->high + 1] = true;
  }
  starts[0x80] = true;
  for (i = 0; i < 256; i++) {
    if (starts[i]) {
      if (b->kinds == MAX_KINDS) return false;
      b->sample[b->kinds++] = (uint8_t)i;
    }
    b->kind_of[i] = (uint8_t)(b->kinds - 1);
  }
  return true;
}

static uint32_t hash(const Builder *b, const Nodes *nodes) {
  uint64_t h = 0;
  int i;
  for (i = 0; i < b->words; i++) {
    h = (h ^ nodes->bits[i]) * UINT64_C(0x9E3779B97F4A7C15);
    h ^= h >> 32;
  }
  return (uint32_t)h;
}

static bool is_none(const Builder *b, const Nodes *nodes) {
  uint64_t any = 0;
  int i;
  for (i = 0; i < b->words; i++) any |= nodes->bits[i];
  return any == 0;
}

/* The state of the nodes in the last place; 0 when there are too many. */
static int state_of_last(Builder *b) {
  const Nodes *nodes = &b->nodes[b->count];
  size_t size = (size_t)b->words * sizeof(uint64_t);
  uint32_t h = hash(b, nodes);
  int i;
  for (i = STATE_FIRST + 1; i < b->count; i++) {
    if (b->hashes[i] == h && memcmp(&b->nodes[i], nodes, size) == 0) return i;
  }
  if (b->count == MAX_STATES) return 0;
  b->hashes[b->count] = h;
  return b->count++;
}

/* Where a byte leads from a state; -1 when that is too much. */
static int step(Builder *b, int state, uint8_t byte) {
  Nodes *to = &b->nodes[b->count];
  int word, found;
  memcpy(to, &b->restart, (size_t)b->words * sizeof(uint64_t));
  clear(b, &b->seen);
  for (word = 0; word < b->words; word++) {
    uint64_t bits = b->nodes[state].bits[word];
    for (; bits != 0; bits &= bits - 1) {
      const nfa_Node *n = &b->nfa.nodes[word * 64 + lowest(bits)];
      if (n->kind == NFA_BYTE && n->low <= byte && byte <= n->high &&
          reach(b, to, n->out, false, false))
        return STATE_MATCHED;
    }
  }
  if (is_none(b, to)) return STATE_DEAD;
  b->work += b->words;
  found = state_of_last(b);
  return found == 0 || b->work > MAX_WORK ? -1 : found;
}

static bool may_end(Builder *b, int state) {
  int i;
  Nodes none;
  clear(b, &none);
  clear(b, &b->seen);
  for (i = 1; i < b->nfa.count; i++) {
    if (has(&b->nodes[state], i) && b->nfa.nodes[i].kind == NFA_END &&
        reach(b, &none, b->nfa.nodes[i].out, state == STATE_FIRST, true))
      return true;
  }
  return false;
}

static bool find_states(Builder *b) {
  int state, kind;
  for (state = STATE_FIRST; state < b->count; state++) {
    b->at_end[state] = may_end(b, state);
    for (kind = 0; kind < b->kinds; kind++) {
      int next = step(b, state, b->sample[kind]);
      if (next < 0) return false;
      b->next[state][kind] = (uint8_t)next;
      if (next != STATE_DEAD && b->sample[kind] >= 0x80) b->ascii = false;
    }
  }
  return true;
}

static bool build(Builder *b, const char *pattern, size_t len) {
  if (!nfa_build(&b->nfa, pattern, len)) return false;
  b->kinds = b->work = 0;
  b->ascii = true;
  b->words = (b->nfa.count + 63) / 64;
  if (!find_kinds(b)) return false;
  clear(b, &b->seen);
  memset(&b->restart, 0, sizeof(b->restart));
  reach(b, &b->restart, (uint16_t)b->nfa.first, false, false);
  b->count = STATE_FIRST;
  clear(b, &b->seen);
  clear(b, &b->nodes[STATE_FIRST]);
  if (reach(b, &b->nodes[STATE_FIRST], (uint16_t)b->nfa.first, true, false))
    return true; /* what is found in every text */
  b->hashes[b->count++] = 0;
  return find_states(b);
}

static void fill(automaton_Automaton *a, const Builder *b, uint8_t *next) {
  int state, kind;
  memcpy(a->kind_of, b->kind_of, sizeof(a->kind_of));
  a->kinds = b->kinds;
  a->first = b->count > STATE_FIRST ? STATE_FIRST : STATE_MATCHED;
  a->ascii = b->ascii;
  a->next = next;
  memset(a->states, 0, (size_t)b->count * sizeof(State));
  for (state = STATE_FIRST; state < b->count; state++) {
    State *s = &a->states[state];
    if (b->at_end[state]) s->stay = STATE_ENDS;
    for (kind = 0; kind < b->kinds; kind++) {
      int to = b->next[state][kind];
      next[state * b->kinds + kind] = (uint8_t)to;
      if (to == state + 1) s->go |= UINT32_C(1) << kind;
      if (to == state) s->stay |= UINT32_C(1) << kind;
    }
  }
}

automaton_Automaton *automaton_build(const ops_Alloc *alloc,
                                     const char *pattern, size_t len) {
  Builder *b = (Builder *)ops_alloc(alloc, sizeof(Builder));
  automaton_Automaton *a = NULL;
  if (b != NULL && build(b, pattern, len)) {
    size_t states = (size_t)b->count;
    size_t head = sizeof(*a) + states * sizeof(State);
    size_t size = head + states * (size_t)b->kinds;
    a = (automaton_Automaton *)ops_alloc(alloc, size);
    if (a != NULL) {
      a->size = size;
      fill(a, b, (uint8_t *)a + head);
    }
  }
  ops_free(alloc, b, sizeof(Builder));
  return a;
}

bool automaton_match(const automaton_Automaton *automaton, const char *subject,
                     size_t len) {
  const automaton_Automaton *a = automaton;
  const unsigned char *p = (const unsigned char *)subject, *end = p + len;
  const State *state = a->states + a->first;
  if (a->first == STATE_MATCHED) return utf8_valid(subject, len);
  for (; p < end; p++) {
    unsigned kind = a->kind_of[*p];
    int next;
    if (state->go >> kind & 1) {
      state++;
    } else if ((state->stay >> kind & 1) == 0) {
      next = a->next[(state - a->states) * a->kinds + kind];
      if (next == STATE_DEAD) return false;
      if (next == STATE_MATCHED) return utf8_valid(subject, len);
      state = a->states + next;
    }
  }
  return (state->stay & STATE_ENDS) && (a->ascii || utf8_valid(subject, len));
}

void automaton_free(const ops_Alloc *alloc, automaton_Automaton *automaton) {
  if (automaton != NULL) ops_free(alloc, automaton, automaton->size);
}
