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

  it("that only must be an object is still refused when it is none", function()
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
