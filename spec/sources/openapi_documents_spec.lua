local openapi_documents = require("operations.sources.openapi_documents")
local json = require("operations.base.json")

describe("the parts of a document", function()
  local text = [[{ "openapi": "3.1.0", "info": { "title": "a \"quoted {brace}\\ {" }, "paths": {
    "/a/{id}": { "get": { "responses": { "200": { "$ref": "#/components/responses/R" } } } },
    "/b": { "get": { "x": [1, -2.5e3, true, null, "]"], "y": "#/components/schemas/Gone" } },
    "/e": { "x": ["#/components/schemas/a%20b", "#/components/schemas/%"] } },
    "components": { "securitySchemes": { "s": { "type": "http" } }, "responses": { "R": { "schema":
      { "$ref": "#/components/schemas/A~1B/properties/x" } }, "Unused": {} },
      "schemas": { "a b": {}, "A/B": { "discriminator": { "mapping": { "c": "C" } } }, "C": {}, "D": {} } } }]]

  local function cut(path)
    local found = openapi_documents.parts(text)
    local made = openapi_documents.cut(function(from, to)
      return text:sub(from, to)
    end, found, path)
    return made and json.decode(made)
  end

  it("are a path item, and what it refers to", function()
    local root = cut("/a/{id}")
    assert.equal('a "quoted {brace}\\ {', root.info.title)
    assert.is_table(root.paths["/a/{id}"].get)
    assert.is_nil(root.paths["/b"])
    assert.same({ "A/B", "C" }, (function()
      local names = {}
      for name in pairs(root.components.schemas) do
        names[#names + 1] = name
      end
      table.sort(names)
      return names
    end)())
    assert.is_nil(root.components.responses.Unused)
    assert.equal("http", root.components.securitySchemes.s.type)
  end)

  it("are equal to those of the whole", function()
    local whole = json.decode(text)
    assert.same(whole.paths["/b"], cut("/b").paths["/b"])
    assert.is_nil(cut("/b").components.schemas)
    assert.is_nil(cut("/c"))
  end)

  it("are referred to with percent-encoded names, too", function()
    assert.same({ ["a b"] = {} }, cut("/e").components.schemas)
  end)

  it("are not looked for where references lead elsewhere", function()
    for _, member in ipairs({ '"$ref": "other.json#/a"', '"$id": "x"', '"$anchor": "x"' }) do
      local document = '{ "paths": {}, "components": { "schemas": { "A": { ' .. member .. " } } } }"
      assert.is_nil(openapi_documents.parts(document))
    end
  end)

  it("of Swagger 2.0 are its definitions, parameters and responses as well", function()
    local swagger = '{"swagger":"2.0","definitions":{"D":{},"Unused":{}},"parameters":{"P":{},"Unused":{}},'
      .. '"responses":{"R":{},"Unused":{}},"paths":{"/a":{"x":["#/definitions/D","#/parameters/P","#/responses/R"]}}}'
    local root = json.decode(openapi_documents.cut(function(from, to)
      return swagger:sub(from, to)
    end, openapi_documents.parts(swagger), "/a"))
    assert.same({ swagger = "2.0", definitions = { D = {} }, parameters = { P = {} }, responses = { R = {} },
      paths = { ["/a"] = { x = { "#/definitions/D", "#/parameters/P", "#/responses/R" } } } }, root)
  end)
end)
