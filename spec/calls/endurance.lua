--- What a transport is to stand: many events, a consumer that stops, a network that is cut. Each function makes one
--- test of a connection as `spec.calls.connections` makes them, and returns figures.
local assert = require("luassert")
local core = require("operations.core")
local eventually = require("spec.support.eventually")
local operations = require("operations")
local usage = require("spec.support.usage")
local work = require("spec.support.work")

local endurance = {}

-- How much the heap may grow, KiB: LuaJIT compiles what it runs, some of it late. Events that stay take 240 bytes each.
local ROOM = 1024

-- Runs `fn(map, seen)` as a task between a connected pair.
local function with(connect, fn)
  return operations.run(function()
    local seen = {}
    local map, _, close = connect(work(seen))
    local results = { pcall(fn, map, seen) }
    close()
    if not results[1] then
      error(results[2], 0)
    end
    return results[2]
  end)
end

--- As many events as the handler can yield, while the memory that is in use stays what it was.
---@param connect function
---@param n integer  at least 1,000
---@return { seconds: number, growth: number, resident: integer }  KiB: of Lua's heap from the first tenth on; of all
function endurance.quick_events(connect, n)
  return with(connect, function(map)
    local begun, i, first, most = core.now(), 0, nil, 0
    for envelope in assert(map:subscribe("work.ticks", { n = n })) do
      i = i + 1
      assert(envelope.data == i, "out of order")
      if i % (n / 10) == 0 then
        first = first or usage.heap()
        most = math.max(most, usage.heap())
      end
    end
    assert.equal(n, i)
    assert.equal(0, map:pending_count())
    assert(most - first < ROOM, ("%.0f KiB more than at first"):format(most - first))
    return { seconds = (core.now() - begun) / 1000, growth = most - first, resident = usage.resident() }
  end)
end

-- Calls and streams, until it is time.
local function keep_busy(map, seconds)
  local calls, events, stop = 0, 0, core.now() + seconds * 1000
  repeat
    assert.equal("slept", assert(map:call("work.sleep", { seconds = 0 })).data)
    calls = calls + 1
    local i = 0
    for envelope in assert(map:subscribe("work.ticks", { n = 100 })) do
      i = i + 1
      assert.equal(i, envelope.data)
    end
    assert.equal(100, i)
    events = events + i
  until core.now() >= stop
  return { calls = calls, events = events }
end

--- Calls and streams, nobody beside them.
---@param connect function
---@param seconds number
---@return { calls: integer, events: integer }  what got done
function endurance.others(connect, seconds)
  return with(connect, function(map)
    return keep_busy(map, seconds)
  end)
end

--- A consumer that reads nothing for a while holds back its own producer only, and misses nothing.
---@param connect function
---@param seconds number
---@return { calls: integer, events: integer }  what others got done meanwhile
function endurance.stopped_consumer(connect, seconds)
  return with(connect, function(map, seen)
    local stopped = assert(map:subscribe("work.ticks", { n = 1000, name = "stopped" }, { window = 8 }))
    assert.equal(1, stopped:next().data)
    local done = keep_busy(map, seconds)
    assert(seen.stopped <= 10, seen.stopped .. " events for a consumer that has room for 8")
    for i = 2, 1000 do
      assert.equal(i, stopped:next().data)
    end
    assert.is_nil(stopped:next())
    return done
  end)
end

local failures = { TIMEOUT = true, TRANSPORT_LOST = true, WORKER_LOST = true, UNAVAILABLE = true, ABORTED = true }

-- Reads a stream to its end: all there is without a gap, then maybe an error of the network's.
local function read_on(subscription, last)
  local envelope, err = subscription:next()
  while envelope do
    assert.equal(last + 1, envelope.data)
    last = envelope.data
    envelope, err = subscription:next()
  end
  assert(err == nil or failures[err.code], err)
  return last, err
end

--- A network that is cut: nobody waits for ever, and everything works after a reconnect.
---@param map operations.CallMap  whose calls are served beyond the network
---@param network { cut: fun(self), heal: fun(self) }
---@param seconds number
---@return { failed: table<string, integer>, healed: number, stream: string }  calls meanwhile, by code; ms until one
---  was answered again; how a stream ended that was under way
function endurance.cut(map, network, seconds)
  eventually(function()
    return map:call("work.sleep", { seconds = 0 })
  end)
  local subscription = assert(map:subscribe("work.ticks", { n = 200, pause = seconds / 200 }))
  assert.equal(1, subscription:next().data)
  local envelope, err
  local pending = operations.spawn(function()
    envelope, err = map:call("work.sleep", { seconds = seconds / 2 })
  end)
  operations.sleep(0.02)
  network:cut()
  local failed, stop = {}, core.now() + seconds * 1000
  while core.now() < stop do
    local answered, failure = map:call("work.sleep", { seconds = 0 }, { timeout = seconds * 200 })
    assert.is_nil(answered)
    assert(failures[failure.code], failure)
    failed[failure.code] = (failed[failure.code] or 0) + 1
    operations.sleep(seconds / 100)
  end
  network:heal()
  local healed = core.now()
  eventually(function()
    return map:call("work.sleep", { seconds = 0 }, { timeout = 5000 })
  end)
  healed = core.now() - healed
  pending:wait()
  assert(envelope and envelope.data == "slept" or failures[err.code], err)
  local last, why = read_on(subscription, 1)
  assert(why or last == 200)
  assert.equal(0, map:pending_count())
  return { failed = failed, healed = healed, stream = why and why.code or "completed" }
end

return endurance
