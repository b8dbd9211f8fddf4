local operations = require("operations")
local support = require("spec.support.openapi")
local task = require("operations.task")

--- Calls an operation that is answered by `reply`.
local function call(reply, responses, method, context)
  reply.headers = reply.headers or {}
  local api = support.api(support.one({ responses = responses or {} }, { method = method }), nil, reply)
  return api.definitions[1].handler({}, context)
end

local function typed(media, body, status)
  return { status = status or 200, headers = { ["content-type"] = media }, body = body }
end

describe("a response", function()
  it("is an HTTP envelope with status, headers and content type", function()
    local envelope = call(typed("application/json; charset=utf-8", '{"a":1}', 201))
    assert.is_true(operations.is_response_envelope(envelope))
    assert.same({ a = 1 }, envelope.data)
    assert.equal("http", envelope.meta.source)
    assert.equal(201, envelope.meta.statusCode)
    assert.equal("application/json; charset=utf-8", envelope.meta.contentType)
    assert.equal("application/json; charset=utf-8", envelope.meta.headers["content-type"])
  end)

  for _, media in ipairs({ "application/json", "application/json, application/json",
    "application/json,text/html", "APPLICATION/JSON ; q=1", "text/json", "application/problem+json",
    "application/vnd.api+json;v=2", "application/scim+json" }) do
    it("is JSON when it comes as " .. media, function()
      assert.same({ a = operations.null }, call(typed(media, '{"a":null}')).data)
    end)
  end

  for _, media in ipairs({ "application/jsonp", "application/x-json-smile", "text/plain",
    "application/octet-stream" }) do
    it("is a string when it comes as " .. media, function()
      assert.equal("{}", call(typed(media, "{}")).data)
    end)
  end

  it("without a type is its bytes", function()
    assert.equal("\0\255", call({ status = 200, body = "\0\255" }).data)
  end)

  describe("without a content type", function()
    local json = { content = { ["application/json"] = {}, ["application/vnd.api+json"] = {} } }
    local mixed = { content = { ["application/json"] = {}, ["text/plain"] = {} } }

    local function data(status, body, responses)
      return call({ status = status, body = body }, responses).data
    end

    it("is JSON where the document declares nothing else for its status, range or default", function()
      assert.same({ a = 1 }, data(200, '{"a":1}', { ["200"] = json, default = mixed }))
      assert.same({ a = 1 }, data(201, '{"a":1}', { ["2XX"] = json, default = mixed }))
      assert.same({ a = 1 }, data(200, '{"a":1}', { default = json }))
      assert.equal(operations.null, data(200, "null", { ["200"] = json }))
      assert.is_nil(data(200, "", { ["200"] = json }))
      assert.is_nil(call({ status = 200, body = "{}" }, { ["200"] = json }).meta.contentType)
    end)

    it("is a string where it cannot be read as JSON, or may be something else", function()
      assert.equal("{a", data(200, "{a", { ["200"] = json }))
      assert.equal("12", data(200, "12", { ["200"] = mixed, default = json }))
      assert.equal("12", data(200, "12", { ["200"] = { description = "" } }))
      assert.equal("12", data(201, "12", { ["200"] = json }))
    end)

    it("is JSON in an error, too", function()
      local _, err = call({ status = 404, body = '{"message":"gone"}' }, { ["404"] = json })
      assert.equal("HTTP_404: 404 Not Found: gone", tostring(err))
      assert.same({ message = "gone" }, err.details.body)
    end)
  end)

  describe("is declared, and asked for, as", function()
    -- The schema of the result and the field Accept, of responses whose media types (and their schemas) are given.
    local function declared(statuses)
      local responses = {}
      for status, types in pairs(statuses) do
        local content = {}
        for name, schema in pairs(types) do
          content[name] = { schema = schema or nil }
        end
        responses[status] = { content = content }
      end
      local api = support.api(support.one({ responses = responses }))
      assert(api.definitions[1].handler({}, {}))
      return { api.definitions[1].outputSchema, api.requests[1].headers.Accept }
    end

    local integer, text = { type = "integer" }, { type = "string" }
    local function bytes(media)
      return { type = "string", contentMediaType = media }
    end

    it("the one type that is no JSON, any bytes where there are several or a range", function()
      assert.same({ bytes("text/csv"), "text/csv" }, declared({ ["200"] = { ["text/csv"] = false } }))
      assert.same({ bytes("text/csv"), "text/csv" },
        declared({ ["200"] = { ["text/csv"] = false }, ["201"] = { ["text/csv"] = false } }))
      assert.same({ bytes("application/octet-stream"), "image/png, text/csv" },
        declared({ ["200"] = { ["text/csv"] = false, ["image/png"] = false } }))
      assert.same({ bytes("application/octet-stream"), "image/*" }, declared({ ["200"] = { ["image/*"] = false } }))
    end)

    it("JSON where there is any, of all successful responses", function()
      assert.same({ integer, "application/json" },
        declared({ ["200"] = { ["application/json"] = integer, ["text/csv"] = false } }))
      assert.same({ { anyOf = { integer, text } }, "application/json" },
        declared({ ["200"] = { ["application/json"] = integer }, ["2XX"] = { ["application/json"] = text } }))
      assert.same({ integer, "application/json" },
        declared({ ["200"] = { ["application/json"] = integer }, ["201"] = { ["application/json"] = integer } }))
      assert.same({ true, "application/json" },
        declared({ ["200"] = { ["application/json"] = integer }, ["201"] = { ["application/json"] = false } }))
    end)

    it("the default where no status is successful, and nothing that is no status", function()
      local json = { ["application/json"] = integer }
      assert.same({ integer, "application/json" }, declared({ default = json, ["404"] = { ["text/csv"] = false } }))
      assert.same({ integer, "application/json" }, declared({ ["200"] = json, default = { ["text/csv"] = false } }))
      assert.same({ true, "application/json, */*;q=0.8" }, declared({ ["600"] = json, ["6XX"] = json, ["20"] = json }))
    end)
  end)

  it("keeps false, zero, null and empty strings of JSON", function()
    assert.is_false(call(typed("application/json", "false")).data)
    assert.equal(0, call(typed("application/json", "0")).data)
    assert.equal("", call(typed("application/json", '""')).data)
    assert.equal(operations.null, call(typed("application/json", "null")).data)
  end)

  it("keeps integers of 64 bits under a schema of integers", function()
    local schema = { type = "array", items = { type = "integer", format = "int64", maximum = 2 ^ 70 } }
    local text = "[9007199254740993,-9223372036854775808,9223372036854775807]"
    local envelope = call(typed("application/json", text),
      { ["200"] = { content = { ["application/json"] = { schema = schema } } } })
    assert.equal(text, operations.json.encode(envelope.data))
  end)

  it("without a body has no data, whatever its type says", function()
    for _, reply in ipairs({ typed("application/json", "", 204), typed("application/json", "", 200),
      typed("application/json", " \r\n", 200), typed("text/plain", nil, 205) }) do
      local envelope, err = call(reply)
      assert.is_nil(err)
      assert.is_nil(envelope.data)
      assert.is_true(operations.is_response_envelope(envelope))
    end
  end)

  it("may begin with a byte order mark", function()
    assert.same({}, call(typed("application/json", "\239\187\191[]")).data)
  end)

  it("in Latin-1 becomes UTF-8", function()
    for _, charset in ipairs({ "ISO-8859-1", "latin1", "us-ascii" }) do
      assert.equal("\127\194\128\194\191\195\128\195\188\195\191",
        call(typed("text/plain; charset=" .. charset, "\127\128\191\192\252\255")).data)
    end
    assert.equal("\252", call(typed("text/plain; charset=koi8-r", "\252")).data)
    assert.equal("\252", call(typed("image/png; charset=latin1", "\252")).data)
  end)

  it("is read in the charset that its type declares, JSON too", function()
    for media, body in pairs({ ["application/json; charset=ISO-8859-1"] = '{"a":"\233"}',
      ['application/problem+json;charset="windows-1252"'] = '{"a":"\233"}',
      ["application/json; charset=utf-16"] = "\255\254{\0\"\0a\0\"\0:\0\"\0\233\0\"\0}\0",
      ["application/json"] = "\254\255\0{\0\"\0a\0\"\0:\0\"\0\233\0\"\0}" }) do
      assert.same({ a = "é" }, call(typed(media, body)).data)
      assert.same({ a = "é" }, select(2, call(typed(media, body, 400))).details.body)
    end
    assert.equal("€", call(typed("text/plain; charset=windows-1252", "\128")).data)
    assert.equal("é", call(typed("text/csv; charset=UTF-16LE", "\233\0")).data)
  end)

  describe("that is almost JSON", function()
    local texts = { ['{"a":"\\ud83d"}'] = "\239\191\189", ['{"a":"\233"}'] = "\239\191\189",
      ['{"a":NaN}'] = operations.null, ['{"a":-Infinity}'] = operations.null }

    it("is an error with its place and its bytes", function()
      for text in pairs(texts) do
        local envelope, err = call(typed("application/json", text))
        assert.is_nil(envelope)
        assert.matches("^EXECUTION_ERROR: the response is not valid JSON: JSON, line 1, column ", tostring(err))
        assert.same({ "response", text }, { err.details.kind, err.details.body })
      end
    end)

    it("is read by option, which the registry's on_warning is told", function()
      for text, expected in pairs(texts) do
        local told = {}
        local registry = operations.registry({ on_warning = function(warning) told[#told + 1] = warning end })
        local api = support.api(support.one({ responses = {} }), { lenient = true, namespace = "api" },
          { status = 200, headers = { ["content-type"] = "application/json" }, body = text })
        local id = assert(registry:register(api.definitions[1]))
        local envelope = assert(registry:execute(id, {}))
        assert.same({ a = expected }, envelope.data)
        assert.equal(1, #told)
        assert.equal(id, told[1].operationId)
        assert.matches("not JSON.*line 1, column", told[1].issues[1].message)
      end
    end)
  end)

  it("with a number that no double holds has its text, and a warning is logged", function()
    local logged = {}
    local envelope = call(typed("application/json", '{"a":1e400,"b":[1]}'), nil, nil, {
      log = function(level, text)
        logged[#logged + 1] = level .. " " .. text
      end,
    })
    assert.same({ a = "1e400", b = { 1 } }, envelope.data)
    assert.equal(1, #logged)
    assert.matches("^warn .*a number is out of range and was read as text: JSON, line 1, column 6", logged[1])
    assert.is_nil(logged[1]:find("api.test", 1, true)) -- MCP clients read it
    assert.same({ a = "-1e400" }, call(typed("application/json", '{"a":-1e400}')).data)
    assert.equal("1e400", select(2, call(typed("application/json", '{"a":1e400}', 400))).details.body.a)
  end)

  describe("of more than 256 KiB", function()
    local array = "[" .. ('"0123456789",'):rep(64 * 1024) .. '"end"]'

    it("is read in pieces as it is read whole", function()
      task.run(function()
        assert.equal(array, operations.json.encode(call(typed("application/json", array)).data))
        local broken = "[" .. ("1,"):rep(256 * 1024) .. "x]"
        local _, err = call(typed("application/json", broken))
        local flaw = select(2, operations.json.decode(broken)).message
        assert.equal("the response is not valid JSON: " .. flaw, err.message)
        _, err = call(typed("application/json", array:sub(1, -2)))
        assert.matches("the response is not valid JSON: JSON, line 1", err.message, 1, true)
      end)
    end)

    it("is read by a task until that is cancelled", function()
      local envelope, err
      local worker = task.spawn(function()
        envelope, err = call(typed("application/json", "[" .. ("[0,1],"):rep(1024 * 1024) .. "2]"))
      end)
      task.sleep(0.001)
      worker:cancel()
      local _, failure = worker:wait()
      assert.equal("ABORTED", failure.code)
      assert.same({}, { envelope, err })
    end)
  end)

  it("that is not the JSON it says it is fails, and tells what came", function()
    local envelope, err = call(typed("application/json", "<html>"))
    assert.is_nil(envelope)
    assert.equal("EXECUTION_ERROR", err.code)
    assert.equal("<html>", err.details.body)
    assert.equal(200, err.details.statusCode)
  end)
end)

describe("an HTTP error status", function()
  it("is an error object with status, headers and body", function()
    local reply = typed("application/json", '{"a":[1]}', 404)
    reply.headers["x-request-id"] = "7"
    local envelope, err = call(reply)
    assert.is_nil(envelope)
    assert.is_true(operations.is_error(err))
    assert.equal("HTTP_404", err.code)
    assert.equal("404 Not Found", err.message)
    assert.equal(404, err.details.statusCode)
    assert.equal("7", err.details.headers["x-request-id"])
    assert.same({ a = { 1 } }, err.details.body)
  end)

  it("says whether trying again makes sense, and when", function()
    local reply = typed("application/json", "{}", 503)
    reply.headers["retry-after"] = "7"
    local _, err = call(reply)
    assert.same({ true, true, 7000 }, { err.retryable, err.mayHaveRun, err.retryAfter })
    _, err = call(typed("application/json", "{}", 429))
    assert.same({ true, false }, { err.retryable, err.mayHaveRun })
    assert.is_nil(err.retryAfter)
    assert.is_false(select(2, call(typed("application/json", "{}", 404))).retryable)
  end)

  it("says so, too, where a credential is hidden in it", function()
    local reply = typed("text/plain", "your token topsecret is worn out", 429)
    local api = support.api(support.one({ responses = {}, security = { { key = {} } } }, {
      components = { securitySchemes = { key = { type = "http", scheme = "bearer" } } } }),
      { auth = { type = "bearer", token = "topsecret" } }, reply)
    local _, err = api.definitions[1].handler({}, {})
    assert.is_nil(tostring(err):find("topsecret", 1, true))
    assert.same({ true, false }, { err.retryable, err.mayHaveRun })
  end)

  for said, reply in pairs({
    ["Out of credit: You have 30"] = typed("application/problem+json",
      '{"title":"Out of credit","detail":"You have 30"}', 403),
    ["no such task"] = typed("application/json", '{"message":"no such task"}', 403),
    ["too long"] = typed("application/json", '{"error":{"code":7,"message":"too long"}}', 403),
    ["expired"] = typed("application/json", '{"error":"invalid_grant","error_description":"expired"}', 403),
    ["name is taken"] = typed("application/json", '{"errors":[{"detail":"name is taken"}]}', 403),
    ["/body/items/0: field required"] = typed("application/json",
      '{"detail":[{"loc":["body","items",0],"msg":"field required","type":"missing"}]}', 403),
    ["name is short"] = typed("application/json", '{"errors":["name is short","and dull"]}', 403),
    ["Missing token"] = typed("application/json", '{"Message":"Missing token"}', 403),
    ["given first"] = typed("application/json", '{"message":"given first","errors":["second"]}', 403),
    ["plain words"] = typed("text/plain", "plain\n words", 403),
    ["{broken"] = typed("application/json", "{broken", 403),
  }) do
    it("says what its body says: " .. said, function()
      local _, err = call(reply)
      assert.equal("403 Forbidden: " .. said, err.message)
    end)
  end

  it("says nothing of a page of HTML, and keeps it", function()
    local _, err = call(typed("text/html", "<html>oops</html>", 502))
    assert.equal("502 Bad Gateway", err.message)
    assert.equal("<html>oops</html>", err.details.body)
  end)

  it("says the beginning of a long body, without cutting a character", function()
    local _, err = call(typed("text/plain", ("\195\188"):rep(3000), 500))
    assert.equal("500 Internal Server Error: " .. ("\195\188"):rep(100) .. "...", err.message)
  end)

  it("says 200 bytes at most, of whole characters", function()
    local function said(body)
      return (select(2, call(typed("text/plain", body, 500))).message:match("^500 Internal Server Error: (.*)$"))
    end
    assert.equal(("x"):rep(200), said(("x"):rep(200)))
    assert.equal(("x"):rep(200) .. "...", said(("x"):rep(201)))
    for _, char in ipairs({ "\195\128", "\195\191", "\226\130\172", "\240\159\152\128" }) do
      for before = 0, 4 do
        local begin = ("x"):rep(before)
        assert.equal(begin .. char:rep(math.floor((200 - before) / #char)) .. "...", said(begin .. char:rep(200)))
      end
    end
    assert.equal(("\195\188"):rep(100) .. "...", said(("\195\188"):rep(100) .. "xx"))
    assert.equal("...", said(("\128"):rep(300)))
  end)

  it("says its text in one line, without control characters", function()
    local _, err = call(typed("text/plain", "a\r\n\t b\0\1\31\127c", 500))
    assert.equal("500 Internal Server Error: a bc", err.message)
  end)

  for body, said in pairs({
    ['{"title":"T","detail":""}'] = ": T", ['{"title":"T","detail":"T"}'] = ": T", ['{"title":"T","detail":7}'] = ": T",
    ['{"errors":[{"title":"T"}],"message":"m"}'] = ": m", ['{"errors":[{"code":7}],"message":""}'] = "",
    ['{"errors":[7]}'] = "", ['{"errors":[]}'] = "", ['{"errors":"e","error":"x"}'] = ": x",
    ['{"errors":{"a":1},"reason":"r"}'] = ": r", ['{"error":{"code":7},"message":"m"}'] = ": m",
    ['{"error":{"msg":"m"},"errors":["e"]}'] = ": m", ['{"error":{},"error_description":"d"}'] = ": d",
    ['{"description":"d","reason":"r"}'] = ": d", ['{"detail":[{"loc":[],"msg":"m"}]}'] = ": m",
    ['{"detail":[{"loc":"x","msg":"m"}]}'] = ": m", ['{"detail":[{"loc":["a"]}]}'] = ": /a", ["[1]"] = "", ["7"] = "",
    ["true"] = "", ['"  <b>"'] = "", ['" a <b>"'] = ":  a <b>",
  }) do
    it("says " .. (said == "" and "nothing" or said) .. " where its body is " .. body, function()
      local _, err = call(typed("application/json", body, 403))
      assert.equal("403 Forbidden" .. said, err.message)
    end)
  end

  it("that has no name is told by its number", function()
    local _, err = call({ status = 599, body = "" })
    assert.equal("599", err.message)
    assert.equal("HTTP_599", err.code)
  end)

  it("is also an undeclared redirect", function()
    local _, err = call({ status = 304, body = "" })
    assert.equal("HTTP_304", err.code)
    assert.equal(304, call({ status = 304, body = "" }, { ["304"] = {} }).meta.statusCode)
    assert.equal(304, call({ status = 304, body = "" }, { ["3XX"] = {} }).meta.statusCode)
    assert.equal("HTTP_304", select(2, call({ status = 304, body = "" }, { ["302"] = {} })).code)
  end)

  it("is each outside of 200 to 299", function()
    for status, code in pairs({ [199] = "HTTP_199", [200] = false, [299] = false, [300] = "HTTP_300",
      [399] = "HTTP_399", [400] = "HTTP_400" }) do
      for _, responses in ipairs({ {}, { ["302"] = {}, ["400"] = {} } }) do
        local _, err = call({ status = status, body = "" }, responses)
        assert.equal(code, err and err.code or false)
      end
    end
    assert.same({ 300, 399 }, { call({ status = 300, body = "" }, { ["3XX"] = {} }).meta.statusCode,
      call({ status = 399, body = "" }, { ["3XX"] = {} }).meta.statusCode })
    assert.equal("HTTP_400", select(2, call({ status = 400, body = "" }, { ["3XX"] = {} })).code)
  end)
end)

describe("a failed exchange", function()
  it("is the client's error", function()
    local failure = operations.error("TIMEOUT", "GET http://api.test/op: too slow", { kind = "timeout" })
    local api = support.api(support.one({}), nil, function()
      return nil, failure
    end)
    local envelope, err = api.definitions[1].handler({})
    assert.is_nil(envelope)
    assert.equal(failure, err)
  end)
end)

describe("the answer of an operation", function()
  local function definition(responses, doc)
    return support.api(support.one({ responses = responses }, { doc = doc })).definitions[1]
  end

  local function json(schema, description)
    return { description = description, content = { ["application/json"] = { schema = schema } } }
  end

  for _, status in ipairs({ "200", "201", "202", "2XX", "2xx", "default" }) do
    it("is described by response " .. status, function()
      local found = definition({ [status] = json({ type = "integer" }), ["404"] = json({}) })
      assert.same({ type = "integer" }, found.outputSchema)
    end)
  end

  it("is any of several successful responses", function()
    local schema = definition({ ["200"] = json({ type = "integer" }), ["202"] = json({ type = "null" }),
      default = json({ type = "object" }) }).outputSchema
    assert.same({ anyOf = { { type = "integer" }, { type = "null" } } }, schema)
  end)

  it("is told once when several responses share a schema", function()
    local ref = { ["$ref"] = "#/components/schemas/A" }
    local schema = definition({ ["200"] = json(ref), ["201"] = json(ref) },
      { components = { schemas = { A = { type = "integer" } } } }).outputSchema
    assert.same({ type = "integer" }, schema)
  end)

  it("is a string of the media type that is named where there is no JSON", function()
    local function schema_of(...)
      local content = {}
      for _, name in ipairs({ ... }) do
        content[name] = {}
      end
      return definition({ ["200"] = { content = content } }).outputSchema
    end
    assert.same({ type = "string", contentMediaType = "text/csv" }, schema_of("text/csv"))
    assert.same({ type = "string", contentMediaType = "application/octet-stream" }, schema_of("text/csv", "image/png"))
    assert.same({ type = "string", contentMediaType = "application/octet-stream" }, schema_of("image/*"))
  end)

  it("may be anything where nothing is said", function()
    assert.is_true(definition({ ["204"] = { description = "gone" } }).outputSchema)
  end)

  it("in the bad case is listed by HTTP status, ranges and the default too", function()
    local errors = definition({ ["200"] = json({}), ["404"] = json({ type = "string" }, "no such thing"), ["4XX"] = {},
      default = {} }).errorSchemas
    assert.equal(3, #errors)
    assert.equal("HTTP_404", errors[1].code)
    assert.equal("no such thing", errors[1].description)
    assert.same({ type = "string" }, errors[1].schema.properties.body)
    assert.equal("HTTP_4XX", errors[2].code)
    assert.equal("HTTP_DEFAULT", errors[3].code)
  end)

  it("in the bad case has its details checked, ranges and the default too", function()
    local doc = support.one({ responses = { ["404"] = json({ type = "string" }), ["4XX"] = json({ type = "integer" }),
      default = json({ type = "boolean" }), ["200"] = {} } })
    for status, expected in pairs({ [404] = "string", [410] = "integer", [500] = "boolean" }) do
      local warnings = {}
      local registry = operations.registry({ on_warning = function(warning) warnings[#warnings + 1] = warning end })
      assert(registry:register_all(support.api(doc, nil,
        { status = status, headers = { ["content-type"] = "application/json" }, body = "{}" }).definitions))
      local _, err = registry:execute("test.op")
      assert.equal("HTTP_" .. status, err.code)
      assert.equal("/body", warnings[1].issues[1].path)
      assert.matches("expected " .. expected, warnings[1].issues[1].message, 1, true)
    end
  end)

  it("follows references to responses", function()
    local responses = { R = json({ type = "integer" }), E = json({ type = "string" }, "bad") }
    local doc = { components = { responses = responses } }
    local found = definition({ ["200"] = { ["$ref"] = "#/components/responses/R" },
      ["400"] = { ["$ref"] = "#/components/responses/E" } }, doc)
    assert.same({ type = "integer" }, found.outputSchema)
    assert.equal("bad", found.errorSchemas[1].description)
  end)
end)

-- IANA's registry of HTTP status codes, those of failures that servers send.
local reasons = {
  [300] = "Multiple Choices", [301] = "Moved Permanently", [302] = "Found", [303] = "See Other", [304] = "Not Modified",
  [307] = "Temporary Redirect", [308] = "Permanent Redirect", [400] = "Bad Request", [401] = "Unauthorized",
  [402] = "Payment Required", [403] = "Forbidden", [404] = "Not Found", [405] = "Method Not Allowed",
  [406] = "Not Acceptable", [407] = "Proxy Authentication Required", [408] = "Request Timeout", [409] = "Conflict",
  [410] = "Gone", [411] = "Length Required", [412] = "Precondition Failed", [413] = "Content Too Large",
  [414] = "URI Too Long", [415] = "Unsupported Media Type", [416] = "Range Not Satisfiable",
  [417] = "Expectation Failed", [418] = "I'm a Teapot", [421] = "Misdirected Request",
  [422] = "Unprocessable Content", [423] = "Locked", [424] = "Failed Dependency", [425] = "Too Early",
  [426] = "Upgrade Required", [428] = "Precondition Required", [429] = "Too Many Requests",
  [431] = "Request Header Fields Too Large", [451] = "Unavailable For Legal Reasons", [500] = "Internal Server Error",
  [501] = "Not Implemented", [502] = "Bad Gateway", [503] = "Service Unavailable", [504] = "Gateway Timeout",
  [505] = "HTTP Version Not Supported", [507] = "Insufficient Storage", [508] = "Loop Detected",
  [511] = "Network Authentication Required",
}

describe("a failure", function()
  it("is told with the reason that its status stands for", function()
    for status, reason in pairs(reasons) do
      local _, err = call({ status = status, body = "" })
      assert.equal(("HTTP_%d: %d %s"):format(status, status, reason), tostring(err))
    end
    local _, err = call({ status = 499, body = "" })
    assert.equal("HTTP_499: 499", tostring(err))
  end)
end)
