-- Operations of a document of ours: how their calls are made, and what of the answers they give back.
local json = require("operations.base.json")
local operations = require("operations")

local T = operations.type

local function no() end

-- The document of these operations, as a server shows it.
local function document_of(definitions)
  local registry = operations.registry()
  for _, definition in ipairs(definitions) do
    definition.namespace, definition.handler = definition.namespace or "a", no
    assert(registry:register(definition))
  end
  local server = assert(operations.to_http(registry, { log = no, idempotency = true }))
  return assert(json.decode(assert(json.encode(server:openapi("3.1")))))
end

-- Calls an operation of the document: its data or the error, and the request.
local function call(definition, input, answer)
  local requests = {}
  local function reply(request)
    requests[#requests + 1] = request
    answer = answer or { status = 200, headers = { ["content-type"] = "application/json" }, body = "1" }
    return answer
  end
  definition.name = "b"
  local list, report = operations.from_openapi.document(document_of({ definition }), { base_url = "http://api.test",
    http = { request = reply, open = reply } })
  assert(list, tostring(report))
  local registry = operations.registry()
  list[1].namespace = "a"
  assert(registry:register_all(list))
  local envelope, err = registry:execute("a.b", input)
  return envelope and envelope.data, requests[1], err
end

local function request_of(definition, input)
  local _, request, err = call(definition, input)
  if not request then
    return err.message
  end
  return (request.method or "GET") .. " " .. request.url:gsub("^http://api.test", "")
    .. (request.body and " " .. request.body or "")
end

describe("the name of an operation of ours", function()
  local function names(options)
    local document = document_of({
      { name = "get" }, { namespace = "b", name = "get" }, { namespace = "b", name = "c" },
    })
    options.base_url = "http://api.test"
    local list, report = operations.from_openapi.document(document, options)
    local found = {}
    for i, definition in ipairs(list) do
      found[i] = definition.namespace .. "." .. definition.name
    end
    table.sort(found)
    return table.concat(found, " "), report
  end

  it("is its own", function()
    local found, report = names({})
    assert.same({ "a.get b.c b.get", {} }, { found, report })
  end)

  it("begins with its namespace where one namespace replaces several and the name is taken", function()
    local found, report = names({ namespace = "api" })
    assert.equal("api.b_get api.c api.get", found)
    assert.equal('the name "get" is taken; this operation is called "b_get"', report[1].message)
  end)
end)

describe("a query of ours", function()
  local function query(schema, input)
    return request_of({ type = "query", inputSchema = schema, outputSchema = true }, input)
  end

  it("is asked by its address where the text of its members says what they are", function()
    local schema = T.object({ s = T.optional(T.string()), n = T.optional(T.integer()), x = T.optional(T.number()),
      b = T.optional(T.boolean()), l = T.optional(T.array(T.string())) })
    assert.equal("GET /a/b", query(schema, {}))
    assert.equal("GET /a/b?b=true&l=x&l=y&n=7&s=a%20b&x=1.5", query(schema, { s = "a b", n = 7, x = 1.5, b = true,
      l = { "x", "y" } }))
  end)

  it("is sent in a body where they do not", function()
    local any = T.object({ a = T.optional(T.any()), l = T.optional(T.array(T.array(T.integer()))),
      m = T.optional(T.array(T.any())), o = T.optional(T.object({ x = T.integer() })), s = T.optional(T.string()) },
      { additionalProperties = true })
    assert.equal('POST /a/b {"a":"x"}', query(any, { a = "x" }))
    assert.equal('POST /a/b {"l":[[1]]}', query(any, { l = { { 1 } } }))
    assert.equal('POST /a/b {"m":["x"]}', query(any, { m = { "x" } }))
    assert.equal('POST /a/b {"o":{"x":1}}', query(any, { o = { x = 1 } }))
    assert.equal('POST /a/b {"more":1}', query(any, { more = 1 }))
    assert.equal('POST /a/b {"l":[]}', query(any, { l = operations.array({}) }))
  end)

  it("is asked by the method of its document", function()
    local schema = T.object({ s = T.string() })
    for method, expected in pairs({ HEAD = "HEAD /x?s=a", DELETE = "DELETE /x?s=a", QUERY = 'QUERY /x {"s":"a"}' }) do
      assert.equal(expected, request_of({ type = "query", inputSchema = schema, outputSchema = true,
        _meta = { http = { path = "/x", method = method } } }, { s = "a" }))
    end
  end)

  it("is sent in a body where its address would be long", function()
    local schema = T.object({ s = T.string() })
    assert.equal("GET /a/b?s=" .. ("x"):rep(2040), query(schema, { s = ("x"):rep(2040) }))
    assert.equal('POST /a/b {"s":"' .. ("x"):rep(2041) .. '"}', query(schema, { s = ("x"):rep(2041) }))
  end)

  it("is sent in a body where its schema does not say what a list has, or that a member is one", function()
    for _, list in ipairs({ { type = "array" }, { type = "array", items = true }, { type = { "array", "null" } },
      { type = "array", items = { type = { "string", "null" } } } }) do
      assert.equal('POST /a/b {"l":["x"]}', query({ type = "object", properties = { l = list } }, { l = { "x" } }))
    end
    assert.equal('POST /a/b {"l":[]}', query({ type = "object", properties = { l = { type = "array",
      items = { type = "string" } } } }, { l = operations.array({}) }))
  end)

  it("of an input that is no object is sent in a body", function()
    assert.equal("POST /a/b [1]", query(T.array(T.integer()), { 1 }))
    assert.equal('POST /a/b "x"', query(T.string(), "x"))
  end)
end)

describe("a mutation of ours", function()
  it("has the members of its path there, and the rest in its body", function()
    local schema = T.object({ id = T.integer(), n = T.optional(T.integer()) })
    local function mutation(input)
      return request_of({ inputSchema = schema, outputSchema = true, _meta = { http = { path = "/x/{id}",
        method = "PUT" } } }, input)
    end
    assert.equal('PUT /x/5 {"n":7}', mutation({ id = 5, n = 7 }))
    assert.equal("PUT /x/5 {}", mutation({ id = 5 }))
  end)

  it("may be without a body", function()
    assert.equal("DELETE /x/5?n=7", request_of({ inputSchema = T.object({ id = T.integer(), n = T.optional(
      T.integer()) }), outputSchema = true, _meta = { http = { path = "/x/{id}", method = "DELETE" } } },
      { id = 5, n = 7 }))
  end)

  it("has a body where its members do not fit its address, whatever its method", function()
    assert.equal('DELETE /x/5 {"l":[[1]]}', request_of({ inputSchema = T.object({ id = T.integer(),
      l = T.array(T.array(T.integer())) }), outputSchema = true, _meta = { http = { path = "/x/{id}",
      method = "DELETE" } } }, { id = 5, l = { { 1 } } }))
  end)

  it("sends text and bytes as they are", function()
    for _, media in ipairs({ "text/csv", "application/x-ndjson", "application/json" }) do
      local _, request = call({ inputSchema = { type = "string", contentMediaType = media }, outputSchema = true },
        "a,b")
      assert.same({ "a,b", media }, { request.body, request.headers["Content-Type"] })
    end
  end)

  it("sends text in JSON where that is its encoding, or its type is not told", function()
    for _, schema in ipairs({ { type = "string" }, { type = "string", contentMediaType = "image/png",
      contentEncoding = "base64" }, { contentMediaType = "text/csv" } }) do
      local _, request = call({ inputSchema = schema, outputSchema = true }, "YQ==")
      assert.same({ '"YQ=="', "application/json" }, { request.body, request.headers["Content-Type"] })
    end
  end)

  it("names the request where its server needs that", function()
    local _, request = call({ inputSchema = T.object({ n = T.integer() }), outputSchema = true, _meta = { http = {
      idempotencyKey = "required" } } }, { n = 1 })
    assert.matches("^%x+%-", request.headers["Idempotency-Key"])
    _, request = call({ inputSchema = T.object({ n = T.integer() }), outputSchema = true }, { n = 1 })
    assert.is_nil(request.headers["Idempotency-Key"])
  end)
end)

describe("an answer to a call of ours", function()
  local function failure(status, problem, more)
    local definition = { type = "query", outputSchema = true, errorSchemas = { { code = "GONE", statusCode = 410 },
      { code = "SECRET", statusCode = 403 } } }
    local headers = { ["content-type"] = "application/problem+json", ["retry-after"] = more }
    local _, _, err = call(definition, {}, { status = status, headers = headers, body = json.encode(problem) })
    return err
  end

  it("is the error of the operation", function()
    local err = failure(410, { code = "GONE", detail = "it is gone", title = "Gone", details = { 1 }, retryable = false,
      mayHaveRun = true })
    assert.same({ "GONE", "it is gone", { 1 }, false, true }, { err.code, err.message, err.details, err.retryable,
      err.mayHaveRun })
    assert.equal("Gone", failure(410, { code = "GONE", title = "Gone" }).message)
    assert.equal("GONE", failure(410, { code = "GONE", detail = 7 }).message)
    assert.is_nil(failure(410, { code = "GONE", retryable = "no" }).retryable)
    assert.equal("BUSY", failure(503, { code = "BUSY" }, "2").code)
    assert.equal(2000, failure(503, { code = "BUSY" }, "2").retryAfter)
  end)

  it("is a failure of HTTP where it is no problem, or a refusal that the operation does not declare", function()
    assert.equal("HTTP_410", failure(410, { detail = "x" }).code)
    assert.equal("HTTP_410", failure(410, { code = 7 }).code)
    assert.equal("HTTP_500", failure(500, "x").code)
    for _, status in ipairs({ 401, 403, 407 }) do
      assert.equal("HTTP_" .. status, failure(status, { code = "ACCESS_DENIED" }).code)
    end
    assert.equal("SECRET", failure(403, { code = "SECRET" }).code)
    assert.equal("HTTP_401", failure(401, { code = "SECRET" }).code)
  end)

  it("is an empty text where texts are bodies, unless there is no content", function()
    local definition = { type = "query", outputSchema = { type = "string", contentMediaType = "text/csv" } }
    local function data(status)
      return (call(definition, {}, { status = status, headers = { ["content-type"] = "text/csv" }, body = "" }))
    end
    assert.equal("", data(200))
    assert.is_nil(data(204))
  end)
end)

describe("an answer without a content type", function()
  local function data(output)
    local answer = { status = 200, headers = {}, body = "12" }
    local found, request = call({ type = "query", outputSchema = output }, {}, answer)
    return { found, request.headers.Accept }
  end

  it("is of the type that the document declares", function()
    assert.same({ 12, "application/json" }, data(true))
    assert.same({ "12", "text/csv" }, data({ type = "string", contentMediaType = "text/csv" }))
  end)
end)

describe("a stream of ours", function()
  -- The data of its events, and the error that ends it.
  local function events(chunks, media)
    local at = 0
    local list = operations.from_openapi.document(document_of({ { name = "b", type = "subscription",
      outputSchema = true } }), { base_url = "http://api.test", http = { open = function()
        return { status = 200, headers = { ["content-type"] = media or "text/event-stream" }, close = no,
          read = function()
            at = at + 1
            return chunks[at]
          end }
      end } })
    local data = {}
    local _, err = list[1].handler({}, { defer = no, emit = function(envelope)
      data[#data + 1] = envelope.data
    end })
    return { data, err and err.code, err and err.message, err and err.retryable, err and err.mayHaveRun }
  end

  local one, over = "data: 1\n\n", "event: end\ndata: null\n\n"

  it("ends with the event that says so, and whatever follows that is left", function()
    for _, chunks in ipairs({ { one .. "data: 2\n\n" .. over }, { one, "data: 2\n\n", over, "data: 3\n\n" } }) do
      assert.same({ { 1, 2 } }, events(chunks))
    end
    assert.same({ {} }, events({ over }))
  end)

  it("ends with the problem that it tells", function()
    local problem = 'event: problem\ndata: {"code":"GONE","title":"Gone","retryable":false,"mayHaveRun":true}\n\n'
    assert.same({ {}, "GONE", "Gone", false, true }, events({ problem }))
    assert.same({ { 1 }, "GONE", "Gone", false, true }, events({ one .. problem }))
    assert.same({ { 1, 7 } }, events({ one, "event: problem\ndata: 7\n\n", over }))
    assert.same({ { { code = 7 } } }, events({ 'event: problem\ndata: {"code":7}\n\n', over }))
  end)

  it("is lost where it ends without", function()
    assert.same({ { 1 }, "TRANSPORT_LOST", "the stream ended unexpectedly", true, true }, events({ one }))
  end)
end)

describe("an operation of ours is refused", function()
  -- The report of the import of a document whose operation is changed.
  local function refused(change)
    local document = document_of({ { name = "b", inputSchema = T.object({ n = T.integer() }), outputSchema = true } })
    change(document.paths["/a/b"].post)
    local list, report = operations.from_openapi.document(document, { base_url = "http://api.test", eager = true })
    local last = report[#report] or {}
    return { #list, last.pointer, last.message }
  end

  it("where its schemas or parameters are not in the document, or its body is of no type that can be sent", function()
    local pointer, elsewhere = "#/paths/~1a~1b/post", { ["$ref"] = "https://a.test/x.json" }
    assert.same({ 1 }, refused(no))
    assert.same({ 0, pointer, "x-operation: the schema of the input is not the document's own" },
      refused(function(node)
        node.requestBody.content["application/json"].schema = elsewhere
      end))
    assert.same({ 0, pointer, "x-operation: the schema of the output is not the document's own" },
      refused(function(node)
        node.responses["200"].content["application/json"].schema = elsewhere
      end))
    assert.same({ 0, pointer, "x-operation: its parameters are invalid" }, refused(function(node)
      node.parameters = { 7 }
    end))
    assert.same({ 0, pointer, "x-operation: its body cannot be sent" }, refused(function(node)
      node.requestBody.content = { ["nothing"] = {} }
    end))
  end)
end)
