local core = require("operations.core")
local operations = require("operations")
local scheduler = require("operations.task.scheduler")

--- Runs `body` as a handler and returns what it returned.
local function inside(given, body)
  local registry = operations.registry({ log = function() end })
  local result
  assert(registry:register({
    namespace = "a",
    name = "outer",
    handler = function(_, context)
      result = { body(context, registry) }
    end,
  }))
  assert(registry:execute("a.outer", {}, given))
  return result[1], result[2], result[3]
end

describe("calls within calls", function()
  it("that are nested too deeply fail in words", function()
    local logged = {}
    local registry = operations.registry({ log = function(_, text) logged[#logged + 1] = text end })
    assert(registry:register({ namespace = "a", name = "b", handler = function(input, context)
      if input.left == 0 then
        return "done"
      end
      return context.env.a.b({ left = input.left - 1 })
    end }))
    assert.equal("done", assert(registry:execute("a.b", { left = 40 })).data)
    local value, err = registry:execute("a.b", { left = 100000 })
    assert.is_nil(value)
    assert.equal("EXECUTION_ERROR: calls within calls, or functions, are nested too deeply (stack overflow)",
      tostring(err))
    assert.equal(1, #logged)
    assert.equal("done", assert(registry:execute("a.b", { left = 40 })).data)
  end)

  it("of a handler that calls itself without an end fail in words, too", function()
    local registry = operations.registry({ log = function() end })
    local function again(n)
      return 1 + again(n)
    end
    assert(registry:register({ namespace = "a", name = "b", handler = again }))
    assert.matches("nested too deeply", tostring(select(2, registry:execute("a.b"))))
  end)
end)

describe("the context of a call", function()
  it("holds what the caller gave", function()
    local identity, metadata = { id = "u", scopes = {} }, { a = 1 }
    local context = inside({
      requestId = "r1",
      parentRequestId = "r0",
      identity = identity,
      deadline = core.now() + 60000,
      metadata = metadata,
      traceparent = "00-x",
    }, function(context)
      return context
    end)
    assert.equal("r1", context.requestId)
    assert.equal("r0", context.parentRequestId)
    assert.equal(identity, context.identity)
    assert.equal(metadata, context.metadata)
    assert.equal("00-x", context.traceparent)
    assert.is_true(context.deadline > core.now())
  end)

  it("makes a request id when none was given, and keeps it", function()
    local first, second, other = inside(nil, function(context, registry)
      assert(registry:register({ namespace = "a", name = "id", handler = function(_, c) return c.requestId end }))
      return context.requestId, context.requestId, registry:execute("a.id").data
    end)
    assert.matches("^%x+%-%x+%-4%x+%-[89ab]%x+%-%x+$", first)
    assert.equal(first, second)
    assert.are_not.equal(first, other)
  end)

  it("turns a timeout into the earlier deadline", function()
    local deadline = inside({ timeout = 60000, deadline = core.now() + 600000 }, function(context)
      return context.deadline
    end)
    assert.is_true(deadline <= core.now() + 60000)
    local kept = core.now() + 30000
    assert.equal(kept, inside({ timeout = 60000, deadline = kept }, function(context)
      return context.deadline
    end))
  end)

  it("hands identity, deadline, metadata and trace down to nested calls", function()
    local given = {
      requestId = "r1",
      identity = { id = "u", scopes = {} },
      deadline = core.now() + 60000,
      metadata = { a = 1 },
      traceparent = "00-x", elicit = function() end, sample = function() end, roots = function() end,
      ask = function() end,
    }
    local nested = inside(given, function(context, registry)
      assert(registry:register({ namespace = "a", name = "inner", handler = function(_, c)
        return { id = c.requestId, parent = c.parentRequestId, context = c }
      end }))
      return context.env.a.inner({}).data
    end)
    assert.equal("r1", nested.parent)
    assert.are_not.equal("r1", nested.id)
    for _, key in ipairs({ "identity", "deadline", "metadata", "traceparent", "elicit", "sample", "roots", "ask" }) do
      assert.equal(given[key], nested.context[key])
    end
  end)

  it("answers TIMEOUT without running the handler when the deadline has passed", function()
    local registry = operations.registry()
    local ran = false
    assert(registry:register({ namespace = "a", name = "b", handler = function() ran = true end }))
    local envelope, err = registry:execute("a.b", {}, { deadline = core.now() - 1 })
    assert.is_nil(envelope)
    assert.equal("TIMEOUT", err.code)
    assert.is_false(err.mayHaveRun)
    assert.is_false(ran)
  end)

  it("says of a handler whose time was up that it may have run", function()
    local registry = operations.registry()
    assert(registry:register({ namespace = "a", name = "b", handler = function()
      operations.sleep(5)
    end }))
    local _, err = registry:execute("a.b", {}, { timeout = 20 })
    assert.same({ "TIMEOUT", true }, { err.code, err.mayHaveRun })
  end)

  it("does not take for a result what a handler returned after its deadline", function()
    local registry = operations.registry()
    assert(registry:register({ namespace = "a", name = "lines", handler = function()
      local child = assert(operations.process.spawn({ "sh", "-c", "echo one; exec sleep 30" }))
      local lines, line = {}, child:read_line()
      while line do
        lines[#lines + 1], line = line, child:read_line()
      end
      child:stop({ close = 0, term = 0 })
      return lines
    end }))
    local envelope, err = registry:execute("a.lines", {}, { timeout = 200 })
    assert.is_nil(envelope)
    assert.same({ "TIMEOUT", true }, { err.code, err.mayHaveRun })
  end)

  it("knows deadlines by the clock of the host", function()
    local hosts, host = require("operations.hosts"), require("spec.support.fake_host").new(5000)
    local before = hosts.current()
    hosts.use(host)
    local registry = operations.registry()
    assert(registry:register({ namespace = "a", name = "b", handler = function(_, context)
      return { deadline = context.deadline, cancelled = context:cancelled() }
    end }))
    local envelope = registry:execute("a.b", {}, { timeout = 100 })
    local _, err = registry:execute("a.b", {}, { deadline = 4999 })
    hosts.use(before)
    assert.same({ deadline = 5100, cancelled = false }, envelope.data)
    assert.same({ "TIMEOUT", false }, { err.code, err.mayHaveRun })
  end)

  it("says when the handler should stop", function()
    local before, after
    pcall(inside, { timeout = 500 }, function(context)
      before = context:cancelled()
      while core.now() < context.deadline do end
      after = context:cancelled()
    end)
    assert.is_false(before)
    assert.is_true(after)
  end)

  it("gives no way to fields that only look like methods", function()
    assert.is_nil(inside(setmetatable({}, { __index = { cancelled = 1, unheard_of = 1 } }), function(context)
      return context.unheard_of
    end))
  end)

  it("must be a table with fields of the right types", function()
    local registry = operations.registry()
    assert(registry:register({ namespace = "a", name = "b", handler = function() return 1 end }))
    for message, given in pairs({
      ["table expected, got string"] = "r1",
      ["table expected, got boolean"] = true,
      ["deadline: number expected, got string"] = { deadline = "soon" },
      ["timeout: number expected, got boolean"] = { timeout = true },
      ["deadline: number expected, got NaN"] = { deadline = 0 / 0 },
    }) do
      local ok, raised = pcall(registry.execute, registry, "a.b", {}, given)
      assert.is_false(ok)
      assert.matches(message, raised, 1, true)
    end
  end)
end)

describe("an invalid context", function()
  local registry = operations.registry({ log = function() end })
  registry:register({ namespace = "a", name = "x", handler = function() end })
  registry:register({ namespace = "a", name = "s", type = "subscription", handler = function() end })

  for problem, context in pairs({
    ["table expected, got string"] = "x",
    ["timeout: number expected, got string"] = { timeout = "x" },
    ["deadline: number expected, got boolean"] = { deadline = true },
    ["relay: table expected, got number"] = { relay = 5 },
  }) do
    it("is refused at the caller's line: " .. problem, function()
      for method, id in pairs({ execute = "a.x", subscribe = "a.s" }) do
        local ok, message = pcall(function()
          local value = registry[method](registry, id, {}, context)
          return value
        end)
        assert.is_false(ok)
        local file, text = message:match("^(.-):%d+: (.*)$")
        assert.matches("context_spec.lua", file, 1, true)
        assert.equal(("bad argument 'context' (%s)"):format(problem), text)
      end
    end)
  end
end)

describe("a field of a context that has the wrong type", function()
  it("is the caller's mistake: it fails the handler that reads it, and names no line of that handler", function()
    local registry = operations.registry({ log = function() end })
    for name, handler in pairs({
      reads = function(_, context) return context.metadata end,
      nests = function(_, context) return context.env.a.inherits({}) end,
      inherits = function(_, context) return context.metadata end,
    }) do
      assert(registry:register({ namespace = "a", name = name, handler = handler }))
    end
    for _, name in ipairs({ "reads", "nests" }) do
      local _, err = registry:execute("a." .. name, {}, { metadata = 5 })
      assert.same({ "EXECUTION_ERROR", "bad argument 'context' (metadata: table expected, got number)" },
        { err.code, err.message })
    end
  end)
end)

describe("the deadline of a call", function()
  it("is over with it", function()
    local registry = operations.registry({ log = function() end })
    local function late()
      local deadline = scheduler.here().deadline
      return deadline
    end
    registry:register({ namespace = "a", name = "late", handler = function()
      return late() ~= nil
    end })
    registry:register({ namespace = "a", name = "fails", handler = function()
      error("x")
    end })
    local before = late()
    assert.is_true(registry:execute("a.late", {}, { timeout = 1000 }).data)
    assert.equal(before, late())
    registry:execute("a.fails", {}, { timeout = 1000 })
    assert.equal(before, late())
    assert.is_false(registry:execute("a.late", {}).data)
  end)
end)
