local command = require("spec.support.command")
local core = require("operations.core")
local eventually = require("spec.support.eventually")
local json = require("operations.base.json")
local members = require("operations.base.members")
local operations = require("operations")
local proxy = require("spec.support.proxy")
local raises = require("spec.support.raises")
local redis = require("spec.support.redis")

local server = redis.around(setup, teardown)

local function quiet() end

local systems = 0
local prefix -- each spec has its own

before_each(function()
  systems = systems + 1
  prefix = "jobs" .. systems
end)

local function connect(options, url)
  return operations.call_map(assert(operations.transports.redis(url or server.url,
    members.merged({ mode = "reliable", lease = 10000, prefix = prefix, vouches = true }, options))), { log = quiet })
end

-- Serves handlers by name, in namespace "own".
local function serve(map, handlers)
  local registry = operations.registry({ log = quiet })
  for name, handler in pairs(handlers) do
    assert(registry:register({ namespace = "own", name = name, handler = handler }))
  end
  return operations.call_handler(registry, map)
end

local function run(fn)
  return function()
    operations.run(fn)
  end
end

describe("a submitted job", function()
  it("is stored before anything runs, and its outcome can be fetched again and again", run(function()
    local worker, gate = connect(), nil
    serve(worker, { double = function(input)
      operations.await(function(wake)
        gate = wake
      end)
      return { n = 2 * input.n }
    end })
    local map = connect()
    local record = assert(map:submit("own.double", { n = 4 }, { requestId = "one" }))
    assert.same({ "one", "own.double", "working" }, { record.id, record.operation, record.state })
    assert.equal(record.created, map:job("one").created)
    local none, err = map:outcome("one")
    assert.same({ nil, "PENDING", true, { state = "working" } }, { none, err.code, err.retryable, err.details })
    eventually(function()
      return gate
    end)
    eventually(function()
      return map:job("one").attempt == 1
    end)
    gate()
    assert.same({ n = 8 }, assert(map:outcome("one", 30000)).data)
    assert.same({ n = 8 }, assert(map:outcome("one")).data)
    local done = assert(map:job("one"))
    assert.same({ "completed", true, 86400000 }, { done.state, done.ended, done.keep })
    assert.is_nil(done.owner)
    map:close()
    worker:close()
  end))

  it("runs when its submitter has gone, and others get the outcome", run(function()
    local worker, gate = connect(), nil
    serve(worker, { wait = function(_, context)
      operations.await(function(wake)
        gate = wake
      end)
      return { id = context.requestId, by = context.identity.id }
    end })
    local map = connect()
    assert(map:submit("own.wait", {}, { requestId = "left", identity = { id = "ada", scopes = operations.array() } }))
    map:close()
    eventually(function()
      return gate
    end)
    gate()
    local other = connect()
    assert.same({ id = "left", by = "ada" }, assert(other:outcome("left", 30000)).data)
    other:close()
    worker:close()
  end))

  it("is the same one for the same id, as a job and as a call, in one process and in others", run(function()
    local worker, runs, gate = connect(), 0, nil
    serve(worker, { count = function()
      runs = runs + 1
      operations.await(function(wake)
        gate = wake
      end)
      return runs
    end })
    local map, other = connect(), connect()
    assert(map:submit("own.count", {}, { requestId = "same" }))
    eventually(function()
      return gate
    end)
    assert.equal("working", assert(map:submit("own.count", {}, { requestId = "same" })).state)
    gate()
    assert.equal(1, assert(other:call("own.count", {}, { requestId = "same" })).data)
    assert.equal("completed", assert(other:submit("own.count", {}, { requestId = "same" })).state)
    assert.equal(1, assert(map:outcome("same")).data)
    assert.equal(1, runs)
    map:close()
    other:close()
    worker:close()
  end))

  it("does not end with a call that has its id, and whose caller gives up", run(function()
    local worker, gate = connect(), nil
    serve(worker, { wait = function()
      operations.await(function(wake)
        gate = wake
      end)
      return "done"
    end })
    local map, other = connect(), connect()
    assert(map:submit("own.wait", {}, { requestId = "both" }))
    eventually(function()
      return gate
    end)
    assert.equal("TIMEOUT", select(2, other:call("own.wait", {}, { requestId = "both", timeout = 50 })).code)
    other:close()
    assert.equal("PENDING", select(2, map:outcome("both")).code)
    gate()
    assert.equal("done", assert(map:outcome("both", 30000)).data)
    map:close()
    worker:close()
  end))

  it("can fail, which is its outcome", run(function()
    local worker = connect()
    serve(worker, { fail = function()
      return nil, operations.error("FULL", "no room", { left = 0 })
    end, large = function()
      return ("x"):rep(200000)
    end })
    local map = connect({ max_message = 100000 })
    assert(map:submit("own.fail", {}, { requestId = "f" }))
    local none, err = map:outcome("f", 10000)
    assert.same({ nil, "FULL", { left = 0 } }, { none, err.code, err.details })
    assert.equal("failed", map:job("f").state)
    map:close()
    worker:close()
  end))

  it("with a result that is too long ends with an error that says so", run(function()
    local worker = connect({ max_message = 100000 })
    serve(worker, { large = function()
      return ("x"):rep(200000)
    end })
    local map = connect()
    assert(map:submit("own.large", {}, { requestId = "l" }))
    local none, err = map:outcome("l", 10000)
    assert.is_nil(none)
    assert.matches("the result cannot be sent: a message of %d+ bytes is longer than max_message", err.message)
    map:close()
    worker:close()
  end))

  it("waits until its time when it is delayed, and ends when it expires", run(function()
    local worker, begun = connect(), nil
    serve(worker, { now = function()
      begun = core.now()
    end, late = function()
      operations.sleep(100)
    end })
    local map, from = connect(), core.now()
    assert(map:submit("own.now", {}, { requestId = "later", delay = 300 }))
    local record = assert(map:job("later"))
    assert.same({ "working", 0 }, { record.state, record.attempt })
    assert.is_true(record.due >= from + 290)
    assert.equal("PENDING", select(2, map:outcome("later")).code)
    assert(map:outcome("later", 30000))
    assert.is_true(begun >= from + 290) -- waits: Redis has its own clock
    assert(map:submit("own.late", {}, { requestId = "expired", expires = 50 }))
    assert.equal("TIMEOUT", select(2, map:outcome("expired", 30000)).code)
    assert(map:submit("own.now", {}, { requestId = "never", expires = 0 }))
    assert.equal("TIMEOUT", select(2, map:outcome("never", 30000)).code)
    map:close()
    worker:close()
  end))

  it("that is cancelled ends so wherever it is", run(function()
    local worker, begun, raised = connect(), nil, nil
    local handler = serve(worker, { wait = function()
      begun = true
      raised = select(2, pcall(operations.sleep, 100))
    end })
    local map = connect()
    assert(map:submit("own.wait", {}, { requestId = "delayed", delay = 100000 }))
    assert.equal("cancelled", assert(map:cancel("delayed", "not needed")).state)
    assert.equal("ABORTED: not needed", tostring(select(2, map:outcome("delayed"))))
    assert(map:submit("own.wait", {}, { requestId = "running" }))
    eventually(function()
      return begun
    end)
    assert.equal("cancelled", assert(map:cancel("running")).state)
    assert.equal("cancelled", assert(map:cancel("running", "again")).state)
    eventually(function()
      return raised
    end)
    assert.equal("ABORTED", raised.code)
    eventually(function()
      return handler.active == 0
    end)
    assert.equal("ABORTED: the job was cancelled", tostring(select(2, map:outcome("running"))))
    map:close()
    worker:close()
  end))

  it("is forgotten with its outcome", run(function()
    local worker = connect()
    serve(worker, { echo = function(input)
      return input
    end })
    local map = connect()
    for i, options in ipairs({ {}, { delay = 100000 } }) do
      local id = "forgotten" .. i
      options.requestId = id
      assert(map:submit("own.echo", { i = i }, options))
      map:outcome(id, i == 1 and 10000 or 0)
      assert.is_true(map:forget(id))
      assert.equal("OPERATION_NOT_FOUND", select(2, map:outcome(id)).code)
      assert.equal("OPERATION_NOT_FOUND", select(2, map:forget(id)).code)
      assert.equal("OPERATION_NOT_FOUND", select(2, map:cancel(id)).code)
    end
    assert.same({}, map:jobs())
    map:close()
    worker:close()
  end))

  it("is refused where no process has ever served it, or the queue is full", run(function()
    local map = connect({ max_queue = 1 })
    local none, err = map:submit("own.nothing")
    assert.same({ nil, "UNAVAILABLE", true, false }, { none, err.code, err.retryable, err.mayHaveRun })
    local worker = connect()
    serve(worker, { wait = function()
      operations.sleep(100)
    end })
    assert(map:submit("own.wait"))
    none, err = map:submit("own.wait")
    assert.same({ nil, "BUSY", true, false }, { none, err.code, err.retryable, err.mayHaveRun })
    none, err = map:submit("own.wait", { bad = "\255" })
    assert.same({ nil, "VALIDATION_ERROR" }, { none, err.code })
    map:close()
    worker:close()
  end))

  it("is refused by a call map that is closed, and stored nowhere", run(function()
    local worker, map = connect(), connect()
    serve(worker, { now = function() end })
    map:close()
    local none, err = map:submit("own.now")
    assert.same({ nil, "TRANSPORT_LOST", false, false }, { none, err.code, err.retryable, err.mayHaveRun })
    assert.same({}, worker:jobs("own.now"))
    worker:close()
  end))

  it("is stored once Redis is back", run(function()
    local worker = connect()
    serve(worker, { echo = function(input)
      return input
    end })
    local between = proxy.start(server.port)
    local map = connect(nil, "redis://127.0.0.1:" .. between.port)
    between:cut()
    local submitted = operations.spawn(function()
      return map:submit("own.echo", { n = 1 }, { requestId = "kept" })
    end)
    operations.sleep(0)
    between:reset() -- Redis has it or not: it is submitted again
    between:heal()
    assert(submitted:wait())
    assert.same({ n = 1 }, assert(map:outcome("kept", 30000)).data)
    between:stop()
    local none, err = map:submit("own.echo", {}, { timeout = 100 })
    assert.same({ nil, "TRANSPORT_LOST" }, { none, err.code })
    map:close()
    worker:close()
  end))

  it("whose outcome comes while Redis is away has it once Redis is back", run(function()
    local between, runs, gate = proxy.start(server.port), 0, nil
    local worker = connect(nil, "redis://127.0.0.1:" .. between.port)
    serve(worker, { wait = function()
      runs = runs + 1
      operations.await(function(wake)
        gate = wake
      end)
      return "kept"
    end })
    local map = connect()
    assert(map:submit("own.wait", {}, { requestId = "away" }))
    eventually(function()
      return gate
    end)
    between:cut()
    between:reset()
    gate()
    operations.sleep(0)
    assert.equal("PENDING", select(2, map:outcome("away")).code)
    between:heal()
    assert.equal("kept", assert(map:outcome("away", 30000)).data)
    assert.equal(1, runs)
    map:close()
    worker:close()
    between:stop()
  end))

  it("of a killed worker runs on another one, which knows", run(function()
    local child = command.start("spec/support/worker.lua", "redis", server.url, "reliable",
      json.encode({ mode = "reliable", lease = 500, prefix = prefix }))
    assert.equal("ready", child:read_line())
    local map = connect({ lease = 500 })
    assert(map:submit("work.sleep", { seconds = 1000 }, { requestId = "killed" }))
    eventually(function()
      return map:job("killed").attempt == 1
    end)
    local worker = connect({ lease = 500 })
    local registry = operations.registry({ log = quiet })
    assert(registry:register({ namespace = "work", name = "sleep", handler = function(_, context)
      return { attempt = context.attempt }
    end }))
    operations.call_handler(registry, worker)
    os.execute("kill -9 " .. child.pid)
    child:wait()
    assert.same({ attempt = 2 }, assert(map:outcome("killed", 30000)).data)
    assert.equal(2, map:job("killed").attempt)
    map:close()
    worker:close()
  end))

  it("that no worker survives is a dead letter, and runs again when that is revived", run(function()
    local map = connect({ lease = 300, attempts = 1 })
    local child = command.start("spec/support/worker.lua", "redis", server.url, "reliable",
      json.encode({ mode = "reliable", lease = 300, attempts = 1, prefix = prefix }))
    assert.equal("ready", child:read_line())
    assert(map:submit("work.sleep", { seconds = 1000 }, { requestId = "poison" }))
    eventually(function()
      return map:job("poison").attempt == 1
    end)
    os.execute("kill -9 " .. child.pid)
    child:wait()
    local transport = assert(operations.transports.redis(server.url, { mode = "reliable", lease = 300, attempts = 1,
      prefix = prefix }))
    local worker = operations.call_map(transport, { log = quiet })
    local registry = operations.registry({ log = quiet })
    assert(registry:register({ namespace = "work", name = "sleep", handler = function(input)
      return input
    end }))
    operations.call_handler(registry, worker)
    local none, err = map:outcome("poison", 30000)
    assert.same({ nil, "POISON" }, { none, err.code })
    local list = assert(map:jobs())
    assert.same({ "poison", "dead", true, { seconds = 1000 } },
      { list[1].id, list[1].state, list[1].submitted, list[1].input })
    assert.equal(1, assert(transport:revive_dead_letters("work.sleep")))
    assert.same({ seconds = 1000 }, assert(map:outcome("poison", 30000)).data)
    assert.same({}, map:jobs())
    map:close()
    worker:close()
  end))

  it("is listed while it waits, is delayed or runs", run(function()
    local worker, begun = connect(), 0
    local registry = operations.registry({ log = quiet })
    assert(registry:register({ namespace = "own", name = "wait", handler = function()
      begun = begun + 1
      operations.sleep(100)
    end }))
    operations.call_handler(registry, worker, { max_requests = 1 })
    local map = connect()
    assert(map:submit("own.wait", { n = 1 }, { requestId = "a" }))
    eventually(function()
      return begun == 1
    end)
    assert(map:submit("own.wait", { n = 2 }, { requestId = "b" }))
    assert(map:submit("own.wait", { n = 3 }, { requestId = "c", delay = 100000 }))
    local states = {}
    for _, each in ipairs(assert(map:jobs("own.wait"))) do
      states[each.id] = each
    end
    assert.same({ "running", "waiting", "delayed" }, { states.a.state, states.b.state, states.c.state })
    assert.same({ { n = 2 }, 0 }, { states.b.input, states.b.attempt })
    assert.is_true(states.c.due > core.now() + 50000)
    assert.same({}, map:jobs("own.other"))
    map:close()
    worker:close()
  end))

  it("whose record is damaged harms no reader", run(function()
    local worker = connect()
    serve(worker, { echo = function(input)
      return input
    end })
    local map = connect()
    assert(map:submit("own.echo", {}, { requestId = "torn", delay = 1e7 }))
    local link = map._transport._commands
    local job, record = ("%s:{%s}:j:torn"):format(prefix, prefix), ("%s:{%s}:r:torn"):format(prefix, prefix)
    for _, note in ipairs({ "", "{", "7", "[]", '{"progress":7,"questions":7}',
      '{"progress":{"done":"x"},"questions":{"a":1,"b":{"method":7},"c":{"method":"x"}}}' }) do
      assert(link:call("HSET", job, "n", note, "q:a", note, "v", "x", "a", "y", "c", "z"))
      local seen = assert(map:job("torn"))
      assert.same({ "working", 0, 0 }, { seen.state, seen.version, seen.attempt })
      assert.is_nil(seen.progress or seen.questions)
    end
    for _, outcome in ipairs({ "{", "{}", '{"type":"call.responded","payload":{"requestId":"torn"}}' }) do
      assert(link:call("SET", record, outcome))
      assert.equal("EXECUTION_ERROR: its outcome is invalid", tostring(select(2, map:outcome("torn"))))
    end
    assert(link:call("SET", record, "neither"))
    local none, err = map:cancel("torn") -- its version is no number
    assert.same({ nil, "EXECUTION_ERROR" }, { none, err.code })
    assert(map:forget("torn"))
    map:close()
    worker:close()
  end))

  it("is refused over transports that keep nothing, and with options that are invalid", function()
    local map = operations.call_map()
    for _, name in ipairs({ "submit", "outcome", "forget", "job", "cancel", "jobs" }) do
      local ok, raised = pcall(map[name], map, "a.b")
      assert.is_false(ok)
      assert.matches("mode \"reliable\" expected", raised)
    end
    operations.run(function()
      local kept = connect()
      raises({
        ["bad argument #1 to 'submit' (string expected, got nil)"] = function() kept:submit() end,
        ["bad argument #3 to 'submit' (table expected, got number)"] = function() kept:submit("a.b", {}, 1) end,
        ["bad option 'delays' to 'submit' (unknown; did you mean delay?)"] = function()
          kept:submit("a.b", {}, { delays = 1 })
        end,
        ["bad option 'delay' to 'submit' (a number from 0 on expected)"] = function()
          kept:submit("a.b", {}, { delay = -1 })
        end,
        ["bad argument #1 to 'outcome' (string expected, got nil)"] = function() kept:outcome() end,
        ["bad argument #2 to 'outcome' (number expected, got string)"] = function() kept:outcome("a", "b") end,
        ["bad argument #2 to 'cancel' (string expected, got number)"] = function() kept:cancel("a", 1) end,
        ["bad option 'limit' to 'jobs' (a number from 1 on expected)"] = function() kept:jobs(nil, { limit = 0 }) end,
      }, "jobs_spec")
      for _, options in ipairs({ { delay = -1 }, { keep = 0 / 0 }, { expires = math.huge }, { requestId = "" },
        { other = 1 } }) do
        assert.is_false((pcall(kept.submit, kept, "a.b", {}, options)))
      end
      kept:close()
    end)
  end)
end)

describe("a call with the id of one that is pending in the same call map", function()
  it("is that call: it runs once, and both get the answer", run(function()
    local worker, runs = connect(), 0
    serve(worker, { count = function()
      runs = runs + 1
      operations.sleep(0.05)
      return runs
    end, other = function() end })
    local map = connect()
    local calls = {}
    for i = 1, 5 do
      calls[i] = operations.spawn(map.call, map, "own.count", {}, { requestId = "twice" })
    end
    operations.sleep(0)
    assert.equal("VALIDATION_ERROR", select(2, map:call("own.other", {}, { requestId = "twice" })).code)
    for i = 1, 5 do
      assert.equal(1, assert(calls[i]:wait()).data)
    end
    assert.same({ 1, 0 }, { runs, map:pending_count() })
    map:close()
    worker:close()
  end))

  it("ends only when all its callers have given up", run(function()
    local worker, gates, raised = connect(), {}, nil
    serve(worker, { wait = function()
      raised = nil
      local ok, err = pcall(operations.await, function(wake)
        gates[#gates + 1] = wake
      end)
      raised = not ok and err
      return "done"
    end })
    local map = connect()
    local function call(options)
      return operations.spawn(map.call, map, "own.wait", {}, members.merged({ requestId = "shared" }, options))
    end
    local first = call()
    eventually(function()
      return gates[1]
    end)
    local second = call()
    local third = call({ timeout = 1 })
    assert.equal("TIMEOUT", select(2, third:wait()).code)
    first:cancel()
    assert.equal("ABORTED", select(2, first:wait()).code)
    gates[1]()
    assert.equal("done", assert(second:wait()).data)
    first = call({ requestId = "given up" })
    eventually(function()
      return gates[2]
    end)
    second = call({ requestId = "given up" })
    operations.sleep(0)
    first:cancel()
    second:cancel()
    eventually(function()
      return raised
    end)
    assert.equal(0, map:pending_count())
    map:close()
    worker:close()
  end))
end)
