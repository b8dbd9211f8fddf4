-- Tools that a server in this process runs as tasks; time passes in jumps.
local errors = require("operations.base.error")
local fake_host = require("spec.support.fake_host")
local hosts = require("operations.hosts")
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
    assert.same({ 100, 110, 30110, 31110, 32110 }, asked)
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
      assert.same({ "malformed", "tools/call: malformed result: /task: a task expected" },
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
