local openapi = require("spec.support.openapi")
local operations = require("operations")

local function api(operation, config, more)
  config = config or {}
  config.eager = config.eager or false
  return openapi.api(openapi.one(operation, more), config)
end

local broken = { parameters = { { ["$ref"] = "#/components/parameters/gone" } } }

describe("an imported operation", function()
  it("has its schemas and its request made on first need, once", function()
    local imported = api({ parameters = { { name = "q", ["in"] = "query", schema = { type = "integer" } } } })
    local definition = imported.definitions[1]
    assert.is_function(definition.inputSchema)
    assert.equal("integer", definition.inputSchema().properties.q.type)
    assert.equal(definition.inputSchema(), definition.inputSchema())
  end)

  it("is called before its schemas were read", function()
    local imported = api({ parameters = { { name = "q", ["in"] = "query", schema = { type = "integer" } } } })
    local registry = operations.registry()
    assert(registry:register_all(imported.definitions))
    assert(registry:execute("test.op", { q = 1 }))
    assert.equal("http://api.test/op?q=1", imported.requests[1].url)
    assert.equal("VALIDATION_ERROR", select(2, registry:execute("test.op", { q = "x" })).code)
  end)

  it("reports problems then, with pointer and name, once", function()
    local imported = api(broken)
    assert.same({}, imported.report)
    imported.definitions[1].inputSchema()
    imported.definitions[1].outputSchema()
    assert.equal(1, #imported.report)
    assert.equal("#/paths/~1op/get/parameters/0", imported.report[1].pointer)
    assert.equal("op", imported.report[1].operation)
  end)

  it("reports it at once when told to be eager", function()
    local imported = api(broken, { eager = true })
    assert.equal(1, #imported.report)
    assert.same({ type = "object", properties = {}, additionalProperties = false },
      imported.definitions[1].inputSchema)
  end)

  it("that cannot be called says why when it is, and costs no other", function()
    local operation = { operationId = "bad", requestBody = { ["$ref"] = "#/components/requestBodies/gone" } }
    local imported = api(operation, nil, { method = "post", item = { get = { operationId = "good" } } })
    local registry = operations.registry({ log = function() end })
    assert(registry:register_all(imported.definitions))
    assert(registry:execute("test.good"))
    local _, err = registry:execute("test.bad", { body = 1 })
    assert.equal("EXECUTION_ERROR", err.code)
    assert.matches("test.bad cannot be used: /.-Schema: #/paths/~1op/post/requestBody: %$ref", err.message)
    assert.equal("bad", imported.report[1].operation)
  end)

  it("that cannot be called is left out when all are made at once", function()
    local operation = { operationId = "bad", requestBody = { ["$ref"] = "#/components/requestBodies/gone" } }
    local imported = api(operation, { eager = true }, { method = "post", item = { get = { operationId = "good" } } })
    assert.equal(1, #imported.definitions)
    assert.equal("good", imported.definitions[1].name)
    assert.equal("bad", imported.report[1].operation)
  end)
end)
