/*
** shape.h - the JSON texts of a stream often differ in a few values only.
** A shape is learned from one text: what lies between its strings and numbers,
** and how its value is made.  A text that has the same bytes in between is
** valid, for the shape's text was, and its value is made without reading them.
** Once some texts had the shape, the strings and numbers that were the same in
** all of them count as bytes in between too, until one differs.
*/
#ifndef OPERATIONS_JSON_SHAPE_H
#define OPERATIONS_JSON_SHAPE_H

#include "value/build.h"

#define SHAPE_MAX_LEN 2048
#define SHAPE_MAX_STEPS 256
#define SHAPE_MAX_DEPTH 16
#define SHAPE_MAX_SLOTS 64 /* keys and known values */

typedef enum shape_Kind {
  SHAPE_OBJECT, /* with room for n members */
  SHAPE_ARRAY,  /* with room for n items */
  SHAPE_CLOSE,  /* it has all of them */
  SHAPE_STRING, /* from here to the next '"' */
  SHAPE_NUMBER, /* from here to the first byte that is of none */
  SHAPE_KNOWN,  /* a string or a number, the same in each text */
  SHAPE_TRUE,
  SHAPE_FALSE,
  SHAPE_NULL,
  SHAPE_END
} shape_Kind;

/* Where a value goes when it is whole. */
typedef enum shape_Place {
  SHAPE_NOWHERE, /* it is not, or is all of the text */
  SHAPE_MEMBER,  /* into the object below, as is its key */
  SHAPE_ITEM     /* into the array below, at n */
} shape_Place;

/* Before a step is made, the `literal` bytes of the shape's text from `at` on
** must come. */
typedef struct shape_Step {
  unsigned char kind;  /* shape_Kind */
  unsigned char place; /* shape_Place */
  unsigned char key;   /* slot of what goes below the value; 0: nothing */
  unsigned char value; /* slot of what is known */
  uint16_t at, literal, n;
} shape_Step;

/* Where the shape's text has a string or a number, how long it is there, and
** whether another text had another one. */
typedef struct shape_Hole {
  uint16_t at, size;
  bool varies;
} shape_Hole;

typedef struct shape_Program {
  int steps; /* 0: none */
  shape_Step step[SHAPE_MAX_STEPS];
} shape_Program;

/* All fields are private.  Set it to zero for a shape that knows no text. */
typedef struct shape_Shape {
  shape_Program any;                /* for what has the shape ... */
  shape_Program narrow;             /* ... and known values besides */
  shape_Hole hole[SHAPE_MAX_STEPS]; /* that of the same step */
  int keys, slots; /* slots in use; the first ones are for the keys */
  /* How many texts had it, and how many in a row have not; so many of those
  ** make a new one.  What is of no use is learned ever less often. */
  unsigned hits, misses, patience;
  char text[SHAPE_MAX_LEN];
} shape_Shape;

/* What makes values: the builder, and the reader for those that are not plain.
** Keys and known values of the shape are on the stack above `first`, and stay
** in the table at stack index `table`, above place `place`. */
typedef struct shape_Maker {
  build_Builder *builder;
  json_Reader *reader; /* its events go to the builder */
  int first, table;
  size_t place;
} shape_Maker;

/* Sets `first` and pushes SHAPE_MAX_SLOTS values: those of the shape, and what
** leaves room for others.  Above them there is room for what shape_push needs,
** or it raises. */
#define SHAPE_ROOM (3 * SHAPE_MAX_DEPTH)
void shape_push_slots(const shape_Shape *shape, shape_Maker *m);

/* Pushes the value of the text and returns true when it has the shape; returns
** false, with the stack as it was, when it has not. */
bool shape_push(shape_Shape *shape, const shape_Maker *m, const char *text,
                size_t len);

/* A valid text did not have the shape: it may become the shape. */
void shape_learn(shape_Shape *shape, const shape_Maker *m, const char *text,
                 size_t len);

#endif
