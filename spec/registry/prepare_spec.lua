local operations = require("operations")
local one_operation = require("spec.support.one_operation")

local answer = one_operation.answer

-- The first issue of an input by a schema.
local function issue_of(input_schema, input)
  local registry = operations.registry()
  assert(registry:register({ namespace = "a", name = "b", inputSchema = input_schema, handler = function() end }))
  local envelope, err = registry:execute("a.b", input)
  return envelope == nil and err.details[1].path .. ": " .. err.details[1].message or nil
end

describe("an input that cannot be said in JSON", function()
  it("is refused by T.any(), and everything is accepted without a schema", function()
    local T = operations.type
    assert.equal("/f: expected a JSON value, got function", issue_of(T.any(), { f = print }))
    assert.equal("/a/0: expected a JSON value, got NaN", issue_of(T.object({ a = T.any() }), { a = { 0 / 0 } }))
    assert.is_nil(issue_of(T.any(), { a = { 1, { b = operations.null } } }))
    assert.is_nil(issue_of(nil, { f = print }))
    assert.is_nil(issue_of(true, { f = print }))
  end)
end)

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
    assert.equal(0, #one_operation.warnings)
  end)

  it("is never cast", function()
    assert.equal("VALIDATION_ERROR", select(2, answer(definition, { title = 12 })).code)
  end)

  it("left out is an empty object", function()
    assert.same({}, answer({ inputSchema = { type = "object" }, handler = function(input) return input end }).data)
  end)

  it("that only must be an object is still refused when it is another value", function()
    local object = { inputSchema = { type = "object" }, handler = function() return 1 end }
    for _, input in ipairs({ { 1, 2 }, operations.array(), "x", 7, false }) do
      assert.equal("VALIDATION_ERROR", select(2, answer(object, input)).code)
    end
    assert.equal(1, answer(object, operations.object()).data)
  end)

  it("that is refused surely did not run, and fails again", function()
    local registry = operations.registry()
    local function nothing() end
    assert(registry:register({ namespace = "a", name = "strict", handler = nothing,
      inputSchema = { type = "object", required = { "x" } } }))
    assert(registry:register({ namespace = "a", name = "guarded", handler = nothing,
      accessControl = { requiredScopes = { "s" } } }))
    assert(registry:register({ namespace = "a", name = "streams", type = "subscription", handler = nothing }))
    assert(registry:register_spec({ namespace = "a", name = "spec" }))
    for id, code in pairs({ strict = "VALIDATION_ERROR", guarded = "ACCESS_DENIED", streams = "EXECUTION_ERROR",
      spec = "OPERATION_NOT_FOUND", nothing = "OPERATION_NOT_FOUND" }) do
      local _, err = registry:execute("a." .. id)
      assert.same({ code, false, false }, { err.code, err.retryable, err.mayHaveRun })
    end
  end)
end)

describe("admit", function()
  local function registry_with(fields)
    local registry = operations.registry()
    fields.namespace, fields.name = "a", "b"
    assert(registry:register(fields))
    return registry
  end
  local schema = { type = "object", properties = { n = { type = "integer", default = 3 } } }

  it("gives the input that the handler would get, and calls nothing", function()
    for _, type in ipairs({ "query", "mutation", "subscription" }) do
      local registry = registry_with({ type = type, handler = error, inputSchema = function()
        return schema
      end })
      assert.same({ true, { n = 3 } }, { registry:admit("a.b") })
      local ok, err = registry:admit("a.b", { n = "x" })
      assert.is_false(ok)
      assert.equal("VALIDATION_ERROR", err.code)
    end
  end)

  it("asks access control, and names a missing operation", function()
    local registry = registry_with({ handler = error, accessControl = { requiredScopes = { "w" } } })
    local ok, err = registry:admit("a.b", {}, { identity = { id = "ann", scopes = {} } })
    assert.same({ false, "ACCESS_DENIED" }, { ok, err.code })
    assert.is_true((registry:admit("a.b", {}, { identity = { id = "ann", scopes = { "w" } } })))
    ok, err = registry:admit("a.c")
    assert.same({ false, "OPERATION_NOT_FOUND" }, { ok, err.code })
    registry = registry_with({ handler = error, outputSchema = function()
      return { type = "none" }
    end })
    ok, err = registry:admit("a.b")
    assert.same({ false, "EXECUTION_ERROR" }, { ok, err.code })
  end)

  it("goes where the call goes", function()
    local outer = operations.registry()
    assert(outer:mount(registry_with({ handler = error, inputSchema = schema }), { prefix = "x" }))
    assert.same({ true, { n = 3 } }, { outer:admit("x.a.b") })
    assert.is_false((outer:admit("x.a.b", { n = "x" })))
    local routed = operations.registry()
    assert(routed:register_spec({ namespace = "a", name = "b", inputSchema = schema }))
    assert.equal("OPERATION_NOT_FOUND", select(2, routed:admit("a.b")).code)
    routed:route({ call = error, subscribe = error })
    assert.same({ true, { n = 3 } }, { routed:admit("a.b") })
    assert.is_false((routed:admit("a.b", { n = "x" })))
    assert.same({ true, { n = "x" } }, { routed:admit("a.far", { n = "x" }) })
  end)
end)

describe("a refused call", function()
  it("tells the first issue and the number of others, or what would do, and that nothing ran", function()
    local registry = operations.registry()
    local object = { type = "object", required = { "title" }, properties = {
      title = { type = "string", minLength = 1 }, n = { type = "integer" }, m = { type = "integer" },
    } }
    for _, spec in ipairs({
      { name = "query", type = "query", inputSchema = object }, { name = "command", type = "mutation" },
      { name = "costly", inputSchema = { patternProperties = { ["^(a+)+$"] = { type = "integer" } } } },
      { name = "endless", inputSchema = { properties = { next = { ["$ref"] = "#", default = {} } } } },
      { name = "stream", type = "subscription" },
      { name = "closed", accessControl = { requiredScopes = { "x", "y" } } },
      { name = "owned", accessControl = { resourceType = "task", resourceAction = "read" } },
    }) do
      spec.namespace, spec.handler = "a", function() error("ran") end
      assert(registry:register(spec))
    end
    for _, case in ipairs({
      { "execute", "query", "x", "VALIDATION_ERROR", 'input: expected object, got "' },
      { "execute", "query", {}, "VALIDATION_ERROR", "/title: required, but missing; expected string" },
      { "execute", "query", { title = "a", n = "z", m = "z" }, "VALIDATION_ERROR",
        'expected integer, got "z" (and 1 more)' },
      { "execute", "query", { title = "", n = "z", m = "z" }, "VALIDATION_ERROR", "(and 2 more)" },
      { "execute", "costly", { [("a"):rep(40) .. "b"] = 1 }, "VALIDATION_ERROR", "its name is too costly to match" },
      { "execute", "endless", {}, "VALIDATION_ERROR", "nested too deeply to fill in values" },
      { "execute", "stream", {}, "EXECUTION_ERROR", "a.stream is a subscription: use registry:subscribe",
        { operationId = "a.stream", type = "subscription" } },
      { "subscribe", "query", {}, "EXECUTION_ERROR", "a.query is a query: use registry:execute",
        { operationId = "a.query", type = "query" } },
      { "subscribe", "command", {}, "EXECUTION_ERROR", "a.command is a mutation: use registry:execute",
        { operationId = "a.command", type = "mutation" } },
      { "execute", "closed", {}, "ACCESS_DENIED", "a.closed needs an identity",
        { operationId = "a.closed", requiredScopes = { "x", "y" } } },
      { "execute", "owned", {}, "ACCESS_DENIED", "a.owned needs an identity",
        { operationId = "a.owned" } },
    }) do
      local envelope, err = registry[case[1]](registry, "a." .. case[2], case[3])
      assert.is_nil(envelope)
      assert.same({ case[4], false, false }, { err.code, err.retryable, err.mayHaveRun })
      assert.matches(case[5], err.message, 1, true)
      assert.same(case[6] or err.details, err.details)
    end
  end)
end)
