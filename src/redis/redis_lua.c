/*
** redis_lua.c - luaopen_operations_redis: the protocol of Redis (RESP2) for
** Lua; hiredis' reader parses the replies.  Bytes in, values out; no I/O.
*/
#include "lua/build.h"
#include "base/sha1.h"

#include <hiredis/hiredis.h>
#include <stdbool.h>
#include <string.h>

#define READER_NAME "operations.redis"

/* hiredis allocates an array when its length is read, before its elements
** come. */
#define MAX_ELEMENTS 1048576

#if HIREDIS_MAJOR >= 1
typedef size_t Elements;
#else
typedef int Elements;
#endif

typedef struct Reader {
  redisReader *reader; /* NULL when closed */
  void *reply;         /* being converted to Lua values; else NULL */
  redisReplyObjectFunctions functions; /* hiredis' own, except createArray */
  void *(*create_array)(const redisReadTask *task, Elements elements);
  bool too_long; /* an array had too many elements */
} Reader;

static void *create_array(const redisReadTask *task, Elements elements) {
  Reader *r = (Reader *)task->privdata;
  if (elements <= MAX_ELEMENTS) return r->create_array(task, elements);
  r->too_long = true;
  return NULL;
}

static void drop_reply(Reader *r) {
  if (r->reply != NULL) freeReplyObject(r->reply);
  r->reply = NULL;
}

static int reader_gc(lua_State *L) {
  Reader *r = (Reader *)luaL_checkudata(L, 1, READER_NAME);
  drop_reply(r);
  if (r->reader != NULL) redisReaderFree(r->reader);
  r->reader = NULL;
  return 0;
}

/* redis.reader() -> reader */
static int reader_create(lua_State *L) {
  Reader *r = (Reader *)lua_newuserdata(L, sizeof(*r));
  memset(r, 0, sizeof(*r));
  luaL_getmetatable(L, READER_NAME);
  lua_setmetatable(L, -2);
  r->reader = redisReaderCreate();
  if (r->reader == NULL) return luaL_error(L, "not enough memory");
  r->functions = *r->reader->fn;
  r->create_array = r->functions.createArray;
  r->functions.createArray = create_array;
  r->reader->fn = &r->functions;
  r->reader->privdata = r;
  return 1;
}

/* hiredis nests arrays to a depth of seven. */
static void push_reply(lua_State *L, const redisReply *reply) {
  size_t i;
  luaL_checkstack(L, 4, "reply nested too deeply");
  switch (reply->type) {
  case REDIS_REPLY_INTEGER:
    lua_pushinteger(L, (lua_Integer)reply->integer);
    break;
  case REDIS_REPLY_NIL: lua_pushboolean(L, 0); break;
  case REDIS_REPLY_ARRAY:
    lua_createtable(L, reply->elements < 1024 ? (int)reply->elements : 1024, 0);
    for (i = 0; i < reply->elements; i++) {
      push_reply(L, reply->element[i]);
      ops_rawseti(L, -2, i + 1);
    }
    break;
  case REDIS_REPLY_ERROR:
    lua_createtable(L, 0, 1);
    lua_pushlstring(L, reply->str, (size_t)reply->len);
    lua_setfield(L, -2, "err");
    break;
  default: lua_pushlstring(L, reply->str, (size_t)reply->len);
  }
}

/* reader:feed(bytes) -> replies | nil, message
** The complete replies: strings, integers, arrays, false for nil, { err =
** message }.  After a failure the reader is unusable. */
static int reader_feed(lua_State *L) {
  Reader *r = (Reader *)luaL_checkudata(L, 1, READER_NAME);
  size_t length, n = 0;
  const char *bytes = luaL_checklstring(L, 2, &length);
  luaL_argcheck(L, r->reader != NULL, 1, "the reader is closed");
  drop_reply(r);
  lua_settop(L, 2);
  lua_newtable(L);
  if (redisReaderFeed(r->reader, bytes, length) == REDIS_OK) {
    while (redisReaderGetReply(r->reader, &r->reply) == REDIS_OK &&
           r->reply != NULL) {
      push_reply(L, (const redisReply *)r->reply);
      ops_rawseti(L, 3, ++n);
      drop_reply(r);
    }
  }
  if (r->reader->err == 0) return 1;
  lua_pushnil(L);
  if (r->too_long)
    lua_pushfstring(L, "an array of more than %d elements", MAX_ELEMENTS);
  else lua_pushstring(L, r->reader->errstr);
  return 2;
}

/* Adds the kind and the length that begin a part; snprintf would take half of
** the time of a command. */
static void add_head(luaL_Buffer *b, char kind, size_t length) {
  char head[24], *end = head + sizeof(head), *p = end;
  *--p = '\n';
  *--p = '\r';
  do *--p = (char)('0' + length % 10);
  while ((length /= 10) > 0);
  *--p = kind;
  luaL_addlstring(b, p, (size_t)(end - p));
}

static void add_argument(lua_State *L, luaL_Buffer *b, int index) {
  size_t length;
  const char *bytes = lua_tolstring(L, index, &length);
  add_head(b, '$', length);
  luaL_addlstring(b, bytes, length);
  luaL_addlstring(b, "\r\n", 2);
}

/* redis.command(name, ...) -> bytes; the arguments are strings and numbers */
static int redis_command(lua_State *L) {
  int i, n = lua_gettop(L);
  luaL_Buffer b;
  luaL_checkstring(L, 1);
  for (i = 2; i <= n; i++)
    if (ops_text(L, i, NULL) == NULL) luaL_checkstring(L, i);
  luaL_buffinit(L, &b);
  add_head(&b, '*', (size_t)n);
  for (i = 1; i <= n; i++) add_argument(L, &b, i);
  luaL_pushresult(&b);
  return 1;
}

/* redis.script_id(text) -> id, 40 hexadecimal digits, for EVALSHA */
static int redis_script_id(lua_State *L) {
  static const char digits[] = "0123456789abcdef";
  unsigned char digest[SHA1_SIZE];
  char id[2 * SHA1_SIZE];
  size_t length, i;
  const char *text = luaL_checklstring(L, 1, &length);
  sha1(text, length, digest);
  for (i = 0; i < SHA1_SIZE; i++) {
    id[2 * i] = digits[digest[i] >> 4];
    id[2 * i + 1] = digits[digest[i] & 15];
  }
  lua_pushlstring(L, id, sizeof(id));
  return 1;
}

static const luaL_Reg reader_methods[] = {
    {"feed", reader_feed},
    {NULL, NULL},
};

static const luaL_Reg functions[] = {
    {"reader", reader_create},
    {"command", redis_command},
    {"script_id", redis_script_id},
    {NULL, NULL},
};

BUILD_SHOWN int luaopen_operations_redis(lua_State *L);

int luaopen_operations_redis(lua_State *L) {
  build_check(L, "operations.redis");
  ops_new_type(L, READER_NAME, reader_methods, reader_gc);
  lua_newtable(L);
  ops_setfuncs(L, functions, 0);
  return 1;
}
