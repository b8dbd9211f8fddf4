local operations = require("operations")

local function echo(input)
  return input
end

local function definition(fields)
  local result = { namespace = "task", name = "create", handler = echo }
  for key, value in pairs(fields or {}) do
    result[key] = value
  end
  return result
end

describe("a registry", function()
  local registry

  before_each(function()
    registry = operations.registry({ log = function() end })
  end)

  it("calls what was registered", function()
    assert.equal("task.create", registry:register(definition()))
    local envelope = assert(registry:execute("task.create", { title = "x" }))
    assert.same({ title = "x" }, envelope.data)
    assert.equal("task.create", envelope.meta.operationId)
  end)

  it("fills in a spec's defaults", function()
    assert(registry:register(definition()))
    local spec = registry:get_spec("task.create")
    assert.equal("1.0.0", spec.version)
    assert.equal("query", spec.type)
    assert.is_true(spec.inputSchema)
    assert.is_true(spec.outputSchema)
    assert.same({}, spec.accessControl.requiredScopes)
    assert.is_nil(spec.handler)
  end)

  it("refuses a bad spec with every issue by its path", function()
    local id, err = registry:register({
      namespace = "",
      type = "stream",
      tags = { 1 },
      inputSchema = { type = "strin" },
      handler = "print",
      inputschema = true,
    })
    assert.is_nil(id)
    assert.equal("VALIDATION_ERROR", err.code)
    local paths = {}
    for _, issue in ipairs(err.details) do
      assert.is_string(issue.message)
      paths[issue.path] = true
    end
    for _, path in ipairs({ "/namespace", "/name", "/type", "/tags/0", "/handler", "/inputschema" }) do
      assert.is_true(paths[path], "no issue for " .. path)
    end
  end)

  it("refuses a schema that is none, by its path", function()
    local _, err = registry:register(definition({ inputSchema = { properties = { a = { type = "strin" } } } }))
    assert.equal("VALIDATION_ERROR", err.code)
    assert.equal("/inputSchema/properties/a/type", err.details[1].path)
  end)

  it("refuses a resource type without an action and an action without a type", function()
    assert.is_nil((registry:register(definition({ accessControl = { resourceType = "project" } }))))
    assert.is_nil((registry:register(definition({ accessControl = { resourceAction = "read" } }))))
    assert.is_nil((registry:register(definition({ accessControl = { resourceId = "/id" } }))))
    assert.is_nil((registry:register(definition({ accessControl = { requiredScope = { "typo" } } }))))
    assert.equal(0, #registry:list())
  end)

  it("refuses a second operation of the same id unless told to replace", function()
    assert(registry:register(definition()))
    local id, err = registry:register(definition())
    assert.is_nil(id)
    assert.equal("VALIDATION_ERROR", err.code)
    assert(registry:register(definition({ title = "new" }), { replace = true }))
    assert.equal("new", registry:get("task.create").title)
    assert.equal(1, #registry:list())
  end)

  it("keeps no handler of what was replaced", function()
    assert(registry:register(definition()))
    assert(registry:register_spec({ namespace = "task", name = "create" }, { replace = true }))
    assert.is_nil(registry:get_handler("task.create"))
    assert.equal("OPERATION_NOT_FOUND", select(2, registry:execute("task.create")).code)
  end)

  it("takes a handler later", function()
    assert(registry:register_spec({ namespace = "task", name = "create" }))
    local _, err = registry:execute("task.create")
    assert.equal("OPERATION_NOT_FOUND", err.code)
    assert.equal("operation 'task.create' has no handler", err.message)
    assert(registry:register_handler("task.create", function() return 7 end))
    assert.equal(7, registry:execute("task.create").data)
    assert.equal("OPERATION_NOT_FOUND", select(2, registry:register_handler("no.such", echo)).code)
  end)

  it("registers a list whole or not at all", function()
    local ids, err = registry:register_all({ definition(), definition({ name = "" }), definition() })
    assert.is_nil(ids)
    assert.equal("/1/name", err.details[1].path)
    assert.equal("/2/name", err.details[2].path)
    assert.equal(0, #registry:list())
    assert.same({ "task.create", "task.drop" }, registry:register_all({ definition(), definition({ name = "drop" }) }))
  end)

  it("forgets an operation", function()
    assert(registry:register(definition()))
    assert.is_true(registry:unregister("task.create"))
    assert.is_false(registry:unregister("task.create"))
    assert.is_nil(registry:get("task.create"))
    assert.equal("OPERATION_NOT_FOUND", select(2, registry:execute("task.create")).code)
  end)

  it("lists in the order of registration, filtered", function()
    assert(registry:register(definition({ name = "z", tags = { "a" } })))
    assert(registry:register(definition({ name = "a", type = "mutation" })))
    assert(registry:register(definition({ namespace = "user", name = "m", tags = { "a", "b" } })))
    local function names(filter)
      local result = {}
      for i, spec in ipairs(registry:specs(filter)) do
        assert.is_nil(spec.handler)
        result[i] = spec.name
      end
      return result
    end
    assert.same({ "z", "a", "m" }, names())
    assert.same({ "z", "a" }, names({ namespace = "task" }))
    assert.same({ "a" }, names({ type = "mutation" }))
    assert.same({ "z", "m" }, names({ tag = "a" }))
    assert.equal("m", registry:get_by_name("user", "m").name)
    assert.is_function(registry:list()[1].handler)
  end)

  it("copies a spec, so that nobody's table is shared", function()
    local mine = definition({ title = "one" })
    assert(registry:register(mine))
    mine.title = "two"
    registry:get("task.create").title = "three"
    assert.equal("one", registry:get("task.create").title)
  end)

  it("says which operation is missing", function()
    local envelope, err = registry:execute("no.such", {})
    assert.is_nil(envelope)
    assert.equal("OPERATION_NOT_FOUND: no operation 'no.such'", tostring(err))
    assert.equal("no.such", err.details.operationId)
  end)

  it("asks the call map for what has no handler here", function()
    local asked
    registry:route({
      call = function(_, id, input, options)
        asked = { id, input, options }
        return "envelope"
      end,
    })
    local identity = { id = "u", scopes = {} }
    assert.equal("envelope", registry:execute("far.away", { 1 }, { identity = identity, deadline = 1e15 }))
    assert.equal("far.away", asked[1])
    assert.same({ 1 }, asked[2])
    assert.equal(identity, asked[3].identity)
    assert.equal(1e15, asked[3].deadline)
  end)

  it("refuses to execute a subscription and to subscribe to a query", function()
    assert(registry:register(definition({ type = "subscription" })))
    assert(registry:register(definition({ name = "get" })))
    assert.equal("EXECUTION_ERROR: task.create is a subscription: use registry:subscribe",
      tostring(select(2, registry:execute("task.create"))))
    assert.equal("EXECUTION_ERROR: task.get is a query: use registry:execute",
      tostring(select(2, registry:subscribe("task.get"))))
  end)

  it("raises on misuse and names the argument", function()
    for message, misuse in pairs({
      ["bad argument #1 to 'register' (table expected, got nil)"] = function() registry:register() end,
      ["bad argument #1 to 'execute' (string expected, got nil)"] = function() registry:execute() end,
      ["bad argument #1 to 'subscribe' (string expected, got table)"] = function() registry:subscribe({}) end,
      ["bad argument #1 to 'unregister' (string expected, got number)"] = function() registry:unregister(1) end,
      ["bad argument #1 to 'register_all' (table expected, got nil)"] = function() registry:register_all() end,
      ["bad argument #2 to 'register_handler' (function expected, got nil)"] = function()
        registry:register_handler("a.b")
      end,
      ["bad argument #1 to 'register_spec' (a spec has no handler; use register)"] = function()
        registry:register_spec(definition())
      end,
      ["bad option 'normalise' to 'registry' (unknown)"] = function() operations.registry({ normalise = "cast" }) end,
      ["bad option 'log' to 'registry' (function expected, got string)"] = function()
        operations.registry({ log = "x" })
      end,
      ["bad option 'normalize' to 'registry' (\"cast\", \"force\" or \"off\" expected)"] = function()
        operations.registry({ normalize = "maybe" })
      end,
    }) do
      local ok, raised = pcall(misuse)
      assert.is_false(ok)
      assert.matches(message, raised, 1, true)
      assert.matches("registry_spec", raised, 1, true)
    end
  end)
end)
