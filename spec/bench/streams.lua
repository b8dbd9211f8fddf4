--- Streams over loopback, from nginx' file to envelopes with decoded JSON: server-sent events beside Node's fetch with
--- eventsource-parser and JSON.parse, lines beside its fetch, a split and JSON.parse. Best of some turns each.
package.path = "./?.lua;" .. package.path
local core = require("operations.core")
local operations = require("operations")
local test_server = require("spec.support.server")

local TURNS = tonumber((...)) or 6
local SIZE = 16 * 1024 * 1024

local SHORT = '{"id":"chatcmpl-1","object":"chat.completion.chunk","index":%d,"delta":{"content":"word %d"}}'
local CHAT = '{"id":"chatcmpl-AQwErTyUiOpAsDfGhJkL","object":"chat.completion.chunk","created":1728933352,'
  .. '"model":"gpt-4o-2024-08-06","system_fingerprint":"fp_44709d6fcb","choices":[{"index":%d,'
  .. '"delta":{"content":" word%d"},"logprobs":null,"finish_reason":null}]}'
local STREAMS = {
  { name = "events, short", kind = "events", file = "short", item = "data: " .. SHORT .. "\n\n" },
  { name = "events, chat", kind = "events", file = "chat", item = "data: " .. CHAT .. "\n\n" },
  { name = "lines, short", kind = "lines", file = "lines", item = SHORT .. "\n" },
}
local MEDIA = { events = "text/event-stream", lines = "application/jsonl" }

-- Writes the file of a stream; it has as many items as fit into SIZE.
local function make(stream, directory)
  stream.count = math.floor(SIZE / #stream.item)
  stream.path = ("/streams/%s.%s"):format(stream.file, stream.kind)
  local file = assert(io.open(directory .. "/html" .. stream.path, "w"))
  for i = 1, stream.count do
    file:write(stream.item:format(i, i % 1000))
  end
  file:close()
end

-- An API whose operations are the streams.
local function api(url)
  local paths = {}
  for _, stream in ipairs(STREAMS) do
    paths[stream.path] = { get = { operationId = stream.file, responses = { ["200"] = { description = "", content = {
      [MEDIA[stream.kind]] = { schema = { type = "object" } },
    } } } } }
  end
  local registry = operations.registry()
  assert(registry:register_all(assert(operations.from_openapi.document({
    openapi = "3.1.0", info = { title = "t", version = "1" }, servers = { { url = url } }, paths = paths,
  }, { namespace = "api" }))))
  return registry
end

-- Both: microseconds per item, and of CPU.

local function ours(registry, stream)
  local start, cpu, count = core.now(), os.clock(), 0
  for envelope in assert(registry:subscribe("api." .. stream.file, {})) do
    count = count + (envelope.data.id and 1 or 0)
  end
  assert(count == stream.count, "items were lost")
  return (core.now() - start) / count * 1e3, (os.clock() - cpu) / count * 1e6
end

local function node(url, stream)
  local pipe = assert(io.popen(("node spec/bench/streams_peer.mjs %s %s%s"):format(stream.kind, url, stream.path)))
  local count, seconds, cpu = pipe:read("*n", "*n", "*n")
  pipe:close()
  assert(count == stream.count, "items were lost")
  return seconds / count * 1e6, cpu / count * 1e6
end

local function better(best, wall, cpu)
  best.wall, best.cpu = math.min(best.wall, wall), math.min(best.cpu, cpu)
end

local function compare(registry, url, stream)
  local mine, peer = { wall = math.huge, cpu = math.huge }, { wall = math.huge, cpu = math.huge }
  for _ = 1, TURNS do
    better(peer, node(url, stream))
    for _ = 1, 3 do
      better(mine, ours(registry, stream))
    end
  end
  print(("%-14s ours %8.0f /s %5.2f us CPU   Node fetch %8.0f /s %5.2f us CPU   ratio %.2f, of CPU %.2f"):format(
    stream.name, 1e6 / mine.wall, mine.cpu, 1e6 / peer.wall, peer.cpu, peer.wall / mine.wall, peer.cpu / mine.cpu))
end

local server = test_server.start()
assert(os.execute(("mkdir -p %s/html/streams"):format(server.directory)))
for _, stream in ipairs(STREAMS) do
  make(stream, server.directory)
end
local registry = api(server.url)
for _, stream in ipairs(STREAMS) do
  compare(registry, server.url, stream)
end
server:stop()
