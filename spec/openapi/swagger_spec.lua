local members = require("operations.base.members")
local openapi = require("spec.support.openapi")
local operations = require("operations")

--- The API of a Swagger document with one operation at /pets/{id}.
local function api(operation, more, config, method)
  operation.operationId = "op"
  local doc = members.merged({
    swagger = "2.0", host = "api.test", basePath = "/v1", schemes = { "http" }, info = { title = "Test" },
  }, more)
  operation.responses = operation.responses or {}
  doc.paths = { ["/pets/{id}"] = { parameters = { { ["$ref"] = "#/parameters/id" } }, [method or "post"] = operation } }
  doc.parameters = doc.parameters or {}
  doc.parameters.id = { name = "id", ["in"] = "path", required = true, type = "integer", format = "int64" }
  return openapi.api(doc, config)
end

local function send(imported, input)
  local _, err = imported.by_name.op.handler(input, {})
  assert.is_nil(err)
  return imported.requests[#imported.requests]
end

local pet = { type = "object", properties = {
  name = { type = "string" }, tag = { type = "string", ["x-nullable"] = true },
} }

describe("an operation of Swagger 2.0", function()
  it("goes to host, base path and scheme", function()
    assert.equal("http://api.test/v1/pets/7", send(api({}), { id = 7 }).url)
    assert.equal("https://api.test/v1/pets/7", send(api({}, { schemes = { "http", "https", "wss" } }), { id = 7 }).url)
    assert.equal("https://api.test/v1/pets/7", send(api({ schemes = { "https" } }), { id = 7 }).url)
  end)

  it("goes to no other host, however host and base path are written", function()
    for base, path in pairs({ v1 = "/v1", ["v1/"] = "/v1", ["//b.test/v1"] = "/b.test/v1", [""] = "", ["/"] = "" }) do
      assert.equal("http://api.test" .. path .. "/pets/7", send(api({}, { basePath = base }), { id = 7 }).url)
    end
    assert.equal("http://api.test/v1/pets/7", send(api({}, { host = "https://api.test/" }), { id = 7 }).url)
  end)

  it("goes to where its document came from when that names no host", function()
    local doc = assert(operations.json.encode({
      swagger = "2.0", basePath = "/v1", paths = { ["/a"] = { get = { operationId = "op" } } },
    }))
    local url
    local list = operations.from_openapi.url("https://docs.test/x/swagger.json", { http = { request = function(request)
      url = request.url
      return { status = 200, headers = {}, body = doc }
    end } })
    list[1].handler({})
    assert.equal("https://docs.test/v1/a", url)
    assert.matches("names no server", api({}, { host = false }).report[1].message, 1, true)
  end)

  it("takes its parameters, arrays as collectionFormat says", function()
    local function array(name, format, where)
      return { name = name, ["in"] = where or "query", type = "array", items = { type = "string" },
        collectionFormat = format }
    end
    local imported = api({ parameters = {
      array("csv"), array("ssv", "ssv"), array("pipes", "pipes"), array("multi", "multi"), array("h", nil, "header"),
      { name = "limit", ["in"] = "query", type = "integer", maximum = 9, default = 3 },
    } })
    assert.same({}, imported.report)
    local list = { "a", "b" }
    local request = send(imported, { id = 1, csv = list, ssv = list, pipes = list, multi = list, h = list, limit = 4 })
    assert.equal("http://api.test/v1/pets/1?csv=a,b&ssv=a%20b&pipes=a%7Cb&multi=a&multi=b&limit=4", request.url)
    assert.equal("a,b", request.headers.h)
    assert.same({ type = "integer", maximum = 9, default = 3 }, imported.by_name.op.inputSchema.properties.limit)
    assert.equal("integer", imported.by_name.op.inputSchema.properties.id.type)
  end)

  it("says that it does not know a format", function()
    local unknown = { name = "t", ["in"] = "query", type = "array", collectionFormat = "dots" }
    local imported = api({ parameters = { unknown } })
    assert.equal("#/paths/~1pets~1{id}/post/parameters/0/collectionFormat", imported.report[1].pointer)
  end)

  it("takes a body, of the type that it or the document consumes", function()
    local body = { name = "pet", ["in"] = "body", required = true, description = "the pet",
      schema = { ["$ref"] = "#/definitions/Pet" } }
    local imported = api({ parameters = { body } }, { definitions = { Pet = pet } })
    local request = send(imported, { id = 1, body = { name = "Rex" } })
    assert.equal('{"name":"Rex"}', request.body)
    assert.equal("application/json", request.headers["Content-Type"])
    assert.same({ "id", "body" }, imported.by_name.op.inputSchema.required)
    imported = api({ parameters = { body }, consumes = { "application/vnd.pet+json" } },
      { definitions = { Pet = pet } })
    assert.equal("application/vnd.pet+json", send(imported, { id = 1, body = {} }).headers["Content-Type"])
  end)

  it("takes form fields", function()
    local imported = api({ parameters = {
      { name = "a", ["in"] = "formData", type = "string", required = true },
      { name = "b", ["in"] = "formData", type = "array", items = { type = "integer" }, collectionFormat = "multi" },
      { name = "c", ["in"] = "formData", type = "array", items = { type = "integer" } },
    } })
    local request = send(imported, { id = 1, body = { a = "x y", b = { 1, 2 }, c = { 3, 4 } } })
    assert.equal("a=x+y&b=1&b=2&c=3,4", request.body)
    assert.equal("application/x-www-form-urlencoded", request.headers["Content-Type"])
    assert.same({ "a" }, imported.by_name.op.inputSchema.properties.body.required)
  end)

  it("takes files", function()
    local imported = api({ parameters = {
      { name = "file", ["in"] = "formData", type = "file", required = true },
      { name = "note", ["in"] = "formData", type = "string" },
    } })
    local request = send(imported, { id = 1, body = { file = "bytes", note = "n" } })
    assert.matches("^multipart/form%-data; boundary=", request.headers["Content-Type"])
  end)

  it("returns the types that it produces", function()
    local imported = api({ produces = { "application/json", "application/hal+json" }, responses = {
      ["200"] = { description = "", schema = { ["$ref"] = "#/definitions/Pet" } },
      ["404"] = { ["$ref"] = "#/responses/gone" },
    } }, { definitions = { Pet = pet }, responses = { gone = { description = "gone", schema = { type = "string" } } } })
    assert.same({}, imported.report)
    local definition = imported.by_name.op
    assert.equal("string", definition.outputSchema.properties.name.type)
    assert.same({ "string", "null" }, definition.outputSchema.properties.tag.type)
    assert.same({ type = "string" }, definition.errorSchemas[1].schema.properties.body)
    assert.equal("application/json, application/hal+json", send(imported, { id = 1 }).headers.Accept)
  end)

  it("gives files as they are", function()
    local imported = api({ produces = { "image/png" },
      responses = { ["200"] = { description = "", schema = { type = "file" } } } }, nil, nil, "get")
    assert.equal("string", imported.by_name.op.outputSchema.type)
    assert.equal("image/png", send(imported, { id = 1 }).headers.Accept)
  end)

  it("has the credentials that its schemes ask for", function()
    local function header(definition, auth, name)
      return send(api({ security = { { s = {} } } }, { securityDefinitions = { s = definition } }, { auth = auth }),
        { id = 1 }).headers[name]
    end
    assert.equal("Basic dTpw", header({ type = "basic" }, { s = { username = "u", password = "p" } }, "Authorization"))
    assert.equal("k", header({ type = "apiKey", name = "X-Key", ["in"] = "header" }, { s = "k" }, "X-Key"))
    assert.equal("Bearer t",
      header({ type = "oauth2", flow = "accessCode", scopes = {} }, { s = "t" }, "Authorization"))
  end)

  it("has parameters of its own in place of its path's", function()
    local imported = api({ parameters = { { name = "id", ["in"] = "path", required = true, type = "string" } } })
    assert.equal("string", imported.by_name.op.inputSchema.properties.id.type)
  end)

  it("is kept without the parameter that is not there", function()
    local imported = api({ parameters = { { ["$ref"] = "#/parameters/gone" }, false } })
    assert.equal(2, #imported.report)
    assert.equal("#/paths/~1pets~1{id}/post/parameters/0", imported.report[1].pointer)
    assert.equal("op", imported.by_name.op.name)
  end)

  it("has its body as a form, in parts where only these are consumed or a file is among them", function()
    local function field(name, more)
      return members.merged({ name = name, ["in"] = "formData", type = "string" }, more)
    end
    local form, parts = "application/x-www-form-urlencoded", "multipart/form-data"
    for _, case in ipairs({
      { form, {} }, { form, { form } }, { parts, { parts } }, { form, { parts, form } },
      { parts, { "Multipart/Form-Data; a=b" } },
      { form, { "application/json" } }, { parts, {}, "file" }, { parts, { form }, "file" },
    }) do
      local imported = api({ parameters = { field("a", { type = case[3] }) }, consumes = case[2] })
      local type_sent = send(imported, { id = 1, body = { a = "x" } }).headers["Content-Type"]
      assert.equal(case[1], type_sent:match("^[^;]*"))
    end
    local schema = api({ parameters = { field("a", { description = "the a", minLength = 1 }), field("b", {
      required = true }), field("c", { type = "array", items = { type = "string" }, description = "the c" }) } })
      .by_name.op.inputSchema
    assert.same({ type = "object", required = { "b" }, properties = { b = { type = "string" },
      a = { type = "string", description = "the a", minLength = 1 },
      c = { type = "array", items = { type = "string" }, description = "the c" } } }, schema.properties.body)
    assert.same({ "id", "body" }, schema.required)
    assert.same({ "id" }, api({ parameters = { field("a") } }).by_name.op.inputSchema.required)
  end)

  it("has the body that is a value where there is one as a form, too", function()
    local imported = api({ parameters = { { name = "a", ["in"] = "formData", type = "string" },
      { name = "b", ["in"] = "body", schema = { type = "integer" } } } })
    assert.equal("7", send(imported, { id = 1, body = 7 }).body)
  end)

  it("has arrays in headers and paths joined as their format says; multi is not possible there", function()
    local imported = api({ parameters = { { name = "h", ["in"] = "header", type = "array", collectionFormat = "multi",
      items = { type = "string" } }, { name = "id", ["in"] = "path", required = true, type = "array", items = {
      type = "string" }, collectionFormat = "pipes" } } })
    local request = send(imported, { id = { "a", "b" }, h = { "c", "d" } })
    assert.same({ "http://api.test/v1/pets/a%7Cb", "c,d" }, { request.url, request.headers.h })
    assert.equal("multi is not possible here; the items are separated by commas", imported.report[1].message)
  end)

  it("has arrays in parts joined as their format says, and repeated for multi only", function()
    local function list(name, format, items)
      return { name = name, ["in"] = "formData", type = "array", items = items or { type = "string" },
        collectionFormat = format }
    end
    local nested = { type = "array", items = { type = "integer" }, collectionFormat = "pipes" }
    local fields = { list("csv"), list("ssv", "ssv"), list("tsv", "tsv"), list("pipes", "pipes"),
      list("multi", "multi"), list("deep", nil, nested), list("many", "multi", nested) }
    local two = { "a", "b" }
    local body = { csv = two, ssv = two, tsv = two, pipes = two, multi = two, deep = { { 1, 2 }, { 3 } },
      many = { { 1, 2 }, { 3 } } }
    local sent = send(api({ parameters = fields, consumes = { "multipart/form-data" } }), { id = 1, body = body }).body
    local parts = {}
    for name, text in sent:gmatch('name="(%w+)"\r\n\r\n([^\r]*)') do
      parts[#parts + 1] = name .. "=" .. text
    end
    assert.same({ "csv=a,b", "deep=1|2,3", "many=1|2", "many=3", "multi=a", "multi=b", "pipes=a|b", "ssv=a b",
      "tsv=a\tb" }, parts)
    assert.equal("csv=a,b&deep=1%7C2,3&many=1%7C2&many=3&multi=a&multi=b&pipes=a%7Cb&ssv=a+b&tsv=a%09b",
      send(api({ parameters = fields }), { id = 1, body = body }).body)
    local query = { name = "q", ["in"] = "query", type = "array", items = nested, collectionFormat = "multi" }
    local imported = api({ parameters = { query } })
    assert.matches("?q=1%7C2&q=3", send(imported, { id = 1, q = { { 1, 2 }, { 3 } } }).url, 1, true)
    assert.matches("pets/1$", send(imported, { id = 1, q = operations.array({}) }).url)
    local _, err = imported.by_name.op.handler({ id = 1, q = { { 1, 0 / 0 } } })
    assert.equal("/q/0/1", err.details[1].path)
  end)

  it("says which form fields are lost beside a body", function()
    local imported = api({ parameters = { { name = "b", ["in"] = "body", schema = { type = "object" } },
      { name = "f", ["in"] = "formData", type = "string" } } })
    assert.same({ "#/paths/~1pets~1{id}/post/parameters/1", 'the form field "f" is beside a body; it is left out' },
      { imported.report[1].pointer, imported.report[1].message })
    assert.equal('{"a":1}', send(imported, { id = 1, body = { a = 1 } }).body)
  end)

  it("takes lists of files, which documents have", function()
    local files = { name = "f", ["in"] = "formData", type = "array", items = { type = "file" } }
    local imported = api({ parameters = { files } })
    local sent = send(imported, { id = 1, body = { f = { "x", { data = "y", filename = "n" } } } })
    assert.matches('name="f"; filename="blob".-x\r\n.-name="f"; filename="n".-y\r\n', sent.body)
  end)

  it("has schemas of other files, which may refer to others", function()
    local files = {
      ["https://docs.test/a/swagger.json"] = { swagger = "2.0", host = "api.test", paths = { ["/x"] = { post = {
        operationId = "op", parameters = { { ["$ref"] = "b/parts.json#/body" } },
        responses = { ["200"] = { ["$ref"] = "b/parts.json#/answer" } } } } } },
      ["https://docs.test/a/b/parts.json"] = {
        body = { name = "b", ["in"] = "body", schema = { properties = { x = { ["$ref"] = "#/X" },
          y = { ["$ref"] = "more.json#/Y" } } } },
        answer = { description = "", schema = { type = "array", items = { ["$ref"] = "#/X" } } },
        X = { type = "integer" },
      },
      ["https://docs.test/a/b/more.json"] = { Y = { type = "boolean" } },
    }
    local function answer(request)
      return { status = 200, headers = {}, body = operations.json.encode(files[request.url]) }
    end
    local list, report = operations.from_openapi.url("https://docs.test/a/swagger.json",
      { remote_refs = true, http = { request = answer } })
    assert.same({}, report)
    local input, output = assert(operations.schema.compile(list[1].inputSchema())),
      assert(operations.schema.compile(list[1].outputSchema()))
    assert.is_true(input:check({ body = { x = 1, y = true } }))
    assert.is_false((input:check({ body = { x = "1" } })))
    assert.is_false((input:check({ body = { y = 1 } })))
    assert.is_true(output:check({ 1 }))
    assert.is_false((output:check({ "1" })))
  end)

  it("has the properties of a schema of another file in their order", function()
    local files = {
      ["https://docs.test/swagger.json"] = '{"swagger":"2.0","host":"api.test","paths":{"/x":{"post":{'
        .. '"parameters":[{"$ref":"parts.json#/body"}],"responses":{}}}}}',
      ["https://docs.test/parts.json"] = '{"body":{"name":"b","in":"body","schema":{'
        .. '"properties":{"z":{"minimum":3},"a":{},"m":{}}}}}',
    }
    local list = operations.from_openapi.url("https://docs.test/swagger.json", { remote_refs = true, http = {
      request = function(request)
        return { status = 200, headers = {}, body = files[request.url] }
      end } })
    local schema = list[1].inputSchema().properties.body
    assert.same({ "z", "a", "m" }, operations.schema.properties(schema))
    assert.same({ minimum = 3 }, schema.properties.z)
  end)

  it("has no schema where a response has none, or is malformed", function()
    for _, responses in ipairs({ 7, { ["200"] = 7 }, { ["200"] = { ["$ref"] = "#/responses/none" } },
      { ["200"] = { description = "" } } }) do
      assert.is_true(api({ responses = responses }).by_name.op.outputSchema)
    end
  end)
end)

describe("a document", function()
  local swagger = require("operations.openapi.swagger")

  it("is of Swagger where it says so, as text or as a number, and is not of OpenAPI", function()
    for _, root in ipairs({ { swagger = "2.0" }, { swagger = 2 } }) do
      assert.is_true(swagger.is_document(root))
    end
    for _, root in ipairs({ {}, { swagger = "1.2" }, { swagger = 3 }, { swagger = "2.0", openapi = "3.0.0" },
      { openapi = "3.0.0" } }) do
      assert.is_false(swagger.is_document(root))
    end
  end)

  it("of Swagger names the flow of each OAuth scheme, and keeps its other members", function()
    local schemes, flows = { odd = 7, key = { type = "apiKey" }, basic = { type = "basic", description = "b" } }, {
      implicit = "implicit", password = "password", application = "clientCredentials", accessCode = "authorizationCode",
      other = "implicit" }
    local expected = { key = schemes.key, basic = { type = "http", scheme = "basic", description = "b" } }
    for flow, name in pairs(flows) do
      schemes[flow] = { type = "oauth2", flow = flow, authorizationUrl = "a", tokenUrl = "t", scopes = { r = "read" },
        description = "d" }
      expected[flow] = { type = "oauth2", description = "d", flows = {
        [name] = { authorizationUrl = "a", tokenUrl = "t", scopes = { r = "read" } } } }
    end
    local made = swagger.document({ swagger = "2.0", securityDefinitions = schemes, info = { title = "T" } })
    assert.same({ openapi = "3.0.4", info = { title = "T" }, securityDefinitions = schemes,
      components = { securitySchemes = expected } }, made)
  end)

  it("of Swagger has its servers by host, path and schemes", function()
    local function servers(host, path, schemes, from)
      local list = {}
      for i, server in ipairs(swagger.document({ host = host, basePath = path, schemes = schemes }, from).servers
        or { { url = "none" } }) do
        list[i] = server.url
      end
      return table.concat(list, " ")
    end
    assert.equal("https://a.test/", servers("a.test"))
    assert.equal("https://a.test/v", servers("a.test", "v", {}))
    assert.equal("https://a.test/ http://a.test/", servers("a.test", "/", { "http", "wss", "https", 7 }))
    assert.equal("https://a.test/ http://a.test/", servers("a.test", nil, { "https", "http" }))
    assert.equal("https://a.test/v", servers("http+x://a.test//", "//v"))
    assert.equal("/v", servers(nil, "/v", nil, "https://docs.test/x.json"))
    assert.equal("none", servers(nil, "/v", nil, "/home/x.json"))
    assert.equal("none", servers(7, "/v"))
  end)
end)
