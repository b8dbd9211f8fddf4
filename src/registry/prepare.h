/*
** prepare.h - the half of the pipeline before the handler: access, defaults,
** validation.  The handler runs in Lua, so that it may wait.
*/
#ifndef OPERATIONS_PREPARE_H
#define OPERATIONS_PREPARE_H

#include "registry/operation.h"

/* Stack indices while a call is prepared: the registry, the arguments, the
** registry's table, the operation. */
enum {
  CALL_ID = 2,
  CALL_INPUT,
  CALL_IDENTITY,
  CALL_TRUST,               /* read before the input is checked, then */
  CALL_ISSUES = CALL_TRUST, /* the array of issues that are only warned of */
  CALL_WARNS, /* true: issues are returned, whatever the operation does */
  CALL_ALL,
  CALL_OPERATION
};

/* Pushes the operation to its index; NULL when there is none. */
static inline operation_Operation *prepare_look_up(lua_State *L) {
  if (lua_type(L, CALL_ID) != LUA_TSTRING) return NULL;
  ops_getuservalue(L, 1);
  lua_pushvalue(L, CALL_ID);
  lua_rawget(L, CALL_ALL);
  return (operation_Operation *)lua_touserdata(L, CALL_OPERATION);
}

/* Pushes nil and an error when the operation is of another kind, or is
** restricted and access is denied; returns false otherwise. */
bool prepare_refuses(lua_State *L, const operation_Operation *op, bool streams);

/* Is the call allowed?  If not, pushes nil and an error.  `checks_access` is
** false when the handler is in another process, which checks access itself. */
static inline bool prepare_allows(lua_State *L, const operation_Operation *op,
                                  bool streams, bool checks_access) {
  if ((op->kind == KIND_SUBSCRIPTION) == streams &&
      !(op->restricted && checks_access))
    return true;
  return !prepare_refuses(L, op, streams);
}

/* What a call returns to Lua whose input is refused: nil, the error or nil, the
** operation if its schemas must be compiled first or nil. */
#define PREPARE_REFUSAL 3

/* Fills defaults into the input and checks it.  When it is refused, pushes the
** PREPARE_REFUSAL values.  The issues of an operation or a call that only
** warns are put at CALL_ISSUES. */
bool prepare_checked(lua_State *L, const operation_Operation *op);

static inline bool prepare_input(lua_State *L, const operation_Operation *op) {
  int t = lua_type(L, CALL_INPUT);
  if (t == LUA_TNIL) {
    lua_newtable(L);
    lua_replace(L, CALL_INPUT);
    t = LUA_TTABLE;
  }
  return (op->made && operation_accepts(L, CALL_INPUT, t, op->input)) ||
         prepare_checked(L, op);
}

#endif
