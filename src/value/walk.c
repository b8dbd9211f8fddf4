#include "value/walk.h"

#include <limits.h>
#include <math.h>
#include <stdlib.h>

#include "json/write.h"
#include "value/integer.h"

#define WALK_TYPE "operations.json_text"
#define INLINE_TEXT 1024

/* The current value of the walk is on top of the stack. */
typedef struct Walk {
  lua_State *L;
  const core_State *core;
  const walk_Options *options;
  buffer_Buffer *out; /* `small`, or the buffer of the userdata in `owner` */
  buffer_Buffer small;
  int owner, path, reason; /* stack slots; path and reason describe a failure */
  int first;               /* the slot of the outermost value ... */
  int outer;               /* ... and the number of levels around it */
  int depth;
  int path_depth; /* levels of a failure's path that are shown */
  char small_text[INLINE_TEXT];
} Walk;

/* --- memory -------------------------------------------------------------- */

static int text_gc(lua_State *L) {
  buffer_free((buffer_Buffer *)lua_touserdata(L, 1));
  return 0;
}

void walk_open(lua_State *L) {
  core_new_type(L, WALK_TYPE, NULL, text_gc);
}

/* A buffer on the C stack does not grow. */
static void *refuse(void *ud, void *p, size_t old_size, size_t new_size) {
  (void)ud, (void)p, (void)old_size, (void)new_size;
  return NULL;
}

static void start_small(Walk *w) {
  ops_Alloc none = {refuse, NULL};
  buffer_init(&w->small, none, SIZE_MAX);
  w->small.data = w->small_text;
  w->small.capacity = sizeof(w->small_text);
  w->out = &w->small;
}

/* Makes room for `extra` more bytes, or raises Lua's memory error. */
static void reserve(Walk *w, size_t extra) {
  lua_State *L = w->L;
  if (w->out == &w->small) {
    buffer_Buffer *large =
        (buffer_Buffer *)lua_newuserdata(L, sizeof(buffer_Buffer));
    buffer_init(large, core_alloc(L), BUFFER_UNLIMITED);
    luaL_getmetatable(L, WALK_TYPE);
    lua_setmetatable(L, -2);
    lua_replace(L, w->owner);
    w->out = large;
    if (!buffer_reserve(large, 2 * (w->small.len + extra)))
      luaL_error(L, "not enough memory");
    buffer_add(large, w->small.data, w->small.len);
  } else if (!buffer_grow(w->out, extra)) {
    luaL_error(L, "not enough memory");
  }
}

static inline void need(Walk *w, size_t extra) {
  if (w->out->capacity - w->out->len < extra) reserve(w, extra);
}

static inline void put(Walk *w, char c) {
  need(w, 1);
  w->out->data[w->out->len++] = c;
}

static void put_text(Walk *w, const char *s, size_t len) {
  need(w, len);
  buffer_add(w->out, s, len);
}

/* --- failure ------------------------------------------------------------- */

/* Fails with the string on top of the stack as the reason; pops it. */
static bool fail_with(Walk *w) {
  lua_replace(w->L, w->reason);
  lua_pushliteral(w->L, "");
  lua_replace(w->L, w->path);
  return false;
}

static bool fail(Walk *w, const char *reason) {
  lua_pushstring(w->L, reason);
  return fail_with(w);
}

/* Prepends "/" and the key at `i` to the path of the failure.  The path is
** copied at each level; there are at most max_depth levels. */
static bool failed_in_member(Walk *w, int i) {
  lua_State *L = w->L;
  if (w->depth-- > w->path_depth) return false;
  const char *key = luaL_gsub(L, lua_tostring(L, i), "~", "~0");
  key = luaL_gsub(L, key, "/", "~1");
  lua_pushfstring(L, "/%s%s", key, lua_tostring(L, w->path));
  lua_replace(L, w->path);
  lua_pop(L, 2);
  return false;
}

static bool failed_in_item(Walk *w, size_t i) {
  if (w->depth-- > w->path_depth) return false;
  lua_pushfstring(w->L, "/%d%s", (int)(i - 1), lua_tostring(w->L, w->path));
  lua_replace(w->L, w->path);
  return false;
}

/* An ordered object is followed by this mark, the set of what is written and
** the list of its order. */
static const char ordered_mark;
#define AFTER_MARK 2

/* The next slot from `i` on with a table that is a level; `end`: there is
** none. */
static int next_level(lua_State *L, int i, int end) {
  for (; i < end && !lua_istable(L, i); i++) {
    if (lua_touserdata(L, i) == &ordered_mark) i += AFTER_MARK;
  }
  return i < end ? i : end;
}

static bool is_among(lua_State *L, int first, int i) {
  int k;
  for (k = next_level(L, first, i); k < i; k = next_level(L, k + 1, i)) {
    if (lua_rawequal(L, k, i)) return true;
  }
  return false;
}

/* Fails at the depth limit, often because of a cycle: the path then ends where
** a table occurs for the second time. */
static bool fail_depth(Walk *w) {
  int end = lua_gettop(w->L) + 1, depth = w->outer, i;
  for (i = next_level(w->L, w->first, end); i < end;
       i = next_level(w->L, i + 1, end)) {
    if (is_among(w->L, w->first, i)) {
      w->path_depth = depth;
      return fail(w, "a table contains itself");
    }
    depth++;
  }
  lua_pushfstring(w->L, "nested deeper than %d levels", w->depth);
  return fail_with(w);
}

/* Fails because the key at -2 of an object is not a string. */
static bool fail_key(Walk *w) {
  lua_State *L = w->L;
  const char *type = value_type_name(L, w->core, -2);
  if (integer_push_text(L, w->core, -2))
    lua_pushfstring(L, "an object has the %s key %s; keys must be strings",
                    type, lua_tostring(L, -1));
  else
    lua_pushfstring(L, "an object has a %s as key; keys must be strings", type);
  return fail_with(w);
}

/* --- scalars ------------------------------------------------------------- */

static bool write_string(Walk *w, int i) {
  size_t len, invalid = SIZE_MAX;
  const char *s = lua_tolstring(w->L, i, &len);
  while (!json_write_string(w->out, s, len, &invalid)) reserve(w, len + 2);
  if (invalid == SIZE_MAX) return true;
  lua_pushfstring(w->L, "a string is not UTF-8 at byte %d", (int)invalid + 1);
  return fail_with(w);
}

static bool write_key(Walk *w, int i) {
  if (!write_string(w, i)) return fail(w, "a key is not UTF-8");
  put(w, ':');
  if (w->options->indent > 0) put(w, ' ');
  return true;
}

static bool write_number(Walk *w, int i) {
  lua_Number value;
  need(w, JSON_NUMBER_ROOM);
#if OPS_INTEGERS
  if (lua_isinteger(w->L, i))
    return json_write_integer(w->out, lua_tointeger(w->L, i));
#endif
  value = lua_tonumber(w->L, i);
  if (isnan(value)) return fail(w, "NaN is not a JSON number");
  if (isinf(value)) return fail(w, "an infinite number is not a JSON number");
  return json_write_double(w->out, value);
}

static bool write_other(Walk *w) {
  integer_Value n;
  if (value_kind(w->L, w->core, -1) == VALUE_NULL) {
    put_text(w, "null", 4);
    return true;
  }
  if (integer_read(w->L, w->core, -1, &n)) {
    need(w, JSON_NUMBER_ROOM);
    w->out->len += integer_format(w->out->data + w->out->len, n);
    return true;
  }
  lua_pushfstring(w->L, "%s is not a JSON value", luaL_typename(w->L, -1));
  return fail_with(w);
}

/* --- arrays and objects -------------------------------------------------- */

static bool write_value(Walk *w);

/* The line break and indent before an item or a closing bracket. */
static void new_line(Walk *w) {
  size_t spaces = (size_t)w->depth * (size_t)w->options->indent;
  if (w->options->indent == 0) return;
  need(w, spaces + 1);
  w->out->data[w->out->len++] = '\n';
  memset(w->out->data + w->out->len, ' ', spaces);
  w->out->len += spaces;
}

/* Writes the item on top and pops it. */
static bool write_item(Walk *w, size_t i) {
  if (i > 1) put(w, ',');
  new_line(w);
  if (!write_value(w)) return failed_in_item(w, i);
  lua_pop(w->L, 1);
  return true;
}

/* Writes an array whose keys do not come in order. */
static bool write_items(Walk *w) {
  ptrdiff_t length = value_array_length(w->L, -1), i;
  if (length < 0) return fail(w, "an array has keys beside 1 to its length");
  for (i = 1; i <= length; i++) {
    ops_rawgeti(w->L, -1, (size_t)i);
    if (!write_item(w, (size_t)i)) return false;
  }
  return true;
}

static bool write_array(Walk *w) {
  lua_State *L = w->L;
  size_t start, i;
  put(w, '[');
  start = w->out->len;
  w->depth++;
  lua_pushnil(L);
  for (i = 1; lua_next(L, -2); i++) {
    if (!value_is_index(L, -2, i)) {
      lua_pop(L, 2);
      w->out->len = start;
      if (!write_items(w)) return false;
      break;
    }
    if (!write_item(w, i)) return false;
  }
  w->depth--;
  if (w->out->len > start) new_line(w);
  put(w, ']');
  return true;
}

/* Writes the member with the key at `key` and the value on top; pops the
** value. */
static bool write_member(Walk *w, int key, bool first) {
  lua_State *L = w->L;
  if (lua_type(L, key) != LUA_TSTRING) return fail_key(w);
  if (!first) put(w, ',');
  new_line(w);
  if (!write_key(w, key)) return false;
  if (!write_value(w)) return failed_in_member(w, key);
  lua_pop(L, 1);
  return true;
}

static bool write_members(Walk *w) {
  lua_State *L = w->L;
  bool first = true;
  int key;
  lua_pushnil(L);
  key = lua_gettop(L);
  while (lua_next(L, -2)) {
    if (!write_member(w, key, first)) return false;
    first = false;
  }
  return true;
}

/* Counts the members of the object on top; false, with a pair pushed, when it
** has a key that is not a string. */
static bool count_names(lua_State *L, size_t *n) {
  *n = 0;
  for (lua_pushnil(L); lua_next(L, -2); lua_pop(L, 1)) {
    if (lua_type(L, -2) != LUA_TSTRING) return false;
    ++*n;
  }
  return true;
}

#define FEW_NAMES 8

/* The names in an object's order that are written: few here, which the list
** keeps alive, more in the table at `set`. */
typedef struct Written {
  size_t n;
  int set;
  value_Name few[FEW_NAMES];
} Written;

/* Is the name, whose string is at `i`, written? */
static bool is_written(lua_State *L, const Written *written, int i,
                       const value_Name *name) {
  size_t k;
  bool found;
  for (k = 0; k < written->n && k < FEW_NAMES; k++) {
    const value_Name *other = &written->few[k];
    if (other->len == name->len && memcmp(other->s, name->s, name->len) == 0)
      return true;
  }
  if (written->n <= FEW_NAMES) return false;
  lua_pushvalue(L, i);
  found = ops_rawget(L, written->set) != LUA_TNIL;
  lua_pop(L, 1);
  return found;
}

static void add_written(lua_State *L, Written *written, int i,
                        const value_Name *name) {
  if (written->n++ < FEW_NAMES) {
    written->few[written->n - 1] = *name;
    return;
  }
  if (!lua_istable(L, written->set)) {
    lua_newtable(L);
    lua_replace(L, written->set);
  }
  lua_pushvalue(L, i);
  lua_pushboolean(L, true);
  lua_rawset(L, written->set);
}

/* Writes the members of the object on top whose order is known; leaves the
** mark, the set and the list on the stack when there is an order. */
static bool write_members_known(Walk *w, int object, Written *written) {
  lua_State *L = w->L;
  int list = object + AFTER_MARK + 1;
  size_t i, n;
  written->set = list - 1;
  lua_pushlightuserdata(L, (void *)&ordered_mark);
  lua_pushnil(L);
  core_push_property_order(L);
  lua_pushvalue(L, object);
  if (ops_rawget(L, list) != LUA_TTABLE) {
    lua_settop(L, object);
    return true;
  }
  lua_replace(L, list);
  n = ops_rawlen(L, list);
  for (i = 1; i <= n; i++) {
    value_Name name;
    lua_settop(L, list);
    if (ops_rawgeti(L, list, i) != LUA_TSTRING) continue;
    lua_pushvalue(L, list + 1);
    if (ops_rawget(L, object) == LUA_TNIL) continue;
    name.s = lua_tolstring(L, list + 1, &name.len);
    if (is_written(L, written, list + 1, &name)) continue;
    add_written(L, written, list + 1, &name);
    if (!write_member(w, list + 1, written->n == 1)) return false;
  }
  lua_settop(L, list);
  return true;
}

/* Writes the members that are not written, by their names. */
static bool write_members_left(Walk *w, int object, const Written *written) {
  lua_State *L = w->L;
  size_t i, n;
  value_Name *names = value_sorted_names(L, object, &n);
  int name = lua_gettop(L) + 1;
  bool first = written->n == 0;
  for (i = 0; i < n; i++) {
    lua_settop(L, name - 1);
    lua_pushlstring(L, names[i].s, names[i].len);
    lua_pushvalue(L, name);
    if (ops_rawget(L, object) == LUA_TNIL) continue;
    if (is_written(L, written, name, &names[i])) continue;
    if (!write_member(w, name, first)) return false;
    first = false;
  }
  return true;
}

static bool write_members_sorted(Walk *w) {
  lua_State *L = w->L;
  int object = lua_gettop(L);
  size_t count;
  Written written;
  written.set = object;
  if (!count_names(L, &count)) return fail_key(w);
  written.n = 0;
  if (w->options->keep_order && !write_members_known(w, object, &written))
    return false;
  if (written.n < count && !write_members_left(w, object, &written))
    return false;
  lua_settop(L, object);
  return true;
}

static bool write_object(Walk *w) {
  size_t start;
  bool sorts = w->options->sort_keys || w->options->keep_order;
  put(w, '{');
  start = w->out->len;
  w->depth++;
  if (!(sorts ? write_members_sorted : write_members)(w)) return false;
  w->depth--;
  if (w->out->len > start) new_line(w);
  put(w, '}');
  return true;
}

static bool write_table(Walk *w) {
  if (w->depth >= w->options->max_depth || !lua_checkstack(w->L, LUA_MINSTACK))
    return fail_depth(w);
  return value_is_array(w->L, w->core, -1) ? write_array(w) : write_object(w);
}

/* Writes the value on top.  After a failure it leaves more values on the stack:
** they are used for the path, and dropped at the end. */
static bool write_value(Walk *w) {
  switch (lua_type(w->L, -1)) {
  case LUA_TSTRING: return write_string(w, -1);
  case LUA_TNUMBER: return write_number(w, -1);
  case LUA_TBOOLEAN:
    if (lua_toboolean(w->L, -1)) put_text(w, "true", 4);
    else put_text(w, "false", 5);
    return true;
  case LUA_TTABLE: return write_table(w);
  default: return write_other(w);
  }
}

/* --- the whole ----------------------------------------------------------- */

static void push_failure(Walk *w) {
  lua_State *L = w->L;
  const char *path = lua_tostring(L, w->path);
  lua_settop(L, w->first);
  lua_createtable(L, 0, 1);
  lua_pushvalue(L, w->path);
  lua_setfield(L, -2, "path");
  lua_pushnil(L);
  lua_pushfstring(L, "%s%s%s", path, *path != '\0' ? ": " : "",
                  lua_tostring(L, w->reason));
  core_push_error(L, "VALIDATION_ERROR", lua_tostring(L, -1), -3);
  lua_remove(L, -2);
}

/* Begins the walk; it uses the stack above the current top. */
static void start(Walk *w, lua_State *L, int outer,
                  const walk_Options *options) {
  luaL_checkstack(L, LUA_MINSTACK, "JSON");
  lua_settop(L, lua_gettop(L) + 3);
  w->L = L;
  w->core = core_state(L);
  w->options = options;
  w->owner = lua_gettop(L) - 2;
  w->path = w->owner + 1;
  w->reason = w->owner + 2;
  w->depth = w->outer = outer;
  w->path_depth = INT_MAX;
  w->first = w->owner + 3;
  start_small(w);
}

/* Pushes the text, or nil and the error. */
static bool finish(Walk *w, bool written) {
  if (!written) {
    push_failure(w);
    return false;
  }
  lua_pushlstring(w->L, w->out->data, w->out->len);
  if (w->out != &w->small) buffer_free(w->out);
  return true;
}

bool walk_encode(lua_State *L, int i, const walk_Options *options) {
  Walk w;
  i = ops_absindex(L, i);
  start(&w, L, 0, options);
  lua_pushvalue(L, i);
  return finish(&w, write_value(&w));
}

static bool write_pairs(Walk *w, int i, int last) {
  bool first = true;
  put(w, '{');
  for (; i < last; i += 2) {
    if (lua_isnil(w->L, i + 1)) continue;
    lua_pushvalue(w->L, i + 1);
    if (!write_member(w, i, first)) return false;
    first = false;
  }
  put(w, '}');
  return true;
}

bool walk_members(lua_State *L, int first, int last,
                  const walk_Options *options) {
  Walk w;
  start(&w, L, 1, options);
  return finish(&w, write_pairs(&w, first, last));
}
