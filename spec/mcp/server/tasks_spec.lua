-- Tools that an MCP server runs as tasks, by requests of the revision 2026-07-28; time passes in jumps.
local fake_host = require("spec.support.fake_host")
local hosts = require("operations.hosts")
local json = require("operations.base.json")
local operations = require("operations")

local PREFIX, TASKS = "io.modelcontextprotocol/", "io.modelcontextprotocol/tasks"

describe("a tool of an MCP server that may run as a task", function()
  local host, registry, options, server, identity, logged, runs

  before_each(function()
    host = fake_host.new(1000)
    host.monotonic = host.now
    hosts.use(host)
    registry, identity, logged, runs = operations.registry(), nil, {}, 0
    options = { log = function(_, text)
      logged[#logged + 1] = text
    end, authorize = function()
      return identity or { id = "ann", scopes = {} }
    end }
    server = nil
  end)

  after_each(function()
    if server then
      operations.run(server.close, server)
    end
    hosts.use("plain")
  end)

  local function tool(name, task, handler, more)
    local definition = { namespace = "t", name = name, handler = handler,
      _meta = { task = task, tool = { name = name } }, inputSchema = { type = "object" },
      accessControl = { requiredScopes = {} } }
    for key, value in pairs(more or {}) do
      definition[key] = value
    end
    assert(registry:register(definition))
  end

  local both = { elicitation = { form = operations.object() }, extensions = { [TASKS] = operations.object() } }

  -- Sends a request of the revision 2026-07-28; its result, or nil and the error and the status.
  local function ask(method, params, capabilities)
    server = server or operations.to_mcp(registry, options)
    params._meta = { [PREFIX .. "protocolVersion"] = "2026-07-28",
      [PREFIX .. "clientCapabilities"] = capabilities or both }
    local response = server:handle({ method = "POST", target = "/mcp", headers = {
      ["content-type"] = "application/json", accept = "application/json", ["mcp-protocol-version"] = "2026-07-28",
      ["mcp-method"] = method, ["mcp-name"] = params.taskId or params.name,
    }, body = json.encode({ jsonrpc = "2.0", id = 1, method = method, params = params }) })
    local answer = json.decode(response.body)
    return answer.result, answer.error, response.status
  end

  local function call(name, arguments, capabilities)
    return ask("tools/call", { name = name, arguments = arguments or operations.object() }, capabilities)
  end

  local function get(id)
    return ask("tasks/get", { taskId = id })
  end

  local function slow(seconds)
    return function(_, context)
      runs = runs + 1
      context.progress(1, 4, "begun")
      operations.sleep(seconds)
      return { done = true }
    end
  end

  it("is answered with a task, whose state and result the client asks for", function()
    tool("slow", "optional", slow(5))
    operations.run(function()
      local created = call("slow")
      assert.same({ "task", "working", 3600000, 1000 }, { created.resultType, created.status, created.ttlMs,
        created.pollIntervalMs })
      assert.matches("^[%x-]+$", created.taskId)
      assert.is_true(#created.taskId >= 32)
      assert.equal("1970-01-01T00:00:01.000Z", created.createdAt)
      operations.sleep(1)
      local state = get(created.taskId)
      assert.same({ "complete", "working", "begun", created.taskId }, { state.resultType, state.status,
        state.statusMessage, state.taskId })
      assert.same({ progress = 1, total = 4, message = "begun" }, state._meta["operations/progress"])
      assert.is_nil(state.result)
      operations.sleep(5)
      state = get(created.taskId)
      assert.equal("completed", state.status)
      assert.same({ done = true }, state.result.structuredContent)
      assert.equal("complete", state.result.resultType)
      assert.equal("1970-01-01T00:00:06.000Z", state.lastUpdatedAt)
    end)
  end)

  it("is answered at once when it is quick and need not be a task", function()
    tool("quick", "optional", slow(0.1))
    tool("fails", "optional", function()
      error(operations.error("MCP_-32000", "tools/call: broken", { rpcCode = -32000 }), 0)
    end)
    operations.run(function()
      local answer = call("quick")
      assert.same({ "complete", { done = true } }, { answer.resultType, answer.structuredContent })
      assert.equal("broken", select(2, call("fails")).message)
      local _, failure = ask("subscriptions/listen", { notifications = { taskIds = { "x" } } }, operations.object())
      assert.equal(-32021, failure.code)
    end)
  end)

  it("is an ordinary tool for a client without the extension, unless it needs one", function()
    tool("slow", "optional", slow(1))
    tool("needs", "required", slow(1))
    tool("quick", nil, slow(0))
    operations.run(function()
      for _, capabilities in ipairs({ operations.object(), { extensions = operations.object() },
        { extensions = { [TASKS] = operations.null } } }) do
        assert.same({ done = true }, call("slow", nil, capabilities).structuredContent)
        local _, failure, status = call("needs", nil, capabilities)
        assert.same({ -32021, 400 }, { failure.code, status })
        assert.same({ extensions = { [TASKS] = {} } }, failure.data.requiredCapabilities)
        for _, method in ipairs({ "tasks/get", "tasks/update", "tasks/cancel" }) do
          local refusal = select(2, ask(method, { taskId = "x" }, capabilities))
          assert.equal(-32021, refusal.code)
        end
      end
      assert.equal("task", call("needs").resultType)
      assert.equal("complete", call("quick").resultType)
    end)
  end)

  it("has the facts of its request, and none of its metadata", function()
    local seen
    tool("seen", "required", function(_, context)
      seen = context.metadata
      return {}
    end)
    operations.run(function()
      call("seen")
      operations.sleep(0.01)
      assert.same({ mcp = { method = "tools/call", version = "2026-07-28" } }, seen)
    end)
  end)

  it("tells its failure as the call would have", function()
    tool("fails", "required", function()
      return nil, operations.error("NO_LUCK", "not today")
    end, { errorSchemas = { { code = "NO_LUCK" } } })
    tool("breaks", "required", function()
      error(operations.error("MCP_-32000", "tools/call: broken", { rpcCode = -32000, data = { a = 1 } }), 0)
    end)
    tool("strict", "optional", slow(0), { inputSchema = { type = "object", required = { "x" } } })
    operations.run(function()
      local one, other = call("fails").taskId, call("breaks").taskId
      operations.sleep(1)
      local state = get(one)
      assert.same({ "completed", true, "NO_LUCK: not today" }, { state.status, state.result.isError,
        state.result.content[1].text })
      state = get(other)
      assert.same({ "failed", "broken", { code = -32000, message = "broken", data = { a = 1 } } },
        { state.status, state.statusMessage, state.error })
      assert.is_nil(state.result)
      local refused = call("strict")
      assert.same({ "complete", true }, { refused.resultType, refused.isError })
      assert.matches("does not fit", refused.content[1].text)
    end)
  end)

  it("asks its client, which may answer one question at a time", function()
    local form = { type = "object", properties = { n = { type = "integer" } }, required = { "n" } }
    tool("asks", "optional", function(_, context)
      local action, content = context.elicit("First?", form)
      local answers, failures = context.ask({
        a = { method = "elicitation/create", params = { message = "A?", requestedSchema = form } },
        b = { method = "elicitation/create", params = { message = "B?", requestedSchema = form } },
        c = { method = "sampling/createMessage", params = {} } })
      return { action, content.n, answers.a.content.n, answers.b.action, failures.c.code }
    end)
    local function accept(n)
      return { action = "accept", content = { n = n } }
    end
    operations.run(function()
      local id = call("asks").taskId
      operations.sleep(0.01)
      local state = get(id)
      assert.same({ "input_required", "First?" }, { state.status, state.inputRequests.elicit_1.params.message })
      local function update(answers)
        return ask("tasks/update", { taskId = id, inputResponses = answers })
      end
      local _, failure = update({ elicit_1 = accept("x") })
      assert.same({ -32602, "tasks/update: the answer 'elicit_1' does not fit its question" },
        { failure.code, failure.message })
      assert.equal(-32602, select(2, update(operations.array())).code)
      assert.same({ resultType = "complete", _meta = { [PREFIX .. "serverInfo"] = server.info } },
        update({ elicit_1 = accept(1), unknown = accept(2) }))
      operations.sleep(0.01)
      assert.same({ "a", "b" }, { next(get(id).inputRequests) and "a", get(id).inputRequests.b and "b" })
      assert(update({ a = accept(3), elicit_1 = accept(9) }))
      operations.sleep(0.01)
      state = get(id)
      assert.is_nil(state.inputRequests.a)
      assert.is_table(state.inputRequests.b)
      assert(update({ b = { action = "decline" } }))
      operations.sleep(0.01)
      state = get(id)
      assert.same({ "accept", 1, 3, "decline", "CAPABILITY_MISSING" }, state.result.structuredContent)
      assert(update({ b = accept(5) })) -- too late
    end)
  end)

  it("begins where its handler says so, after the questions of rounds", function()
    local attempts = 0
    tool("late", "late", function(input, context)
      attempts = attempts + 1
      local _, content = context.elicit("Name?", { type = "object", properties = { name = { type = "string" } } })
      if input.long then
        context.as_task()
        operations.sleep(5)
      end
      return { name = content and content.name }
    end)
    operations.run(function()
      local first = call("late", { long = true })
      assert.same({ "input_required" }, { first.resultType, first.taskId })
      local function again(input)
        return ask("tools/call", { name = "late", arguments = input, requestState = first.requestState,
          inputResponses = { elicit_1 = { action = "accept", content = { name = "Ann" } } } })
      end
      local begun = again({ long = true })
      assert.equal("task", begun.resultType)
      operations.sleep(6)
      assert.same({ name = "Ann" }, get(begun.taskId).result.structuredContent)
      assert.equal(3, attempts)
      first = call("late", { long = false })
      assert.same({ name = "Ann" }, again({ long = false }).structuredContent)
      assert.same({}, call("late", { long = true }, operations.object()).structuredContent)
    end)
  end)

  it("is cancelled, also twice, and not after its end", function()
    local outcome
    tool("slow", "optional", function(_, context)
      local ok = pcall(operations.sleep, 60)
      outcome = { ok, context:cancelled() }
      return {}
    end)
    tool("quick", "required", slow(0))
    operations.run(function()
      local id = call("slow").taskId
      operations.sleep(1)
      for _ = 1, 2 do
        assert.same({ resultType = "complete", _meta = { [PREFIX .. "serverInfo"] = server.info } },
          ask("tasks/cancel", { taskId = id }))
      end
      assert.same({ "cancelled", "the client cancelled it" }, { get(id).status, get(id).statusMessage })
      operations.sleep(0.01)
      assert.same({ false, true }, outcome)
      id = call("quick").taskId
      operations.sleep(0.01)
      assert(ask("tasks/cancel", { taskId = id }))
      assert.same({ "completed", { done = true } }, { get(id).status, get(id).result.structuredContent })
    end)
  end)

  it("is unknown to all but the whole identity that started it", function()
    tool("slow", "optional", slow(5))
    operations.run(function()
      local id = call("slow").taskId
      for _, other in ipairs({ { id = "bob", scopes = {} }, { id = "Ann", scopes = {} },
        { id = "ann", scopes = {}, issuer = "other" }, { id = "ann", scopes = {}, tenant = 2 } }) do
        identity = other
        for _, method in ipairs({ "tasks/get", "tasks/cancel", "tasks/update" }) do
          local _, failure, status = ask(method, { taskId = id, inputResponses = operations.object() })
          assert.same({ -32602, method .. ": no such task", 200 }, { failure.code, failure.message, status })
        end
      end
      identity = nil
      for _, guess in ipairs({ "", "x", id:sub(1, -2), id .. "0", id:upper() .. "G", ("0"):rep(#id), ("é"):rep(9) }) do
        local _, failure = get(guess)
        assert.equal("tasks/get: no such task", failure.message)
      end
      assert.equal(-32602, select(2, ask("tasks/get", { taskId = 7 })).code)
      assert.equal("working", get(id).status)
    end)
  end)

  it("is refused where one caller has too many, which others do not feel", function()
    tool("slow", "optional", slow(100))
    operations.run(function()
      local refusals = 0
      for _ = 1, 1000 do
        local created = call("slow")
        if created.isError then
          refusals = refusals + 1
          assert.matches("^BUSY: 100 jobs of this caller", created.content[1].text)
        end
      end
      operations.sleep(0.01)
      assert.same({ 900, 100 }, { refusals, runs })
      identity = { id = "bob", scopes = {} }
      assert.equal("task", call("slow").resultType)
    end)
  end)

  it("is forgotten after its time to live", function()
    options.tasks = { ttl = 5000, poll = 70 }
    tool("slow", "optional", slow(1))
    operations.run(function()
      local created = call("slow")
      assert.same({ 5000, 70 }, { created.ttlMs, created.pollIntervalMs })
      operations.sleep(4.7)
      assert.equal("completed", get(created.taskId).status)
      operations.sleep(0.2)
      assert.equal("tasks/get: no such task", select(2, get(created.taskId)).message)
    end)
  end)

  it("is kept in a store of the program, or runs without one", function()
    tool("slow", "optional", slow(1))
    tool("needs", "required", slow(1))
    options.tasks = false
    operations.run(function()
      assert.is_nil(ask("server/discover", {}).capabilities.extensions)
      assert.equal("complete", call("slow").resultType)
      assert.equal("tools/call: this server runs no tasks", select(2, call("needs")).message)
      assert.equal("tasks/get: this server runs no tasks", select(2, get("x")).message)
    end)
    server = nil
    options.tasks = { start = function(_, id)
      return { id = "own " .. id, operation = id, state = "working", created = 0, updated = 0, ttl = 1, poll = 2 }
    end, get = function(_, id)
      return { id = id, operation = "t.slow", state = "working", created = 0, updated = 0, ttl = 1, poll = 2,
        attempt = tonumber(id) }
    end, wait = function() end }
    assert.equal("own t.slow", operations.run(call, "slow").taskId)
    assert.same({ nil, 2 }, { operations.run(get, "1")._meta["operations/attempt"],
      operations.run(get, "2")._meta["operations/attempt"] })
    server = nil
    assert.has_error(function()
      operations.to_mcp(registry, { tasks = { ttl = 0 } })
    end)
  end)

  it("is no tool of the legacy era's tasks", function()
    tool("needs", "required", slow(1))
    server = operations.to_mcp(registry, options)
    local function post(value, session)
      value.jsonrpc = "2.0"
      return server:handle({ method = "POST", target = "/mcp", headers = { ["content-type"] = "application/json",
        accept = "application/json", ["mcp-session-id"] = session }, body = json.encode(value) })
    end
    operations.run(function()
      local begun = post({ id = 1, method = "initialize", params = { protocolVersion = "2025-11-25",
        capabilities = both, clientInfo = { name = "c", version = "1" } } })
      assert.is_nil(json.decode(begun.body).result.capabilities.extensions)
      assert.is_nil(json.decode(begun.body).result.capabilities.tasks)
      local session = begun.headers["mcp-session-id"]
      assert.equal(-32601, json.decode(post({ id = 2, method = "tasks/get", params = { taskId = "x" } },
        session).body).error.code)
      assert.equal(-32021, json.decode(post({ id = 3, method = "tools/call", params = { name = "needs" } },
        session).body).error.code)
    end)
  end)
end)
