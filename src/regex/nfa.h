/*
** nfa.h - a translated pattern (regex/parse.h) as a nondeterministic
** automaton over the bytes of UTF-8, if it is regular.  It does not run here.
*/
#ifndef OPERATIONS_REGEX_NFA_H
#define OPERATIONS_REGEX_NFA_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define NFA_MAX_NODES 1024

typedef enum nfa_Kind {
  NFA_SPLIT, /* goes on at `out` and at `other` */
  NFA_BYTE,  /* passes a byte from low to high */
  NFA_START, /* passes at the start of the subject */
  NFA_END,   /* passes at its end */
  NFA_MATCH
} nfa_Kind;

typedef struct nfa_Node {
  uint8_t kind; /* nfa_Kind */
  uint8_t low, high;
  uint16_t out, other; /* nodes, 0 for none */
} nfa_Node;

typedef struct nfa_Nfa {
  nfa_Node nodes[NFA_MAX_NODES]; /* that at 0 is no node */
  int count, first;
} nfa_Nfa;

/* Builds the automaton of `pattern`, a translation.  False when it has what no
** such automaton can do (references, lookarounds, word boundaries), what is not
** worth it (properties, letter case), or too many nodes. */
bool nfa_build(nfa_Nfa *nfa, const char *pattern, size_t len);

#endif
