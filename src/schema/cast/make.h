/*
** make.h - makes values that conform to schemas: from defaults, types
** and bounds.  What only says what must not be is left to cast_search.
*/
#ifndef OPERATIONS_SCHEMA_MAKE_H
#define OPERATIONS_SCHEMA_MAKE_H

#include "schema/cast/cast.h"

/* What is being made: by which nodes, and by all that apply with them. */
typedef struct make_Maker {
  cast_Machine *c;
  const int32_t *nodes;
  int count;
  cast_Views views;
  int depth;
  int salt; /* another value for each */
} make_Maker;

/* Leaves the value on top of the stack if it conforms, else pops it. */
bool make_keep(make_Maker *m);

/* Adds a node and those that $ref and allOf apply with it to the views. */
void make_view(make_Maker *m, int32_t node, int depth);

/* Runs `visit` on each instruction that applies; stops when it says so. */
bool make_each_op(make_Maker *m,
                  bool (*visit)(make_Maker *m, const schema_Op *op));

/* The largest bound of its kind, 0 when there is none. */
size_t make_largest(const make_Maker *m, schema_Code code);

/* The types that all the schemas accept. */
uint16_t make_types(const make_Maker *m);

/* Appends made items to the array at `array` up to `least`. */
bool make_pad(make_Maker *m, int array, size_t least);

/* Sets property `p` of the object on top of the stack, if it can be made. */
bool make_add_property(make_Maker *m, const schema_Property *p);

/* Sets properties that are named, then others, until there are enough. */
bool make_add_optional(make_Maker *m, const schema_Op *op);
void make_add_free(make_Maker *m, size_t least);

/* Pushes an object with what is required of one. */
void make_push_object(make_Maker *m);

#endif
