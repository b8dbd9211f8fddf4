/*
** one_pass.c - is one character enough to decide every choice of a pattern?
** Each part of the pattern is summed up by three facts; where two ways begin
** with the same character the pattern is not of one pass (p->many_ways).
** Terms in a row are passed once; only choices and what groups repeat are tried
** at every character (p->tries).
*/
#include "regex/parser.h"

static bool meet(const regex_Set *a, const regex_Set *b) {
  return ((a->bits[0] & b->bits[0]) | (a->bits[1] & b->bits[1])) != 0;
}

static void join(regex_Set *to, const regex_Set *from) {
  to->bits[0] |= from->bits[0];
  to->bits[1] |= from->bits[1];
}

void regex_note_range(regex_Parser *p, uint32_t low, uint32_t high) {
  if (high > 0x7F) p->many_ways = true;
  for (; low <= high && low <= 0x7F; low++)
    p->set.bits[low / 64] |= UINT64_C(1) << low % 64;
}

void regex_note_escape(regex_Parser *p, int escape) {
  if (escape != 'd' && escape != 'w') p->many_ways = true;
  regex_note_range(p, '0', '9');
  if (escape != 'w') return;
  regex_note_range(p, 'A', 'Z');
  regex_note_range(p, '_', '_');
  regex_note_range(p, 'a', 'z');
}

void regex_note_next(regex_Parser *p, regex_Part *all, const regex_Part *next) {
  if (meet(&all->more, &next->first) ||
      (all->empty && meet(&all->first, &next->first)))
    p->many_ways = true;
  if (all->empty) join(&all->first, &next->first);
  if (!next->empty) all->more = (regex_Set){{0, 0}};
  else join(&all->more, &next->first);
  join(&all->more, &next->more);
  all->empty = all->empty && next->empty;
  all->terms += next->terms;
}

void regex_note_other(regex_Parser *p, regex_Part *all,
                      const regex_Part *other) {
  if (meet(&all->first, &other->first) || (all->empty && other->empty))
    p->many_ways = true;
  p->tries++;
  all->terms += other->terms;
  join(&all->first, &other->first);
  join(&all->more, &other->more);
  all->empty = all->empty || other->empty;
}

void regex_note_repeat(regex_Parser *p, regex_Part *part, size_t min,
                       size_t max) {
  if (max == 0 || (max > 1 && (part->empty || meet(&part->more, &part->first))))
    p->many_ways = true;
  p->tries += max > 1 ? part->terms : 1;
  if (max > 1 && part->terms > 1) p->loops = true;
  if (max > 1 && max != min) join(&part->more, &part->first);
  if (min == 0) part->empty = true;
}
