local core = require("operations.core")
local operations = require("operations")
local schema = require("operations.schema")
local one_operation = require("spec.support.one_operation")

local answer, returning = one_operation.answer, one_operation.returning

describe("a handler that fails", function()
  local schemas = { {
    code = "NOT_FOUND",
    description = "no such task",
    schema = { type = "object", required = { "id" } },
  } }

  it("by returning nil and an error is answered with it", function()
    local err = operations.error("NOT_FOUND", "no task 7", { id = 7 })
    local envelope, got = answer({ errorSchemas = schemas, handler = function() return nil, err end })
    assert.is_nil(envelope)
    assert.equal(err, got)
    assert.equal(0, #one_operation.warnings)
  end)

  it("by raising an error object is answered with it", function()
    local err = operations.error("NOT_FOUND", "no task 7")
    assert.equal(err, select(2, answer({ handler = function() error(err) end })))
    assert.equal(0, #one_operation.logged)
  end)

  it("by raising a declared code as text is answered with that code", function()
    local _, err = answer({ errorSchemas = schemas, handler = function() error("NOT_FOUND: no task 7") end })
    assert.equal("NOT_FOUND", err.code)
    assert.equal("no task 7", err.message)
  end)

  it("unforeseen is an EXECUTION_ERROR whose traceback is only in the log", function()
    local _, err = answer({ handler = function() local t = nil; return t.x end }) -- luacheck: ignore 331
    assert.equal("EXECUTION_ERROR", err.code)
    assert.is_nil(err.message:match("traceback"))
    assert.matches("stack traceback", one_operation.logged[1], 1, true)
    local _, frames = one_operation.logged[1]:gsub("operation_spec%.lua:%d+: in", "") -- the handler's own is among them
    assert.is_true(frames >= 1)
  end)

  it("is an EXECUTION_ERROR of a handler that yields outside of a subscription; the log says where", function()
    for _, handler in ipairs({ function() coroutine.yield(1) return "on" end, coroutine.yield }) do
      local _, err = operations.run(answer, { handler = handler })
      assert.equal("EXECUTION_ERROR", err.code)
      assert.matches("^coroutine%.yield in a task: only the handler of a subscription", err.message)
      assert.matches("stack traceback", one_operation.logged[1], 1, true)
    end
  end)

  it("with a value that is no text is an UNKNOWN_ERROR that keeps it", function()
    local _, err = answer({ handler = function() error({ odd = true }) end })
    assert.equal("UNKNOWN_ERROR", err.code)
    assert.is_true(err.details.raw.odd)
  end)

  it("with nil is an UNKNOWN_ERROR, whose traceback is in the log", function()
    local _, err = answer({ handler = function() error() end })
    assert.same({ "UNKNOWN_ERROR", "nil" }, { err.code, err.message })
    assert.matches("operation_spec%.lua:%d+: in", one_operation.logged[1])
  end)

  it("has its details checked against the declared schema", function()
    local _, err = answer({ errorSchemas = schemas, handler = function()
      return nil, operations.error("NOT_FOUND", "x", { ident = 7 })
    end })
    assert.equal("NOT_FOUND", err.code)
    assert.equal("NOT_FOUND", one_operation.warnings[1].code)
    assert.equal("/id", one_operation.warnings[1].issues[1].path)
  end)

  it("has its details checked against a family of codes where no other declaration names its own", function()
    local function schema_of(type)
      return { properties = { id = { type = type } } }
    end
    local declared = {
      { code = "E_2", schema = schema_of("integer") },
      { code = "E_*", pattern = "^E_[0-9]$", schema = schema_of("boolean") },
      { code = "all", pattern = "", schema = schema_of("null") },
    }
    for code, expected in pairs({ E_2 = "expected integer", E_1 = "expected boolean", other = "expected null" }) do
      one_operation.warnings = {}
      local _, err = answer({ errorSchemas = declared, handler = function()
        return nil, operations.error(code, "x", { id = "x" })
      end })
      assert.equal(code, err.code)
      assert.matches(expected, one_operation.warnings[1].issues[1].message, 1, true)
    end
  end)

  it("that ran is not said to have done nothing: what it called did nothing", function()
    local busy = operations.error("BUSY", "no room")
    busy.retryable, busy.mayHaveRun = true, false
    local registry = operations.registry()
    for name, handler in pairs({
      returns = function() return nil, busy end,
      raises = function() error(busy, 0) end,
      calls = function(_, context) return context.env.a.returns() end,
    }) do
      assert(registry:register({ namespace = "a", name = name, handler = handler }))
    end
    assert(registry:register({ namespace = "a", name = "streams", type = "subscription", handler = function()
      coroutine.yield(1)
      return nil, busy
    end }))
    local stream = assert(registry:subscribe("a.streams"))
    assert(stream:next())
    local failures = { select(2, stream:next()) }
    for _, name in ipairs({ "returns", "raises", "calls" }) do
      failures[#failures + 1] = select(2, registry:execute("a." .. name))
    end
    assert.equal(4, #failures)
    for _, err in ipairs(failures) do
      assert.same({ "BUSY", true }, { err.code, err.retryable })
      assert.is_nil(err.mayHaveRun)
    end
    assert.is_false(busy.mayHaveRun)
  end)

  it("that an adapter made says whether its call ran, with middleware around it, too", function()
    local api = { openapi = "3.1.0", info = { title = "gone" }, paths = { ["/x"] = { get = { operationId = "get" } } } }
    local definitions = assert(operations.from_openapi.document(api, { base_url = "http://127.0.0.1:1" }))
    for _, middleware in ipairs({ {}, { function(handler) return function(...) return handler(...) end end } }) do
      local registry = operations.registry({ middleware = middleware })
      assert(registry:register_all(definitions))
      local _, err = registry:execute("gone.get")
      assert.same({ "EXECUTION_ERROR", true, false }, { err.code, err.retryable, err.mayHaveRun })
      assert(registry:register({ namespace = "a", name = "outer", handler = function(_, context)
        return context.env.gone.get()
      end }))
      _, err = registry:execute("a.outer")
      assert.same({ "EXECUTION_ERROR", true }, { err.code, err.retryable })
      assert.is_nil(err.mayHaveRun)
    end
  end)

  it("returning false or null has not failed", function()
    assert.is_false(answer({ handler = function() return false end }).data)
    assert.equal(operations.null, answer({ handler = function() return operations.null end }).data)
  end)
end)

describe("middleware", function()
  it("wraps every handler, the first one outermost", function()
    local order = {}
    local function note(name)
      return function(handler, spec)
        return function(input, context)
          order[#order + 1] = name .. " " .. spec.name
          return handler(input, context)
        end
      end
    end
    assert.equal(1, answer({ handler = function() return 1 end }, nil, { middleware = { note("x"), note("y") } }).data)
    assert.same({ "x b", "y b" }, order)
  end)

  it("that raises or gives no function leaves the registry as it was", function()
    for message, wrap in pairs({
      ["not today"] = function() error("not today") end,
      ["middleware [1] has to return a function for a.b, not a nil"] = function() end,
    }) do
      local registry = operations.registry({ middleware = { function(handler, spec)
        return spec.name == "b" and wrap() or spec.name ~= "b" and handler or nil
      end } })
      local good = { namespace = "a", name = "a", handler = print }
      local bad = { namespace = "a", name = "b", handler = print }
      local ok, raised = pcall(registry.register, registry, bad)
      assert.is_false(ok)
      assert.matches(message, raised, 1, true)
      assert.is_false((pcall(registry.register_all, registry, { good, bad })))
      assert.same({}, (registry:list()))
    end
  end)
end)

describe("many calls", function()
  it("leave no memory behind", function()
    local registry = one_operation.registry(returning({ id = "x", total = 1 }))
    local function calls()
      for _ = 1, 2000 do
        registry:execute("a.b", { a = 1 }, { requestId = "r" })
      end
      collectgarbage()
      collectgarbage()
      return collectgarbage("count")
    end
    local least = math.huge
    local before = calls()
    for _ = 1, 5 do -- what LuaJIT compiles in between is memory, too
      local after = calls()
      least, before = math.min(least, after - before), after
    end
    assert.is_true(least < 16)
  end)
end)

describe("an operation", function()
  local function operation_of(spec, output, fails)
    spec.namespace, spec.name = "a", "b"
    return core.registry("cast", false, fails):operation(spec, nil, output)
  end

  it("gives copies of its spec, without schemas where those are not wanted", function()
    local function spec()
      return { namespace = "a", name = "b", title = "A", tags = { "t" }, inputSchema = { type = "object" },
        outputSchema = { type = "string" }, errorSchemas = { { code = "X" } } }
    end
    local operation = operation_of(spec())
    for _, wanted in ipairs({ true, 0, "", {} }) do
      assert.same(spec(), operation:spec(wanted))
    end
    assert.same({ namespace = "a", name = "b", title = "A", tags = { "t" } }, operation:spec(false))
    operation:spec().tags[1], operation:spec(false).tags[1] = "changed", "changed"
    assert.same(spec(), operation:spec())
    assert.same({ "a.b", "A" }, { operation:id(), operation:field("title") })
    assert.is_nil(operation:field("none"))
  end)

  it("finishes the results of other processes, too, where it says how, or misfits fail", function()
    for _, case in ipairs({
      { {}, false, false }, { { normalize = "off" }, false, true }, { { normalize = "cast" }, false, true },
      { { on_mismatch = "fail" }, false, true }, { { on_mismatch = "warn" }, false, false }, { {}, true, true },
      { { on_mismatch = "warn" }, true, false }, { { on_mismatch = "warn", normalize = "force" }, true, true },
    }) do
      assert.equal(case[3], operation_of(case[1], nil, case[2]):finishes_all())
    end
  end)

  it("tells which results need no check", function()
    assert.equal("any", operation_of({}):accepts())
    for text, expected in pairs({
      ['{"type":"object"}'] = "object", ['{"type":["object","string"]}'] = "object", ['{"type":"string"}'] = "none",
      ['{"type":"object","required":["a"]}'] = "none", ["{}"] = "none",
    }) do
      local output = assert(schema.compile(assert(operations.json.decode(text))))
      assert.equal(expected, operation_of({}, output):accepts() or "none")
    end
  end)

  it("is made once none of its schemas is a function", function()
    for _, key in ipairs({ "inputSchema", "outputSchema", "errorSchemas" }) do
      local operation = operation_of({ [key] = function() end })
      assert.same({ false, nil }, { operation:made() })
      operation:flaw("no schema")
      assert.same({ false, "no schema" }, { operation:made() })
      operation:make({ namespace = "a", name = "b", [key] = { type = "object" } })
      assert.is_true((operation:made()))
    end
    assert.same({ true, nil }, { operation_of({}):made() })
  end)
end)
