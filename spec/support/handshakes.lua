--- Many TLS handshakes with a listener of this process, of which a third breaks off, and what they leave behind.
local certificates = require("spec.support.certificates")
local eventually = require("spec.support.eventually")
local listener = require("operations.server.listener")
local operations = require("operations")
local stream = require("operations.net.stream")
local usage = require("spec.support.usage")

local handshakes = {}

local AT_ONCE = 8

-- What a client sends first.
local function first_flight(ca_file)
  local bytes, held
  local trap = assert(stream.listen("127.0.0.1", 0, function(accepted)
    held = accepted
    accepted:each_chunk(function(piece)
      bytes = bytes or piece
      accepted:close()
    end)
  end))
  operations.http.request({ url = "https://localhost:" .. trap.port, ca_file = ca_file })
  trap:close()
  return held and bytes
end

-- A client that leaves: after some bytes of its first flight, or when the server has answered it.
local function break_off(port, hello, length)
  local one = assert(stream.connect("127.0.0.1", port))
  one:offer(hello:sub(1, length))
  if length >= #hello then
    operations.sleep(0.005)
  end
  one:close()
end

--- Makes `count` handshakes.
---@param count integer
---@return { served: integer, failed: integer, connections: integer, descriptors: integer, resident: integer }  the last
---  two: more than after the first tenth; resident in KiB
function handshakes.run(count)
  local told = { served = 0, failed = 0 }
  operations.run(function()
    local ca_file = certificates.path("ca.pem")
    local server = assert(listener.listen({ tls = certificates.options("localhost"), max_connections = 100,
      log = function(level)
        told.failed = told.failed + (level == "debug" and 1 or 0)
      end }, function()
      return { status = 200, headers = { connection = "close" }, body = "hello" }
    end))
    local url, hello, i, before = "https://localhost:" .. server.port, first_flight(ca_file), 0, nil
    local function work(last)
      while i < last do
        i = i + 1
        if i % 3 == 0 then
          break_off(server.port, hello, i * 7 % (2 * #hello))
        else
          local answer = assert(operations.http.request({ url = url, ca_file = ca_file }))
          told.served = told.served + (answer.body == "hello" and 1 or 0)
        end
      end
    end
    for part = 1, 10 do
      local tasks = {}
      for one = 1, AT_ONCE do
        tasks[one] = operations.spawn(work, math.floor(count * part / 10))
      end
      for _, one in ipairs(tasks) do
        one:wait()
      end
      eventually(function()
        return server.connections == 0
      end)
      usage.collect()
      before = before or { usage.descriptors(), usage.resident() }
    end
    told.connections = server.connections
    told.descriptors, told.resident = usage.descriptors() - before[1], usage.resident() - before[2]
    server:close()
  end)
  return told
end

return handshakes
