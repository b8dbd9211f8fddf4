--- A worker leaves without beginning a request, and its caller knows no other worker.
local eventually = require("spec.support.eventually")
local limits = require("operations.base.limits")
local operations = require("operations")
local redis = require("spec.support.redis")
local resp = require("operations.redis")
local streams = require("operations.net.stream")

local server = redis.around(setup, teardown)

local function quiet() end

local function connect(mode, url)
  return operations.call_map(assert(operations.transports.redis(url or server.url, { mode = mode })), { log = quiet })
end

-- Announces a worker that leaves as soon as a request has arrived.
local function start_leaver(url)
  local left, port = false, tonumber(url:match("(%d+)$"))
  local events, said = assert(streams.connect("127.0.0.1", port)), assert(streams.connect("127.0.0.1", port))
  said:each_chunk(quiet)
  local function say(text)
    said:offer(resp.command("PUBLISH", "ops:nodes", text))
  end
  events:each_chunk(function(bytes)
    if not bytes or left then
      return
    elseif bytes:find("call.requested", 1, true) then
      left = true
      say('{"node":"leaver","gone":true,"running":[]}')
    elseif bytes:find("subscribe", 1, true) then
      say('{"node":"leaver","version":1,"offers":["late.add","late.count"]}')
    end
  end)
  events:offer(resp.command("SUBSCRIBE", "ops:node:leaver"))
  return function()
    events:close()
    said:close()
  end
end

describe("a request that a leaving worker did not begin", function()
  local discovery = limits.discovery

  before_each(function()
    limits.discovery = 3600000 -- nothing below depends on time
  end)

  after_each(function()
    limits.discovery = discovery
  end)

  local function serve(mode)
    local begun, map = {}, connect(mode)
    local registry = operations.registry({ log = quiet })
    registry:register_all({
      { namespace = "late", name = "add", handler = function(input)
        begun[#begun + 1] = input.n
        return input.n + 1
      end },
      { namespace = "late", name = "count", type = "subscription", handler = function(input)
        begun[#begun + 1] = input.n
        for i = 1, input.n do
          coroutine.yield(i)
        end
      end },
    })
    operations.call_handler(registry, map)
    return map, begun
  end

  -- Passes to `fn` a map, and a function that waits until `n` of its requests wait for another worker.
  local function when_left(fn, mode, url)
    operations.run(function()
      local map = connect(mode, url)
      local fast = map._transport._fast
      local stop = start_leaver(url or server.url)
      eventually(function()
        return table.concat(map:offered(), " "):find("late.add", 1, true)
      end)
      fn(map, function(n)
        eventually(function()
          local waiting = 0
          for _ in pairs(fast._unbegun) do
            waiting = waiting + 1
          end
          return waiting == n
        end)
      end)
      assert.same({ 0, {} }, { map:pending_count(), fast._unbegun })
      map:close()
      stop()
    end)
  end

  for _, mode in ipairs({ "fast", "reliable" }) do
    it("waits for a worker that announces itself, and is answered once: subscriptions, mode " .. mode, function()
      when_left(function(map, waiting)
        local counted = assert(map:subscribe("late.count", { n = 3 }))
        waiting(1)
        local served, begun = serve(mode)
        local seen = {}
        for envelope in counted do
          seen[#seen + 1] = envelope.data
        end
        assert.same({ { 1, 2, 3 }, { 3 } }, { seen, begun })
        assert.same({ refused = 0, late = 0, duplicate = 0 }, map:counted())
        served:close()
      end, mode)
    end)
  end

  it("waits for a worker that announces itself, and is answered once: calls", function()
    when_left(function(map, waiting)
      local calls = {}
      for n = 1, 40 do
        calls[n] = operations.spawn(function()
          return assert(map:call("late.add", { n = n })).data
        end)
      end
      waiting(40)
      local served, begun = serve()
      for n = 1, 40 do
        assert.equal(n + 1, calls[n]:wait())
      end
      table.sort(begun)
      assert.same({ 40, 1, 40 }, { #begun, begun[1], begun[40] })
      assert.same({ refused = 0, late = 0, duplicate = 0 }, map:counted())
      served:close()
    end)
  end)

  it("is not begun when it was aborted while it waited", function()
    when_left(function(map, waiting)
      local call = operations.spawn(function()
        return map:call("late.add", { n = 1 }, { requestId = "one" })
      end)
      local cancelled = operations.spawn(function()
        return map:call("late.add", { n = 2 })
      end)
      local counted = assert(map:subscribe("late.count", { n = 3 }))
      waiting(3)
      map:abort("one", "not any more")
      local _, err = call:wait()
      assert.same({ "ABORTED", "not any more" }, { err.code, err.message })
      cancelled:cancel()
      _, err = cancelled:wait()
      assert.equal("ABORTED", err.code)
      counted:close()
      waiting(0)
      local served, begun = serve()
      assert.equal(5, assert(map:call("late.add", { n = 4 }, { requestId = "one" })).data)
      assert.same({ 4 }, begun)
      served:close()
    end)
  end)

  it("is not begun when its timeout has passed while it waited", function()
    when_left(function(map)
      local _, err = map:call("late.add", { n = 1 }, { timeout = 200 })
      assert.equal("TIMEOUT", err.code)
      assert.same({}, map._transport._fast._unbegun)
      local served, begun = serve()
      assert.equal(3, assert(map:call("late.add", { n = 2 })).data)
      assert.same({ 2 }, begun)
      served:close()
    end)
  end)

  it("ends when its caller is closed while it waits, and is not begun", function()
    when_left(function(map, waiting)
      local call = operations.spawn(function()
        return map:call("late.add", { n = 1 })
      end)
      local search = operations.spawn(function() -- nobody ever served this
        return map:call("late.never")
      end)
      waiting(1)
      map:close()
      for _, task in ipairs({ call, search }) do
        local _, err = task:wait()
        assert.equal("TRANSPORT_LOST", err.code)
      end
      local served, begun = serve()
      local other = connect()
      assert.equal(3, assert(other:call("late.add", { n = 2 })).data)
      assert.same({ 2 }, begun)
      other:close()
      served:close()
    end)
  end)

  it("ends with the connection, and is not begun after the next one", function()
    local own = redis.start()
    when_left(function(map, waiting)
      local call = operations.spawn(function()
        return map:call("late.add", { n = 1 })
      end)
      waiting(1)
      own.stop()
      local _, err = call:wait()
      assert.same({ "TRANSPORT_LOST", true }, { err.code, err.retryable })
    end, "fast", own.url)
  end)

  it("fails when no worker comes within the time", function()
    limits.discovery = 50
    when_left(function(map)
      local _, err = map:call("late.add", { n = 1 })
      assert.same({ "WORKER_LOST", true, false }, { err.code, err.retryable, err.mayHaveRun })
    end)
  end)
end)

describe("a queued request that Redis gave to a leaving worker", function()
  local LEASE = 3600000 -- ms: nothing below waits for it

  local function reliable()
    return operations.call_map(assert(operations.transports.redis(server.url, { mode = "reliable", lease = LEASE,
      prefix = "gone" })), { log = quiet })
  end

  -- A worker with two operations: one answers who it is, one runs until `over` is called.
  local function worker(who)
    local map, state = reliable(), {}
    local registry = operations.registry({ log = quiet })
    registry:register_all({
      { namespace = "gone", name = "who", handler = function()
        return who
      end },
      { namespace = "gone", name = "long", handler = function()
        state.begun = true
        eventually(function()
          return state.over
        end)
        return who
      end },
    })
    state.map, state.handler = map, operations.call_handler(registry, map)
    return state
  end

  -- Runs a command of Redis; nothing in this program goes on meanwhile.
  local function cli(...)
    local pipe = io.popen(("redis-cli -p %d '%s'"):format(server.port, table.concat({ ... }, "' '")))
    local text = pipe:read("*a")
    pipe:close()
    return text
  end

  -- Redis gives a new request to the worker that has waited longest.
  local function waiting(count)
    eventually(function()
      return tonumber(cli("INFO", "clients"):match("blocked_clients:(%d+)")) == count
    end)
  end

  -- Queues a request, which a waiting worker gets at once; returns a function that waits for its outcome.
  local function submit(id)
    cli("XADD", "gone:{gone}:q:gone.who", "*", "i", id, "f", "nobody", "p",
      ('{"requestId":"%s","operationId":"gone.who","input":{}}'):format(id))
    assert.equal("1", cli("XPENDING", "gone:{gone}:q:gone.who", "w"):match("%d+"))
    return function()
      local record
      eventually(function()
        record = cli("GET", "gone:{gone}:r:" .. id)
        return record:sub(1, 1) == "{"
      end)
      return record:match('"data":"(%l+)"')
    end
  end

  it("is run by another worker at once when the leaving one drains", function()
    operations.run(function()
      local leaving, map = worker("leaving"), reliable()
      local long = operations.spawn(function()
        return map:call("gone.long")
      end)
      eventually(function()
        return leaving.begun
      end)
      waiting(1)
      local staying = worker("staying")
      waiting(2)
      cli("SCRIPT", "FLUSH") -- a script is then sent twice, and others must not look before it has run
      local drained = operations.spawn(function()
        leaving.handler:drain()
      end)
      local envelope, err = map:call("gone.who", nil, { timeout = 15000 })
      assert.equal("staying", envelope and envelope.data, err)
      leaving.over = true
      assert.equal("leaving", assert(long:wait()).data)
      drained:wait()
      leaving.map:close()
      map:close()
      staying.map:close()
    end)
  end)

  for _, kind in ipairs({ "call", "submit" }) do
    it("has its outcome in Redis once the worker has drained: " .. kind, function()
      operations.run(function()
        local leaving, map = worker("leaving"), reliable()
        local given = operations.spawn(map[kind], map, "gone.long", nil, { requestId = "last-" .. kind })
        eventually(function()
          return leaving.begun
        end)
        cli("SCRIPT", "FLUSH") -- a script is then sent twice
        operations.spawn(function()
          operations.sleep(0.02)
          leaving.over = true
        end)
        leaving.handler:drain()
        local known = cli("GET", "gone:{gone}:r:last-" .. kind)
        assert.equal("leaving", known:match('"data":"(%l+)"'))
        given:wait()
        leaving.map:close()
        map:close()
      end)
    end)
  end

  it("is run by another worker at once when the leaving one is closed before it has read the request", function()
    operations.run(function()
      local leaving = worker("leaving")
      waiting(1)
      local staying = worker("staying")
      waiting(2)
      local outcome = submit("unread")
      cli("SCRIPT", "FLUSH")
      leaving.map:close()
      assert.equal("staying", outcome())
      staying.map:close()
    end)
  end)

  it("is run by a worker that comes later", function()
    operations.run(function()
      local leaving = worker("leaving")
      waiting(1)
      local outcome = submit("later")
      leaving.map:close()
      waiting(0)
      operations.sleep(0.05)
      local staying = worker("staying")
      assert.equal("staying", outcome())
      staying.map:close()
    end)
  end)
end)
