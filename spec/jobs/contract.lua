--- What every store of jobs does: sentences that run over each of them.
local assert = require("luassert")
local core = require("operations.core")
local eventually = require("spec.support.eventually")
local operations = require("operations")

local FORMS = { elicitation = operations.object() }

local ada, bob = { id = "ada", scopes = { "a" } }, { id = "bob", scopes = { "a" } }

---@param it fun(title: string, fn: fun())
---@param opened fun(registry: operations.Registry, options: operations.JobsOptions?): operations.JobStore
return function(it, opened)
  local gates

  -- A registry whose handlers do what their specs want.
  local function registry_of()
    gates = {}
    local registry = operations.registry({ log = function() end })
    local function register(name, handler, scopes)
      assert(registry:register({ namespace = "job", name = name, type = "mutation", handler = handler,
        inputSchema = { type = "object", properties = { n = { type = "integer" } } },
        accessControl = { requiredScopes = scopes or {} } }))
    end
    register("double", function(input)
      return { n = 2 * input.n }
    end)
    register("fail", function()
      return nil, operations.error("FULL", "no room", { left = 0 })
    end)
    register("wait", function(_, context)
      context.progress(1, 2, "half")
      local ok, raised = pcall(operations.await, function(wake)
        gates[context.requestId] = wake
      end)
      gates[context.requestId] = ok and "woken" or tostring(raised)
      assert(ok, raised)
      return { waited = true }
    end)
    register("count", function(input, context)
      for i = 1, input.n do
        context.progress(i, input.n, "item " .. i)
      end
      return {}
    end)
    register("ask", function(_, context)
      local action, form = context.elicit("Name?", { type = "object", required = { "name" },
        properties = { name = { type = "string" } } }, "name")
      return { action = action, form = form }
    end)
    register("ask_both", function(_, context)
      local answers = context.ask({ a = { method = "elicitation/create", params = { message = "A?" } },
        b = { method = "elicitation/create", params = { message = "B?" } } })
      return { a = answers.a.action, b = answers.b.action }
    end)
    register("secret", function(_, context)
      return { id = context.identity.id, issuer = context.identity.issuer }
    end, { "a" })
    return registry
  end

  local function with(fn, options)
    return function()
      operations.run(function()
        local store, close = opened(registry_of(), options)
        local ok, raised = pcall(fn, store)
        store:close()
        if close then
          close()
        end
        assert(ok, raised)
      end)
    end
  end

  local function ended(store, id, identity)
    return assert(store:wait(id, identity, { ended = true, timeout = 30000 }))
  end

  it("has the record before the job runs, and its result after", with(function(store)
    local before = core.now()
    local record = assert(store:start("job.double", { n = 21 }, { identity = ada }))
    assert.is_true(#record.id >= 32)
    assert.same({ "job.double", "working" }, { record.operation, record.state })
    assert.same({ 3600000, 1000 }, { record.ttl, record.poll })
    assert.is_true(record.created >= before - 1 and record.created <= core.now() + 1)
    local done = ended(store, record.id, ada)
    assert.same({ "completed", true, 1, { n = 42 } }, { done.state, done.ended, done.attempt, done.envelope.data })
    assert.is_true(operations.is_response_envelope(done.envelope))
    assert.is_nil(done.identity)
    assert.same(done, store:get(record.id, ada))
  end))

  it("has the error of a job that failed", with(function(store)
    local done = ended(store, assert(store:start("job.fail", {})).id)
    assert.same({ "failed", "FULL: no room", { left = 0 } }, { done.state, tostring(done.error), done.error.details })
  end))

  it("keeps nothing of a call that is refused", with(function(store)
    for code, call in pairs({
      OPERATION_NOT_FOUND = { "job.none", {} }, VALIDATION_ERROR = { "job.double", { n = "x" } },
      ACCESS_DENIED = { "job.secret", {} },
    }) do
      local record, err = store:start(call[1], call[2])
      assert.same({ nil, code }, { record, err.code })
    end
  end))

  it("runs a job as the identity that started it", with(function(store)
    local who = { id = "ada", issuer = "https://a.test", scopes = { "a" } }
    local done = ended(store, assert(store:start("job.secret", {}, { identity = who })).id, who)
    assert.same({ id = "ada", issuer = "https://a.test" }, done.envelope.data)
  end))

  it("hides a job from other identities", with(function(store)
    local id = assert(store:start("job.wait", {}, { identity = ada })).id
    for _, other in ipairs({ bob, { id = "ada", issuer = "other", scopes = { "a" } }, false }) do
      other = other or nil
      for _, method in ipairs({ "get", "wait", "cancel", "forget" }) do
        local found, err = store[method](store, id, other)
        assert.same({ nil, "OPERATION_NOT_FOUND" }, { found, err.code })
      end
      assert.equal("OPERATION_NOT_FOUND", select(2, store:answer(id, other, {})).code)
    end
    for _, guessed in ipairs({ "", "x", ("0"):rep(36), id:upper() .. "0", 7 }) do
      assert.equal("OPERATION_NOT_FOUND", select(2, store:get(guessed, ada)).code)
    end
    assert.equal("working", store:get(id, ada).state)
  end))

  it("tells of progress", with(function(store)
    local record = assert(store:start("job.wait", {}))
    repeat
      record = assert(store:wait(record.id, nil, { after = record.version, timeout = 30000 }))
    until record.progress
    assert.same({ { done = 1, total = 2, message = "half" }, "half" }, { record.progress, record.message })
    local again = store:wait(record.id, nil, { after = record.version, timeout = 20 })
    assert.equal(record.version, again.version)
    gates[record.id]()
    assert.same({ waited = true }, ended(store, record.id).envelope.data)
  end))

  it("keeps the last progress of a job that ends right after it", with(function(store)
    local record = ended(store, assert(store:start("job.count", { n = 5 })).id)
    assert.same({ { done = 5, total = 5, message = "item 5" }, "item 5" }, { record.progress, record.message })
  end))

  it("ends a job that is cancelled once, also when it is cancelled twice or later", with(function(store)
    local record = assert(store:start("job.wait", {}))
    store:wait(record.id, nil, { after = record.version, timeout = 30000 })
    eventually(function()
      return gates[record.id]
    end)
    local cancelled = assert(store:cancel(record.id, nil, "enough"))
    assert.same({ "cancelled", true, "ABORTED: enough" }, { cancelled.state, cancelled.ended,
      tostring(cancelled.error) })
    assert.equal("cancelled", assert(store:cancel(record.id, nil, "again")).state)
    local done = ended(store, record.id)
    assert.same({ "cancelled", "enough" }, { done.state, done.message })
    eventually(function()
      return type(gates[record.id]) == "string"
    end)
    assert.matches("ABORTED", gates[record.id])
    local other = assert(store:start("job.double", { n = 1 }))
    ended(store, other.id)
    assert.same({ "completed", { n = 2 } }, { store:cancel(other.id).state, store:get(other.id).envelope.data })
  end))

  it("waits for answers, and takes those that fit", with(function(store)
    local record = assert(store:start("job.ask", {}, { identity = ada, capabilities = FORMS }))
    record = ended(store, record.id, ada)
    assert.equal("input_required", record.state)
    assert.same({ "elicitation/create", "Name?" }, { record.questions.name.method,
      record.questions.name.params.message })
    local none, err = store:answer(record.id, ada, { name = { action = "accept", content = { name = 7 } } })
    assert.same({ nil, "VALIDATION_ERROR", { key = "name" } }, { none, err.code, err.details })
    assert(store:answer(record.id, ada, { other = { action = "accept" } }))
    assert.equal("input_required", store:get(record.id, ada).state)
    assert(store:answer(record.id, ada, { name = { action = "accept", content = { name = "Ada" } } }))
    local done
    repeat
      done = assert(store:wait(record.id, ada, { ended = true, after = record.version, timeout = 30000 }))
    until done.ended
    assert.same({ action = "accept", form = { name = "Ada" } }, done.envelope.data)
    assert.is_nil(done.questions)
  end))

  it("takes the answers to several questions one by one", with(function(store)
    local record = assert(store:start("job.ask_both", {}, { capabilities = FORMS }))
    record = ended(store, record.id)
    assert.is_table(record.questions.a and record.questions.b)
    assert(store:answer(record.id, nil, { b = { action = "decline" } }))
    repeat
      record = assert(store:wait(record.id, nil, { after = record.version, timeout = 30000 }))
    until record.state == "input_required" and not record.questions.b
    assert.is_table(record.questions.a)
    assert(store:answer(record.id, nil, { a = { action = "cancel" } }))
    repeat
      record = assert(store:wait(record.id, nil, { after = record.version, timeout = 30000 }))
    until record.ended
    assert.same({ a = "cancel", b = "decline" }, record.envelope.data)
  end))

  it("declines the questions of a job whose caller cannot be asked", with(function(store)
    local done = ended(store, assert(store:start("job.ask", {})).id)
    assert.same({ action = "decline" }, done.envelope.data)
  end))

  it("forgets a job, and ends it", with(function(store)
    local id = assert(store:start("job.wait", {})).id
    assert.is_true(store:forget(id))
    assert.equal("OPERATION_NOT_FOUND", select(2, store:get(id)).code)
    assert.equal("OPERATION_NOT_FOUND", select(2, store:forget(id)).code)
    local other = assert(store:start("job.double", { n = 1 })).id
    ended(store, other)
    assert.is_true(store:forget(other))
    assert.equal("OPERATION_NOT_FOUND", select(2, store:get(other)).code)
  end))

  it("grants a time between 60 s and the longest", with(function(store)
    for wanted, granted in pairs({ [0] = 60000, [-1] = 60000, [70000] = 70000, [31536000000] = 86400000,
      [math.huge] = 86400000, x = 3600000 }) do
      assert.equal(granted, assert(store:start("job.double", { n = 1 }, { ttl = wanted })).ttl)
    end
    assert.equal(3600000, assert(store:start("job.double", { n = 1 }, { ttl = 0 / 0 })).ttl)
  end))

  it("refuses the jobs of a caller that has too many, and not those of others", with(function(store)
    local ids = {}
    for i = 1, 3 do
      ids[i] = assert(store:start("job.wait", {}, { identity = ada })).id
    end
    local none, err = store:start("job.wait", {}, { identity = ada })
    assert.same({ nil, "BUSY", true }, { none, err.code, err.retryable })
    assert(store:start("job.wait", {}, { identity = bob }))
    store:forget(ids[1], ada)
    eventually(function()
      return store:start("job.wait", {}, { identity = ada })
    end)
  end, { max_identity_jobs = 3 }))
end
