/*
** types.h - types shared by the users of compiled schemas and the machines that
** run them.
*/
#ifndef OPERATIONS_SCHEMA_TYPES_H
#define OPERATIONS_SCHEMA_TYPES_H

typedef struct schema_Schema schema_Schema;

typedef enum schema_Mode { SCHEMA_OFF, SCHEMA_CAST, SCHEMA_FORCE } schema_Mode;

#endif
