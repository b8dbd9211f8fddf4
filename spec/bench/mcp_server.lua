--- The MCP server beside servers on the official TypeScript SDKs (npm, @modelcontextprotocol/sdk 1.32 and
--- @modelcontextprotocol/server 2.4), and beside a bare loop: over stdio a C program, over HTTP our HTTP engine with
--- nothing around it. One bare client drives all of them in turns, in the legacy era. The CPU time is that of the
--- server process, all its threads, per call. Medians of ROUNDS, of the ratios too.
local command = require("spec.support.command")
local core = require("operations.core")
local measure = require("spec.bench.measure")
local operations = require("operations")

local SECONDS, ROUNDS = tonumber(os.getenv("MCP_SECONDS")) or 1, 3
local runtime = rawget(_G, "jit") and "luajit" or "lua5.4"
local modules = assert(os.getenv("MCP_SERVERS"), "MCP_SERVERS: where npm installed the servers")
local NATIVE, TICKS = os.tmpname(), 100 -- of a second, in /proc

assert(os.execute(("cc -O2 -std=c99 -D_GNU_SOURCE -Isrc -o %s spec/bench/mcp_native.c src/json/json.c "
  .. "src/json/number.c src/json/write.c src/base/lines.c src/base/buffer.c"):format(NATIVE)))

local HELLO = '{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-11-25",'
  .. '"capabilities":{},"clientInfo":{"name":"bare","version":"1"}}}'
local READY = '{"jsonrpc":"2.0","method":"notifications/initialized"}'
local LIST = '{"jsonrpc":"2.0","id":2,"method":"tools/list"}'
local CALL = '{"jsonrpc":"2.0","id":%d,"method":"tools/call","params":{"name":"echo",'
  .. '"arguments":{"message":"message %d"}}}'

local function read(path)
  local file = assert(io.open(path))
  local text = file:read("*a")
  file:close()
  return text
end

-- Seconds of CPU time that a process has had.
local function spent(pid)
  local user, system = read(("/proc/%d/stat"):format(pid)):match("%) %S " .. ("%S+ "):rep(10) .. "(%d+) (%d+)")
  return (tonumber(user) + tonumber(system)) / TICKS
end

local function resident(pid)
  return tonumber(read(("/proc/%d/status"):format(pid)):match("VmRSS:%s*(%d+)")) / 1024
end

-- Ways to talk to a server: `call(n)` sends one call and returns once it is answered; several tasks may.

local Pipe = {}
Pipe.__index = Pipe

function Pipe:start()
  assert(self.child:write(HELLO .. "\n"))
  assert(self.child:read_line())
  assert(self.child:write(READY .. "\n" .. LIST .. "\n"))
  assert(self.child:read_line():find("echo", 1, true))
end

-- As many calls as `width` are under way until the time is over; how many were answered.
function Pipe:run(width, stop)
  local sent, answered = 0, 0
  while answered == 0 or sent > answered or core.now() < stop do
    while sent - answered < width and core.now() < stop do
      sent = sent + 1
      assert(self.child:write(CALL:format(sent + 10, sent) .. "\n"))
    end
    assert(assert(self.child:read_line()):find('"message ', 1, true))
    answered = answered + 1
  end
  return answered
end

local Http = {}
Http.__index = Http

function Http:post(body)
  local response = assert(operations.http.request({ url = self.url, method = "POST", body = body,
    headers = self.headers }))
  self.headers["Mcp-Session-Id"] = response.headers["mcp-session-id"] or self.headers["Mcp-Session-Id"]
  return response.body
end

function Http:start()
  self.url = ("http://127.0.0.1:%s/mcp"):format(assert(self.child:read_line(), self.child:stderr()))
  self.headers = { ["Content-Type"] = "application/json", Accept = "application/json, text/event-stream" }
  self:post(HELLO)
  self.headers["MCP-Protocol-Version"] = "2025-11-25"
  self:post(READY)
  assert(self:post(LIST):find("echo", 1, true))
end

function Http:run(width, stop)
  local answered, lanes = 0, {}
  for lane = 1, width do
    lanes[lane] = function()
      repeat
        answered = answered + 1
        local body = self:post(CALL:format(answered + 10, answered))
        assert(body:find('"message ', 1, true), body)
      until core.now() >= stop
    end
  end
  assert(operations.all(lanes))
  return answered
end

-- Calls per second, and microseconds of the server's CPU time for each.
local function rate(link, width)
  link:run(width, core.now() + SECONDS * 250)
  local from, before = core.now(), spent(link.child.pid)
  local count = link:run(width, from + SECONDS * 1000)
  return { rate = count / (core.now() - from) * 1000, cpu = (spent(link.child.pid) - before) / count * 1e6 }
end

local function measured(class, words)
  local all = { env = command.environment(), max_line = 1024 * 1024 }
  for i, word in ipairs(words) do
    all[i] = word
  end
  local begun = core.now()
  local link = setmetatable({ child = assert(operations.process.spawn(all)) }, class)
  link:start()
  local found = { start = core.now() - begun }
  found.idle = resident(link.child.pid)
  found.one, found.many = rate(link, 1), rate(link, 32)
  found.resident = resident(link.child.pid)
  link.child:stop({ close = 0 })
  return found
end

local figures = {
  { "CPU us per call, one by one", function(found) return found.one.cpu end },
  { "CPU us per call, 32 in flight", function(found) return found.many.cpu end },
  { "calls/s, one by one", function(found) return found.one.rate end },
  { "calls/s, 32 in flight", function(found) return found.many.rate end },
  { "ms to the first tools/list", function(found) return found.start end },
  { "resident MB after the list", function(found) return found.idle end },
  { "resident MB after the calls", function(found) return found.resident end },
}

local function medians(rounds, name, value, base)
  local values, ratios = {}, {}
  for i, round in ipairs(rounds) do
    values[i] = value(round[name])
    ratios[i] = values[i] / value(round[base])
  end
  return measure.median(values), measure.median(ratios)
end

local function compare(transport, class, servers)
  local rounds = {}
  for i = 1, ROUNDS do
    rounds[i] = {}
    for _, server in ipairs(servers) do
      rounds[i][server[1]] = measured(class, server[2])
    end
  end
  for _, figure in ipairs(figures) do
    for _, server in ipairs(servers) do
      local found, bare = medians(rounds, server[1], figure[2], "bare")
      local _, older = medians(rounds, server[1], figure[2], "SDK 1.32")
      print(("%-6s %-30s %-9s %9.1f   %6.2f of SDK 1.32   %6.2f of bare"):format(transport, figure[1], server[1], found,
        older, bare))
    end
  end
end

local function peer(version, transport)
  return { modules .. "/node/bin/node", "spec/bench/mcp_server_peer.mjs", modules, version, transport }
end

local function start_of(code)
  local times = {}
  for i = 1, 11 do
    local from = core.now()
    assert(os.execute(("%s -e '%s'"):format(runtime, code)))
    times[i] = core.now() - from
  end
  return measure.median(times)
end

operations.run(function()
  local program = "spec/bench/mcp_server_program.lua"
  compare("stdio", Pipe, { { "ours", { runtime, program, "ours", "stdio" } }, { "SDK 1.32", peer("v1", "stdio") },
    { "SDK 2.4", peer("v2", "stdio") }, { "bare", { NATIVE } } })
  compare("HTTP", Http, { { "ours", { runtime, program, "ours", "http" } }, { "SDK 1.32", peer("v1", "http") },
    { "SDK 2.4", peer("v2", "http") }, { "bare", { runtime, program, "bare", "http" } } })
  print(("%s -e '' %.1f ms, with the library %.1f ms"):format(runtime, start_of(""), start_of('require("operations")')))
end)
os.remove(NATIVE)
