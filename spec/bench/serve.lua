--- CPU of a server for each request, driven by wrk with 64 connections: operations on both runtimes beside Node's bare
--- http, fastify with its compiled serialiser, and nginx with the same call in a content handler. The floor is what the
--- system takes of all of them: a program in C that reads and writes and does nothing else (serve_floor.c). Rounds take
--- turns; figures are medians. Then 1,000 readers of a stream of 10 events a second, beside Node's.
package.path = "./?.lua;" .. package.path
local operations = require("operations")
local command = require("spec.support.command")
local measure = require("spec.bench.measure")
local server_load = require("spec.bench.server_load")
local test_server = require("spec.support.server")

local SECONDS, ROUNDS, READERS = 2, 5, 1000

local usage, start, ours = server_load.usage, server_load.start, server_load.ours

local function nginx(path)
  local server = test_server.start({ app = true })
  return { pid = server.pid, url = server.url, path = path, stop = function()
    server:stop()
  end }
end

local function floor()
  local path = "build/bench/serve_floor"
  assert(os.execute("mkdir -p build/bench && cc -O2 -D_DEFAULT_SOURCE -o " .. path .. " spec/bench/serve_floor.c"))
  return start({ path })
end

local function wrk(server)
  return server_load.wrk(server, SECONDS)
end

local function compare(servers)
  local cpu, rate = {}, {}
  for _, entry in ipairs(servers) do
    cpu[entry.name], rate[entry.name] = {}, {}
    wrk(entry.server) -- warm
  end
  for _ = 1, ROUNDS do
    for _, entry in ipairs(servers) do
      local requests, micros = wrk(entry.server)
      table.insert(rate[entry.name], requests)
      table.insert(cpu[entry.name], micros)
    end
  end
  local node, fastify = measure.median(cpu["Node http"]), measure.median(cpu.fastify)
  local same = measure.median(cpu["nginx, execute by hand"])
  for _, entry in ipairs(servers) do
    local micros = measure.median(cpu[entry.name])
    local _, memory = usage(entry.server.pid)
    print(("%-24s %6.1f us CPU  %6.0f req/s  %5.1f MB  %.2f of Node http, %.2f of fastify, %.2f of nginx by hand")
      :format(entry.name, micros, measure.median(rate[entry.name]), memory / 1024, micros / node, micros / fastify,
      micros / same))
  end
end

-- CPU of a server with many readers of a stream, and what they get.
local function fan_out(server)
  local events, going, open = 0, true, 0
  local parser = operations.sse_parser
  operations.run(function()
    local before, seconds
    for _ = 1, READERS do
      operations.spawn(function()
        local stream = assert(operations.http.open({ url = server.url .. "/task/watch" }))
        assert(stream.status == 200)
        local feed = parser(function()
          events = events + 1
        end)
        open = open + 1
        while going do
          feed:feed(assert(stream:read()))
        end
        stream:close()
      end)
    end
    while open < READERS do
      operations.sleep(0.05)
    end
    operations.sleep(0.5)
    events, before, seconds = 0, usage(server.pid), 4
    operations.sleep(seconds)
    local spent, memory = usage(server.pid)
    server.figures = { (spent - before) / events * 1e6, events / seconds, memory }
    going = false
  end)
  return server.figures
end

-- The longest turn of an editor's loop while 64 connections are busy.
local function inside_neovim()
  local root = command.directory()
  local program = assert(operations.process.spawn({ "nvim", "-u", "NONE", "-i", "NONE", "-n", "--headless",
    "-c", "luafile spec/bench/serve_nvim.lua",
    env = { LUA_PATH = package.path, LUA_CPATH = root .. "/build/luajit/?.so;;" } }))
  local port, alone = assert(program:read_line()):match("(%d+) ([%d.]+)")
  os.execute(("wrk -t1 -c64 -d3s 'http://127.0.0.1:%s/task/get?id=7' >/dev/null"):format(port))
  local busy, served = assert(program:read_line()):match("([%d.]+) (%d+)")
  print(("in Neovim: the longest gap of a 5 ms timer is %s ms with 64 busy connections (%d requests), %s ms alone")
    :format(busy, served, alone))
  program:stop()
end

local servers = {
  { name = "operations, LuaJIT", server = ours("luajit") }, { name = "operations, Lua 5.4", server = ours("lua5.4") },
  { name = "Node http", server = start({ "node", "spec/bench/serve_peer.mjs", "http" }) },
  { name = "fastify", server = start({ "node", "spec/bench/serve_peer.mjs", "fastify" }) },
  { name = "nginx, execute by hand", server = nginx("/execute") },
  { name = "nginx, to_http", server = nginx("/serve_task/task/get") }, { name = "floor", server = floor() },
}
compare(servers)
for i = 1, 3 do
  local figures = fan_out(servers[i].server)
  print(("%-24s %d readers of 10 events/s: %.1f us CPU an event, %.0f events/s, %.1f MB"):format(servers[i].name,
    READERS, figures[1], figures[2], figures[3] / 1024))
end
for _, entry in ipairs(servers) do
  entry.server.stop()
end
if os.execute("command -v nvim >/dev/null") then
  inside_neovim()
end
