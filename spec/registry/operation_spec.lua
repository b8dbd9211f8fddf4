local operations = require("operations")

local warnings, logged

local function registry_with(definition, options)
  warnings, logged = {}, {}
  options = options or {}
  options.log = function(_, message)
    logged[#logged + 1] = message
  end
  options.on_warning = function(warning)
    warnings[#warnings + 1] = warning
  end
  local registry = operations.registry(options)
  definition.namespace, definition.name = "a", "b"
  assert(registry:register(definition))
  return registry
end

local function answer(definition, input, options)
  return registry_with(definition, options):execute("a.b", input)
end

local task_schema = {
  type = "object",
  required = { "id", "total" },
  properties = {
    id = { type = "string" },
    total = { type = "integer" },
    state = { type = "string", default = "open" },
    note = { type = { "string", "null" } },
  },
}

local function returning(value)
  return { outputSchema = task_schema, handler = function() return value end }
end

describe("input", function()
  local schema = {
    type = "object",
    required = { "title" },
    properties = {
      title = { type = "string", minLength = 1 },
      priority = { type = "string", enum = { "low", "high" }, default = "low" },
      owner = { type = "object", required = { "id" }, properties = { id = { type = "string" } } },
    },
  }
  local definition = { inputSchema = schema, handler = function(input) return input end }

  it("that is invalid is a VALIDATION_ERROR with all issues by path", function()
    local envelope, err = answer(definition, { title = "", priority = "nope", owner = {} })
    assert.is_nil(envelope)
    assert.equal("VALIDATION_ERROR", err.code)
    assert.equal(3, #err.details)
    local paths = {}
    for _, issue in ipairs(err.details) do
      paths[issue.path] = issue
    end
    assert.equal("minLength", paths["/title"].keyword)
    assert.equal("enum", paths["/priority"].keyword)
    assert.matches("/title: ", tostring(err), 1, true)
  end)

  it("does not reach the handler when it is invalid", function()
    local ran = false
    answer({ inputSchema = schema, handler = function() ran = true end }, {})
    assert.is_false(ran)
  end)

  it("gets its defaults and is not mutated", function()
    local input = { title = "x" }
    assert.same({ title = "x", priority = "low" }, answer(definition, input).data)
    assert.is_nil(input.priority)
  end)

  it("must have the format that its schema names; a result need not", function()
    local dated = { type = "object", properties = { on = { type = "string", format = "date" } } }
    local formats = { inputSchema = dated, outputSchema = dated, handler = function() return { on = "someday" } end }
    assert.equal("/on", select(2, answer(formats, { on = "2026-02-30" })).details[1].path)
    assert.equal("someday", answer(formats, { on = "2026-02-28" }).data.on)
    assert.equal(0, #warnings)
  end)

  it("is never cast", function()
    assert.equal("VALIDATION_ERROR", select(2, answer(definition, { title = 12 })).code)
  end)

  it("left out is an empty object", function()
    assert.same({}, answer({ inputSchema = { type = "object" }, handler = function(input) return input end }).data)
  end)

  it("that only must be an object is still refused when it is none", function()
    local object = { inputSchema = { type = "object" }, handler = function() return 1 end }
    for _, input in ipairs({ { 1, 2 }, operations.array(), "x", 7, false }) do
      assert.equal("VALIDATION_ERROR", select(2, answer(object, input)).code)
    end
    assert.equal(1, answer(object, operations.object()).data)
  end)
end)

describe("a result", function()
  it("is wrapped in a local envelope", function()
    local envelope = answer({ handler = function() return 5 end })
    assert.equal(5, envelope.data)
    assert.equal("local", envelope.meta.source)
  end)

  it("of nothing is an envelope without data", function()
    local envelope = answer({ handler = function() end })
    assert.is_nil(envelope.data)
    assert.is_true(operations.is_response_envelope(envelope))
  end)

  it("that is an envelope already passes through", function()
    local mine = operations.http_envelope({ a = 1 }, { statusCode = 201 })
    local envelope = answer({ handler = function() return mine end })
    assert.equal(201, envelope.meta.statusCode)
    assert.same({ a = 1 }, envelope.data)
  end)

  it("that only looks like an envelope is data", function()
    for _, meta in ipairs({ { source = "http" }, { source = "local" }, { source = "ftp", statusCode = 200 } }) do
      local mine = { data = 1, meta = meta }
      local envelope = answer({ handler = function() return mine end })
      assert.equal("a.b", envelope.meta.operationId)
      assert.equal(mine, envelope.data)
    end
  end)

  it("loses properties its schema does not know, valid or not", function()
    assert.same({ id = "x", total = 1, state = "open" }, answer(returning({ id = "x", total = 1, secret = 1 })).data)
  end)

  it("gets its defaults, of optional properties too", function()
    assert.equal("open", answer(returning({ id = "x", total = 1 })).data.state)
  end)

  it("is converted where nothing is lost", function()
    assert.equal(12, answer(returning({ id = "x", total = "12" })).data.total)
    assert.equal(0, #warnings)
  end)

  it("keeps null where null is allowed", function()
    assert.equal(operations.null, answer(returning({ id = "x", total = 1, note = operations.null })).data.note)
    assert.equal(0, #warnings)
  end)

  it("that does not fit stays as it is and is warned of with its path", function()
    local envelope = answer(returning({ id = "x", total = "many" }))
    assert.equal("many", envelope.data.total)
    assert.equal(1, #warnings)
    assert.equal("a.b", warnings[1].operationId)
    assert.equal("/total", warnings[1].issues[1].path)
  end)

  it("of nothing is not invented", function()
    local envelope = answer({ outputSchema = task_schema, handler = function() end })
    assert.is_nil(envelope.data)
    assert.equal(1, #warnings)
  end)

  it("of nothing is taken for what it is in an envelope of the handler's own", function()
    local envelope = answer(returning(operations.http_envelope(nil, { statusCode = 204 })))
    assert.equal(204, envelope.meta.statusCode)
    assert.is_nil(envelope.data)
    assert.equal(0, #warnings)
  end)

  it("of an MCP tool that failed is no output: the schema does not count", function()
    local blocks = operations.array({ { type = "text", text = "no" } })
    local mine = operations.mcp_envelope(blocks, { isError = true, content = blocks })
    local envelope = answer(returning(mine), nil, { normalize = "force" })
    assert.equal(mine, envelope)
    assert.equal(0, #warnings)
    answer(returning(operations.mcp_envelope(blocks, { content = blocks })))
    assert.equal(1, #warnings)
  end)

  it("is made to fit by force, each replacement reported", function()
    local envelope = answer(returning({ id = "x", total = "many" }), nil, { normalize = "force" })
    assert.equal("number", type(envelope.data.total))
    assert.equal(1, #warnings)
    assert.equal("/total", warnings[1].changes[1].path)
    assert.equal("many", warnings[1].changes[1].old)
  end)

  it("is only checked when normalizing is off", function()
    local mine = { id = "x", total = "12", secret = 1 }
    local envelope = answer(returning(mine), nil, { normalize = "off" })
    assert.equal(mine, envelope.data)
    assert.equal("/total", warnings[1].issues[1].path)
  end)

  it("is normalized as the operation says before the registry", function()
    local definition = returning({ id = "x", total = "12" })
    definition.normalize = "off"
    assert.equal("12", answer(definition, nil, { normalize = "force" }).data.total)
  end)

  it("never changes the handler's own table or envelope", function()
    local mine = { id = "x", total = "12", secret = 1 }
    answer(returning(mine))
    assert.same({ id = "x", total = "12", secret = 1 }, mine)
    local envelope = operations.http_envelope(mine, { statusCode = 200 })
    local result = answer(returning(envelope))
    assert.equal(mine, envelope.data)
    assert.equal(12, result.data.total)
    assert.equal(200, result.meta.statusCode)
  end)

  it("tells of every change to who asks", function()
    local seen = {}
    answer(returning({ id = "x", total = "12", secret = 1 }), nil, {
      on_change = function(id, list)
        assert.equal("a.b", id)
        for _, change in ipairs(list) do
          seen[change.kind] = change.path
        end
      end,
    })
    assert.same({ stripped = "/secret", converted = "/total", defaulted = "/state" }, seen)
  end)
end)

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
    assert.equal(0, #warnings)
  end)

  it("by raising an error object is answered with it", function()
    local err = operations.error("NOT_FOUND", "no task 7")
    assert.equal(err, select(2, answer({ handler = function() error(err) end })))
    assert.equal(0, #logged)
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
    assert.matches("stack traceback", logged[1], 1, true)
  end)

  it("with a value that is no text is an UNKNOWN_ERROR that keeps it", function()
    local _, err = answer({ handler = function() error({ odd = true }) end })
    assert.equal("UNKNOWN_ERROR", err.code)
    assert.is_true(err.details.raw.odd)
  end)

  it("has its details checked against the declared schema", function()
    local _, err = answer({ errorSchemas = schemas, handler = function()
      return nil, operations.error("NOT_FOUND", "x", { ident = 7 })
    end })
    assert.equal("NOT_FOUND", err.code)
    assert.equal("NOT_FOUND", warnings[1].code)
    assert.equal("/id", warnings[1].issues[1].path)
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
      warnings = {}
      local _, err = answer({ errorSchemas = declared, handler = function()
        return nil, operations.error(code, "x", { id = "x" })
      end })
      assert.equal(code, err.code)
      assert.matches(expected, warnings[1].issues[1].message, 1, true)
    end
  end)

  it("returning false or null has not failed", function()
    assert.is_false(answer({ handler = function() return false end }).data)
    assert.equal(operations.null, answer({ handler = function() return operations.null end }).data)
  end)
end)

describe("a handler's envelope", function()
  it("is read without its metamethods", function()
    local hostile = { __index = function() error("asked") end }
    local meta = setmetatable({ source = "http", statusCode = 204 }, hostile)
    local given = setmetatable({ meta = meta }, hostile)
    local output = { handler = function() return given end, outputSchema = { type = "string" } }
    assert.equal(given, answer(output))
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
    local registry = registry_with(returning({ id = "x", total = 1 }))
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
