-- Tools that a server in this process runs as tasks; time passes in jumps.
local errors = require("operations.base.error")
local fake_host = require("spec.support.fake_host")
local hosts = require("operations.hosts")
local mcp_failure = require("operations.mcp.protocol.failure")
local mcp_link = require("spec.support.mcp_link")
local operations = require("operations")

describe("a tool that an MCP server runs as a task", function()
  local host, states, asked, created, methods

  before_each(function()
    host = fake_host.new(1000)
    hosts.use(host)
    states, asked, created = { { status = "completed" } }, {}, { taskId = "t1", pollInterval = 100, status = "working" }
    methods = {
      ["tools/list"] = function()
        return { tools = { { name = "slow", inputSchema = operations.object(),
          execution = { taskSupport = "required" } } } }
      end,
      ["tools/call"] = function()
        return { task = created }
      end,
      ["tasks/get"] = function()
        asked[#asked + 1] = host.now() - 1000
        local state = #states > 1 and table.remove(states, 1) or states[1]
        if state.code then
          return nil, state
        end
        return state
      end,
      ["tasks/result"] = function()
        return { content = operations.array(), structuredContent = { done = true } }
      end,
      ["tasks/cancel"] = operations.object,
    }
  end)

  after_each(function()
    hosts.use("plain")
  end)

  local tasks = { requests = { tools = { call = operations.object() } }, cancel = operations.object() }

  -- Calls the tool; its data, or nil and the error; and the server.
  local function call(more, options, given)
    local server = mcp_link.server("legacy", { tools = operations.object(), tasks = given or tasks }, methods)
    return operations.run(function()
      local client = assert(mcp_link.connect(server, more))
      local envelope, err = client:call("slow", {}, options)
      operations.sleep(0.001)
      client:close()
      return envelope and envelope.data, err, server
    end)
  end

  it("is created, asked about at its intervals, and its result fetched", function()
    states = { { status = "working", pollInterval = 5 }, { status = "working", pollInterval = 40000 },
      { status = "working" }, { status = "working", pollInterval = "x" }, { status = "completed" } }
    local data, _, server = call({ timeout = 200, max_timeout = 60000 })
    assert.same({ done = true }, data)
    assert.same({ 100, 110, 40110, 41110, 42110 }, asked)
    assert.same({ { name = "slow", arguments = {}, task = { ttl = 60000 } } }, mcp_link.params(server, "tools/call"))
    for _, method in ipairs({ "tasks/get", "tasks/result" }) do
      assert.same({ taskId = "t1" }, mcp_link.params(server, method)[1])
    end
    assert.same({}, mcp_link.params(server, "tasks/cancel"))
  end)

  it("has its result fetched where that tells why it failed, or asks", function()
    for _, status in ipairs({ "failed", "input_required" }) do
      states = { { status = status } }
      assert.same({ done = true }, (call()))
    end
  end)

  it("fails in any other state", function()
    for text, state in pairs({ ["cancelled: no"] = { status = "cancelled", statusMessage = "no" },
      lost = { status = "lost", statusMessage = 7 }, ["nil"] = operations.object() }) do
      states = { state }
      local data, err, server = call()
      assert.is_nil(data)
      assert.equal("the server's task is " .. text, err.message)
      assert.same({ "task", state.status }, { err.details.kind, err.details.status })
      assert.same({}, mcp_link.params(server, "tasks/cancel"))
    end
  end)

  it("fails with the error of the server, which needs no more word", function()
    states = { { code = -32000, message = "no such task" } }
    local _, err, server = call()
    assert.equal("tasks/get: no such task", err.message)
    assert.same({}, mcp_link.params(server, "tasks/cancel"))
    methods["tools/call"] = function()
      return nil, { code = -32000, message = "no" }
    end
    assert.equal("tools/call: no", select(2, call()).message)
  end)

  it("fails where the server names no task", function()
    for _, task in ipairs({ 7, operations.object(), { taskId = 7 } }) do
      created = task
      local _, err = call()
      assert.same({ "malformed", "tools/call: malformed result: /taskId: a string expected" },
        { err.details.kind, err.message })
    end
  end)

  it("is asked about again where the answer was lost", function()
    local get, losses = methods["tasks/get"], 1
    methods["tasks/get"] = function(_, link)
      if losses > 0 then
        losses = losses - 1
        link.pending:fail(nil, errors.new("EXECUTION_ERROR", "gone", { kind = "lost" }))
        return nil
      end
      return get()
    end
    assert.same({ done = true }, (call()))
  end)

  it("may be answered at once", function()
    methods["tools/call"] = methods["tasks/result"]
    assert.same({ done = true }, (call()))
  end)

  it("is waited for as long as any request, then cancelled where the server can do that", function()
    for _, case in ipairs({ { tasks, 1 }, { { requests = tasks.requests }, 0 },
      { { requests = tasks.requests, cancel = operations.null }, 0 } }) do
      states = { { status = "working", pollInterval = 1000 } }
      local _, err, server = call({ timeout = 500, max_timeout = 5000 }, nil, case[1])
      assert.same({ "TIMEOUT", "timeout", "tools/call: the server's task was not done in time", "tools/call" },
        { err.code, err.details.kind, err.message, err.details.method })
      assert.equal(case[2], #mcp_link.params(server, "tasks/cancel"))
      assert.same(case[2] == 1 and { taskId = "t1" } or nil, mcp_link.params(server, "tasks/cancel")[1])
    end
  end)

  it("is cancelled with its caller", function()
    states = { { status = "working", pollInterval = 1000 } }
    local server = mcp_link.server("legacy", { tools = operations.object(), tasks = tasks }, methods)
    operations.run(function()
      local client = assert(mcp_link.connect(server))
      local calling = operations.spawn(function()
        return client:call("slow")
      end)
      operations.sleep(2.5)
      calling:cancel("enough")
      pcall(calling.wait, calling)
      operations.sleep(0.001)
      assert.equal(1, #mcp_link.params(server, "tasks/cancel"))
      client:close()
    end)
  end)

  it("is an ordinary call where the server does not say that calls may be tasks", function()
    methods["tools/call"] = methods["tasks/result"]
    for _, given in ipairs({ operations.object(), { requests = operations.object() },
      { requests = { tools = { call = operations.null } } }, { requests = { tools = 7 } } }) do
      local data, _, server = call(nil, nil, given)
      assert.same({ done = true }, data)
      assert.is_nil(mcp_link.params(server, "tools/call")[1].task)
    end
  end)

  it("tells its progress for as long as it lives", function()
    local token, link
    methods["tools/call"] = function(params, its)
      token, link = params._meta.progressToken, its
      link:say({ method = "notifications/progress", params = { progressToken = token, progress = 1 } })
      link:say({ method = "notifications/progress", params = { progressToken = token, progress = 2 } })
      return { task = created }
    end
    states = { { status = "working", pollInterval = 100 }, { status = "working", pollInterval = 100 },
      { status = "completed" } }
    local get = methods["tasks/get"]
    methods["tasks/get"] = function()
      if #asked == 1 then
        link:say({ method = "notifications/progress", params = { progressToken = token, progress = 3 } })
      end
      return get()
    end
    local seen = {}
    assert.same({ done = true }, (call(nil, { on_progress = function(report)
      seen[#seen + 1] = report.progress
    end, meta = { own = 1 } })))
    assert.same({ 2, 3 }, seen) -- the latest at each question, and each once
    assert.matches("^task%-%d+$", token)
    seen, states = {}, { { status = "completed" } }
    local first = token
    methods["tools/call"] = function(params)
      token = params._meta.progressToken
      return { task = created }
    end
    call(nil, { on_progress = function(report)
      seen[#seen + 1] = report
    end })
    assert.same({}, seen)
    assert.not_equal(first, token)
  end)
end)

describe("a call that a modern MCP server answers with a task", function()
  local host, states, asked, created, methods, server

  before_each(function()
    host = fake_host.new(1000)
    hosts.use(host)
    asked, created = {}, { resultType = "task", taskId = "t1", pollIntervalMs = 100, status = "working",
      ttlMs = operations.null }
    states = { { status = "completed", result = { structuredContent = { done = true },
      content = operations.array() } } }
    methods = {
      ["tools/list"] = function()
        return { tools = { { name = "slow", inputSchema = operations.object() } } }
      end,
      ["tools/call"] = function()
        return created
      end,
      ["tasks/get"] = function()
        asked[#asked + 1] = host.now() - 1000
        local state = #states > 1 and table.remove(states, 1) or states[1]
        if state.code then
          return nil, state
        end
        return state
      end,
      ["tasks/update"] = operations.object, ["tasks/cancel"] = operations.object,
    }
    server = mcp_link.server("modern", nil, methods)
  end)

  after_each(function()
    hosts.use("plain")
  end)

  local function with(more, fn)
    return operations.run(function()
      local client = assert(mcp_link.connect(server, more))
      local data, err = fn(client)
      operations.sleep(0.001)
      client:close()
      return data, err
    end)
  end

  -- Calls the tool; its data, or nil and the error.
  local function call(more, options)
    return with(more, function(client)
      local envelope, err = client:call("slow", {}, options)
      return envelope and envelope.data, err
    end)
  end

  local function names_of(method)
    local names = {}
    for i, params in ipairs(mcp_link.params(server, method)) do
      names[i] = params.taskId
    end
    return names
  end

  it("is asked about at the server's pace, and has its result in the last answer", function()
    table.insert(states, 1, { status = "working", pollIntervalMs = 5 })
    table.insert(states, 2, { status = "working", pollIntervalMs = 90000 })
    table.insert(states, 3, { status = "working" })
    assert.same({ done = true }, (call()))
    assert.same({ 100, 110, 90110, 91110 }, asked)
    assert.same({ "t1", "t1", "t1", "t1" }, names_of("tasks/get"))
    local said = mcp_link.params(server, "tasks/get")[1]._meta["io.modelcontextprotocol/clientCapabilities"]
    assert.same({ ["io.modelcontextprotocol/tasks"] = {} }, said.extensions)
    assert.same({}, names_of("tasks/cancel"))
  end)

  it("tells what the server says of it, each word once", function()
    created.statusMessage = "begun"
    table.insert(states, 1, { status = "working", statusMessage = "begun" })
    table.insert(states, 2, { status = "working", statusMessage = "half" })
    local seen = {}
    call(nil, { on_progress = function(report)
      seen[#seen + 1] = report.progress .. " " .. report.message
    end })
    assert.same({ "1 begun", "2 half" }, seen)
  end)

  it("may end in a failure of the tool, of the protocol, or be cancelled", function()
    states = { { status = "completed", result = { isError = true, content = { { type = "text", text = "no" } } } } }
    assert.equal("no", call()[1].text)
    for text, state in pairs({
      ["MCP_-32000: tools/call: broken"] = { status = "failed", error = { code = -32000, message = "broken" } },
      ["EXECUTION_ERROR: the server's task is failed: why"] = { status = "failed", statusMessage = "why", error = 7 },
      ["EXECUTION_ERROR: the server's task is cancelled"] = { status = "cancelled", statusMessage = 7 },
      ["EXECUTION_ERROR: the server's task is lost"] = { status = "lost" },
      ["EXECUTION_ERROR: the server's task is nil"] = operations.object(),
      ["EXECUTION_ERROR: tasks/get: malformed result: /result: an object expected"] = { status = "completed" },
      ["EXECUTION_ERROR: tools/call: malformed result: /content: expected array or null, got 7"] = {
        status = "completed", result = { content = 7 } },
      ["MCP_-32602: tasks/get: unknown"] = { code = -32602, message = "unknown" },
    }) do
      states = { state }
      local data, err = call()
      assert.is_nil(data)
      assert.equal(text, tostring(err))
      assert.is_true(err.mayHaveRun)
    end
  end)

  it("is refused without an id, and for any other request", function()
    created.taskId = nil
    assert.equal("tools/call: malformed result: /taskId: a string expected", select(2, call()).message)
    server.methods["prompts/get"] = methods["tools/call"]
    assert.matches('resultType: "task" is unknown', select(2, with(nil, function(client)
      return client:request("prompts/get", { name = "p" })
    end)).message)
  end)

  it("has its questions answered once each, as those of a call", function()
    local function form(text)
      return { method = "elicitation/create", params = { message = text } }
    end
    local waiting = { status = "input_required", inputRequests = { a = form("A"), b = form("B") } }
    table.insert(states, 1, waiting)
    table.insert(states, 2, waiting)
    table.insert(states, 3, { status = "input_required", inputRequests = { c = form("C") } })
    local questions = {}
    assert.same({ done = true }, (call({ elicitation = function(params)
      questions[#questions + 1] = params.message
      return { action = "accept", content = {} }
    end })))
    assert.same({ "A", "B", "C" }, questions)
    local updates = mcp_link.params(server, "tasks/update")
    local yes = { action = "accept", content = {} }
    assert.same({ a = yes, b = yes }, updates[1].inputResponses)
    assert.same({ c = yes }, updates[2].inputResponses)
    assert.equal(2, #updates)
  end)

  it("is ended when its questions cannot be answered, or never end", function()
    states = { { status = "input_required", inputRequests = { a = { method = "elicitation/create" } } } }
    assert.matches("the client has no elicitation/create", select(2, call()).message)
    assert.same({ "t1" }, names_of("tasks/cancel"))
    states = { { status = "input_required" } }
    assert.matches("/inputRequests: an object expected", select(2, call()).message)
    local count = 0
    server.methods["tasks/get"] = function()
      count = count + 1
      return { status = "input_required", inputRequests = { ["k" .. count] = { method = "elicitation/create" } } }
    end
    assert.equal("tools/call: no result after 16 rounds of input", select(2, call({ elicitation = function()
      return { action = "decline" }
    end })).message)
    assert.same({ "t1", "t1", "t1" }, names_of("tasks/cancel"))
  end)

  it("is waited for as long as any request, then cancelled; and cancelled with its caller", function()
    states = { { status = "working" } }
    local _, err = call({ timeout = 500, max_timeout = 5000 })
    assert.same({ "TIMEOUT", "tools/call: the server's task was not done in time", true },
      { err.code, err.message, err.mayHaveRun })
    assert.same({ "t1" }, names_of("tasks/cancel"))
    with(nil, function(client)
      local calling = operations.spawn(client.call, client, "slow")
      operations.sleep(2.5)
      calling:cancel("enough")
      pcall(calling.wait, calling)
      operations.sleep(0.001)
    end)
    assert.same({ "t1", "t1" }, names_of("tasks/cancel"))
  end)

  it("ends with the deadline of its caller", function()
    states = { { status = "working" } }
    with(nil, function(client)
      local registry = operations.registry()
      assert(client:register(registry))
      local _, err = registry:execute("s.slow", {}, { timeout = 3000 })
      assert.equal("TIMEOUT", err.code)
    end)
    assert.same({ "t1" }, names_of("tasks/cancel"))
  end)

  it("survives losses of the connection", function()
    local get, losses = methods["tasks/get"], 7
    server.methods["tasks/get"] = function(params, link)
      if losses > 0 then
        losses = losses - 1
        link.pending:fail(nil, mcp_failure.new("lost", "gone"))
        return nil
      end
      return get(params, link)
    end
    assert.same({ done = true }, (call()))
    losses = math.huge
    assert.equal("gone", select(2, call()).message)
  end)

  it("is left running by a caller that detaches, and is found again by its id", function()
    with(nil, function(client)
      local registry = operations.registry()
      assert(client:register(registry))
      local _, err = registry:execute("s.slow", {}, { detach = true })
      assert.same({ "DETACHED", "t1" }, { err.code, err.details.task })
    end)
    assert.same({}, names_of("tasks/get"))
    states = { { status = "working", statusMessage = "half", createdAt = "c", lastUpdatedAt = "u", ttlMs = 60000 },
      { status = "working" }, states[1] }
    with(nil, function(client)
      local found = client:task("t1", "slow")
      assert.equal("t1", found.id)
      assert.same({ status = "working", message = "half", createdAt = "c", lastUpdatedAt = "u", ttlMs = 60000 },
        found:state())
      assert.same({ done = true }, assert(found:wait()).data)
      assert.is_true(found:cancel())
      local registry = operations.registry()
      assert(client:register(registry))
      assert.same({ done = true }, assert(registry:resume("s.slow", "t1")).data)
    end)
    assert.same({ "t1" }, names_of("tasks/cancel"))
  end)

  it("continues when a wait for it ends", function()
    states = { { status = "working" } }
    with(nil, function(client)
      local found = client:task("t1")
      assert.equal("TIMEOUT", select(2, found:wait({ timeout = 2500 })).code)
      states = { { status = 7 }, { code = -32602, message = "unknown" } }
      assert.equal("tasks/get: malformed result: /status: a string expected", select(2, found:state()).message)
      assert.equal("tasks/get: unknown", select(2, found:state()).message)
    end)
    assert.same({}, names_of("tasks/cancel"))
  end)

  it("is the result of a request that a program makes itself", function()
    with(nil, function(client)
      assert.equal("t1", client:request("tools/call", { name = "slow" }).taskId)
    end)
  end)
end)

describe("a task of a server behind another one", function()
  local behind, before, runs, client

  -- A server over a connection; the clients of each that are made here know no other.
  local function listen(registry)
    local server = operations.to_mcp(registry, { tasks = { poll = 10 } })
    return server, ("http://127.0.0.1:%d/mcp"):format(assert(server:listen()).port)
  end

  local function connect(more)
    return assert(operations.from_mcp.connect("office", more))
  end

  -- Calls the tool through a server between, whose operation has this `_meta.task`.
  local function call(task, era)
    local registry = operations.registry()
    assert(registry:register({ namespace = "office", name = "sign", _meta = { task = "optional" },
      inputSchema = { type = "object" }, handler = function(_, context)
        runs = runs + 1
        operations.sleep(0.3)
        local action, content = context.elicit("Name?", { type = "object",
          properties = { name = { type = "string" } } })
        return { action = action, name = content and content.name }
      end }))
    local url
    behind, url = listen(registry)
    local upstream = connect({ url = url, questions = "caller", accessControl = { requiredScopes = {} } })
    for _, definition in ipairs(upstream.operations) do
      definition._meta.task = task
    end
    local between = operations.registry()
    assert(between:register_all(upstream.operations))
    before, url = listen(between)
    client = connect({ url = url, era = era, elicitation = function()
      return { action = "accept", content = { name = "Ann" } }
    end })
    local envelope, err = client:call("office_office_sign", {})
    client:close()
    upstream:close()
    return envelope and envelope.data, err
  end

  after_each(function()
    before:close()
    behind:close()
  end)

  for _, case in ipairs({ { nil, "modern", 2 }, { "optional", "modern", 1 }, { nil, "legacy", 1 } }) do
    it(("has its questions answered by a client of the %s era%s"):format(case[2],
      case[1] and ", which has a task, too" or ""), function()
      runs = 0
      operations.run(function()
        assert.same({ action = "accept", name = "Ann" }, assert(call(case[1], case[2])))
      end)
      assert.equal(case[3], runs) -- without a task of its own the call runs again with the answer
    end)
  end
end)
