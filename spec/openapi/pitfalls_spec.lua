-- What importers of OpenAPI documents are known to get wrong; each sentence would fail on one of them.
local operations = require("operations")
local support = require("spec.support.openapi")

local function json(schema)
  return { content = { ["application/json"] = { schema = schema } } }
end

--- Registers one operation and calls it: envelope or nil, err, the API, warnings.
local function execute(operation, input, reply, more)
  local api = support.api(support.one(operation, more), nil, reply)
  local warnings = {}
  local registry = operations.registry({ on_warning = function(warning)
    warnings[#warnings + 1] = warning
  end })
  assert(registry:register_all(api.definitions))
  local envelope, err = registry:execute("test.op", input)
  return envelope, err, api, warnings
end

local function answer(text, media, status)
  return { status = status or 200, headers = { ["content-type"] = media or "application/json" }, body = text }
end

describe("an imported operation", function()
  it("sends headers and cookies as such, and not in the query", function()
    local _, _, api = execute({ parameters = { { name = "H", ["in"] = "header" }, { name = "c", ["in"] = "cookie" } } },
      { H = "1", c = "2" })
    assert.equal("http://api.test/op", api.requests[1].url)
    assert.equal("1", api.requests[1].headers.H)
    assert.equal("c=2", api.requests[1].headers.Cookie)
  end)

  it("sends no undeclared input key", function()
    local _, err, api = execute({}, { admin = true })
    assert.equal("VALIDATION_ERROR", err.code)
    assert.matches("admin", tostring(err) .. operations.json.encode(err.details), 1, true)
    assert.same({}, api.requests)
  end)

  it("never sends the word undefined, or null, for an absent value", function()
    local _, _, api = execute({ parameters = { { name = "q", ["in"] = "query" } } }, { q = operations.null })
    assert.equal("http://api.test/op", api.requests[1].url)
  end)

  it("knows parameters of the path item and behind references", function()
    local parameter = { name = "q", ["in"] = "query", schema = { type = "integer" } }
    local doc = { components = { parameters = { Q = parameter } } }
    local _, err, api = execute({ parameters = { { ["$ref"] = "#/components/parameters/Q" } } }, { q = 1, p = 2 }, nil,
      { item = { parameters = { { name = "p", ["in"] = "query" } } }, doc = doc })
    assert.is_nil(err)
    assert.equal("http://api.test/op?p=2&q=1", api.requests[1].url)
    assert.is_nil(api.definitions[1].inputSchema.properties["undefined"])
  end)

  it("knows bodies and responses behind references", function()
    local doc = { components = {
      requestBodies = { B = json({ type = "integer" }) }, responses = { R = json({ type = "null" }) },
    } }
    local _, _, api = execute({ requestBody = { ["$ref"] = "#/components/requestBodies/B" },
      responses = { ["200"] = { ["$ref"] = "#/components/responses/R" } } }, { body = 1 }, nil,
      { method = "post", doc = doc })
    assert.equal("1", api.requests[1].body)
    assert.same({ type = "integer" }, api.definitions[1].inputSchema.properties.body)
    assert.same({ type = "null" }, api.definitions[1].outputSchema)
  end)

  it("checks every use of a component, not the first alone", function()
    local doc = { components = { schemas = { N = { type = "integer" } } } }
    local ref = { ["$ref"] = "#/components/schemas/N" }
    local schema = { type = "object", properties = { a = ref, b = ref } }
    local _, err = execute({ requestBody = json(schema) }, { body = { a = 1, b = "x" } }, nil,
      { method = "post", doc = doc })
    assert.equal("VALIDATION_ERROR", err.code)
    assert.equal("/body/b", err.details[1].path)
  end)

  it("checks recursive schemas all the way down", function()
    local tree = {
      type = "object",
      properties = { kid = { ["$ref"] = "#/components/schemas/T" }, n = { type = "integer" } },
    }
    local _, err = execute({ requestBody = json({ ["$ref"] = "#/components/schemas/T" }) },
      { body = { kid = { kid = { kid = { n = "x" } } } } }, nil,
      { method = "post", doc = { components = { schemas = { T = tree } } } })
    assert.equal("/body/kid/kid/kid/n", err.details[1].path)
  end)

  for _, format in ipairs({ "date-time", "uuid", "email", "int64", "byte", "made-up" }) do
    it("may have strings of format " .. format, function()
      local text = ({ ["date-time"] = "2025-01-02T03:04:05Z", uuid = "123e4567-e89b-12d3-a456-426614174000",
        email = "a@b.example", byte = "aGk=" })[format] or "12"
      local schema = { type = "object", properties = { x = { type = "string", format = format } } }
      local envelope, err, _, warnings = execute({ requestBody = json(schema), responses = { ["200"] = json(schema) } },
        { body = { x = text } }, answer('{"x":"' .. text .. '"}'), { method = "post" })
      assert.is_nil(err)
      assert.equal(text, envelope.data.x)
      assert.same({}, warnings)
    end)
  end

  it("sends bodies that are false, zero, empty or null, and needs no optional one", function()
    for text, value in pairs({ ["false"] = false, ["0"] = 0, ['""'] = "", ["null"] = operations.null }) do
      local _, err, api = execute({ requestBody = json(true) }, { body = value }, nil, { method = "post" })
      assert.is_nil(err)
      assert.equal(text, api.requests[1].body)
    end
    local _, err, api = execute({ requestBody = json(true) }, {}, nil, { method = "post" })
    assert.is_nil(err)
    assert.is_nil(api.requests[1].body)
  end)

  it("sends Accept, and a content type only with a body", function()
    local _, _, api = execute({ responses = { ["200"] = json({}) } }, {})
    assert.equal("application/json", api.requests[1].headers.Accept)
    assert.is_nil(api.requests[1].headers["Content-Type"])
  end)

  it("reads JSON of any JSON type, and invents nothing", function()
    local schema = { type = "object", properties = { a = { type = "string" } } }
    local envelope = execute({ responses = { ["200"] = json(schema) } }, {},
      answer('{"a":"real"}', "application/vnd.x+json"))
    assert.same({ a = "real" }, envelope.data)
  end)

  it("takes an empty 204 of a JSON type for no data", function()
    local envelope, err = execute({ responses = { ["204"] = {} } }, {}, answer("", "application/json", 204))
    assert.is_nil(err)
    assert.is_nil(envelope.data)
  end)

  it("tells status, headers and body of an error, by a code of its own", function()
    local problem = { type = "object", properties = { message = { type = "string" } } }
    local _, err, api, warnings = execute({ responses = { ["200"] = json({}), ["404"] = json(problem) } }, {},
      answer('{"message":"no such pet"}', "application/json", 404))
    assert.equal("HTTP_404", err.code)
    assert.equal("HTTP_404", api.definitions[1].errorSchemas[1].code)
    assert.equal(404, err.details.statusCode)
    assert.equal("application/json", err.details.headers["content-type"])
    assert.same({ message = "no such pet" }, err.details.body)
    assert.same({}, warnings)
  end)

  it("warns of an error whose body does not fit its declaration", function()
    local problem = { type = "object", required = { "message" } }
    local _, err, _, warnings = execute({ responses = { ["404"] = json(problem) } }, {}, answer("{}", nil, 404))
    assert.equal("HTTP_404", err.code)
    assert.equal("/body", warnings[1].issues[1].path:sub(1, 5))
  end)

  for _, status in ipairs({ "202", "2XX", "default" }) do
    it("has the output that only response " .. status .. " describes", function()
      local _, _, api = execute({ responses = { [status] = json({ type = "integer" }) } }, {}, answer("1"))
      assert.same({ type = "integer" }, api.definitions[1].outputSchema)
    end)
  end

  it("does not overwrite another one without an operationId", function()
    local api = support.api({ paths = { ["/users"] = { get = {} }, ["/users/{id}"] = { get = {} } } })
    assert.equal(2, #api.definitions)
    assert.is_true(api.definitions[1].name ~= api.definitions[2].name)
  end)

  it("encodes user name and password for basic authentication", function()
    local doc = { components = { securitySchemes = { b = { type = "http", scheme = "basic" } } } }
    local api = support.api(support.one({ security = { { b = {} } } }, { doc = doc }),
      { auth = { b = { username = "u", password = "p" } } })
    api.definitions[1].handler({})
    assert.equal("Basic dTpw", api.requests[1].headers.Authorization)
  end)

  it("keeps every Set-Cookie", function()
    local reply = { status = 200, headers = { setCookie = { "a=1", "b=2" } }, body = "" }
    local envelope = execute({}, {}, reply)
    assert.same({ "a=1", "b=2" }, envelope.meta.headers.setCookie)
  end)

  it("goes where the document's servers say", function()
    local _, _, api = execute({}, {}, nil, { doc = { servers = { { url = "https://x.test/v1" } } } })
    assert.equal("https://x.test/v1/op", api.requests[1].url)
  end)

  it("is not offered to others with the program's credentials", function()
    local _, _, api = execute({}, {})
    assert.is_false(api.definitions[1]._meta.exposed)
  end)
end)
