#include "schema/cast/ahead.h"

#include "platform/platform.h"
#include "schema/program/value.h"

#define LONG_LIST 64  /* items */
#define MAX_NESTING 4 /* objects around the list */
#define WORK 2000000  /* ns that a step may take */
#define BETWEEN 8     /* items between two reads of the clock */

static int64_t now(void) {
  return (int64_t)platform_monotonic();
}

/* --- finding the lists --------------------------------------------------- */

typedef struct Search {
  lua_State *L;
  ahead_Ahead *ahead;
  int constants, tables; /* stack indices */
} Search;

/* Adds the list on top of the stack, whose items `op` describes. */
static void add_list(Search *search, const schema_Op *op) {
  lua_State *L = search->L;
  ahead_Ahead *a = search->ahead;
  const schema_Schema *s = a->schema;
  ahead_List *list = &a->lists[a->count];
  size_t length = ops_rawlen(L, -1);
  if (op->b != 0 || op->c < 0 || length < LONG_LIST ||
      a->count == AHEAD_LISTS ||
      program_node(s, program_node(s, op->c)->target)->accepts_all)
    return;
  *list = (ahead_List){
      .table = lua_topointer(L, -1), .node = op->c, .length = length};
  lua_pushvalue(L, -1);
  ops_rawseti(L, search->tables, 2 * (size_t)a->count + 1);
  lua_createtable(L, (int)length, 0);
  ops_rawseti(L, search->tables, 2 * (size_t)a->count + 2);
  a->left += (int64_t)length * CHECK_VALUE_STEPS;
  a->count++;
}

/* Finds lists in the value on top of the stack, a list or an object.  Only
** where a single node describes the value; several may need it unchanged. */
static void find_lists(Search *search, int32_t node, int depth) {
  lua_State *L = search->L;
  const schema_Schema *s = search->ahead->schema;
  const schema_Node *n = program_node(s, program_node(s, node)->target);
  const schema_Property *p, *end;
  if (lua_type(L, -1) != LUA_TTABLE || n->merges || depth > MAX_NESTING) return;
  if (schema_type_of(L, s->core, lua_gettop(L), LUA_TTABLE, n->types) ==
      TYPE_ARRAY) {
    if (n->items >= 0) add_list(search, program_op(s, n->items));
    return;
  }
  if (n->object < 0) return;
  p = program_object(s, n->object)->properties;
  end = p + program_object(s, n->object)->count;
  for (; p < end; p++) {
    ops_rawgeti(L, search->constants, (size_t)p->key);
    lua_rawget(L, -2);
    find_lists(search, p->node, depth + 1);
    lua_pop(L, 1);
  }
}

ahead_Ahead *ahead_push(lua_State *L, int schema, int v) {
  Search search;
  int top = lua_gettop(L);
  luaL_checkstack(L, LUA_MINSTACK, "schema");
  search.L = L;
  search.ahead = (ahead_Ahead *)ops_newuserdata(L, sizeof(ahead_Ahead), 2);
  *search.ahead =
      (ahead_Ahead){.schema = (const schema_Schema *)lua_touserdata(L, schema),
                    .left = CHECK_STEPS};
  lua_pushvalue(L, schema);
  ops_setslot(L, top + 1, 1);
  lua_newtable(L);
  search.tables = top + 2;
  ops_getuservalue(L, schema);
  search.constants = top + 3;
  lua_pushvalue(L, v);
  if (!search.ahead->schema->has_dynamic)
    find_lists(&search, search.ahead->schema->root, 0);
  lua_settop(L, search.tables);
  ops_setslot(L, top + 1, 2);
  if (search.ahead->count > 0) return search.ahead;
  lua_pushnil(L);
  lua_replace(L, top + 1);
  return NULL;
}

/* --- casting the items --------------------------------------------------- */

/* Casts one item of the list at `from` into the table at `to`. */
static void cast_item(cast_Machine *c, ahead_List *list, int from, int to) {
  lua_State *L = c->m.L;
  int slot = lua_gettop(L) + 1;
  bool fits;
  ops_rawgeti(L, from, ++list->done);
  c->chosen = false;
  fits = cast_until_stable(c, list->node, slot);
  lua_settop(L, slot);
  if (c->m.too_deep) return; /* the cast of the whole value reports it */
  if (!fits) {
    list->misfits = true;
    lua_pushboolean(L, 1);
    lua_rawseti(L, to, -(int)list->done);
  }
  ops_rawseti(L, to, list->done);
}

/* Continues the list whose tables are at -2 and -1. */
static void cast_some(lua_State *L, ahead_Ahead *a, ahead_List *list,
                      int64_t end) {
  int to = lua_gettop(L), from = to - 1;
  cast_Machine c = {.m = {.problem = to + 1}};
  luaL_checkstack(L, 40, "schema");
  lua_pushnil(L);
  ops_getslot(L, from - 2, 1);
  check_start(&c.m, L, to + 2, from);
  c.m.extended = true;
  c.m.left = a->left;
  c.m.made = a->made;
  do {
    cast_item(&c, list, from, to);
  } while (list->done < list->length && !c.m.too_deep &&
           (list->done % BETWEEN != 0 || now() < end));
  a->left = c.m.left;
  a->made = c.m.made;
  if (!c.m.too_deep) return;
  list->length = list->done; /* stop here */
  a->left = 0;
}

bool ahead_step(lua_State *L, int i) {
  ahead_Ahead *a = (ahead_Ahead *)lua_touserdata(L, i);
  int64_t end = now() + WORK;
  int top = lua_gettop(L), k;
  for (k = 0; k < a->count && a->left > 0; k++) {
    ahead_List *list = &a->lists[k];
    if (list->done >= list->length) continue;
    if (now() >= end) return true;
    lua_pushvalue(L, i);
    ops_getslot(L, i, 2);
    ops_rawgeti(L, top + 2, 2 * (size_t)k + 1);
    ops_rawgeti(L, top + 2, 2 * (size_t)k + 2);
    cast_some(L, a, list, end);
    lua_settop(L, top);
    if (list->done < list->length) return true;
  }
  return false;
}
