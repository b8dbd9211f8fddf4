--- OPERATIONS_LOG=calls: connections that are lost and made again.
local command = require("spec.support.command")

-- A Redis that ends its first connection, and a hub that is closed and opened again.
local program = [=[
local eventually = require("spec.support.eventually")
local limits = require("operations.base.limits")
local operations = require("operations")
local streams = require("operations.net.stream")

limits.reconnect_delay = 5

local programs = {}

function programs.redis()
  local link = require("operations.calls.redis.link")
  local resp = require("operations.redis")
  local listener = assert(streams.listen("127.0.0.1", 0, function(stream)
    stream:each_chunk(function(bytes)
      for _, words in ipairs(bytes and resp.reader():feed(bytes) or {}) do
        stream:offer(words[1] == "PING" and "+PONG\r\n" or "+OK\r\n")
      end
    end)
    programs.stream = stream
  end))
  local ready = 0
  local one = assert(link.connect({ host = "127.0.0.1", port = listener.port, password = "hidden", proxy = "" },
    { ready = function() ready = ready + 1 end }))
  programs.stream:close()
  eventually(function() return ready == 2 end)
  one:close()
  listener:close()
end

function programs.websocket()
  local transports, ready, lost = operations.transports, 0, 0
  local authorize = function(request) return request.headers.authorization and { id = "x", scopes = {} } end
  local function listen(port, fn)
    return assert(transports.websocket_hub({ port = port, authorize = fn }))
  end
  local hub = listen(nil, authorize)
  local port = hub.port
  local spoke = assert(transports.websocket(("ws://user:hidden@127.0.0.1:%d/?key=hidden"):format(port),
    { token = "hidden", reconnect = { delay = 5 } }))
  spoke:open({ event = function() end, ready = function() ready = ready + 1 end,
    lost = function() lost = lost + 1 end })
  hub:close()
  hub = listen(port, authorize)
  eventually(function() return ready == 1 end)
  hub:close()
  hub = listen(port, function() return nil, "not you" end)
  eventually(function() return lost == 3 end)
  spoke:close()
  hub:close()
end

operations.run(programs[arg[1]])
]=]

local function logged(name, words)
  local path = os.tmpname()
  local file = assert(io.open(path, "w"))
  file:write(program)
  file:close()
  local result = command.run(("OPERATIONS_LOG=%s lua %s %s"):format(words, path, name))
  os.remove(path)
  return (result.err:gsub("127%.0%.0%.1:%d+", "127.0.0.1:PORT"):gsub("after %d+ ms", "after N ms"))
end

describe("OPERATIONS_LOG=calls", function()
  it("shows a connection to Redis that is lost and made again, and none that is closed", function()
    assert.equal("operations: calls: redis://127.0.0.1:PORT: connection lost: Redis closed the connection\n"
      .. "operations: calls: redis://127.0.0.1:PORT: connected again after N ms\n", logged("redis", "calls"))
  end)

  it("shows a connection to a hub that is lost, made again, and refused in the end", function()
    local text = logged("websocket", "calls")
    local address = "operations: calls: ws://127.0.0.1:PORT/: "
    local lines = {}
    for line in text:gmatch("[^\n]+") do
      assert.equal(address, line:sub(1, #address))
      lines[#lines + 1] = line:sub(#address + 1):gsub("lost: .*", "lost: WHY"):gsub("again: .*", "again: WHY")
    end
    assert.same({ "connection lost: WHY", "connected again after N ms", "connection lost: WHY",
      "not connected again: WHY" }, lines)
    assert.is_nil(text:find("hidden", 1, true))
  end)

  it("is not written unless it is asked for", function()
    assert.equal("", logged("redis", "http"))
  end)
end)
