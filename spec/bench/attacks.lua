--- Attacks on a server, all at once, beside callers who behave: these are answered, and the server's memory stays as it
--- is. On plain Lua, with WebSocket, and in nginx. SOAK_SECONDS each, 60 by default.
package.path = "./?.lua;" .. package.path
local command = require("spec.support.command")
local core = require("operations.core")
local operations = require("operations")
local streams = require("operations.net.stream")
local test_server = require("spec.support.server")

local SECONDS = tonumber(os.getenv("SOAK_SECONDS")) or 60
local GROWTH = 64 * 1024 -- KiB after the first third
local BOTH = "application/json, text/event-stream"
local runtime = rawget(_G, "jit") and "luajit" or "lua5.4"
local json, http = operations.json, operations.http

local PLAIN = [[
local http_api, operations = require("spec.support.http_api"), require("operations")
local server = http_api.new({ prefix = "/attacked", mcp = true })
server:mount("/attacked/ws", operations.transports.websocket_hub({ port = false, registry = server.registry }))
io.stdout:write(server:listen({ port = 0, max_connections = 2000 }).port, "\n")
io.stdout:flush()
operations.sleep(1e6)
]]

local function resident(pid)
  local file = io.open(("/proc/%d/status"):format(pid))
  local text = file and file:read("*a") or ""
  if file then
    file:close()
  end
  return tonumber(text:match("VmRSS:%s*(%d+)")) or error("the server has ended")
end

local function start_plain()
  local program = assert(operations.process.spawn({ runtime, "-e", PLAIN, env = command.environment() }))
  return { name = runtime, port = tonumber((assert(program:read_line()))), pid = program.pid, ws = true,
    stop = function()
      program:stop({ close = 0 })
    end }
end

local function start_nginx()
  local server = test_server.start({ app = true })
  local pipe = io.popen(("until pgrep -P %d; do sleep 0.05; done"):format(server.pid)) -- it forks a moment later
  local worker = tonumber(pipe:read("*l"))
  pipe:close()
  return { name = "nginx", port = server.port, pid = worker, stop = function()
    server:stop()
  end }
end

-- One run: `over` says when it ends; `count` counts what was done, by its name.
local function new_run(server)
  local run = { url = ("http://127.0.0.1:%d/attacked"):format(server.port), port = server.port, done = {},
    ends = core.now() + SECONDS * 1000 }
  function run.over()
    return core.now() >= run.ends
  end
  function run.count(name, more)
    run.done[name] = (run.done[name] or 0) + (more or 1)
  end
  return run
end

local function post(run, path, value, headers, timeout)
  local given = { ["Content-Type"] = "application/json", Accept = BOTH }
  for name, field in pairs(headers or {}) do
    given[name] = field
  end
  return http.request({ method = "POST", url = run.url .. path, headers = given, timeout = timeout or 30000,
    body = type(value) == "string" and value or assert(json.encode(value)) })
end

local function initialize(run, version, headers)
  local answer = post(run, "/mcp", { jsonrpc = "2.0", id = 1, method = "initialize", params = {
    protocolVersion = version, capabilities = operations.object(),
    clientInfo = { name = "soak", version = "1" } } }, headers)
  return answer and answer.headers["mcp-session-id"]
end

-- Sends raw bytes, and leaves after `seconds`.
local function raw(run, bytes, seconds)
  local stream = streams.connect("127.0.0.1", run.port)
  if stream then
    stream:each_chunk(function() end)
    stream:write(bytes)
    operations.sleep(seconds)
    stream:close()
  end
end

local HEAD = " HTTP/1.1\r\nHost: localhost\r\n"

-- Each does something once; it is repeated until the run is over.
local attacks = {
  sessions = function(run)
    initialize(run, "2025-11-25")
  end,
  batches = function(run)
    local session, batch = initialize(run, "2025-03-26"), {}
    for i = 1, 5000 do
      batch[i] = { jsonrpc = "2.0", id = i, method = "ping" }
    end
    post(run, "/mcp", batch, { ["Mcp-Session-Id"] = session })
  end,
  answers = function(run) -- kept by Idempotency-Key
    post(run, "/spec/echo", { text = ("x"):rep(900000) }, { ["Idempotency-Key"] = core.random_id() })
  end,
  bodies = function(run)
    post(run, "/spec/echo", "[" .. ("{},"):rep(200000) .. "{}]")
  end,
  paths = function(run)
    raw(run, "GET /attacked/docs/x%2f..%2fspec/%2e%2e" .. HEAD .. "\r\n", 0.01)
  end,
  callers_who_leave = function(run)
    raw(run, "GET /attacked/spec/sleep?seconds=600" .. HEAD .. "Request-Timeout-Ms: 600000\r\n\r\n", 0.05)
  end,
  quiet_streams = function(run)
    raw(run, "GET /attacked/spec/silence" .. HEAD .. "\r\n", 5)
  end,
}

local function messages_without_end(run)
  raw(run, "GET /attacked/ws" .. HEAD .. "Upgrade: websocket\r\nConnection: Upgrade\r\nSec-WebSocket-Version: 13\r\n"
    .. "Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\nSec-WebSocket-Protocol: ops.v1.json\r\n\r\n"
    .. ("\1\255\0\0\0\0\0\16\0\0\0\0\0\0" .. ("x"):rep(2 ^ 20)):rep(12), 3)
end

local TIMES = { sessions = 2, quiet_streams = 200, callers_who_leave = 10, messages = 12 }

local function attack(run, name, fn)
  for _ = 1, TIMES[name] or 1 do
    operations.spawn(function()
      while not run.over() do
        if pcall(fn, run) then
          run.count(name)
        end
        operations.sleep(0.005)
      end
    end)
  end
end

-- Streams that never wait, read as fast as they come.
local function flood(run)
  local readers = {}
  for i, path in ipairs({ "flood?by=emit", "flood?by=yield", "bytes?pieces=100000000", "count?to=100000000" }) do
    readers[i] = assert(operations.process.spawn({ "curl", "-sN", "-o", "/dev/null", run.url .. "/spec/" .. path }))
  end
  return readers
end

local function note(run, name, began, ok)
  run.count(ok and name or name .. " failed")
  table.insert(run.times, core.now() - began)
end

-- What callers who behave do, and expect.
local function behave(run)
  local identity = { Authorization = "Bearer root" }
  local session = assert(initialize(run, "2025-11-25", identity), "no session")
  local key = { ["Idempotency-Key"] = core.random_id(), Authorization = "Bearer root" }
  local paid = assert(post(run, "/spec/pay", { note = "once" }, key))
  local calls = {
    get = function()
      local answer = http.request({ url = run.url .. "/spec/add?a=1&b=2", timeout = 30000 })
      return answer and answer.body == "3"
    end,
    healthz = function()
      local answer = http.request({ url = run.url .. "/healthz", timeout = 30000 })
      return answer and answer.status == 200
    end,
    replay = function()
      local answer = post(run, "/spec/pay", { note = "once" }, key)
      return answer and answer.headers["idempotent-replayed"] == "true" and answer.body == paid.body
    end,
    mcp = function()
      local answer = post(run, "/mcp", { jsonrpc = "2.0", id = 2, method = "ping" }, {
        ["Mcp-Session-Id"] = session, Authorization = "Bearer root" })
      return answer and answer.status == 200
    end,
  }
  for name, call in pairs(calls) do
    operations.spawn(function()
      while not run.over() do
        local began = core.now()
        note(run, name, began, call())
        operations.sleep(0.05)
      end
    end)
  end
end

local function watch(run, server)
  operations.spawn(function()
    operations.sleep(SECONDS / 3)
    run.before = resident(server.pid)
    run.most = run.before
    while not run.over() do
      run.most = math.max(run.most, resident(server.pid))
      operations.sleep(0.5)
    end
  end)
end

local function names_of(done)
  local names = {}
  for name, count in pairs(done) do
    names[#names + 1] = ("%s %d"):format(name, count)
  end
  table.sort(names)
  return table.concat(names, ", ")
end

local function soak(server)
  local run = new_run(server)
  run.times = {}
  local readers
  operations.run(function()
    readers = flood(run)
    behave(run)
    for name, fn in pairs(attacks) do
      attack(run, name, fn)
    end
    if server.ws then
      attack(run, "messages", messages_without_end)
    end
    watch(run, server)
  end)
  operations.run(function()
    for _, reader in ipairs(readers) do
      reader:stop({ close = 0 })
    end
  end)
  table.sort(run.times)
  local failed = 0
  for name, count in pairs(run.done) do
    failed = failed + (name:find(" failed$") and count or 0)
  end
  print(("%-7s %d s   honest calls %d, failed %d, ms: median %d, 99 of 100 %d, longest %d   resident %d -> %d KiB")
    :format(server.name, SECONDS, #run.times, failed, run.times[math.ceil(#run.times * 0.5)],
    run.times[math.ceil(#run.times * 0.99)], run.times[#run.times], run.before, run.most))
  print("        " .. names_of(run.done))
  return failed <= #run.times / 100 and run.most <= run.before + GROWTH
end

local fine = true
for _, start in ipairs({ start_plain, start_nginx }) do
  local server = start()
  local ok, raised = pcall(soak, server)
  server.stop()
  fine = ok and raised and fine
  if not ok then
    print(server.name, raised)
  end
end
assert(fine, "callers who behave were not answered, or memory grew")
