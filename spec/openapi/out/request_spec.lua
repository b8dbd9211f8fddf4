local operations = require("operations")
local property_order = require("operations.base.property_order")

-- The operation of a document that a definition becomes, its method first.
local function shown(definition, version)
  local registry = operations.registry({ log = function() end })
  definition.namespace, definition.name, definition.handler = "a", "b", function() end
  assert(registry:register(definition))
  local document = assert(operations.to_http(registry, { log = function() end })):openapi(version or "3.1")
  local _, item = next(document.paths)
  local method, operation = next(item)
  return method, operation, item
end

local function query(schema)
  local method, operation = shown({ type = "query", inputSchema = schema })
  return method .. (operation.requestBody and " body" or "") .. (operation.parameters and " parameters" or "")
end

local text = { type = "string" }

describe("a query in a document", function()
  for _, case in ipairs({
    { "has parameters for independent members", { type = "object", properties = { a = text } }, "get parameters" },
    { "has parameters whatever is said of the members beside",
      { type = "object", title = "T", description = "d", properties = { a = text }, ["$comment"] = "c",
        required = { "a" }, additionalProperties = false }, "get parameters" },
    { "has no parameters where there are no members", { type = "object" }, "get" },
    { "has nothing where its input may be anything", true, "get" },
    { "has nothing where its input is not described", {}, "get" },
    { "has a body where members depend on each other", { type = "object", properties = { a = text },
      minProperties = 1 }, "post body" },
    { "has a body where other members have a type", { type = "object", properties = { a = text },
      additionalProperties = { type = "integer" } }, "post body" },
    { "has parameters where other members may be anything", { type = "object", properties = { a = text },
      additionalProperties = {} }, "get parameters" },
    { "has a body where a required member is not described", { type = "object", required = { "b" },
      properties = { a = text } }, "post body" },
    { "has a body where a required member is, and none is described", { type = "object", required = { "b" } },
      "post body" },
    { "has a body where it is no object", { type = "array", items = text }, "post body" },
    { "has a body where its members are combined", { type = "object", anyOf = { { required = { "a" } } },
      properties = { a = text } }, "post body" },
    { "has a body where it refers to itself", { type = "object", properties = { a = { ["$ref"] = "#" } } },
      "post body" },
    { "has a body where a member is an object", { type = "object", properties = { a = { type = "object" } } },
      "post body" },
  }) do
    it(case[1], function()
      assert.equal(case[3], query(case[2]))
    end)
  end

  it("has the method HEAD where it names that", function()
    local method, operation = shown({ type = "query", inputSchema = { type = "object", properties = { a = text } },
      _meta = { http = { path = "/x", method = "HEAD" } } })
    assert.same({ "head", "a", "query" }, { method, operation.parameters[1].name, operation.parameters[1]["in"] })
    assert.is_nil(operation.requestBody)
  end)

  it("has the method QUERY with a body since 3.2", function()
    local nested = { type = "object", properties = { a = { type = "object" } } }
    local _, _, item = shown({ type = "query", inputSchema = nested }, "3.2")
    assert.is_not_nil(item.query)
    _, _, item = shown({ type = "query", inputSchema = { type = "object", properties = { a = text } } }, "3.2")
    assert.is_not_nil(item.get)
  end)
end)

describe("the parameters of an operation in a document", function()
  it("have the description of their member, and whether it is required and deprecated", function()
    local _, operation = shown({ type = "query", inputSchema = { type = "object", required = { "b" }, properties = {
      a = { type = "string", description = "the a", deprecated = true }, b = { type = "string", deprecated = false },
    } } })
    table.sort(operation.parameters, function(x, y)
      return x.name < y.name
    end)
    local a, b = operation.parameters[1], operation.parameters[2]
    assert.same({ "a", "query", "the a", true }, { a.name, a["in"], a.description, a.deprecated })
    assert.is_nil(a.required)
    assert.same({ "b", "query", true }, { b.name, b["in"], b.required })
    assert.same({}, { b.description, b.deprecated })
  end)
end)

describe("the body of an operation in a document", function()
  it("is required unless it may be anything", function()
    for _, schema in ipairs({ { type = "object" }, { type = "string" }, { minLength = 1 } }) do
      local _, operation = shown({ inputSchema = schema })
      assert.is_true(operation.requestBody.required)
    end
    for _, schema in ipairs({ true, {} }) do
      local _, operation = shown({ inputSchema = schema })
      assert.is_nil(operation.requestBody.required)
    end
    assert.is_nil(select(2, shown({})).requestBody.required)
  end)

  it("is without the members that are in the path, in the order of the others", function()
    local properties = operations.object({})
    for _, name in ipairs({ "z", "id", "b", "m" }) do
      properties[name] = text
    end
    property_order.set(properties, { "z", "id", "b", "m" })
    local function body(schema)
      local _, operation = shown({ inputSchema = schema, _meta = { http = { path = "/x/{id}" } } })
      assert.same({ "id", "path", true }, { operation.parameters[1].name, operation.parameters[1]["in"],
        operation.parameters[1].required })
      return operation.requestBody.content["application/json"].schema
    end
    local schema = body({ type = "object", properties = properties, required = { "id", "m" } })
    assert.same({ type = "object", properties = { z = text, b = text, m = text }, required = { "m" } }, schema)
    assert.same({ "z", "b", "m" }, property_order.names(schema.properties))
    assert.same({ type = "object", properties = { b = text } },
      body({ type = "object", properties = { id = text, b = text }, required = { "id" } }))
    assert.same({ type = "object", properties = {} }, body({ type = "object" }))
    assert.same({ type = "object", properties = { id = text }, minProperties = 1 },
      body({ type = "object", properties = { id = text }, minProperties = 1 }))
  end)
end)
