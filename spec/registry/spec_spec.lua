local operations = require("operations")
local specs = require("operations.registry.spec")

describe("the parameters of an operation", function()
  local registry

  before_each(function()
    registry = operations.registry()
  end)

  local function parameters(schema)
    assert(registry:register({ namespace = "a", name = "b", inputSchema = schema, handler = function() end },
      { replace = true }))
    local names = registry:parameters("a.b")
    table.sort(names)
    return names
  end

  it("are the properties of its schema", function()
    assert.same({ "x", "y" }, parameters({ properties = { y = true, x = { type = "string" } } }))
    assert.same({}, parameters({ type = "object" }))
    assert.same({}, parameters(true))
    assert.same({}, parameters(nil))
    assert.is_nil(registry:parameters("a.c"))
    parameters({ properties = { x = true } })
    local outer = operations.registry()
    assert(outer:mount(registry, { prefix = "inner" }))
    assert.same({ "x" }, outer:parameters("inner.a.b"))
    assert.is_nil(outer:parameters("inner.a.c"))
  end)

  it("are found by the source of a schema that is not made yet, and then by the schema", function()
    local made = 0
    local function make()
      made = made + 1
      return { type = "object", properties = { later = true } }
    end
    assert.same({}, parameters(make))
    specs.tell_parameters(make, function(names)
      return names == true and { "told" } or nil
    end)
    assert.same({ "told" }, parameters(make))
    assert.equal(0, made)
    assert(registry:execute("a.b", {}))
    assert.same({ "later" }, registry:parameters("a.b"))
  end)
end)

describe("the check of a definition", function()
  local function issues_of(definition)
    local _, err = operations.registry():register(definition)
    local issues = {}
    for i, issue in ipairs(err.details) do
      issues[i] = issue.path .. ": " .. issue.message
    end
    table.sort(issues)
    return issues, err.message
  end

  local function with(fields)
    local definition = { namespace = "a", name = "b" }
    for key, value in pairs(fields) do
      definition[key] = value
    end
    return definition
  end

  it("names every field that is wrong, and the first of them in its message", function()
    local issues, message = issues_of({ namespace = "a b", name = "", handler = 7, inputSchema = 7 })
    assert.same({ "/handler: expected function, got number", "/inputSchema: expected boolean or object, got 7",
      "/name: expected at least 1 character, got 0",
      '/namespace: expected a name without blanks and control characters, got "a b"' }, issues)
    assert.matches("^spec of a b%.: /.* %(and 3 more%)$", message)
  end)

  it("refuses a schema that would accept everything, as it has members where its keywords belong", function()
    local text = { type = "string" }
    assert.same({ "/inputSchema: expected a schema, got a table of schemas (is T.object missing?)",
      "/outputSchema: expected a schema, got a table of schemas (is T.object missing?)" },
      (issues_of(with({ inputSchema = { n = text, title = text }, outputSchema = { n = text } }))))
    for _, schema in ipairs({ {}, { ["x-n"] = text }, { n = "text" }, { n = {} }, { title = "text", n = text } }) do
      assert(operations.registry():register(with({ inputSchema = schema })))
    end
    local imported = with({ inputSchema = { n = text }, outputSchema = { n = text }, _meta = { source = "openapi" } })
    assert(operations.registry():register(imported))
  end)

  it("has a message without a count for one", function()
    local _, message = issues_of(with({ version = 7 }))
    assert.equal("spec of a.b: /version: expected string, got 7", message)
  end)

  it("suggests a field for one that is not known, or lists them", function()
    assert.same({ "/handlr: unknown field (did you mean handler?)" }, (issues_of(with({ handlr = print }))))
    assert.same({ "/zzz: unknown field; expected one of _meta, accessControl, description, errorSchemas, fill, "
      .. "handler, inputSchema, name, namespace, normalize, on_mismatch, outputSchema, tags, "
      .. "title, type, validate, version" },
      (issues_of(with({ zzz = 1 }))))
    assert.same({ '/accessControl/zzz: unknown property; expected "requiredScopes", "requiredScopesAny", '
      .. '"resourceAction", "resourceId" or "resourceType"' }, (issues_of(with({ accessControl = { zzz = 1 } }))))
  end)

  it("refuses names that are empty, and statuses that are no errors", function()
    for count, fields in pairs({
      [1] = { tags = { "a", "" } }, [2] = { accessControl = { resourceType = "", resourceAction = "" } },
      [3] = { accessControl = { requiredScopes = { "" }, requiredScopesAny = { "" }, resourceId = "/x" } },
      [4] = { errorSchemas = { { code = "" }, { code = "A", statusCode = 399 }, { code = "B", statusCode = 600 },
        { code = "C", pattern = "(" } } },
    }) do
      assert.equal(count, #(issues_of(with(fields))))
    end
    assert(operations.registry():register(with({ tags = { "a" },
      accessControl = { resourceType = "f", resourceAction = "r", resourceId = "/", requiredScopes = { "s" } },
      errorSchemas = { { code = "A", statusCode = 400 }, { code = "B", statusCode = 599, pattern = "^B" } } })))
  end)

  it("has the path within a schema that cannot be compiled", function()
    local issues = issues_of(with({ inputSchema = { properties = { x = { type = "strin" } } } }))
    assert.equal(1, #issues)
    assert.matches('^/inputSchema/properties/x/type: unknown type "strin"; expected ', issues[1])
    issues = issues_of(with({ outputSchema = { type = "strin" } }))
    assert.matches('^/outputSchema/type: unknown type "strin"; expected ', issues[1])
  end)
end)

describe("a schema that is made on first use", function()
  it("makes its operation fail, each time in the same words, when it cannot be made", function()
    for text, make in pairs({
      ["a.b cannot be used: /inputSchema: no schema"] = function() error("no schema", 0) end,
      ["a.b cannot be used: /inputSchema: expected boolean or object, got 7"] = function() return 7 end,
      ["a.b cannot be used: /inputSchema/minLength: expected a non-negative integer, got -1"] = function()
        return { minLength = -1 }
      end,
    }) do
      local registry = operations.registry()
      assert(registry:register({ namespace = "a", name = "b", inputSchema = make, handler = function() end }))
      local _, first = registry:execute("a.b", {})
      assert.same({ "EXECUTION_ERROR", text }, { first.code, first.message })
      assert.equal("a.b", first.details.operationId)
      local spec, second = registry:get_spec("a.b")
      assert.is_nil(spec)
      assert.equal(text, second.message)
      assert(registry:register({ namespace = "a", name = "s", type = "subscription", inputSchema = make,
        handler = function() end }))
      local stream, third = registry:subscribe("a.s", {})
      assert.is_nil(stream)
      assert.equal((text:gsub("^a.b", "a.s")), third.message)
    end
  end)
end)
