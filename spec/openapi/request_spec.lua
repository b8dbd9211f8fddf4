local json = require("operations.base.json")
local operations = require("operations")
local support = require("spec.support.openapi")

local json_body = { content = { ["application/json"] = { schema = {} } } }

--- Imports one operation and calls it: its request, or nil and the error.
local function call(operation, input, more, config)
  local api = support.api(support.one(operation, more), config)
  local _, err = api.definitions[1].handler(input)
  return api.requests[1], err, api
end

local function content(media)
  return { content = { [media] = { schema = {} } } }
end

describe("a parameter of style deepObject", function()
  -- The query that a value makes.
  local function query(value)
    local api = support.api(support.one({ parameters = { { name = "p", ["in"] = "query", style = "deepObject" } } }))
    assert(api.definitions[1].handler({ p = value }, {}))
    return api.requests[1].url:match("%?(.*)$")
  end

  it("names the members of an object", function()
    assert.equal("p%5Ba%5D=1&p%5Bb%5D=x", query({ a = 1, b = "x" }))
  end)

  it("is its text where the value is not an object", function()
    assert.same({ "p=x", "p=7", "p=1.5", "p=true" }, { query("x"), query(7), query(1.5), query(true) })
  end)
end)

describe("the request of an operation", function()
  it("goes to the server's URL and the path, by the method", function()
    local request = call({}, {}, { path = "/a/b", method = "delete" })
    assert.equal("DELETE", request.method)
    assert.equal("http://api.test/a/b", request.url)
  end)

  it("refuses a key that is no parameter, and names it", function()
    local request, err = call({}, { limt = 1 })
    assert.is_nil(request)
    assert.equal("VALIDATION_ERROR", err.code)
    assert.equal("/limt", err.details[1].path)
  end)

  it("has no value for a parameter that takes none", function()
    local never = { name = "p", ["in"] = "query", schema = false, description = "no longer used" }
    assert.is_false(support.api(support.one({ parameters = { never } })).definitions[1].inputSchema.properties.p)
  end)

  it("refuses a body where none is declared", function()
    local request, err = call({}, { body = {} })
    assert.is_nil(request)
    assert.equal("/body", err.details[1].path)
  end)

  it("refuses input that is no object", function()
    local request, err = call({}, { 1, 2 })
    assert.is_nil(request)
    assert.equal("VALIDATION_ERROR", err.code)
  end)

  it("names a required parameter that is missing", function()
    local request, err = call({ parameters = { { name = "q", ["in"] = "query", required = true } } }, {})
    assert.is_nil(request)
    assert.equal("/q", err.details[1].path)
    assert.equal("required", err.details[1].keyword)
  end)

  it("leaves out optional parameters without a value", function()
    local parameters = { { name = "q", ["in"] = "query" }, { name = "H", ["in"] = "header" } }
    local request = call({ parameters = parameters }, {})
    assert.equal("http://api.test/op", request.url)
    assert.is_nil(request.headers.H)
  end)

  it("sends a query of the path key once, with the value that was given", function()
    local parameters = { { name = "v", ["in"] = "query", required = true }, { name = "a b", ["in"] = "query" } }
    local path = { path = "/x?v=1&a%20b=2&c" }
    assert.equal("http://api.test/x?v=1&a%20b=2&c", call({ parameters = parameters }, {}, path).url)
    assert.equal("http://api.test/x?a%20b=2&c&v=7", call({ parameters = parameters }, { v = 7 }, path).url)
    assert.equal("http://api.test/x?c&v=7&a%20b=q",
      call({ parameters = parameters }, { v = 7, ["a b"] = "q" }, path).url)
    local schema = support.api(support.one({ parameters = parameters }, path)).by_name.op.inputSchema
    assert.is_nil(schema.required)
  end)

  it("sends every location at once", function()
    local request = call({
      parameters = {
        { name = "id", ["in"] = "path", required = true },
        { name = "q", ["in"] = "query" },
        { name = "X-H", ["in"] = "header" },
        { name = "c", ["in"] = "cookie" },
        { name = "d", ["in"] = "cookie" },
      },
    }, { id = 7, q = "a b", ["X-H"] = "h", c = "1", d = "2" }, { path = "/x/{id}" })
    assert.equal("http://api.test/x/7?q=a%20b", request.url)
    assert.equal("h", request.headers["X-H"])
    assert.equal("c=1; d=2", request.headers.Cookie)
  end)

  it("takes the path item's parameters, and the operation's instead of those of the same name and place", function()
    local shared = { { name = "a", ["in"] = "query", required = true }, { name = "b", ["in"] = "query" } }
    local own = { name = "a", ["in"] = "query", style = "pipeDelimited", explode = false }
    local request, err = call({ parameters = { own } },
      { a = { 1, 2 }, b = 3 }, { item = { parameters = shared } })
    assert.is_nil(err)
    assert.equal("http://api.test/op?a=1%7C2&b=3", request.url)
  end)

  describe("with a name that is used twice", function()
    local operation = { parameters = { { name = "id", ["in"] = "query" }, { name = "id", ["in"] = "header" } } }

    it("tells the two apart by their location", function()
      local request = call(operation, { ["query.id"] = 1, ["header.id"] = 2 })
      assert.equal("http://api.test/op?id=1", request.url)
      assert.equal("2", request.headers.id)
    end)

    it("reports both", function()
      local _, _, api = call(operation, {})
      assert.equal(2, #api.report)
      assert.equal("op", api.report[1].operation)
      assert.equal("#/paths/~1op/get/parameters/0", api.report[1].pointer)
    end)

    it("keeps out of the way of a parameter that is called so itself", function()
      local three = { operation.parameters[1], operation.parameters[2], { name = "query.id", ["in"] = "query" } }
      for _, parameters in ipairs({ three, { three[3], three[2], three[1] } }) do
        local request = call({ parameters = parameters },
          { ["query.query.id"] = 1, ["header.id"] = 2, ["query.id"] = 3 })
        assert.same({ "1", "3" }, { request.url:match("[?&]id=(%d)"), request.url:match("[?&]query%.id=(%d)") })
        assert.equal("2", request.headers.id)
      end
      local four = { three[1], three[2], three[3], { name = "query.id", ["in"] = "header" } }
      local request = call({ parameters = four },
        { ["query.query.id"] = 1, ["header.id"] = 2, ["query.query.query.id"] = 3, ["header.query.id"] = 4 })
      assert.same({ "1", "3" }, { request.url:match("[?&]id=(%d)"), request.url:match("[?&]query%.id=(%d)") })
      assert.same({ "2", "4" }, { request.headers.id, request.headers["query.id"] })
    end)

    it("refuses the bare name", function()
      local request, err = call(operation, { id = 1 })
      assert.is_nil(request)
      assert.equal("/id", err.details[1].path)
    end)
  end)

  it("calls a parameter named body by its location, beside a body", function()
    local operation = { parameters = { { name = "body", ["in"] = "query" } }, requestBody = json_body }
    local request = call(operation, { ["query.body"] = "q", body = 1 }, { method = "post" })
    assert.equal("http://api.test/op?body=q", request.url)
    assert.equal("1", request.body)
  end)

  it("leaves a parameter named body alone where there is no body", function()
    local request = call({ parameters = { { name = "body", ["in"] = "query" } } }, { body = "q" })
    assert.equal("http://api.test/op?body=q", request.url)
  end)

  it("has members in the order of the document, then of the input, then sorted", function()
    local text = [[{"openapi":"3.1.0","info":{"title":"t","version":"1"},"servers":[{"url":"http://api.test"}],"paths":{
      "/json":{"post":{"operationId":"json","parameters":[
          {"name":"o","in":"query","style":"deepObject","schema":{"$ref":"#/components/schemas/O"}},
          {"name":"c","in":"query","content":{"application/json":{"schema":{"$ref":"#/components/schemas/O"}}}}],
        "requestBody":{"content":{"application/json":{"schema":{"$ref":"#/components/schemas/O"}}}}}},
      "/form":{"post":{"operationId":"form","requestBody":{"content":{"application/x-www-form-urlencoded":
        {"schema":{"properties":{"policy":{},"file":{},"a":{}}}}}}}},
      "/parts":{"post":{"operationId":"parts","requestBody":{"content":{"multipart/form-data":
        {"schema":{"properties":{"policy":{"type":"string"},"file":{"type":"string"},
          "a":{"type":"string"}}}}}}}}},
      "components":{"schemas":{"O":{"type":"object","properties":{
        "z":{},"in":{"$ref":"#/components/schemas/O"},"b":{}}}}}}]]
    local document = json.decode(text, { property_order = true })
    local requests = {}
    local function answer(request)
      requests[#requests + 1] = request
      return { status = 200, headers = {}, body = "" }
    end
    local config = { namespace = "x", http = { request = answer } }
    local list = assert(operations.from_openapi.document(document, config))
    local registry = operations.registry()
    assert(registry:register_all(list))
    local value = json.decode('{"own2":1,"own1":1,"b":1,"in":{"b":1,"z":1},"z":1}', { keep_order = true })
    assert(registry:execute("x.json", { body = value, o = { b = 1, z = 2 }, c = { b = 1, z = 2 } }))
    assert.equal('{"z":1,"in":{"z":1,"b":1},"b":1,"own2":1,"own1":1}', requests[1].body)
    assert.equal("http://api.test/json?o%5Bz%5D=2&o%5Bb%5D=1&c=%7B%22z%22%3A2%2C%22b%22%3A1%7D", requests[1].url)
    assert(registry:execute("x.form", { body = { a = 1, file = 2, policy = 3, y = 4, more = 5 } }))
    assert.equal("policy=3&file=2&a=1&more=5&y=4", requests[2].body)
    assert(registry:execute("x.parts", { body = { a = "1", file = "2", policy = "3", y = "4" } }))
    assert.equal("policy file a y", (requests[3].body:gsub('.-name="(%w+)"', "%1 "):gsub(" [^ ]*%-%-.*$", "")))
  end)

  -- Calls the operation `test.op` of a document with optional and required members that have defaults.
  local function with_defaults(input, config)
    local body = { type = "object", required = { "kind" }, properties = { kind = { default = "bot" },
      tools = { type = "array", default = json.decode("[]") }, place = { type = "object", required = { "unit" },
        properties = { unit = { default = "m" }, depth = { type = "integer", default = 0 } } } } }
    local api = support.api(support.one({
      parameters = {
        { name = "limit", ["in"] = "query", schema = { type = "integer", default = 10 } },
        { name = "X-Mode", ["in"] = "header", schema = { default = "fast" } },
        { name = "api-version", ["in"] = "query", required = true, schema = { default = "v1" } },
      },
      requestBody = { content = { ["application/json"] = { schema = body } } },
    }, { method = "post" }), config)
    local registry = operations.registry({ on_warning = function() end })
    assert(registry:register_all(api.definitions))
    local envelope, err = registry:execute("test.op", input)
    return api.requests[1], envelope and api.definitions[1].inputSchema, err
  end

  it("leaves the defaults of optional inputs to the server, at every depth", function()
    local request, schema = with_defaults({ body = { place = { depth = 2 } } })
    assert.equal("http://api.test/op?api-version=v1", request.url)
    assert.is_nil(request.headers["X-Mode"])
    assert.equal('{"kind":"bot","place":{"depth":2,"unit":"m"}}',
      json.encode(json.decode(request.body), { sort_keys = true }))
    assert.equal(10, schema.properties.limit.default)
    assert.equal("http://api.test/op?limit=3&api-version=v1", (with_defaults({ limit = 3 })).url)
  end)

  it("takes no default at all where the configuration says so", function()
    local _, _, err = with_defaults({}, { fill = false })
    assert.equal("VALIDATION_ERROR: /api-version: required, but missing", tostring(err))
    local request = with_defaults({ ["api-version"] = "v2" }, { fill = false })
    assert.equal("http://api.test/op?api-version=v2", request.url)
  end)

  it("is sent as given where the configuration does not ask for checks", function()
    local _, _, err = with_defaults({ limit = "many" })
    assert.equal('VALIDATION_ERROR: /limit: expected integer, got "many"', tostring(err))
    assert.truthy(err.hint:find("validate", 1, true))
    for _, validate in ipairs({ "warn", "off" }) do
      local request = with_defaults({ limit = "many", body = 7 }, { validate = validate })
      assert.equal("http://api.test/op?limit=many&api-version=v1", request.url)
      assert.equal("7", request.body)
    end
  end)

  it("names inputs that have no place in a request that is not checked", function()
    local _, _, err = with_defaults({ colour = "red" }, { validate = "off" })
    assert.equal("VALIDATION_ERROR: /colour: is not a parameter of this operation", tostring(err))
  end)

  it("tells properties of the body from parameters of the same name", function()
    local schema = { type = "object", properties = { id = { type = "string" } }, required = { "id" } }
    local request = call({
      parameters = { { name = "id", ["in"] = "path", required = true, schema = { type = "integer" } } },
      requestBody = { content = { ["application/json"] = { schema = schema } } },
    }, { id = 7, body = { id = "x" } }, { path = "/{id}", method = "put" })
    assert.equal("http://api.test/7", request.url)
    assert.equal('{"id":"x"}', request.body)
  end)

  it("refuses header parameters that OpenAPI ignores, or the HTTP client sets, and reports them", function()
    for _, name in ipairs({
      "Accept", "content-type", "AUTHORIZATION", "Content-Length", "Transfer-Encoding", "accept-encoding",
    }) do
      local request, err, api = call({ parameters = { { name = name, ["in"] = "header" } } }, { [name] = "x" })
      assert.is_nil(request)
      assert.equal("VALIDATION_ERROR", err.code)
      assert.equal(1, #api.report)
    end
  end)

  it("needs no length from its caller, whatever the document requires", function()
    local parameter = { name = "Content-Length", ["in"] = "header", required = true, schema = { type = "integer" } }
    assert.equal("http://api.test/op", (call({ parameters = { parameter } }, {})).url)
  end)
end)

describe("the path of a request", function()
  local function url(path, input, parameters)
    local list = {}
    for _, name in ipairs(parameters or {}) do
      list[#list + 1] = { name = name, ["in"] = "path", required = true }
    end
    local request, err = call({ parameters = list }, input, { path = path })
    return request and request.url, err
  end

  it("fills several parameters into one segment", function()
    assert.equal("http://api.test/a.json/x:run",
      url("/{n}.{f}/{id}:run", { n = "a", f = "json", id = "x" }, { "n", "f", "id" }))
  end)

  it("fills a name that stands twice", function()
    assert.equal("http://api.test/a/a", url("/{n}/{n}", { n = "a" }, { "n" }))
  end)

  it("takes dots that do not make a whole segment", function()
    assert.equal("http://api.test/v..x", url("/v{n}x", { n = ".." }, { "n" }))
  end)

  it("refuses values that together make a dot segment", function()
    local found, err = url("/{a}{b}", { a = ".", b = "." }, { "a", "b" })
    assert.is_nil(found)
    assert.equal("VALIDATION_ERROR", err.code)
  end)

  it("refuses dots before a matrix parameter", function()
    assert.is_nil((url("/{a};v=1", { a = ".." }, { "a" })))
  end)

  it("sends the part behind a question mark as the query, and no fragment", function()
    assert.equal("http://api.test/x?beta=true", url("/x?beta=true#Action=Run", {}))
    assert.equal("http://api.test/x?a=1&b=2", url("/x?a=1&q={q}&b=2&{r}", {}))
    assert.equal("http://api.test/x", url("/x?q={q}", {}))
  end)

  it("encodes characters that a path cannot hold", function()
    assert.equal("http://api.test/a%20b/%C3%BC", url("/a b/\195\188", {}))
  end)

  it("keeps a slash at the end", function()
    assert.equal("http://api.test/x/", url("/x/", {}))
  end)

  it("takes a template name that is not declared for a string, and reports it", function()
    local request, err, api = call({}, { id = "7" }, { path = "/x/{id}" })
    assert.is_nil(err)
    assert.equal("http://api.test/x/7", request.url)
    assert.matches("{id}", api.report[1].message, 1, true)
  end)

  it("does not let a parameter's value fill in another one", function()
    assert.equal("http://api.test/%7Bb%7D/2", url("/{a}/{b}", { a = "{b}", b = "2" }, { "a", "b" }))
  end)
end)

describe("the body of a request", function()
  for text, value in pairs({ ["false"] = false, ["0"] = 0, ['""'] = "", ["null"] = operations.null }) do
    it("is sent when it is " .. text, function()
      local request = call({ requestBody = json_body }, { body = value }, { method = "post" })
      assert.equal(text, request.body)
      assert.equal("application/json", request.headers["Content-Type"])
    end)
  end

  it("may be left out when it is optional, and then there is no Content-Type", function()
    local request = call({ requestBody = json_body }, {}, { method = "post" })
    assert.is_nil(request.body)
    assert.is_nil(request.headers["Content-Type"])
  end)

  it("must be there when it is required", function()
    local body = { required = true, content = json_body.content }
    local request, err = call({ requestBody = body }, {}, { method = "post" })
    assert.is_nil(request)
    assert.equal("/body", err.details[1].path)
  end)

  it("of a type that cannot be written is left out where it may be, and the report says so", function()
    local unknown = content("text/event-stream")
    local request, _, api = call({ requestBody = unknown }, {}, { method = "post" }, { eager = true })
    assert.is_nil(request.body)
    assert.same({ {
      pointer = "#/paths/~1op/post/requestBody/content", operation = "op",
      message = "request bodies of type text/event-stream are not supported; the optional body is left out",
    } }, api.report)
    unknown.required = true
    assert.error_matches(function()
      call({ requestBody = unknown }, {}, { method = "post" }, { eager = false })
    end, "request bodies of type text/event-stream are not supported", 1, true)
  end)

  it("goes with any method that declares one", function()
    for _, method in ipairs({ "get", "delete", "patch", "put" }) do
      assert.equal("1", call({ requestBody = json_body }, { body = 1 }, { method = method }).body)
    end
  end)

  it("goes as the JSON type that is declared", function()
    local request = call({ requestBody = content("application/vnd.x+json") }, { body = {} }, { method = "post" })
    assert.equal("application/vnd.x+json", request.headers["Content-Type"])
    assert.equal("{}", request.body)
  end)

  it("is JSON when that is one of several types, or any type is allowed", function()
    local both = { content = { ["application/xml"] = {}, ["application/json"] = {}, ["text/plain"] = {} } }
    for _, body in ipairs({ both, content("*/*") }) do
      local request = call({ requestBody = body }, { body = { 1 } }, { method = "post" })
      assert.equal("application/json", request.headers["Content-Type"])
      assert.equal("[1]", request.body)
    end
  end)

  it("is text as it was given", function()
    local request = call({ requestBody = content("text/plain") }, { body = "a\r\nb" }, { method = "post" })
    assert.equal("a\r\nb", request.body)
    assert.equal("text/plain", request.headers["Content-Type"])
  end)

  it("is a form of its properties", function()
    local request = call({ requestBody = content("application/x-www-form-urlencoded") },
      { body = { a = "x y", b = { 1, 2 }, c = false, d = { e = 1 } } }, { method = "post" })
    assert.equal("a=x+y&b=1&b=2&c=false&d=%7B%22e%22%3A1%7D", request.body)
  end)

  it("says where a value is that JSON cannot hold", function()
    local request, err = call({ requestBody = json_body }, { body = { a = { print } } }, { method = "post" })
    assert.is_nil(request)
    assert.equal("/body/a/0", err.details[1].path)
    assert.matches("^[^/: ]", err.details[1].message)
    assert.equal("VALIDATION_ERROR: /body/a/0: " .. err.details[1].message, tostring(err))
    local lines = { requestBody = content("application/jsonl") }
    request, err = call(lines, { body = { 1, { a = 0 / 0 } } }, { method = "post" })
    assert.is_nil(request)
    assert.equal("VALIDATION_ERROR: /body/1/a: NaN is not a JSON number", tostring(err))
    request, err = call({ requestBody = json_body }, { body = 0 / 0 }, { method = "post" })
    assert.is_nil(request)
    assert.equal("VALIDATION_ERROR: /body: NaN is not a JSON number", tostring(err))
  end)

  it("holds an empty table as the array that the schema says it is", function()
    local schema = {
      type = "object",
      properties = {
        tags = { type = "array" },
        map = { type = "object" },
        deep = { type = "array", items = { ["$ref"] = "#/components/schemas/Deep" } },
        either = { anyOf = { { type = "null" }, { type = { "array", "null" } } } },
      },
      additionalProperties = { type = "array" },
    }
    local deep = { allOf = { { properties = { list = { type = "array" } } } } }
    local input = { tags = {}, map = {}, deep = { { list = {}, other = {} } }, either = {}, more = {} }
    local body = { content = { ["application/json"] = { schema = schema } } }
    local request = call({ requestBody = body }, { body = input },
      { method = "post", doc = { components = { schemas = { Deep = deep } } } })
    local sent = operations.json.decode(request.body)
    assert.equal('{"deep":[{"list":[],"other":{}}],"either":[],"map":{},"more":[],"tags":[]}',
      operations.json.encode(sent, { sort_keys = true }))
    assert.is_nil(getmetatable(input.tags))
  end)

  it("that is required and of a type we cannot make costs the operation, which is reported", function()
    local body = { required = true, content = { ["text/event-stream"] = {} } }
    local api = support.api(support.one({ requestBody = body }, { method = "post" }))
    assert.same({}, api.definitions)
    assert.equal("#/paths/~1op/post/requestBody/content", api.report[1].pointer)
    assert.matches("text/event-stream", api.report[1].message, 1, true)
  end)
end)

describe("the headers of a request", function()
  local function accept(responses)
    return call({ responses = responses }, {}).headers.Accept
  end

  it("accept the JSON types of the successful responses, and no others", function()
    assert.equal("application/json, application/hal+json", accept({
      ["200"] = { content = { ["application/hal+json"] = {}, ["text/html"] = {}, ["application/json"] = {} } },
      ["404"] = { content = { ["application/problem+json"] = {} } },
    }))
  end)

  it("accept the other types where there is no JSON", function()
    assert.equal("image/png", accept({ ["200"] = { content = { ["image/png"] = {} } } }))
  end)

  it("accept anything where nothing is declared", function()
    assert.equal("application/json, */*;q=0.8", accept({ ["204"] = {} }))
  end)

  it("hold those of the configuration, which parameters replace whatever their spelling", function()
    local operation = { parameters = { { name = "x-tenant", ["in"] = "header" } } }
    local headers = { ["X-Tenant"] = "a", ["User-Agent"] = "spec" }
    assert.equal("a", call(operation, {}, nil, { headers = headers }).headers["X-Tenant"])
    local request = call(operation, { ["x-tenant"] = "b" }, nil, { headers = headers })
    assert.equal("b", request.headers["x-tenant"])
    assert.is_nil(request.headers["X-Tenant"])
    assert.equal("spec", request.headers["User-Agent"])
  end)

  it("have no Content-Type without a body", function()
    assert.is_nil(call({}, {}).headers["Content-Type"])
  end)
end)

describe("the server of a request", function()
  local function url(doc, config, operation, item)
    local request, err, api = call(operation or {}, {}, { doc = doc, item = item }, config)
    return request and request.url, err, api
  end

  it("is the operation's, else the path's, else the document's", function()
    local doc, item = { servers = { { url = "http://d" } } }, { servers = { { url = "http://p" } } }
    assert.equal("http://o/op", url(doc, nil, { servers = { { url = "http://o" } } }, item))
    assert.equal("http://p/op", url(doc, nil, {}, item))
    assert.equal("http://d/op", url(doc, nil, {}, {}))
  end)

  it("is the configured one before all others", function()
    assert.equal("https://c:8/v1/op", url({}, { base_url = "https://c:8/v1/" }, { servers = { { url = "http://o" } } }))
  end)

  it("has its variables filled in, from the configuration or their defaults", function()
    local variables = { region = { default = "eu" }, v = { default = "v1" } }
    local server = { url = "https://{region}.x/{v}", variables = variables }
    assert.equal("https://eu.x/v1/op", url({ servers = { server } }))
    assert.equal("https://us.x/v1/op", url({ servers = { server } }, { server_variables = { region = "us" } }))
  end)

  it("is the one that the configuration asks for, by place, name, description or URL", function()
    local servers = {
      { url = "http://a" }, { url = "http://b/{v}", name = "second", description = "Sandbox",
        variables = { v = { default = "1" } } },
    }
    for _, wanted in ipairs({ 2, "second", "Sandbox", "http://b/{v}" }) do
      assert.equal("http://b/1/op", url({ servers = servers }, { server = wanted }))
    end
    local found, err = url({ servers = servers }, { server = "third" })
    assert.is_nil(found)
    assert.matches("no server third", err.message, 1, true)
  end)

  it("is the operation's own even where that lacks the one asked for", function()
    local doc = { servers = { { url = "http://a" }, { url = "http://b" } } }
    assert.equal("http://o/op", url(doc, { server = 2 }, { servers = { { url = "http://o" } } }))
  end)

  it("has no value of a variable that the document does not allow", function()
    local server = { url = "http://{r}.x", variables = { r = { default = "eu", enum = { "eu", "us" } } } }
    assert.equal("http://us.x/op", url({ servers = { server } }, { server_variables = { r = "us" } }))
    local found, err = url({ servers = { server } }, { server_variables = { r = "evil.test/" } })
    assert.is_nil(found)
    assert.matches('"r" must be one of eu, us', err.message, 1, true)
  end)

  for text, servers in pairs({ ["a relative URL"] = { { url = "/v1" } }, ["no server"] = {},
    ["a variable without a value"] = { { url = "http://{x}/" } }, ["a password"] = { { url = "http://u:p@x/" } } }) do
    it("is missing with " .. text .. ", which is reported and said when it is needed", function()
      local found, err, api = url({ servers = servers })
      assert.is_nil(found)
      assert.equal("EXECUTION_ERROR", err.code)
      assert.matches("base_url", err.message, 1, true)
      assert.equal("#/paths/~1op/get", api.report[1].pointer)
    end)
  end
end)
