local openapi = require("spec.support.openapi")
local operations = require("operations")

local function output(version, media_type, content, doc)
  doc = openapi.one({ responses = { ["200"] = { content = { [media_type] = content } } } }, { doc = doc })
  doc.openapi = version
  return openapi.api(doc).definitions[1].outputSchema
end

local pet = { type = "object", properties = { n = { type = "integer" } } }
local pets = { type = "array", items = pet }

describe("a document of OpenAPI 3.2", function()
  it("describes the items of a stream, or all of them as an array", function()
    for _, media_type in ipairs({ "application/jsonl", "application/json-seq", "application/x-ndjson" }) do
      assert.same(pet, output("3.2.0", media_type, { itemSchema = pet }))
      assert.same(pet, output("3.2.0", media_type, { schema = pets }))
      assert.same(pets, output("3.1.0", media_type, { schema = pets }))
    end
    assert.is_true(output("3.2.0", "application/jsonl", { schema = { type = "array" } }))
  end)

  it("describes all events of a stream as an array too", function()
    local event = { properties = { data = { type = "string", contentMediaType = "application/json",
      contentSchema = pet } } }
    assert.same(pet, output("3.2.0", "text/event-stream", { schema = { type = "array", items = event } }))
    assert.same(pet, output("3.2.0", "text/event-stream", { itemSchema = event }))
  end)

  it("keeps media types among its components", function()
    local doc = { components = { mediaTypes = { Pet = { schema = pet } } } }
    assert.same(pet, output("3.2.0", "application/json", { ["$ref"] = "#/components/mediaTypes/Pet" }, doc))
  end)

  it("has the method QUERY and others of its own", function()
    local api = openapi.api({ openapi = "3.2.0", paths = { ["/a"] = {
      query = { operationId = "find", requestBody = { content = { ["application/json"] = { schema = pet } } } },
      additionalOperations = { COPY = { operationId = "copy" } },
    } } })
    assert.same({}, api.report)
    api.by_name.find.handler({ body = { n = 1 } })
    api.by_name.copy.handler({})
    assert.equal("QUERY", api.requests[1].method)
    assert.equal('{"n":1}', api.requests[1].body)
    assert.equal("COPY", api.requests[2].method)
    assert.same({ "query", "mutation" }, { api.by_name.find.type, api.by_name.copy.type })
  end)

  it("is at its own URI, for relative references", function()
    local doc = assert(operations.json.encode({
      openapi = "3.2.0", ["$self"] = "/docs/api.json", servers = { { url = "../v1" } },
      paths = { ["/a"] = { get = { operationId = "op", parameters = { { ["$ref"] = "more.json#/q" } } } } },
    }))
    local urls = {}
    local list = operations.from_openapi.url("https://api.test/elsewhere", { remote_refs = true, http = {
      request = function(request)
        urls[#urls + 1] = request.url
        local body = #urls == 1 and doc or '{"q":{"name":"q","in":"query"}}'
        return { status = 200, headers = {}, body = body }
      end,
    } })
    list[1].handler({ q = "x" })
    assert.same({ "https://api.test/elsewhere", "https://api.test/docs/more.json", "https://api.test/v1/a?q=x" }, urls)
  end)
end)

describe("a document of OpenAPI 3.1", function()
  it("has lists of types, constants and keywords beside a reference", function()
    local schema = output("3.1.0", "application/json", { schema = {
      ["$ref"] = "#/components/schemas/Pet", properties = { tag = { type = { "string", "null" }, const = "x" } },
    } }, { components = { schemas = { Pet = pet } } })
    assert.same({ type = { "string", "null" }, const = "x" }, schema.properties.tag)
    assert.equal("#/$defs/Pet", schema["$ref"])
    assert.same(pet, schema["$defs"].Pet)
  end)
end)

describe("a document of OpenAPI 3.0", function()
  it("has no siblings of references, and nullable types", function()
    assert.same(pet, output("3.0.3", "application/json",
      { schema = { ["$ref"] = "#/components/schemas/Pet", nullable = true, properties = {} } },
      { components = { schemas = { Pet = pet } } }))
    assert.same({ type = { "string", "null" } }, output("3.0.3", "application/json",
      { schema = { type = "string", nullable = true } }))
  end)
end)
