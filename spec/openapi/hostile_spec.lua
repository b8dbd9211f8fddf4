local json = require("operations.base.json")
local operations = require("operations")

-- Every kind of node that a reader looks at, twice where one is a reference.
local text = [[{
  "openapi": "3.1.0", "info": {"title": "Test", "version": "1"},
  "servers": [{"url": "http://{host}", "variables": {"host": {"default": "x", "enum": ["x"]}}}],
  "security": [{"key": []}],
  "tags": [{"name": "t"}],
  "paths": {
    "/a/{id}": {
      "parameters": [{"$ref": "#/components/parameters/id"}],
      "post": {
        "operationId": "one", "tags": ["t"], "summary": "s", "deprecated": true,
        "parameters": [
          {"name": "q", "in": "query", "style": "form", "explode": false, "schema": {"type": "array", "minItems": 1}},
          {"name": "j", "in": "query", "content": {"application/json": {"schema": {"type": "object"}}}}
        ],
        "requestBody": {"required": true, "content": {
          "application/json": {"schema": {"$ref": "#/components/schemas/Pet"}},
          "multipart/form-data": {
            "schema": {"properties": {"f": {"type": "string", "format": "binary"}}},
            "encoding": {"f": {"contentType": "image/png", "headers": {"X": {"schema": {"type": "string"}}}}}
          }
        }},
        "responses": {
          "200": {"description": "", "headers": {"X": {"schema": {}}}, "links": {"next": {"operationId": "one"}},
            "content": {"application/json": {"schema": {"$ref": "#/components/schemas/Pet"}},
              "text/event-stream": {"itemSchema": {"properties": {"data": {"type": "string"}}}}}},
          "4XX": {"$ref": "#/components/responses/bad"}
        }
      }
    },
    "/b": {"get": {"operationId": "two", "responses": {"default": {"description": ""}}}}
  },
  "components": {
    "parameters": {"id": {"name": "id", "in": "path", "required": true, "schema": {"type": "integer"}}},
    "responses": {"bad": {"description": "", "content": {
      "application/problem+json": {"schema": {"type": "object"}}}}},
    "schemas": {"Pet": {"type": ["object", "null"], "required": ["id"], "allOf": [{"type": "object"}], "properties": {
      "id": {"type": "integer", "readOnly": true}, "kids": {"items": {"$ref": "#/components/schemas/Pet"}}}
    }},
    "securitySchemes": {"key": {"type": "apiKey", "in": "header", "name": "X-Key"}}
  },
  "webhooks": {"w": {"post": {}}}
}]]

local swagger = [[{
  "swagger": "2.0", "host": "x", "basePath": "/v1", "schemes": ["http"], "consumes": ["application/json"],
  "paths": {
    "/a": {"post": {"operationId": "one", "parameters": [
        {"name": "b", "in": "body", "schema": {"$ref": "#/definitions/Pet"}}, {"$ref": "#/parameters/q"}
      ], "responses": {"200": {"description": "", "schema": {"type": "array", "items": {"type": "string"}}}}}},
    "/f": {"post": {"operationId": "form", "consumes": ["multipart/form-data"], "parameters": [
        {"name": "f", "in": "formData", "type": "file"},
        {"name": "g", "in": "formData", "type": "array", "collectionFormat": "multi", "items": {"type": "string"}}
      ], "responses": {"404": {"$ref": "#/responses/gone"}}}},
    "/b": {"get": {"operationId": "two", "responses": {"default": {"description": ""}}}}
  },
  "parameters": {"q": {"name": "q", "in": "query", "type": "array", "items": {"type": "integer"}}},
  "responses": {"gone": {"description": "", "schema": {"type": "string"}}},
  "definitions": {"Pet": {"properties": {"id": {"type": "integer"}}}},
  "securityDefinitions": {"o": {"type": "oauth2", "flow": "implicit", "scopes": {}}}
}]]

local strangers = {
  operations.null, 7, -1.5, "text", "", true, false, {}, operations.array(), operations.array({ 1, operations.null }),
  { a = 1 }, { ["$ref"] = "#/nowhere" }, { ["$ref"] = "#" }, { ["$ref"] = 5 }, { ["$ref"] = "gone.json#/a" },
}

--- Puts every stranger, and nothing, in the place of every node; calls `fn(document, pointer)` each time.
local function each_mutation(document, fn)
  local function visit(node, pointer)
    local keys = {}
    for key in pairs(node) do
      keys[#keys + 1] = key
    end
    for _, key in ipairs(keys) do
      local old, here = node[key], pointer .. "/" .. tostring(key):gsub("~", "~0"):gsub("/", "~1")
      for i = 0, #strangers do
        node[key] = strangers[i]
        fn(document, here)
      end
      node[key] = old
      if type(old) == "table" then
        visit(old, here)
      end
    end
  end
  visit(document, "")
end

--- What went wrong when a document was read: raised, refused by the registry, or met by a reader unprepared.
local function complaint(document)
  local ok, list, report = pcall(operations.from_openapi.document, document, { base_url = "http://x", eager = true })
  if not ok then
    return list
  elseif not list then
    return nil, {}
  end
  for _, problem in ipairs(report) do
    if problem.message:find("cannot be read", 1, true) then
      return problem.message
    end
  end
  local registry = operations.registry({ log = function() end })
  local ids, err = registry:register_all(list)
  return not ids and tostring(err) or nil, ids
end

describe("a document with something strange in any place", function()
  for name, source in pairs({ ["OpenAPI 3.1"] = text, ["Swagger 2.0"] = swagger }) do
    it("is read as far as it goes: " .. name, function()
      local wrong = {}
      each_mutation(assert(json.decode(source)), function(document, pointer)
        local message, ids = complaint(document)
        if not message and pointer:find("^/paths/~1[af]") and not table.concat(ids, " "):find("%.two") then
          message = "another operation is lost"
        end
        wrong[#wrong + 1] = message and pointer .. ": " .. message or nil
      end)
      assert.same({}, wrong)
    end)
  end
end)
