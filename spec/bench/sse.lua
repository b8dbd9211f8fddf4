--- Server-sent events, beside eventsource-parser on Node: two streams of 10 MB, in chunks of three sizes.  A stream is
--- a stretch of whole events, made here, that comes again and again: so the heap is as small as that of a program that
--- reads from a socket, and the collector does the work it does there.
--- Prints events per CPU second (medians) and ratios: above 1 means that operations is the faster one.
local core = require("operations.core")
local sse = require("operations.base.sse")

local PASSES = tonumber((...)) or 11
local TIMES = 16
local SIZE = 10 * 1024 * 1024 / TIMES
local DIRECTORY = "build/bench/"

local STREAMS = {
  { name = "small", format = 'event: x\ndata: {"id":"chatcmpl-%07d","object":"chat.completion.chunk",'
    .. '"choices":[{"index":0,"delta":{"content":" token%d"}}]}\n\n' },
  { name = "64 KB", format = 'data: {"i":%d,"text":"'
    .. ("abcdefghijklmnopqrstuvwxyz0123456789 ,.;"):rep(1637) .. '"}\n\n' },
}

local function make(stream)
  local events, size = {}, 0
  while size < SIZE do
    local event = stream.format:format(#events, #events % 1000)
    events[#events + 1] = event
    size = size + #event
  end
  stream.count = #events * TIMES
  stream.path = DIRECTORY .. "sse_" .. stream.name:gsub(" ", "_") .. ".txt"
  local file = assert(io.open(stream.path, "wb"))
  file:write(table.concat(events))
  file:close()
end

local function chunks_of(path, chunk)
  local file, chunks = assert(io.open(path, "rb")), {}
  for bytes in function() return file:read(chunk) end do
    chunks[#chunks + 1] = bytes
  end
  file:close()
  return chunks
end

--- Runs a program that prints its events and the seconds of one pass.
local function other(command, expected)
  local pipe = assert(io.popen(command))
  local count, seconds = pipe:read("*n", "*n")
  pipe:close()
  assert(count == expected, command .. " lost events")
  return expected / seconds
end

--- Events per CPU second of `pass`, which returns how many it saw.
local function ours(pass, chunks, expected)
  local times = {}
  for i = 1, PASSES do
    collectgarbage()
    local start = os.clock()
    local count = pass(chunks)
    times[i] = os.clock() - start
    assert(count == expected, "events were lost")
  end
  table.sort(times)
  return expected / times[math.floor(PASSES / 2) + 1]
end

local function tables(chunks)
  local count = 0
  local parser = sse.parser(function()
    count = count + 1
  end)
  for _ = 1, TIMES do
    for i = 1, #chunks do
      parser:feed(chunks[i])
    end
  end
  return count
end

local function envelopes(chunks)
  local count = 0
  local meta = core.http_envelope(nil, { statusCode = 200, headers = {}, contentType = "text/event-stream" }).meta
  local reader = core.envelope_reader("events", meta, 1048576, true)
  local queue = reader:queue()
  for _ = 1, TIMES do
    for i = 1, #chunks do
      reader:feed(chunks[i])
      local at = queue[1] + 1
      while queue[at] do
        count = count + (queue[at].data and 1 or 0)
        queue[at], queue[1] = false, at
        at = at + 1
      end
    end
  end
  return count
end

assert(os.execute("mkdir -p " .. DIRECTORY))
assert(os.execute("cc -std=c99 -O2 -Isrc -o " .. DIRECTORY
  .. "sse_native spec/bench/sse_native.c src/sse/sse.c src/base/utf8_repair.c src/base/buffer.c"))

local function report(name, chunk, rate, peer)
  print(("%-28s %3d KiB %12.0f /s  peer %12.0f /s  ratio %.2f"):format(name, chunk / 1024, rate, peer, rate / peer))
end

for _, stream in ipairs(STREAMS) do
  make(stream)
  for _, chunk in ipairs({ 1024, 16384, 65536 }) do
    local arguments = (" %s %d %d "):format(stream.path, chunk, TIMES)
    local peer = other("node spec/bench/sse_peer.mjs" .. arguments .. "events", stream.count)
    local peer_json = other("node spec/bench/sse_peer.mjs" .. arguments .. "json", stream.count)
    local chunks = chunks_of(stream.path, chunk)
    report(stream.name .. ": C parser", chunk, other(DIRECTORY .. "sse_native" .. arguments, stream.count), peer)
    report(stream.name .. ": event tables", chunk, ours(tables, chunks, stream.count), peer)
    report(stream.name .. ": envelopes, JSON read", chunk, ours(envelopes, chunks, stream.count), peer_json)
  end
end
