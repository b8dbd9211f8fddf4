--- A Redis that refuses those who used it before: what they are told.
local eventually = require("spec.support.eventually")
local limits = require("operations.base.limits")
local operations = require("operations")
local redis = require("spec.support.redis")
local resp = require("operations.redis")
local streams = require("operations.net.stream")
local work = require("spec.support.work")

local function quiet() end

local function connect(url, mode)
  return operations.call_map(assert(operations.transports.redis(url, { mode = mode })), { log = quiet })
end

-- Has Redis do something.
local function tell(port, ...)
  local stream, done = assert(streams.connect("127.0.0.1", port)), false
  stream:each_chunk(function()
    done = true
  end)
  stream:offer(resp.command(...))
  eventually(function()
    return done
  end)
  stream:close()
end

local patience = limits.redis_patience

-- Runs `fn` with a Redis, a map that calls over it, and a worker that serves there.
local function run(mode, fn)
  operations.run(function()
    local server = redis.start()
    local map, served = connect(server.url, mode), connect(server.url, mode)
    local handler = operations.call_handler(work(), served)
    eventually(function()
      return map:call("work.sleep", { seconds = 0 })
    end)
    local restart = function(settings)
      server.stop()
      server = redis.start(server.port, nil, settings)
    end
    local ok, raised = pcall(fn, map, server.port, restart, handler)
    map:close()
    served:close()
    server.stop()
    if not ok then
      error(raised, 0)
    end
  end)
end

-- The error of a call, once it is one that names a word.
local function refused(map, word)
  return eventually(function()
    local _, err = map:call("work.sleep", { seconds = 0 })
    return err and err.message:find(word, 1, true) and err
  end)
end

local function works(map)
  eventually(function()
    return map:call("work.sleep", { seconds = 0 })
  end)
end

describe("a Redis", function()
  after_each(function()
    limits.redis_patience = patience
  end)

  for _, mode in ipairs({ "fast", "reliable" }) do
    it("that begins to ask for a password is named, " .. mode, function()
      limits.redis_patience = 50
      run(mode, function(map, _, restart)
        restart("--requirepass secret")
        local err = refused(map, "NOAUTH")
        assert.equal("ACCESS_DENIED", err.code)
        assert.is_false(err.mayHaveRun)
        assert.is_nil(err.retryable)
        restart()
        works(map)
      end)
    end)

    it("that has no room for us is named, " .. mode, function()
      run(mode, function(_, port)
        tell(port, "CONFIG", "SET", "maxclients", "1")
        local transport, err = operations.transports.redis("redis://127.0.0.1:" .. port, { mode = mode })
        assert.is_nil(transport)
        assert.equal("BUSY", err.code)
        assert.matches("max number of clients", err.message)
      end)
    end)
  end

  it("that became a replica is named, to pending calls as well", function()
    limits.redis_patience = 50
    run("reliable", function(map, port, _, handler)
      local call = operations.spawn(function()
        return map:call("work.sleep", { seconds = 60 })
      end)
      eventually(function()
        return handler.active == 1
      end)
      tell(port, "REPLICAOF", "127.0.0.1", "1")
      local err = refused(map, "READONLY")
      assert.same({ "TRANSPORT_LOST", true, false }, { err.code, err.retryable, err.mayHaveRun })
      assert.matches("the URL of the primary is needed", err.message)
      local _, pending = call:wait()
      assert.matches("READONLY", pending.message)
      assert.is_true(pending.mayHaveRun)
      local transport, why = operations.transports.redis("redis://127.0.0.1:" .. port, { mode = "reliable" })
      assert.is_nil(transport)
      assert.matches("READONLY", why.message)
      tell(port, "REPLICAOF", "NO", "ONE")
      works(map)
    end)
  end)

  it("that is a replica for a moment loses no call of mode reliable", function()
    run("reliable", function(map, port)
      tell(port, "REPLICAOF", "127.0.0.1", "1")
      local calls = {}
      for i = 1, 10 do
        calls[i] = operations.spawn(function()
          return map:call("work.sleep", { seconds = 0 })
        end)
      end
      -- waits: Redis, a server of its own, must have refused the calls
      operations.sleep(0.2)
      tell(port, "REPLICAOF", "NO", "ONE")
      for i = 1, 10 do
        assert.equal("slept", assert(calls[i]:wait()).data)
      end
    end)
  end)
end)
