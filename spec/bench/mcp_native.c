/*
** mcp_native.c - a bare MCP server over stdio for mcp.lua: reads, parses and
** answers, so that clients are measured.  Has one tool, `echo`; what was read
** at once is answered at once.
*/
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "json/json.h"
#include "json/write.h"
#include "base/lines.h"

#define MAX_BYTES (1 << 26)

static const char initialized[] =
    "{\"protocolVersion\":\"2025-11-25\",\"capabilities\":{\"tools\":{}},"
    "\"serverInfo\":{\"name\":\"bench\",\"version\":\"1\"}}";
static const char tools[] =
    "{\"tools\":[{\"name\":\"echo\",\"inputSchema\":{\"type\":\"object\","
    "\"properties\":{\"message\":{\"type\":\"string\"}}}}]}";

/* What a request says, and the answers to write. */
typedef struct Server {
  json_Reader reader;
  buffer_Buffer key, method, message, answers;
  int64_t id;
  bool has_id;
  int depth;
} Server;

static void *allocate(void *ud, void *p, size_t old_size, size_t new_size) {
  (void)ud;
  (void)old_size;
  if (new_size > 0) return realloc(p, new_size);
  free(p);
  return NULL;
}

static bool is(const buffer_Buffer *b, const char *text) {
  return b->len == strlen(text) && memcmp(b->data, text, b->len) == 0;
}

static bool set(buffer_Buffer *b, const char *s, size_t len) {
  b->len = 0;
  return buffer_add(b, s, len);
}

static bool on_null(void *ud) {
  (void)ud;
  return true;
}

static bool on_boolean(void *ud, bool value) {
  (void)ud;
  (void)value;
  return true;
}

static bool on_integer(void *ud, int64_t value) {
  Server *server = (Server *)ud;
  if (server->depth == 1 && is(&server->key, "id")) {
    server->id = value;
    server->has_id = true;
  }
  return true;
}

static bool on_number(void *ud, double value) {
  (void)ud;
  (void)value;
  return true;
}

static bool on_big_integer(void *ud, const char *digits, size_t len) {
  (void)ud;
  (void)digits;
  (void)len;
  return true;
}

static bool on_string(void *ud, const char *s, size_t len) {
  Server *server = (Server *)ud;
  if (server->depth == 1 && is(&server->key, "method"))
    return set(&server->method, s, len);
  if (server->depth == 3 && is(&server->key, "message"))
    return set(&server->message, s, len);
  return true;
}

static bool on_key(void *ud, const char *s, size_t len) {
  return set(&((Server *)ud)->key, s, len);
}

static bool on_begin(void *ud) {
  ((Server *)ud)->depth++;
  return true;
}

static bool on_end(void *ud) {
  ((Server *)ud)->depth--;
  return true;
}

static const json_Handlers handlers = {
    on_null, on_boolean, on_integer, on_big_integer, on_number, on_string,
    on_key,  on_begin,   on_end,     on_begin,       on_end,
};

static bool add(Server *server, const char *text) {
  return buffer_add(&server->answers, text, strlen(text));
}

static bool add_result(Server *server) {
  size_t invalid;
  if (is(&server->method, "initialize")) return add(server, initialized);
  if (is(&server->method, "tools/list")) return add(server, tools);
  return add(server, "{\"content\":[{\"type\":\"text\",\"text\":") &&
         json_write_string(&server->answers, server->message.data,
                           server->message.len, &invalid) &&
         add(server, "}]}");
}

static void on_line(void *ud, const char *line, size_t len) {
  Server *server = (Server *)ud;
  server->has_id = false;
  server->depth = 0;
  json_restart(&server->reader);
  if (json_read(&server->reader, line, len) != JSON_OK) exit(1);
  if (!server->has_id) return;
  if (!add(server, "{\"jsonrpc\":\"2.0\",\"id\":") ||
      !json_write_integer(&server->answers, server->id) ||
      !add(server, ",\"result\":") || !add_result(server) ||
      !add(server, "}\n"))
    exit(1);
}

static void write_answers(buffer_Buffer *answers) {
  size_t written = 0;
  while (written < answers->len) {
    ssize_t n = write(1, answers->data + written, answers->len - written);
    if (n < 0) exit(1);
    written += (size_t)n;
  }
  answers->len = 0;
}

int main(void) {
  static char bytes[65536];
  static Server server;
  const ops_Alloc alloc = {allocate, NULL};
  lines_Splitter lines;
  ssize_t n;
  json_init(&server.reader, alloc, 64, MAX_BYTES, &handlers, &server);
  buffer_init(&server.key, alloc, MAX_BYTES);
  buffer_init(&server.method, alloc, MAX_BYTES);
  buffer_init(&server.message, alloc, MAX_BYTES);
  buffer_init(&server.answers, alloc, MAX_BYTES);
  lines_init(&lines, alloc, MAX_BYTES, '\n');
  while ((n = read(0, bytes, sizeof(bytes))) > 0) {
    if (lines_feed(&lines, bytes, (size_t)n, on_line, &server) != LINES_OK)
      return 1;
    write_answers(&server.answers);
  }
  return 0;
}
