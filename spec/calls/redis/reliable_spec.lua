local command = require("spec.support.command")
local contract = require("spec.calls.contract")
local core = require("operations.core")
local eventually = require("spec.support.eventually")
local forward_clock = require("spec.support.forward_clock")
local json = require("operations.base.json")
local limits = require("operations.base.limits")
local members = require("operations.base.members")
local operations = require("operations")
local proxy = require("spec.support.proxy")
local redis = require("spec.support.redis")
local resp = require("operations.redis")
local scripts = require("operations.calls.redis.scripts")
local streams = require("operations.net.stream")

local function quiet() end

local server, directory

setup(function()
  server = redis.start()
  directory = os.tmpname()
  os.remove(directory)
  os.execute("mkdir " .. directory)
end)

teardown(function()
  server.stop()
  os.execute("rm -r " .. directory)
end)

-- Long enough for a worker that has to wait for its turn; where it is to run out, there is nobody whom that could hit.
local LEASE, SHORT = 10000, { lease = 500 } -- ms

local function options_of(options)
  return members.merged({ mode = "reliable", lease = LEASE }, options)
end

local function connect(options, url)
  return operations.call_map(assert(operations.transports.redis(url or server.url, options_of(options))),
    { log = quiet })
end

local function start_worker(options, url)
  local worker = command.start("spec/support/worker.lua", "redis", url or server.url, "reliable",
    json.encode(options_of(options)))
  assert.equal("ready", worker:read_line())
  return worker
end

local function signal(name, process)
  os.execute(("kill -%s %d"):format(name, process.pid))
end

local function kill(process)
  signal("KILL", process)
  process:wait()
end

-- What workers noted in a file.
local function notes(path)
  local file, list = io.open(path), {}
  for line in file and file:lines() or function() end do
    list[#list + 1] = line
  end
  if file then
    file:close()
  end
  return list
end

local function count(path, line)
  local n = 0
  for _, there in ipairs(notes(path)) do
    n = n + (there == line and 1 or 0)
  end
  return n
end

local files = 0

local function new_file()
  files = files + 1
  return directory .. "/notes" .. files
end

local function noted(path, line)
  return function()
    return count(path, line) > 0
  end
end

-- Asks Redis; an answer of it.
local function ask(url, ...)
  local reader, replies = resp.reader(), {}
  local stream = assert(streams.connect("127.0.0.1", tonumber(url:match("%d+$"))))
  stream:each_chunk(function(bytes)
    for _, reply in ipairs(bytes and reader:feed(bytes) or {}) do
      replies[#replies + 1] = reply
    end
  end)
  stream:offer(resp.command(...))
  eventually(function()
    return #replies > 0
  end)
  stream:close()
  return replies[1]
end

-- A registry with one operation.
local function serve(map, name, handler, options)
  local registry = operations.registry({ log = quiet })
  assert(registry:register({ namespace = "own", name = name, handler = handler }))
  return operations.call_handler(registry, map, options)
end

local function spawn_call(map, ...)
  local words, n = { ... }, select("#", ...)
  return operations.spawn(function()
    return map:call((unpack or table.unpack)(words, 1, n)) -- luacheck: ignore 113 143
  end)
end

describe("a call map over Redis, reliable", function()
  contract(it, function(registry, options)
    local served = connect()
    local handler = operations.call_handler(registry, served, options)
    local map = connect()
    return map, handler, function()
      map:close()
      served:close()
    end
  end, { unknown = "UNAVAILABLE", queued = true })

  it("says that no process serves it, whatever is collected while it waits for one", function()
    operations.run(forward_clock.with, function(clock)
      local map, over = connect(), false
      operations.spawn(function()
        repeat
          collectgarbage()
          operations.sleep(0.005)
        until over
      end)
      local _, err = clock:pass(map.call, map, "nobody.serves", nil, { timeout = 20000 })
      over = true
      assert.equal("UNAVAILABLE", err.code)
      map:close()
    end)
  end)

  it("takes any deadline", function()
    operations.run(function()
      local served, map = connect(), connect()
      serve(served, "patient", function(_, context)
        return { deadline = context.deadline ~= nil }
      end)
      for _, timeout in ipairs({ 0.5 + 60000, 1e15, 1e300, math.huge }) do
        assert.equal(timeout ~= math.huge, assert(map:call("own.patient", nil, { timeout = timeout })).data.deadline)
      end
      map:close()
      served:close()
    end)
  end)

  it("runs each call once, and leaves nothing behind", function()
    operations.run(function()
      local own = { prefix = "tidy" }
      local workers, map, file = { start_worker(own), start_worker(own) }, connect(own), new_file()
      local list = {}
      for i = 1, 100 do
        list[i] = function()
          return assert(map:call("work.run", { file = file, seconds = 0.01 })).data.attempt
        end
      end
      local attempts = assert(operations.all(list))
      for i = 1, 100 do
        assert.equal(1, attempts[i])
      end
      assert.equal(200, #notes(file))
      eventually(function()
        return ask(server.url, "XLEN", "tidy:{tidy}:q:work.run") == 0
          and #ask(server.url, "KEYS", "tidy:{tidy}:r:*") == 0
      end)
      assert.equal(0, ask(server.url, "XPENDING", "tidy:{tidy}:q:work.run", "w")[1])
      map:close()
      for _, worker in ipairs(workers) do
        kill(worker)
      end
    end)
  end)

  it("has another worker run the job of a killed one, marked as not the first attempt", function()
    operations.run(function()
      local one, map, file = start_worker(), connect(), new_file()
      local call = spawn_call(map, "work.run", { file = file, seconds = 0, first = 60 })
      eventually(noted(file, "begin 1"))
      kill(one)
      local other = start_worker(SHORT)
      local envelope = assert(call:wait())
      assert.same({ attempt = 2, pid = other.pid }, envelope.data)
      assert.same({ "begin 1", "begin 2", "end 2" }, notes(file))
      kill(other)
      map:close()
    end)
  end)

  it("renews the lease of a call that takes longer, so that no other process runs it", function()
    operations.run(forward_clock.with, function(clock)
      local one, other, map = connect({ lease = 30000 }), connect({ lease = 30000 }), connect()
      local attempts, finish = {}, nil
      local function handler(_, context)
        attempts[#attempts + 1] = context.attempt
        operations.await(function(wake)
          finish = wake
        end)
      end
      serve(one, "long", handler, { max_requests = 1 }) -- has no room to take it over itself
      local call = spawn_call(map, "own.long")
      eventually(function()
        return #attempts == 1
      end)
      serve(other, "long", handler)
      local queue = "ops:{ops}:q:own.long"
      local function pending()
        return ask(server.url, "XPENDING", queue, "w", "-", "+", 1)[1]
      end
      for _ = 1, 3 do
        local entry = pending()
        -- Redis has a clock of its own, which is not moved: it is told that the lease is 20 seconds old.
        ask(server.url, "XCLAIM", queue, "w", entry[2], 0, entry[1], "IDLE", 20000, "JUSTID")
        clock:forward(12000)
        eventually(function()
          return pending()[3] < 20000
        end)
      end
      finish()
      assert(call:wait())
      assert.same({ 1 }, attempts)
      map:close()
      one:close()
      other:close()
    end)
  end)

  it("drops the result of a worker that was away for longer than its lease, and stops its call", function()
    operations.run(function()
      local away, map, file = start_worker(), connect(), new_file()
      local call = spawn_call(map, "work.run", { file = file, seconds = 1 })
      eventually(noted(file, "begin 1"))
      signal("STOP", away)
      local other = start_worker(SHORT)
      eventually(noted(file, "begin 2"))
      signal("CONT", away)
      assert.same({ attempt = 2, pid = other.pid }, assert(call:wait()).data)
      eventually(noted(file, "end 2"))
      eventually(function() -- its sleep was over, or it was told
        return noted(file, "cut 1")() or noted(file, "end 1")()
      end)
      kill(away)
      kill(other)
      map:close()
    end)
  end)

  it("tells a late worker that its result counts no more", function()
    operations.run(function()
      local served, map = connect({ lease = 60000 }), connect()
      local taken, back
      serve(served, "late", function()
        -- Somebody else takes it over meanwhile, and has ended it.
        local queue = "ops:{ops}:q:own.late"
        ask(server.url, "XACK", queue, "w", ask(server.url, "XPENDING", queue, "w", "-", "+", 1)[1][1])
        taken = true
        eventually(function()
          return back
        end)
        return "too late"
      end)
      local call = spawn_call(map, "own.late")
      eventually(function()
        return taken
      end)
      back = true
      eventually(function()
        return served:counted().late == 1
      end)
      call:cancel()
      map:close()
      served:close()
    end)
  end)

  it("continues for a caller that was killed, and keeps the outcome for a second request", function()
    operations.run(forward_clock.with, function(clock)
      local worker, map, file = start_worker(), connect(), new_file()
      local caller = command.start("-e", ([[
        local operations = require("operations")
        operations.call_map(assert(operations.transports.redis(%q, { mode = "reliable" }))):call("work.run",
          { file = %q, seconds = 0.5 }, { requestId = "named" })]]):format(server.url, file))
      eventually(noted(file, "begin 1"))
      kill(caller)
      for _ = 1, 2 do
        local again = assert(clock:pass(map.call, map, "work.run", { file = file, seconds = 0.5 },
          { requestId = "named" }))
        assert.equal(1, again.data.attempt)
      end
      assert.same({ "begin 1", "end 1" }, notes(file))
      kill(worker)
      map:close()
    end)
  end)

  it("answers two callers of one request id, and runs it once", function()
    operations.run(forward_clock.with, function(clock)
      local worker, one, other, file = start_worker(), connect(), connect(), new_file()
      local input, options = { file = file, seconds = 0.3 }, { requestId = "shared" }
      local calls = { spawn_call(one, "work.run", input, options), spawn_call(other, "work.run", input, options) }
      assert.same(assert(clock:pass(calls[1].wait, calls[1])).data, assert(clock:pass(calls[2].wait, calls[2])).data)
      assert.same({ "begin 1", "end 1" }, notes(file))
      kill(worker)
      one:close()
      other:close()
    end)
  end)

  it("buries a job that kills every worker", function()
    operations.run(function()
      local map, file, done = connect(), new_file(), false
      local keeper = operations.spawn(function()
        while not done do
          start_worker({ attempts = 2, lease = 500 }):wait()
        end
      end)
      local _, err = map:call("work.die", { file = file })
      done = true
      assert.same({ "POISON", false, true }, { err.code, err.retryable, err.mayHaveRun })
      assert.same({ "begin 1", "begin 2" }, notes(file))
      local transport = assert(operations.transports.redis(server.url))
      local letters = assert(transport:dead_letters())
      transport:close()
      assert.same({ 1, "work.die", 2, file }, { #letters, letters[1].payload.operationId, letters[1].attempts,
        letters[1].input.file })
      assert.equal(0, ask(server.url, "XLEN", "ops:{ops}:q:work.die"))
      keeper:cancel()
      map:close()
    end)
  end)

  describe("keeps dead letters", function()
    local PREFIX = 0
    local own, lettered, map

    -- Buries calls as a worker does whose attempts are used up, without the deaths.
    local function bury(operation, n, options)
      local keys = scripts.keys(own.prefix)
      for i = 1, n do
        local call = spawn_call(map, operation, { i = i }, options)
        eventually(function()
          return ask(server.url, "XLEN", keys:queue(operation)) == 1
        end)
        local entry = ask(server.url, "XREADGROUP", "GROUP", "w", "gone", "COUNT", 1, "STREAMS", keys:queue(operation),
          ">")[1][2][1]
        local fields = {}
        for j = 1, #entry[2], 2 do
          fields[entry[2][j]] = entry[2][j + 1]
        end
        local outcome = json.encode({ type = "call.error", from = "gone", payload = { requestId = fields.i,
          code = "POISON", message = "dead" } })
        assert.equal(1, ask(server.url, "EVAL", scripts.bury.text, 4, keys:queue(operation), keys:record(fields.i),
          keys:dead(operation), keys:dead_operations(), entry[1], "gone", outcome, 60000,
          own.prefix .. ":node:" .. fields.f, 100, 5, fields.i, fields.f, fields.p, operation))
        assert.equal("POISON", select(2, call:wait()).code)
      end
    end

    local function within(fn)
      return function()
        operations.run(forward_clock.with, function(clock)
          PREFIX = PREFIX + 1
          own = { prefix = "letters" .. PREFIX }
          lettered = assert(operations.transports.redis(server.url, own))
          map = connect(own)
          for _, operation in ipairs({ "own.dead", "own.other" }) do -- somebody once served it
            ask(server.url, "XGROUP", "CREATE", scripts.keys(own.prefix):queue(operation), "w", "0", "MKSTREAM")
          end
          fn(clock)
          map:close()
          lettered:close()
        end)
      end
    end

    it("and lists them, the oldest first", within(function()
      assert.same({}, assert(lettered:dead_letters()))
      bury("own.other", 1)
      bury("own.dead", 3)
      local letters = assert(lettered:dead_letters("own.dead"))
      assert.same({ 3, 1, 2, 3 }, { #letters, letters[1].input.i, letters[2].input.i, letters[3].input.i })
      assert.same({ "own.dead", 5, "own.dead" }, { letters[1].operation, letters[1].attempts,
        letters[1].payload.operationId })
      assert.equal(tonumber(letters[1].id:match("^%d+")), letters[1].buried)
      assert.equal(4, #assert(lettered:dead_letters()))
      assert.equal("own.other", lettered:dead_letters()[4].operation)
      assert.equal(2, #assert(lettered:dead_letters(nil, { limit = 2 })))
      assert.same({}, lettered:dead_letters("own.unknown"))
      for text, call in pairs({
        ["#1 to 'dead_letters' (string expected, got number)"] = function() lettered:dead_letters(7) end,
        ["#2 to 'dead_letters' (table expected, got number)"] = function() lettered:dead_letters(nil, 7) end,
      }) do
        local ok, raised = pcall(call)
        assert.is_false(ok)
        assert.matches(text, raised, 1, true)
      end
    end))

    it("and revives one, whose handler knows that it is not the first, and whose outcome is kept", within(function()
      bury("own.dead", 2, { timeout = 60000 })
      local letter = lettered:dead_letters("own.dead")[2]
      assert.equal(1, lettered:revive_dead_letters(letter))
      assert.equal(0, lettered:revive_dead_letters(letter))
      local seen = {}
      serve(map, "dead", function(input, context)
        seen[#seen + 1] = { input.i, context.attempt }
        return "alive"
      end)
      assert.equal("alive", assert(map:call("own.dead", letter.input, { requestId = letter.requestId })).data)
      assert.same({ { 2, 2 } }, seen)
      assert.equal(1, #lettered:dead_letters())
    end))

    it("and gives one that is revived the time that it had at first", within(function(clock)
      bury("own.dead", 1, { timeout = 60000 })
      local letter = lettered:dead_letters()[1]
      letter.payload.deadline = 1 -- long ago
      local dead = scripts.keys(own.prefix):dead("own.dead")
      ask(server.url, "XDEL", dead, letter.id)
      ask(server.url, "XADD", dead, "*", "n", 5, "i", letter.requestId, "f", "gone", "p", json.encode(letter.payload))
      assert.equal(1, lettered:revive_dead_letters("own.dead"))
      serve(map, "dead", function()
        return "alive"
      end)
      assert.equal("alive", assert(clock:pass(map.call, map, "own.dead", {},
        { requestId = letter.requestId })).data)
    end))

    it("and revives all, in steps", within(function()
      local batch = limits.redis_batch
      limits.redis_batch = 2
      bury("own.dead", 5)
      assert.equal(5, lettered:revive_dead_letters("own.dead"))
      limits.redis_batch = batch
      assert.same({}, lettered:dead_letters())
      assert.equal(0, lettered:revive_dead_letters("own.dead"))
      local keys = scripts.keys(own.prefix)
      assert.equal(5, ask(server.url, "XLEN", keys:queue("own.dead")))
      assert.equal(0, ask(server.url, "EXISTS", keys:dead("own.dead"), keys:dead_operations()))
      local sum = 0
      serve(map, "dead", function(input)
        sum = sum + input.i
      end)
      eventually(function()
        return sum == 15
      end)
    end))

    it("and revives no more than the queue has room for; the others stay", within(function()
      bury("own.dead", 5)
      local narrow = assert(operations.transports.redis(server.url, { prefix = own.prefix, max_queue = 2 }))
      for _, what in ipairs({ "own.dead", lettered:dead_letters()[5] }) do
        local revived, err = narrow:revive_dead_letters(what)
        assert.is_nil(revived)
        assert.same({ "BUSY", true }, { err.code, err.retryable })
        assert.equal(type(what) == "string" and 2 or 0, err.details.revived)
        assert.matches("2 requests for 'own.dead' are queued", err.message)
      end
      assert.equal(3, #lettered:dead_letters())
      assert.equal(2, ask(server.url, "XLEN", scripts.keys(own.prefix):queue("own.dead")))
      narrow:close()
      assert.equal(3, lettered:revive_dead_letters("own.dead"))
      assert.same({}, lettered:dead_letters())
    end))

    it("and does not queue twice a request that its caller gave again meanwhile", within(function()
      bury("own.dead", 1, { requestId = "again" })
      local keys = scripts.keys(own.prefix)
      ask(server.url, "UNLINK", keys:record("again")) -- it was kept for long enough
      local call = spawn_call(map, "own.dead", { i = 1 }, { requestId = "again" })
      eventually(function()
        return ask(server.url, "XLEN", keys:queue("own.dead")) == 1
      end)
      assert.equal(1, lettered:revive_dead_letters("own.dead"))
      assert.equal(1, ask(server.url, "XLEN", keys:queue("own.dead")))
      call:cancel()
    end))

    it("and drops one, or all", within(function()
      bury("own.dead", 3)
      bury("own.other", 1)
      assert.equal(1, lettered:drop_dead_letters(lettered:dead_letters("own.dead")[1]))
      assert.equal(2, #lettered:dead_letters("own.dead"))
      assert.equal(2, lettered:drop_dead_letters("own.dead"))
      assert.equal(0, lettered:drop_dead_letters("own.dead"))
      assert.equal(1, #lettered:dead_letters())
      assert.equal(1, lettered:drop_dead_letters(lettered:dead_letters()[1]))
      local keys = scripts.keys(own.prefix)
      assert.equal(0, ask(server.url, "EXISTS", keys:dead("own.dead"), keys:dead_operations()))
    end))

    it("of an operation that is named: nothing is all of them by mistake", within(function()
      for _, name in ipairs({ "revive_dead_letters", "drop_dead_letters" }) do
        for _, wrong in ipairs({ false, {}, 7 }) do
          local ok, message = pcall(function()
            lettered[name](lettered, wrong or nil)
          end)
          assert.is_false(ok)
          assert.matches("reliable_spec.lua:%d+: bad argument #1 to '" .. name, message)
        end
      end
    end))
  end)

  it("refuses requests for which the queue has no room", function()
    operations.run(function()
      local served, map = connect(), connect({ max_queue = 3 })
      serve(served, "full", function()
        operations.sleep(60)
      end, { max_requests = 1 })
      local calls = {}
      for i = 1, 3 do
        calls[i] = spawn_call(map, "own.full")
      end
      eventually(function()
        return ask(server.url, "XLEN", "ops:{ops}:q:own.full") == 3
      end)
      local _, err = map:call("own.full")
      assert.same({ "BUSY", true, false }, { err.code, err.retryable, err.mayHaveRun })
      for i = 1, 3 do
        calls[i]:cancel()
      end
      eventually(function()
        return ask(server.url, "XLEN", "ops:{ops}:q:own.full") == 0
      end)
      map:close()
      served:close()
    end)
  end)

  it("works on as many at a time as there is room for; the others wait their turn", function()
    operations.run(function()
      local served, map = connect(), connect()
      local running, most = 0, 0
      serve(served, "narrow", function()
        running = running + 1
        most = math.max(most, running)
        operations.sleep(0.01)
        running = running - 1
      end, { max_requests = 2 })
      local list = {}
      for i = 1, 20 do
        list[i] = function()
          return assert(map:call("own.narrow"))
        end
      end
      assert(operations.all(list))
      assert.equal(2, most)
      map:close()
      served:close()
    end)
  end)

  it("takes back a waiting request, and never starts it", function()
    operations.run(function()
      local served, map = connect(), connect()
      local started, over = 0, false
      serve(served, "queued", function()
        started = started + 1
        eventually(function()
          return over
        end)
      end, { max_requests = 1 })
      local first = spawn_call(map, "own.queued")
      eventually(function()
        return started == 1
      end)
      assert.equal("TIMEOUT", select(2, map:call("own.queued", nil, { timeout = 50 })).code)
      local function await_queued(n)
        eventually(function()
          return ask(server.url, "XLEN", "ops:{ops}:q:own.queued") == n
        end)
      end
      await_queued(1)
      local cancelled = spawn_call(map, "own.queued")
      await_queued(2)
      cancelled:cancel()
      await_queued(1)
      over = true
      assert(first:wait())
      assert(map:call("own.queued"))
      assert.equal(2, started)
      map:close()
      served:close()
    end)
  end)

  it("does not start calls that waited past their deadline, for any caller", function()
    operations.run(function()
      local served, map = connect(), connect()
      local started, over = 0, false
      serve(served, "stale", function()
        started = started + 1
        eventually(function()
          return over
        end)
      end, { max_requests = 1 })
      local first = spawn_call(map, "own.stale")
      eventually(function()
        return started == 1
      end)
      local caller = command.start("-e", ([[
        local operations = require("operations")
        operations.call_map(assert(operations.transports.redis(%q, { mode = "reliable" }))):call("own.stale", {},
          { timeout = 300 })]]):format(server.url))
      eventually(function()
        return ask(server.url, "XLEN", "ops:{ops}:q:own.stale") == 2
      end)
      kill(caller)
      -- waits: Redis must have let the time of the request expire, by its own clock
      operations.sleep(0.4)
      over = true
      assert(first:wait())
      assert(map:call("own.stale"))
      eventually(function()
        return ask(server.url, "XLEN", "ops:{ops}:q:own.stale") == 0
      end)
      assert.equal(2, started)
      map:close()
      served:close()
    end)
  end)

  it("counts the time that a request has by Redis' clock, whatever that of its caller says", function()
    operations.run(function()
      local served, map = connect(), connect()
      local seen = {}
      serve(served, "skewed", function(input, context)
        seen[#seen + 1] = input.i
        return { left = context.deadline - core.now() }
      end)
      assert(map:call("own.skewed", { i = 1 }))
      for i, deadline in ipairs({ 1, core.now() + 864e5 }) do -- both a clock's fault
        ask(server.url, "XADD", "ops:{ops}:q:own.skewed", "*", "i", "skewed" .. i, "f", "nobody", "p", json.encode({
          operationId = "own.skewed", input = { i = i + 1 }, deadline = deadline, ttl = 60000 }))
        local outcome
        eventually(function()
          outcome = ask(server.url, "GET", "ops:{ops}:r:skewed" .. i)
          return outcome
        end)
        local left = json.decode(outcome).payload.output.data.left
        assert.is_true(left > 0 and left <= 60000)
      end
      assert.same({ 1, 2, 3 }, seen)
      map:close()
      served:close()
    end)
  end)

  for how, leave in pairs({
    ["at once"] = function(map)
      map:close()
    end,
    ["as long as it may take"] = function(map, handler)
      handler:drain(50)
      map:close()
    end,
  }) do
    it("hands over its running calls when it leaves, " .. how, function()
      operations.run(function()
        local leaving, map = connect({ lease = 60000 }), connect()
        local seen = {}
        local function handler(who)
          return function(_, context)
            seen[#seen + 1] = who .. context.attempt
            operations.sleep(who == "leaving" and 60 or 0)
          end
        end
        local serving = serve(leaving, "handed", handler("leaving"))
        local call = spawn_call(map, "own.handed")
        eventually(function()
          return #seen == 1
        end)
        local staying = connect({ lease = 60000 })
        serve(staying, "handed", handler("staying"))
        leave(leaving, serving)
        assert(call:wait())
        assert.same({ "leaving1", "staying2" }, seen)
        map:close()
        staying:close()
      end)
    end)
  end

  it("gives the outcome of calls that end while it drains", function()
    operations.run(function()
      local leaving, staying, map = connect(), connect(), connect()
      local begun, over
      local handler = serve(leaving, "last", function(_, context)
        begun = true
        eventually(function()
          return over
        end)
        return context.attempt
      end)
      local call = spawn_call(map, "own.last")
      eventually(function()
        return begun
      end)
      serve(staying, "last", function()
        return "again"
      end)
      handler:drain(1)
      over = true
      assert.equal(1, assert(call:wait()).data)
      map:close()
      staying:close()
      leaving:close()
    end)
  end)

  describe("whose Redis is away when its last call ends", function()
    -- A handler whose call has ended since Redis went away, its map, the call and its caller.
    local function ended_alone(own)
      local leaving, map = connect(nil, own.url), connect(nil, own.url)
      local begun, over, ended
      local handler = serve(leaving, "away", function(_, context)
        begun = true
        eventually(function()
          return over
        end)
        ended = true
        return context.attempt
      end)
      local call = spawn_call(map, "own.away")
      eventually(function()
        return begun
      end)
      own.stop()
      over = true
      eventually(function()
        return ended
      end)
      return handler, leaving, call, map
    end

    it("has drained once Redis is back and has the outcome", function()
      operations.run(function()
        local kept = directory .. "/drained"
        os.execute("mkdir " .. kept)
        local own = redis.start(nil, kept)
        local handler, leaving, call, map = ended_alone(own)
        local has_drained = false
        local draining = operations.spawn(function()
          handler:drain()
          has_drained = true
        end)
        operations.sleep(50)
        assert.is_false(has_drained)
        own = redis.start(own.port, kept)
        draining:wait()
        leaving:close()
        assert.equal(1, assert(call:wait()).data)
        map:close()
        own.stop()
      end)
    end)

    it("waits no longer than its grace, or until its map is closed", function()
      operations.run(function()
        for _, grace in ipairs({ 20, 60000 }) do
          local handler, leaving, call, map = ended_alone(redis.start())
          local draining = operations.spawn(handler.drain, handler, grace)
          if grace == 60000 then
            operations.sleep(20)
            leaving:close()
          end
          draining:wait()
          leaving:close()
          map:close()
          assert.equal("TRANSPORT_LOST", select(2, call:wait()).code)
        end
      end)
    end)
  end)

  it("takes no more requests once it drains; another worker takes them", function()
    operations.run(function()
      local leaving, staying, map = connect({ lease = 60000 }), connect({ lease = 60000 }), connect()
      local function handler(who)
        return function()
          return who
        end
      end
      local serving = serve(leaving, "drained", handler("leaving"))
      assert.equal("leaving", assert(map:call("own.drained")).data)
      serving:drain()
      serve(staying, "drained", handler("staying"))
      assert.equal("staying", assert(map:call("own.drained", nil, { timeout = 15000 })).data)
      map:close()
      leaving:close()
      staying:close()
    end)
  end)

  it("loses no accepted call when a Redis that keeps its data restarts", function()
    operations.run(function()
      local kept = directory .. "/kept"
      os.execute("mkdir " .. kept)
      local own = redis.start(nil, kept)
      local worker, map, file = start_worker(nil, own.url), connect(nil, own.url), new_file()
      local calls = {}
      for i = 1, 20 do
        calls[i] = spawn_call(map, "work.run", { file = file, seconds = 0.5 })
      end
      eventually(function()
        return count(file, "begin 1") == 20
      end)
      own.stop()
      local meanwhile = spawn_call(map, "work.run", { file = file, seconds = 0 })
      own = redis.start(own.port, kept)
      for i = 1, 20 do
        assert.equal(1, assert(calls[i]:wait()).data.attempt)
      end
      assert(meanwhile:wait())
      assert.equal(42, #notes(file))
      kill(worker)
      map:close()
      own.stop()
    end)
  end)

  it("asks again for pending requests when a Redis without persistence restarts", function()
    operations.run(function()
      local own = redis.start()
      local worker, map, file = start_worker(nil, own.url), connect(nil, own.url), new_file()
      local calls = {}
      for i = 1, 10 do
        calls[i] = spawn_call(map, "work.run", { file = file, seconds = 1 })
      end
      eventually(function()
        return count(file, "begin 1") == 10
      end)
      own.stop()
      own = redis.start(own.port)
      for i = 1, 10 do
        assert.is_not_nil(assert(calls[i]:wait()).data.attempt)
      end
      assert.equal(10, count(file, "begin 1")) -- each further run knows that it is one
      kill(worker)
      map:close()
      own.stop()
    end)
  end)

  it("continues when a silent network passes messages again", function()
    operations.run(forward_clock.with, function(clock)
      local between = proxy.start(server.port)
      local map, file = connect(nil, "redis://127.0.0.1:" .. between.port), new_file()
      local worker = start_worker()
      local call = spawn_call(map, "work.run", { file = file, seconds = 0.2 })
      eventually(noted(file, "begin 1"))
      between:cut()
      eventually(noted(file, "end 1"))
      local meanwhile = spawn_call(map, "work.run", { file = file, seconds = 0 })
      clock:pass(operations.sleep, 4 * limits.redis_silence / 1000)
      between:heal()
      assert.equal(1, assert(clock:pass(call.wait, call)).data.attempt)
      assert(clock:pass(meanwhile.wait, meanwhile))
      kill(worker)
      map:close()
      between:stop()
    end)
  end)

  it("gives an outcome again that was lost with the connection", function()
    operations.run(function()
      local between, map = proxy.start(server.port), connect()
      local served = connect({ lease = 600000 }, "redis://127.0.0.1:" .. between.port)
      local begun, over, ended
      serve(served, "unheard", function(_, context)
        begun = true
        eventually(function()
          return over
        end)
        ended = true
        return context.attempt
      end)
      local call = spawn_call(map, "own.unheard")
      eventually(function()
        return begun
      end)
      between:cut()
      over = true
      eventually(function()
        return ended
      end)
      between:reset()
      between:heal()
      assert.equal(1, assert(call:wait()).data)
      map:close()
      served:close()
      between:stop()
    end)
  end)

  it("takes over calls that others left while it was not connected", function()
    operations.run(function()
      local served = connect({ lease = 600000 })
      local ran
      serve(served, "left", function()
        ran = true
      end)
      local queue = "ops:{ops}:q:own.left"
      eventually(function()
        return ask(server.url, "EXISTS", queue) == 1
      end)
      ask(server.url, "EVAL", [[
        local id = redis.call("XADD", KEYS[1], "*", "i", "left", "f", "nobody", "p", '{"operationId":"own.left"}')
        redis.call("XREADGROUP", "GROUP", "w", "somebody", "STREAMS", KEYS[1], ">")
        redis.call("XCLAIM", KEYS[1], "w", "somebody", 0, id, "IDLE", 700000)]], 1, queue)
      ask(server.url, "CLIENT", "KILL", "TYPE", "normal")
      eventually(function()
        return ran
      end)
      served:close()
    end)
  end)

  it("finds its scripts gone, and loads them again", function()
    operations.run(function()
      local worker, map = start_worker(), connect()
      for _ = 1, 3 do
        assert.equal("slept", assert(map:call("work.sleep", { seconds = 0 })).data)
        assert.equal("OK", ask(server.url, "SCRIPT", "FLUSH"))
      end
      kill(worker)
      map:close()
    end)
  end)

  it("ends subscriptions with their worker, as mode fast does", function()
    operations.run(forward_clock.with, function(clock)
      local worker, map = start_worker(), connect()
      local ticks = assert(map:subscribe("work.ticks", { pause = 0.01 }))
      assert.equal(1, ticks:next().data)
      kill(worker)
      local envelope, err
      repeat
        envelope, err = clock:pass(ticks.next, ticks)
      until not envelope
      assert.equal("WORKER_LOST", err.code)
      map:close()
    end)
  end)

  it("refuses anything but a request, and answers for it", function()
    operations.run(function()
      local served, map = connect(), connect()
      local started = 0
      serve(served, "strict", function()
        started = started + 1
      end)
      assert(map:call("own.strict"))
      local queue = "ops:{ops}:q:own.strict"
      local bad = { "", "{", "[]", "1", "{}", '{"operationId":1}', '{"operationId":"own.strict","ttl":"x"}' }
      for i, text in ipairs(bad) do
        ask(server.url, "XADD", queue, "*", "i", "bad" .. i, "f", "nobody", "p", text)
        ask(server.url, "XADD", queue, "*", "i", "\255" .. i, "f", "\255", "p", text)
      end
      ask(server.url, "XADD", queue, "*", "i", "\255", "f", "nobody", "p", '{"operationId":"own.strict"}')
      for _, id in ipairs({ "", ("x"):rep(1000) }) do -- ids that nobody can be answered by
        ask(server.url, "XADD", queue, "*", "i", id, "f", "nobody", "p", '{"operationId":"own.strict"}')
      end
      ask(server.url, "XADD", queue, "*", "what", "ever")
      eventually(function()
        return ask(server.url, "XLEN", queue) == 0
      end)
      local outcome = json.decode(ask(server.url, "GET", "ops:{ops}:r:bad2"))
      assert.same({ "call.error", "VALIDATION_ERROR" }, { outcome.type, outcome.payload.code })
      assert.equal(1, started)
      assert(map:call("own.strict"))
      map:close()
      served:close()
    end)
  end)
end)
