local audit = require("operations.middleware.audit")
local json = require("operations.base.json")
local operations = require("operations")

local function echo(input)
  return input
end

describe("the record of calls", function()
  local lines, recorder

  local function records()
    local list = {}
    for i, line in ipairs(lines) do
      list[i] = assert(json.decode(line))
    end
    return list
  end

  local function registry_of(list, options)
    options = options or {}
    options.write = options.write or function(line)
      lines[#lines + 1] = line
    end
    local policy = options.policy
    options.policy = nil
    recorder = audit.new(options)
    local registry = operations.registry({ middleware = { recorder }, policy = policy, log = function() end })
    for _, fields in ipairs(list) do
      fields.namespace, fields.handler = "tasks", fields.handler or echo
      assert(registry:register(fields))
    end
    return registry
  end

  before_each(function()
    lines = {}
  end)

  it("has a line for a call: its caller, operation, outcome and duration", function()
    local registry = registry_of({ { name = "add" } }, { key = "k" })
    assert(registry:execute("tasks.add", { a = 1 }, { identity = { id = "ada", issuer = "i", scopes = {} },
      requestId = "r1", metadata = { mcp = { client = { name = "c", version = "2" } },
        http = { address = "10.0.0.1" } } }))
    local record = records()[1]
    assert.same({ "tasks.add", "r1", { id = "ada", issuer = "i" },
      { name = "c", version = "2", address = "10.0.0.1" }, "ok" },
      { record.operation, record.id, record.identity, record.client, record.outcome })
    assert.truthy(record.time:find("^%d%d%d%d%-%d%d%-%d%dT%d%d:%d%d:%d%d%.%d%d%dZ$"))
    assert.is_number(record.duration)
    assert.equal(64, #record.input)
    assert.is_nil(lines[1]:find('"a"', 1, true))
  end)

  it("has the same digest for the same input under the same key, whatever the order of its members", function()
    local registry = registry_of({ { name = "add" } }, { key = "k" })
    assert(registry:execute("tasks.add", { a = 1, b = 2 }))
    assert(registry:execute("tasks.add", { b = 2, a = 1 }))
    assert(registry:execute("tasks.add", { b = 2, a = 2 }))
    local other = registry_of({ { name = "add" } }, { key = "l" })
    assert(other:execute("tasks.add", { a = 1, b = 2 }))
    local digests = {}
    for i, record in ipairs(records()) do
      digests[i] = record.input
    end
    assert.equal(digests[1], digests[2])
    assert.is_false(digests[1] == digests[3] or digests[1] == digests[4])
  end)

  it("tells failures, tool errors and nested calls apart", function()
    local registry = registry_of({
      { name = "fails", handler = function()
        return nil, operations.error("NO_ROOM", "full")
      end },
      { name = "raises", handler = function()
        error("oops")
      end },
      { name = "tool", handler = function()
        return operations.mcp_envelope(nil, { isError = true, content = operations.array({}) })
      end },
      { name = "inner" },
      { name = "outer", handler = function(_, context)
        return context.env.tasks.inner({})
      end },
    })
    registry:execute("tasks.fails")
    registry:execute("tasks.raises")
    registry:execute("tasks.tool")
    registry:execute("tasks.outer", {}, { requestId = "r" })
    local found = {}
    for i, record in ipairs(records()) do
      found[i] = { record.operation, record.outcome, record.code, record.parent }
    end
    assert.same({ { "tasks.fails", "error", "NO_ROOM" }, { "tasks.raises", "error", "EXECUTION_ERROR" },
      { "tasks.tool", "tool_error" }, { "tasks.inner", "ok", nil, "r" }, { "tasks.outer", "ok" } }, found)
  end)

  it("has a line for what was refused before the handler: by access, by schema, by a rule, by a person", function()
    local policy = assert(operations.policy({ { match = "drop", action = "block", name = "keep" },
      { match = "pay", action = "ask", name = "money" } }, { face = "window", ask = function(call)
      return call.input.much ~= true, "once"
    end }))
    local registry = registry_of({ { name = "own", accessControl = { requiredScopes = { "x" } } },
      { name = "add", inputSchema = { type = "object", required = { "a" } } }, { name = "drop" }, { name = "pay" } },
      { policy = policy })
    registry:execute("tasks.own", {}, { requestId = "r" })
    registry:execute("tasks.add", {})
    registry:execute("tasks.drop", {})
    registry:execute("tasks.pay", { much = true })
    registry:execute("tasks.pay", {})
    local found = {}
    for i, record in ipairs(records()) do
      found[i] = { record.operation, record.outcome, record.code, record.rule, record.approval }
    end
    assert.same({ { "tasks.own", "error", "ACCESS_DENIED" }, { "tasks.add", "error", "VALIDATION_ERROR" },
      { "tasks.drop", "blocked", "ACCESS_DENIED", "keep" }, { "tasks.pay", "declined", "ACCESS_DENIED", "money" },
      { "tasks.pay", "ok", nil, "money", "window" } }, found)
    assert.equal("r", records()[1].id)
  end)

  it("has one line for a subscription, also for one that was closed", function()
    local registry = registry_of({ { name = "ticks", type = "subscription", handler = function()
      while true do
        coroutine.yield(1)
      end
    end } })
    local stream = assert(registry:subscribe("tasks.ticks"))
    stream:next()
    stream:close()
    assert.same({ "aborted", "ABORTED" }, { records()[1].outcome, records()[1].code })
    assert.equal(1, #lines)
  end)

  it("shows inputs by option, without passwords, what is only written, and what is named", function()
    local hidden = { writeOnly = true }
    local schema = { type = "object", ["$defs"] = { p = { format = "password" } }, properties = {
      user = {}, pass = { ["$ref"] = "#/$defs/p" }, list = { items = { properties = { key = hidden } } },
      any = { anyOf = { { type = "object", properties = { pin = hidden } }, { type = "null" } } } } }
    local registry = registry_of({ { name = "add", inputSchema = schema } }, {
      preview = { "/card/number", "/list/1/x", "/none/there" } })
    assert(registry:execute("tasks.add", { user = "ada", pass = "secret1", card = { number = "4111", name = "A" },
      list = { { key = "secret2", id = 1 }, { x = "secret3" } }, any = { pin = "secret4" } }))
    assert.equal('{"any":{"pin":"***"},"card":{"name":"A","number":"***"},"list":[{"id":1,"key":"***"},{"x":"***"}],'
      .. '"pass":"***","user":"ada"}', records()[1].preview)
  end)

  it("cuts long inputs, and never changes the handler's input", function()
    local got
    local registry = registry_of({ { name = "add", inputSchema = { properties = { p = { writeOnly = true } } },
      handler = function(input)
        got = input
        return 1
      end } }, { preview = true })
    assert(registry:execute("tasks.add", { p = "secret", text = ("ä"):rep(5000) }))
    assert.equal("secret", got.p)
    assert.is_true(#records()[1].preview < 1100)
  end)

  it("appends whole lines to a file, and makes it again when it was moved away", function()
    local path = os.tmpname()
    os.remove(path)
    finally(function()
      os.remove(path)
      os.remove(path .. ".1")
    end)
    recorder = audit.new({ path = path })
    local registry = operations.registry({ middleware = { recorder } })
    assert(registry:register({ namespace = "tasks", name = "add", handler = echo }))
    assert(registry:execute("tasks.add"))
    assert(registry:execute("tasks.add"))
    assert(os.rename(path, path .. ".1"))
    assert(registry:execute("tasks.add"))
    local counts = {}
    for _, name in ipairs({ path .. ".1", path }) do
      local count = 0
      for line in io.lines(name) do
        assert(json.decode(line))
        count = count + 1
      end
      counts[#counts + 1] = count
    end
    assert.same({ 2, 1 }, counts)
  end)

  it("counts lines that cannot be written, tells it once, and lets the calls run", function()
    local failing, told = true, {}
    local registry = registry_of({ { name = "add" } }, { write = function(line)
      if failing then
        error("disk full")
      end
      lines[#lines + 1] = line
    end, log = function(level, message)
      told[#told + 1] = level .. ": " .. message
    end })
    assert(registry:execute("tasks.add"))
    assert(registry:execute("tasks.add"))
    failing = false
    assert(registry:execute("tasks.add"))
    assert.equal(2, recorder.lost)
    assert.equal(2, #told)
    assert.truthy(told[1]:find("^error: audit: a line could not be written: .*disk full"))
    assert.equal("warn: audit: lines are written again; 2 were lost", told[2])
  end)

  it("is refused for a device, and without a place to write to", function()
    assert.has_error(function()
      audit.new({ path = "/dev/null" })
    end, "bad option 'path' to 'audit' (/dev/null is no regular file)")
    assert.has_error(function()
      audit.new({})
    end, "bad argument #1 to 'audit' (path or write expected, one of them)")
  end)
end)
