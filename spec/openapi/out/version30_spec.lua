-- Documents for programs that know OpenAPI 3.0 only.
local every_operation = require("spec.support.every_operation")
local json = require("operations.base.json")
local operations = require("operations")
local round_trip = require("spec.support.round_trip")
local version30 = require("operations.openapi.out.version30")

local sorted = { sort_keys = true }

-- The schema of 3.0, as text, for a schema as text.
local function converted(text)
  local document = { openapi = "3.1.1", info = { title = "T", version = "1" }, paths = {}, components = {
    schemas = { S = assert(json.decode(text)) }, responses = {} } }
  return json.encode(version30.document(document).components.schemas.S, sorted)
end

describe("a schema of 3.1 in a document of 3.0", function()
  for from, to in pairs({
    ['{"type":["string","null"],"minLength":1}'] = '{"minLength":1,"nullable":true,"type":"string"}',
    ['{"type":["string","integer"]}'] = '{"anyOf":[{"type":"string"},{"type":"integer"}]}',
    ['{"type":["array","null","integer"],"anyOf":[{"title":"a"}]}'] = '{"allOf":[{"anyOf":[{"items":{},"nullable":true,'
      .. '"type":"array"},{"nullable":true,"type":"integer"}]}],"anyOf":[{"title":"a"}],"nullable":true}',
    ['{"type":"null"}'] = '{"enum":[null],"nullable":true}',
    ['{"const":7}'] = '{"enum":[7]}', ['{"enum":["a",null],"type":["string","null"]}'] =
      '{"enum":["a",null],"nullable":true,"type":"string"}',
    ['{"anyOf":[{"$ref":"#/components/schemas/A"},{"type":"null"}]}'] =
      '{"allOf":[{"$ref":"#/components/schemas/A"}],"nullable":true}',
    ['{"oneOf":[{"type":"object","additionalProperties":false},{"type":"null"}],"title":"t"}'] =
      '{"additionalProperties":false,"nullable":true,"title":"t","type":"object"}',
    ['{"anyOf":[{"type":"integer"},{"type":"null"},{"type":"string"}]}'] =
      '{"anyOf":[{"type":"integer"},{"type":"string"}],"nullable":true}',
    ['{"$ref":"#/components/schemas/A","description":"d"}'] =
      '{"allOf":[{"$ref":"#/components/schemas/A"}],"description":"d"}',
    ['{"$ref":"#/components/schemas/A"}'] = '{"$ref":"#/components/schemas/A"}',
    ['{"exclusiveMinimum":0,"maximum":9,"exclusiveMaximum":9}'] =
      '{"exclusiveMaximum":true,"exclusiveMinimum":true,"maximum":9,"minimum":0}',
    ['{"exclusiveMinimum":0,"minimum":1}'] = '{"minimum":1}',
    ['{"examples":[1,2]}'] = '{"example":1,"x-examples":[1,2]}',
    ['{"type":"string","contentEncoding":"base64"}'] =
      '{"format":"byte","type":"string","x-contentEncoding":"base64"}',
    ['{"contentMediaType":"image/png"}'] = '{"format":"binary","type":"string","x-contentMediaType":"image/png"}',
    ['{"type":"array"}'] = '{"items":{},"type":"array"}',
    ['{"type":"array","prefixItems":[{"type":"integer"}],"items":false}'] =
      '{"items":{"not":{}},"type":"array","x-prefixItems":[{"type":"integer"}]}',
    ['{"properties":{"a":true,"b":false},"required":[],"additionalProperties":{"const":1}}'] =
      '{"additionalProperties":{"enum":[1]},"properties":{"a":{},"b":{"not":{}}}}',
    ['{"if":{"const":1},"patternProperties":{"^a":{}},"x-own":{"const":1},"$comment":"c"}'] =
      '{"x-comment":"c","x-if":{"const":1},"x-own":{"const":1},"x-patternProperties":{"^a":{}}}',
    ['{"$id":"urn:x","description":"d","$ref":"#/$defs/a","$defs":{"a":{}}}'] =
      '{"description":"d","x-schema":{"$defs":{"a":{}},"$id":"urn:x","$ref":"#/$defs/a","description":"d"}}',
    ['{"not":{"if":{}},"oneOf":[{"patternProperties":{"a":{}}},{"type":"null"},{"type":"string"}]}'] =
      '{"anyOf":[{"x-patternProperties":{"a":{}}},{"type":"string"}],"nullable":true,"x-not":{"if":{}}}',
    ['{"not":{"type":["integer","null"]},"items":{"allOf":[{"const":"a"}]}}'] =
      '{"items":{"allOf":[{"enum":["a"]}]},"not":{"nullable":true,"type":"integer"}}',
  }) do
    it("has the form of 3.0, or members that begin with x-: " .. from, function()
      assert.equal(to, converted(from))
    end)
  end

  it("is not changed itself", function()
    local schema = assert(json.decode('{"type":["string","null"],"anyOf":[{"const":1}]}'))
    local before = json.encode(schema, sorted)
    version30.document({ info = {}, paths = {}, components = { schemas = { S = schema }, responses = {} } })
    assert.equal(before, json.encode(schema, sorted))
  end)
end)

describe("a document of 3.0", function()
  local trip

  before_each(function()
    trip = round_trip.of(every_operation(), { authorize = function()
      return { id = "me", scopes = { "r", "y" }, resources = { ["doc:1"] = { "read" } } }
    end })
  end)

  after_each(function()
    trip:close()
  end)

  it("is called as one of 3.1 without x-operation", function()
    local registry = operations.registry()
    local document = json.decode(trip:text(trip.server, "3.0"))
    local definitions, report = operations.from_openapi.document(document, { base_url = trip.url, namespace = "bare",
      eager = true })
    assert.same({}, report)
    assert(registry:register_all(definitions))
    assert.same({ got = { word = "a b", exact = true, list = { 1, 2.5 }, n = 3 } },
      registry:execute("bare.text_flat", { word = "a b", exact = true, list = { 1, 2.5 } }).data)
    assert.same({ got = { name = "n" } }, registry:execute("bare.tree_other", { body = { name = "n" } }).data)
    assert.same({ { i = 1 }, { i = 2 } }, trip:events(registry, "bare.count_up", { n = 2 }).data)
  end)

  it("has bytes as binary strings, scopes of OAuth only, and no member of the Info Object of 3.1", function()
    local registry = operations.registry()
    registry:register({ namespace = "a", name = "b", inputSchema = { type = "string", contentMediaType = "image/png" },
      outputSchema = { type = "string", contentMediaType = "image/png" }, accessControl = { requiredScopes = { "r" } },
      handler = function() end })
    local server = assert(operations.to_http(registry, { log = function() end, openapi = { info = { title = "T",
      version = "1", summary = "s", license = { name = "MIT", identifier = "MIT" } } }, authorize = function()
      return { id = "x", scopes = { "r" } }
    end }))
    local newer, document = server:openapi("3.1"), server:openapi("3.0")
    local raw = newer.paths["/a/b"].post
    local bytes = { contentMediaType = "image/png", format = "binary" }
    assert.same(bytes, raw.requestBody.content["image/png"].schema)
    assert.same(bytes, raw.responses["200"].content["image/png"].schema)
    local operation = document.paths["/a/b"].post
    assert.same({ type = "string", format = "binary", ["x-contentMediaType"] = "image/png" },
      operation.requestBody.content["image/png"].schema)
    assert.same({ true, true, true }, { operation.responses["400"] ~= nil, operation.responses["4XX"] == nil,
      raw.responses["4XX"] ~= nil })
    assert.same({ { bearer = {} } }, operation.security)
    assert.same({ title = "T", version = "1", license = { name = "MIT", ["x-identifier"] = "MIT" },
      ["x-summary"] = "s" }, document.info)
    assert.same({ "3.0.4" }, { document.openapi, document.jsonSchemaDialect })
  end)
end)
