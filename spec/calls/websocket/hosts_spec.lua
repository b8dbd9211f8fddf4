local calls = require("spec.support.calls")
local eventually = require("spec.support.eventually")
local hostile = require("spec.support.hostile_websocket")
local http = require("operations.net.http")
local operations = require("operations")
local command = require("spec.support.command")
local inside = require("spec.support.inside")
local is_running = require("spec.support.running")
local test_server = require("spec.support.server")

local function quiet() end

local function reload(app)
  inside.shell("kill -HUP " .. app.pid)
end

local missing = inside.missing("nginx") or inside.missing("nvim")
local clients = "spec/calls/inside/websocket.lua"

-- Ways to run a spec file against a server: each returns its TAP, and what went wrong.
local ways = {}

function ways.plain(before)
  local result = command.run(("export %s; lua spec/support/runner/busted.lua -o TAP --pattern=. %s"):format(before,
    clients))
  return result.out, result.err, result.code
end

local function inside_of(program)
  return function(before)
    local result = inside[program]("spec/support/run_busted.lua",
      ("BUSTED_ARGS='-o TAP --pattern=. %s' %s"):format(clients, before))
    return result.out, result.log, result.code
  end
end

ways.Neovim, ways.OpenResty = inside_of("nvim"), inside_of("nginx")

local function uses(way, environment)
  local out, problems, code = ways[way](environment)
  local tap = inside.tap(out)
  assert.equal("", tap.failures, problems)
  assert.equal(0, code, problems)
  assert.equal(tap.planned, tap.passed)
  assert.is_true(tap.passed >= 8)
end

describe("a registry served over WebSocket by plain Lua", function()
  if missing then
    pending(missing)
    return
  end
  local server

  setup(function()
    server = calls.serve()
  end)

  teardown(function()
    server.stop()
  end)

  for _, way in ipairs({ "Neovim", "OpenResty" }) do
    it("is used from " .. way, function()
      uses(way, "SPEC_CALLS_URL=" .. server.url)
    end)
  end
end)

-- As README has it, TLS is that of a proxy in front.
local proxied = [[location ^~ /hub {
  proxy_pass %s/; proxy_http_version 1.1; proxy_set_header Upgrade $http_upgrade; proxy_set_header Connection upgrade;
}]]

describe("a registry served over WebSocket by plain Lua behind a proxy", function()
  if missing then
    pending(missing)
    return
  end

  it("is used over TLS", function()
    local server = calls.serve()
    local proxy = test_server.start({ tls = true, directives = proxied:format((server.url:gsub("^ws", "http"))) })
    finally(function()
      proxy:stop()
      server.stop()
    end)
    uses("plain", ("SPEC_CALLS_URL=%s/hub SPEC_CALLS_CA=%s"):format(proxy.tls:gsub("^https", "wss"), proxy.ca_file))
  end)
end)

describe("a registry served over WebSocket by OpenResty", function()
  if missing then
    pending(missing)
    return
  end
  local app, url

  setup(function()
    app = test_server.start({ app = true, tls = true, directives = "access_log access.log;" })
    url = app.url:gsub("^http", "ws") .. "/calls"
  end)

  teardown(function()
    app:stop()
  end)

  for _, way in ipairs({ "plain", "Neovim", "OpenResty" }) do
    it("is used from " .. way, function()
      uses(way, "SPEC_CALLS_URL=" .. url)
    end)
  end

  for _, way in ipairs({ "plain", "Neovim", "OpenResty" }) do
    it("is used over TLS from " .. way, function()
      uses(way, ("SPEC_CALLS_URL=%s/calls SPEC_CALLS_CA=%s"):format(app.tls:gsub("^https", "wss"), app.ca_file))
    end)
  end

  it("refuses anything but a handshake, and nginx logs the status", function()
    operations.run(function()
      for _, case in ipairs(hostile.refusals) do
        local got = hostile.talk(app.port, (case[1]:gsub("^(%u+) /", "%1 /calls/strict")))
        assert.equal("HTTP/1.1 " .. case[2], got:sub(1, 12))
      end
    end)
    local response = assert(http.request({ url = app.tls .. "/calls/strict", ca_file = app.ca_file }))
    assert.equal(505, response.status) -- HTTP/2
    assert.is_nil((operations.transports.websocket(url)))
    assert(operations.transports.websocket(url, { token = "secret" })):close()
    eventually(function() -- nginx logs a request when it has ended
      local log = io.open(app.directory .. "/access.log")
      local text = log:read("*a")
      log:close()
      for _, status in ipairs({ 101, 401, 426, 403, 505 }) do
        if not text:find(('" %d '):format(status)) then
          return false
        end
      end
      return true
    end)
  end)

  it("ends connections that break the rules, with a close frame that says why", function()
    operations.run(function()
      local talks = {} -- at once: each connection lingers after its close frame
      for name, case in pairs(hostile.frames) do
        talks[#talks + 1] = function()
          local opening = hostile.opening:gsub("/", "/calls/strict", 1)
          local got = hostile.talk(app.port, opening .. "\r\n" .. case[1]) -- frames that come with the head count too
          local frames = got:match("\r\n\r\n(.*)$")
          assert.equal(0x88, frames:byte(1), name)
          if case[2] then
            assert.equal(case[2], frames:byte(3) * 256 + frames:byte(4), name)
          end
          return true
        end
      end
      assert(operations.all(talks))
      eventually(function()
        return http.request({ url = app.url .. "/calls/strict/connections" }).body == "0\n"
      end)
    end)
  end)

  it("ends connections whose other side says nothing any more", function()
    operations.run(function()
      local got = hostile.talk(app.port, hostile.opening:gsub("/", "/calls/silent", 1) .. "\r\n")
      assert.equal("\137\0", got:match("\r\n\r\n(..)"))
      eventually(function()
        return http.request({ url = app.url .. "/calls/silent/connections" }).body == "0\n"
      end)
    end)
  end)

  it("calls those that are connected, from any request", function()
    operations.run(function()
      local transport = assert(operations.transports.websocket(url, { token = "secret" }))
      local map = operations.call_map(transport, { log = quiet })
      operations.call_handler(calls.registry(), map)
      local functions = {}
      for i = 1, 20 do
        functions[i] = function()
          return http.request({ url = app.url .. "/calls/back" }).body
        end
      end
      assert.equal(("nobody\n"):rep(20), table.concat(assert(operations.all(functions))))
      map:close()
      eventually(function()
        return http.request({ url = app.url .. "/calls/back" }).body:find("TRANSPORT_LOST", 1, true)
      end)
    end)
  end)

  it("keeps nothing of connections that have ended", function()
    local function state()
      local pid, fds, threads = http.request({ url = app.url .. "/state" }).body:match("(%d+) (%d+) (%d+)")
      return tonumber(pid), tonumber(fds), tonumber(threads)
    end
    local function come_and_go(times)
      for _ = 1, times do
        local transport = assert(operations.transports.websocket(url, { token = "secret" }))
        local map = operations.call_map(transport, { log = quiet })
        assert.equal(1, assert(map:subscribe("calls.ticks")):next().data)
        map:close()
      end
    end
    operations.run(function()
      come_and_go(20)
      local fds
      eventually(function()
        local _, now, threads = state()
        fds = now
        return threads == 1
      end)
      come_and_go(100)
      eventually(function()
        local _, now, threads = state()
        return threads == 1 and now <= fds
      end)
    end)
  end)

  local function connect()
    local transport = assert(operations.transports.websocket(url, {
      token = "secret", reconnect = { delay = 10, max_delay = 100 },
    }))
    return operations.call_map(transport, { log = quiet })
  end

  it("ends its connections when nginx is reloaded, and accepts new ones", function()
    operations.run(function()
      local map = connect()
      local process = map:call("calls.process").data
      local ticks = assert(map:subscribe("calls.ticks", nil, { resubscribe = true }))
      assert.equal(1, ticks:next().data)
      local short = operations.spawn(map.call, map, "calls.sleep", { seconds = 0.5 })
      local long = operations.spawn(map.call, map, "calls.sleep", { seconds = 60 })
      eventually(function()
        return map:call("calls.seen").data.started >= 2
      end)
      reload(app)
      assert.equal("slept", assert(short:wait()).data)
      local _, err = long:wait()
      assert.same({ "TRANSPORT_LOST", true, true }, { err.code, err.retryable, err.mayHaveRun })
      local last, again = 1, false
      while not again do
        local tick = assert(ticks:next()).data
        again, last = tick <= last, tick
      end
      local now
      eventually(function()
        now = map:call("calls.process")
        return now and now.data ~= process
      end)
      eventually(function()
        return not is_running(process)
      end)
      ticks:close()
      map:close()
    end)
  end)
end)

describe("a worker of OpenResty that calls over WebSocket", function()
  if missing then
    pending(missing)
    return
  end
  local server, app

  setup(function()
    server = calls.serve()
    app = test_server.start({ app = true, init = 'require("operations.base.limits").exit_grace = 500' })
  end)

  teardown(function()
    app:stop()
    server.stop()
  end)

  local function ask(query)
    return http.request({ url = app.url .. "/calls_client?url=" .. server.url .. (query or ""), timeout = 30000 })
  end

  local function worker()
    return tonumber((http.request({ url = app.url .. "/state" }).body:match("%d+")))
  end

  it("ends when nginx is reloaded, whatever it is connected to", function()
    operations.run(function()
      for _, query in ipairs({ "", "&watch=1" }) do
        eventually(function()
          local response = ask(query)
          return response and response.status == 200
        end)
        local old = worker()
        reload(app)
        eventually(function()
          return worker() ~= old
        end)
        eventually(function()
          return not is_running(old)
        end)
      end
    end)
    assert.is_nil(app:log():match("%[alert%][^\n]*"))
  end)
end)
