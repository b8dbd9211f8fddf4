-- Run by spec/calls/websocket/hosts_spec.lua in plain Lua, Neovim and nginx: uses what SPEC_CALLS_URL serves
-- (spec/support/calls.lua), a program that is started again when it was killed.
local eventually = require("spec.support.eventually")
local operations = require("operations")

local url = os.getenv("SPEC_CALLS_URL")

local function quiet() end

-- Connects; to one that is being started too.
local function connect(options)
  options = options or {}
  options.token = options.token or "secret"
  options.ca_file = os.getenv("SPEC_CALLS_CA")
  return eventually(function()
    local transport, err = operations.transports.websocket(url, options)
    if transport then
      return operations.call_map(transport, { log = quiet })
    end
    assert.equal("TRANSPORT_LOST", err.code)
  end)
end

-- Runs `fn(map)` as a task with a connection of its own.
local function with_map(fn, options)
  operations.run(function()
    local map = connect(options)
    local ok, raised = pcall(fn, map)
    map:close()
    if not ok then
      error(raised, 0)
    end
  end)
end

local function seen(map)
  return assert(map:call("calls.seen")).data
end

describe("a registry served over WebSocket by another program", function()
  it("is called: results, errors, and the caller's identity", function()
    with_map(function(map)
      assert.equal("ada", assert(map:call("calls.who")).data)
      assert.equal(5, assert(map:call("calls.add", { a = 2, b = 3 })).data)
      local _, err = map:call("calls.add", { a = 2 })
      assert.equal("VALIDATION_ERROR", err.code)
      assert.equal("/b", err.details[1].path)
      _, err = map:call("calls.full")
      assert.same({ "FULL", "no room", { left = 0 } }, { err.code, err.message, err.details })
      _, err = map:call("calls.nothing")
      assert.equal("OPERATION_NOT_FOUND", err.code)
    end)
  end)

  it("refuses a client without a token", function()
    operations.run(function()
      connect():close()
      local _, err = operations.transports.websocket(url, { token = "wrong", ca_file = os.getenv("SPEC_CALLS_CA") })
      assert.same({ "ACCESS_DENIED", 401 }, { err.code, err.details and err.details.statusCode })
    end)
  end)

  it("carries large messages whole, in both directions", function()
    with_map(function(map)
      local text = ("0123456789abcdef"):rep(262144)
      assert.is_true(map:call("calls.echo", { text = text }).data == text)
    end)
  end)

  it("serves hundreds of calls at once", function()
    with_map(function(map)
      local functions = {}
      for i = 1, 600 do
        functions[i] = function()
          local envelope, err = map:call("calls.sleep", { seconds = 0.3 })
          return envelope and envelope.data, err
        end
      end
      local results = assert(operations.all(functions))
      assert.equal(600, #results)
      assert.equal("slept", results[600])
    end)
  end)

  it("streams events in order, once", function()
    with_map(function(map)
      local n = 0
      for envelope in assert(map:subscribe("calls.numbers", { count = 2000 })) do
        n = n + 1
        assert.equal(n, envelope.data)
      end
      assert.equal(2000, n)
    end)
  end)

  it("ends a handler whose subscriber goes away", function()
    with_map(function(map)
      local before = seen(map).closed
      local ticks = assert(map:subscribe("calls.ticks"))
      assert.equal(1, ticks:next().data)
      ticks:close()
      eventually(function()
        return seen(map).closed == before + 1
      end)
      local left = connect()
      assert.equal(1, assert(left:subscribe("calls.ticks")):next().data)
      left:close()
      eventually(function()
        return seen(map).closed == before + 2
      end)
    end)
  end)

  it("aborts a handler whose call was cancelled, or came to its deadline", function()
    with_map(function(map)
      local before = seen(map)
      local call = operations.spawn(function()
        return map:call("calls.sleep", { seconds = 60 })
      end)
      eventually(function()
        return seen(map).started == before.started + 1
      end)
      call:cancel()
      local _, err = call:wait()
      assert.equal("ABORTED", err.code)
      _, err = map:call("calls.sleep", { seconds = 60 }, { timeout = 50 })
      assert.equal("TIMEOUT", err.code)
      eventually(function()
        return seen(map).aborted >= before.aborted + 1
      end)
      assert.equal(0, map:pending_count())
    end)
  end)

  it("is used again when it was killed and started again", function()
    with_map(function(map)
      local process = assert(map:call("calls.process")).data
      local ticks = assert(map:subscribe("calls.ticks", nil, { resubscribe = true }))
      local lost = assert(map:subscribe("calls.ticks"))
      assert.equal(1, ticks:next().data)
      assert.equal(1, lost:next().data)
      local _, err = map:call("calls.die")
      assert.same({ "TRANSPORT_LOST", true, true }, { err.code, err.retryable, err.mayHaveRun })
      local envelope
      repeat
        envelope, err = lost:next()
      until not envelope
      assert.same({ "TRANSPORT_LOST", true }, { err.code, err.retryable })
      local last, again = 1, false
      while not again do
        local tick = assert(ticks:next()).data
        again, last = tick <= last, tick
      end
      assert.equal(1, last)
      assert.are_not.equal(process, assert(map:call("calls.process")).data)
      assert.equal("ada", map:call("calls.who").data)
      ticks:close()
    end, { reconnect = { delay = 20, max_delay = 200 } })
  end)
end)
