local calls = require("spec.support.calls")
local core = require("operations.core")
local http = require("operations.http")
local operations = require("operations")
local command = require("spec.support.command")
local inside = require("spec.support.inside")
local test_server = require("spec.support.server")

local function quiet() end

local function eventually(fn)
  local stop = core.now() + 30000
  while not fn() do
    assert.is_true(core.now() < stop, "it never happened")
    operations.sleep(0.02)
  end
end

local function is_running(pid)
  local file = io.open("/proc/" .. pid .. "/stat")
  local status = file and file:read("*a"):match("%) (%a)")
  if file then
    file:close()
  end
  return status ~= nil and status ~= "Z"
end

local function reload(app)
  inside.shell("kill -HUP " .. app.pid)
end

local missing = inside.missing("nginx") or inside.missing("nvim")
local clients = "spec/transports/inside/websocket.lua"

-- Ways to run a spec file against a server: each returns its TAP, and what went wrong.
local ways = {}

function ways.plain(before)
  local result = command.run(("export %s; lua /usr/bin/busted -o TAP --pattern=. %s"):format(before, clients))
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

describe("a registry served over WebSocket by OpenResty", function()
  if missing then
    pending(missing)
    return
  end
  local app, url

  setup(function()
    app = test_server.start({ app = true })
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

  local function connect()
    local transport = assert(operations.transports.websocket(url, {
      token = "secret", reconnect = { delay = 10, max_delay = 100 },
    }))
    return operations.call_map(transport, { log = quiet })
  end

  it("ends its connections when nginx is reloaded, and is there again", function()
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
      local last, again = 1, nil
      repeat
        local tick = assert(ticks:next()).data
        again, last = tick <= last, tick
      until again
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
    app = test_server.start({ app = true })
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
