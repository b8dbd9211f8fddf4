--- One event to 1,000 readers: as bytes of event streams in this process, and over as many connections of a listener,
--- whose other ends are read by this process, too. Beside it the same without a publisher: each reader's handler yields
--- the value itself. Best of some turns each.
package.path = "./?.lua;" .. package.path
local core = require("operations.core")
local operations = require("operations")
local streams = require("operations.net.stream")

local TURNS, READERS = tonumber((...)) or 20, tonumber((select(2, ...))) or 1000
local VALUE = { id = 17, title = "write the docs", done = false, tags = { "a", "b" }, author = { name = "Ada" } }

local events = operations.publisher()
local own = {} -- functions that wake handlers which yield VALUE themselves
local registry = operations.registry()
assert(registry:register_all({
  { namespace = "shared", name = "watch", type = "subscription", handler = function()
    return events:subscribe("t")
  end },
  { namespace = "own", name = "watch", type = "subscription", handler = function()
    while true do
      operations.await(function(wake)
        own[#own + 1] = wake
      end)
      coroutine.yield(VALUE)
    end
  end },
}))
local server = assert(operations.to_http(registry, { max_requests = 2 * READERS, max_identity_streams = 2 * READERS,
  log = function() end }))

local function publish()
  assert(events:publish("t", VALUE))
end

local function wake_all()
  local list = own
  own = {}
  for _, wake in ipairs(list) do
    wake()
  end
end

local function until_done(condition)
  while not condition() do
    operations.sleep(0)
  end
end

-- ms until every reader has its bytes.
local function in_process(path, send)
  local got, best = 0, math.huge
  local tasks = {}
  for i = 1, READERS do
    tasks[i] = operations.spawn(function()
      for _ in server:handle({ method = "GET", target = path, headers = {}, peer = { address = "a" } }).body do
        got = got + 1
      end
    end)
  end
  operations.sleep(0.1)
  for _ = 1, TURNS do
    got = 0
    local start = core.now()
    send()
    until_done(function()
      return got == READERS
    end)
    best = math.min(best, core.now() - start)
    operations.sleep(0)
  end
  for _, each in ipairs(tasks) do
    each:cancel()
  end
  return best
end

local function over_sockets(path, send)
  local listener = assert(server:listen({ port = 0, max_connections = 2 * READERS }))
  local got, best, open = 0, math.huge, {}
  for i = 1, READERS do
    open[i] = assert(streams.connect("127.0.0.1", listener.port))
    open[i]:offer("GET " .. path .. " HTTP/1.1\r\nHost: localhost\r\n\r\n")
    open[i]:each_chunk(function(bytes)
      got = got + (bytes and bytes:find("write the docs", 1, true) and 1 or 0)
    end)
  end
  operations.sleep(0.5)
  for _ = 1, TURNS do
    got = 0
    local start = core.now()
    send()
    until_done(function()
      return got == READERS
    end)
    best = math.min(best, core.now() - start)
    operations.sleep(0.01)
  end
  for _, each in ipairs(open) do
    each:close()
  end
  listener:close()
  return best
end

operations.run(function()
  print(("%d readers, one event                  publisher   each its own"):format(READERS))
  for name, measure in pairs({ ["in process"] = in_process, ["over connections"] = over_sockets }) do
    local shared = measure("/shared/watch", publish)
    print(("%-40s %6.2f ms      %6.2f ms"):format(name, shared, measure("/own/watch", wake_all)))
  end
  server:close()
end)
