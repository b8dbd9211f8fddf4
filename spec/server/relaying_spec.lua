--- Imported operations served as their own document says: a raw API behind the server, raw requests before it.
local eventually = require("spec.support.eventually")
local inside = require("spec.support.inside")
local listener = require("operations.server.listener")
local operations = require("operations")

local ID = { name = "id", ["in"] = "path", required = true, schema = { type = "integer" } }
local ANY = { ["200"] = { description = "", headers = { ["X-Total"] = { schema = {} } },
  content = { ["application/json"] = { schema = { type = "object", properties = { a = {} } } } } } }
local BYTES = { ["200"] = { description = "", content = { ["application/octet-stream"] = { schema = {
  type = "string", format = "binary" } } } } }
local JSON = { schema = { type = "object", required = { "n" }, properties = { n = { type = "integer" } } } }

local DOCUMENT = { openapi = "3.1.0", info = { title = "t", version = "1" },
  components = { securitySchemes = { key = { type = "apiKey", ["in"] = "query", name = "key" } } },
  paths = {
    ["/"] = { get = { operationId = "root", responses = ANY } },
    ["/things/{id}"] = {
      get = { operationId = "get", responses = ANY, security = { { key = {} } }, parameters = { ID,
        { name = "tags", ["in"] = "query", schema = { type = "array", items = { type = "string" } } },
        { name = "X-Mode", ["in"] = "header", schema = { type = "string" } } } },
      put = { operationId = "put", parameters = { ID }, responses = ANY, requestBody = { required = true, content = {
        ["application/json"] = JSON, ["multipart/form-data"] = { schema = { type = "object" } } } } },
    },
    ["/files/{name}.bin"] = {
      get = { operationId = "download", responses = BYTES, parameters = { { name = "name", ["in"] = "path",
        required = true, schema = { type = "string" } } } },
      post = { operationId = "upload", responses = ANY, parameters = { { name = "name", ["in"] = "path",
        required = true, schema = { type = "string" } } }, requestBody = { content = {
        ["application/octet-stream"] = { schema = { type = "string", format = "binary" } } } } },
    },
    ["/events/{id}"] = { get = { operationId = "events", parameters = { ID }, responses = { ["200"] = {
      description = "", content = { ["text/event-stream"] = { schema = { type = "object" } } } } } } },
    ["/chat"] = { post = { operationId = "chat", requestBody = { content = { ["application/json"] = JSON } },
      responses = { ["200"] = { description = "", content = { ["application/json"] = { schema = {} },
        ["text/event-stream"] = { schema = {} } } } } } },
  } }

-- An API that answers by `api.answer(request, body)`, and a server in front of it.
local function start(options, import)
  local api = { seen = {} }
  function api.answer(request, body)
    return { status = 200, headers = { ["content-type"] = "application/json" }, body = operations.json.encode({
      method = request.method, target = request.target, body = body }) }
  end
  local opened = assert(listener.listen({ port = 0, max_body = 2 ^ 40 }, function(request)
    local body, bytes = request.body, 0
    if type(body) == "function" then
      local kept = {}
      for piece in body do
        bytes, kept[1] = bytes + #piece, kept[1] or piece
      end
      body = bytes < 1000 and kept[1] or bytes
    end
    api.seen[#api.seen + 1] = request
    return api.answer(request, body)
  end))
  local config = { namespace = "api", base_url = ("http://127.0.0.1:%d/v1"):format(opened.port), accessControl = {},
    auth = { key = "secret" } }
  for name, value in pairs(import or {}) do
    config[name] = value
  end
  local registry = operations.registry({ middleware = options and options.middleware, policy = options
    and options.policy })
  assert(registry:register_all(assert(operations.from_openapi.document(DOCUMENT, config))))
  local given = { paths = "source", log = function() end }
  for name, value in pairs(options and options.server or {}) do
    given[name] = value
  end
  api.registry, api.server, api.port = registry, assert(operations.to_http(registry, given)), opened.port
  local served = assert(api.server:listen({ port = 0, max_body = given.max_body }))
  api.url = "http://127.0.0.1:" .. served.port
  function api.request(method, target, headers, body, more)
    local made = { method = method, url = api.url .. target, headers = headers, body = body, redirects = 0 }
    for name, value in pairs(more or {}) do
      made[name] = value
    end
    return assert(operations.http.request(made))
  end
  function api.close()
    api.server:close()
    opened:close()
  end
  return api
end

-- Runs a function with such a server.
local function with(options, fn, import)
  operations.run(function()
    local api = start(options, import)
    fn(api)
    api.close()
  end)
end

local JSON_TYPE = { ["content-type"] = "application/json" }

describe("an API as its own document says", function()
  it("gets the texts, the body and the header fields as they came", function()
    with(nil, function(api)
      local reply = api.request("GET", "/things/7?tags=a%2Cb&tags=c+d", { ["X-Mode"] = "m", Range = "bytes=0-9",
        ["If-None-Match"] = '"q"', Accept = "application/vnd.x+json", Cookie = "a=b", Authorization = "Bearer mine",
        ["X-Request-Id"] = "r-1", ["X-Other"] = "o" })
      local seen = api.seen[1]
      assert.equal("/v1/things/7?tags=a%2Cb&tags=c+d&key=secret", seen.target)
      local headers = seen.headers
      assert.same({ "m", "bytes=0-9", '"q"', "application/vnd.x+json", "r-1" }, { headers["x-mode"], headers.range,
        headers["if-none-match"], headers.accept, headers["x-request-id"] })
      assert.is_nil(headers.cookie or headers.authorization or headers["x-other"])
      assert.equal("r-1", reply.headers["x-request-id"])
      api.request("PUT", "/things/7", JSON_TYPE, '{ "n" : 1.0 }')
      assert.equal('{ "n" : 1.0 }', operations.json.decode(api.request("PUT", "/things/7", JSON_TYPE,
        '{ "n" : 1.0 }').body).body)
      assert.equal(200, api.request("GET", "/").status)
    end)
  end)

  it("answers with its status, its bytes and what its document declares", function()
    with(nil, function(api)
      function api.answer()
        return { status = 201, headers = { ["content-type"] = "application/vnd.x+json", etag = '"e"', server = "s",
          ["x-total"] = "3", ["x-undeclared"] = "u", ["set-cookie"] = { "a=b" }, ["cache-control"] = "max-age=5",
          location = ("http://127.0.0.1:%d/v1/things/8?a=1"):format(api.port),
          link = ('</v1/things/9>; rel="next", <https://other.test/>; rel="x"') }, body = '{ "a" : 1.0, "more": 2 }' }
      end
      local reply = api.request("GET", "/things/7")
      local headers = reply.headers
      assert.same({ 201, '{ "a" : 1.0, "more": 2 }', "24" }, { reply.status, reply.body, headers["content-length"] })
      assert.same({ "application/vnd.x+json", '"e"', "3", "/things/8?a=1",
        '</things/9>; rel="next", <https://other.test/>; rel="x"', "max-age=5" }, { headers["content-type"],
        headers.etag, headers["x-total"], headers.location, headers.link, headers["cache-control"] })
      assert.is_nil(headers["x-undeclared"] or headers.server or headers.setCookie)
      for _, status in ipairs({ 204, 304, 302 }) do
        function api.answer()
          return { status = status, headers = { location = "https://other.test/x" }, body = "" }
        end
        local found = api.request("GET", "/things/7")
        assert.same({ status, "", "https://other.test/x" }, { found.status, found.body, found.headers.location })
      end
    end)
  end)

  it("passes its refusals of requests as they are, not those of this server's credentials", function()
    for rule, expected in pairs({ client = { 404, 502, 502 }, all = { 404, 401, 500 }, none = { 404, 502, 502 } }) do
      with({ server = { upstream_errors = rule } }, function(api)
        local got, raw = {}, {}
        for i, status in ipairs({ 404, 401, 500 }) do
          function api.answer()
            return { status = status, headers = { ["content-type"] = "application/json" }, body = '{ "own": 1 }' }
          end
          local reply = api.request("GET", "/things/7")
          got[i], raw[i] = reply.status, reply.body == '{ "own": 1 }'
        end
        assert.same({ rule, expected }, { rule, got })
        assert.same({ rule, { rule ~= "none", rule == "all", rule == "all" } }, { rule, raw })
      end)
    end
  end)

  it("is not asked where the request is refused, before its body is read", function()
    with({ server = { max_body = 1000, authorize = function(request)
      return request.token and { id = request.token, scopes = {} }
    end, anonymous = true } }, function(api)
      local unread = { reader = function() error("the body was read") end }
      local function refused(target, headers, size)
        headers.host, headers["content-length"] = "localhost", size and tostring(size)
        return api.server:handle({ method = "PUT", target = target, headers = headers, body = unread.reader }).status
      end
      assert.equal(404, refused("/nothing", { ["content-type"] = "application/json" }))
      assert.equal(422, refused("/things/x", { ["content-type"] = "application/json" }))
      assert.equal(422, refused("/things/x", { ["content-type"] = "multipart/form-data; boundary=x" }))
      assert.equal(422, refused("/things/7?a=1", { ["content-type"] = "application/json" }))
      assert.equal(415, refused("/things/7", { ["content-type"] = "text/plain" }))
      assert.equal(413, refused("/things/7", { ["content-type"] = "application/json" }, 1001))
      assert.equal(422, api.request("PUT", "/things/7", JSON_TYPE, '{"n":"x"}').status)
      assert.equal(400, api.request("PUT", "/things/7", JSON_TYPE, '{"n":').status)
      assert.equal(400, api.request("PUT", "/things/7", JSON_TYPE, '{"n":1,"n":2}').status)
      assert.equal(400, api.server:handle({ method = "GET", target = "/things/7?tags=%zz", headers = {} }).status)
      assert.equal(422, api.request("PUT", "/things/7").status)
      assert.equal(405, api.request("DELETE", "/things/7").status)
      assert.equal(0, #api.seen)
    end)
  end)

  it("sends and takes bytes of any size in flat memory", function()
    with({ server = { max_body = 2 ^ 40 } }, function(api)
      local size, piece = 64 * 1024 * 1024, ("x"):rep(65536)
      local before, most = nil, 0 -- KiB in use, without garbage
      local function measure()
        collectgarbage()
        before = before or collectgarbage("count")
        most = math.max(most, collectgarbage("count") - before)
      end
      local function source()
        local left = size
        return function()
          left = left - #piece
          if left % (64 * #piece) == 0 then
            measure()
          end
          return left >= 0 and piece or nil
        end
      end
      function api.answer(request, body)
        if request.method ~= "POST" then
          return { status = 206, headers = { ["content-type"] = "application/octet-stream",
            ["content-length"] = tostring(size), ["content-range"] = "bytes 0-9/10" }, body = source(), length = size }
        end
        return { status = 200, headers = { ["content-type"] = "application/json" }, body = tostring(body) }
      end
      measure()
      local stream = assert(operations.http.open({ url = api.url .. "/files/a.bin" }))
      assert.same({ 206, tostring(size), "bytes 0-9/10" }, { stream.status, stream.headers["content-length"],
        stream.headers["content-range"] })
      local got = 0
      for bytes in stream:chunks() do
        got = got + #bytes
      end
      assert.equal(size, got)
      local reply = api.request("POST", "/files/a.bin", { ["content-type"] = "application/octet-stream" }, source(),
        { body_size = size })
      assert.equal(tostring(size), reply.body)
      assert.equal(tostring(size), api.seen[2].headers["content-length"])
      assert.is_true(most < 8 * 1024, most)
      local head = api.request("HEAD", "/files/a.bin")
      assert.same({ "HEAD", 206, "" }, { api.seen[3].method, head.status, head.body })
    end)
  end)

  it("is cut off where its answer breaks off, and is left when the caller leaves", function()
    with(nil, function(api)
      local left
      function api.answer(request)
        request.left(function() left = true end)
        return { status = 200, headers = { ["content-type"] = "application/octet-stream",
          ["content-length"] = "1000000" }, length = 1000000, body = function()
          if api.stalls then
            operations.sleep(60)
          end
          api.stalls = true
          return ("x"):rep(500000)
        end }
      end
      local stream = assert(operations.http.open({ url = api.url .. "/files/a.bin" }))
      stream:read()
      stream:close()
      eventually(function() return left end)
      api.stalls = false
      function api.answer()
        local sent
        return { status = 200, headers = { ["content-type"] = "application/octet-stream",
          ["content-length"] = "1000000" }, length = 1000000, body = function()
          local piece = not sent and "few" or nil
          sent = true
          return piece
        end }
      end
      local reply, err = operations.http.request({ url = api.url .. "/files/a.bin" })
      assert.is_nil(reply)
      assert.equal("truncated", err.details.kind)
    end)
  end)

  it("streams events of an operation that may answer with them", function()
    with(nil, function(api)
      function api.answer(request)
        local is_stream, at = request.headers.accept == "text/event-stream", 0
        return is_stream and { status = 200, headers = { ["content-type"] = "text/event-stream" }, body = function()
          at = at + 1
          return at < 3 and ("data: %d\n\n"):format(at) or nil
        end } or { status = 200, headers = { ["content-type"] = "application/json" }, body = "{}" }
      end
      assert.equal("{}", api.request("POST", "/chat", JSON_TYPE, '{"n":1}').body)
      assert.equal("data: 1\n\ndata: 2\n\n", api.request("POST", "/chat", { ["content-type"] = "application/json",
        accept = "text/event-stream" }, '{"n":1}').body)
    end)
  end)

  it("streams events byte for byte, a share of them for each caller, and ends them when it drains", function()
    with({ server = { max_identity_streams = 1 } }, function(api)
      function api.answer(request)
        local at = 0
        return { status = request.headers["last-event-id"] == "bad" and 409 or 200, headers = {
          ["content-type"] = "text/event-stream" }, body = function()
          at = at + 1
          if at > 1 then
            operations.sleep(60)
          end
          return "id: 7\nevent: x\ndata: {\"a\": 1}\n\n"
        end }
      end
      assert.equal(422, api.request("GET", "/events/x").status)
      local stream = assert(operations.http.open({ url = api.url .. "/events/7",
        headers = { ["Last-Event-ID"] = "6" } }))
      assert.same({ 200, "id: 7\nevent: x\ndata: {\"a\": 1}\n\n" }, { stream.status, stream:read() })
      assert.same({ "/v1/events/7", "6" }, { api.seen[1].target, api.seen[1].headers["last-event-id"] })
      assert.equal(503, api.request("GET", "/events/7").status)
      local ended = operations.spawn(function()
        return stream:read()
      end)
      api.server:drain(1000)
      assert.is_nil((ended:wait()))
      eventually(function() return next(api.server.streams_of) == nil end)
    end)
  end)

  it("is asked through middleware and policies, which see the input", function()
    local seen, tries = {}, 0
    with({ middleware = { operations.middleware.retry({ attempts = 2, delay = 1 }), function(handler)
      return function(input, context)
        seen[#seen + 1] = input
        if input.id == 8 then
          input = { id = 9, body = { n = 5 } }
        end
        return handler(input, context)
      end
    end }, policy = { { match = "api.put", when = { properties = { body = { properties = { n = { const = 13 } },
      required = { "n" } } }, required = { "body" } }, action = "block" } } }, function(api)
      assert.equal(200, api.request("PUT", "/things/8", JSON_TYPE, '{ "n" : 2 }').status)
      assert.same({ id = 8, body = { n = 2 } }, { id = seen[1].id, body = seen[1].body })
      assert.equal("/v1/things/9", api.seen[1].target)
      assert.equal(403, api.request("PUT", "/things/7", JSON_TYPE, '{"n":13}').status)
      local unseen = api.request("PUT", "/things/7", { ["content-type"] = "multipart/form-data; boundary=x" }, "--x--")
      assert.equal(422, unseen.status)
      assert.equal(1, #api.seen)
      function api.answer()
        tries = tries + 1
        return { status = tries == 1 and 503 or 200, headers = { ["content-type"] = "application/json" }, body = "{}" }
      end
      assert.equal(200, api.request("GET", "/things/7").status)
      assert.equal(2, tries)
    end)
  end)

  it("is kept by the middleware `cache` with its bytes, for each Accept, and confirmed by its ETag", function()
    with({ middleware = { operations.middleware.cache() } }, function(api)
      local age, statuses = 60, {}
      function api.answer(request)
        local known = request.headers["if-none-match"] == '"e"'
        statuses[#statuses + 1] = known and 304 or 200
        return { status = known and 304 or 200, headers = { ["content-type"] = "application/json", etag = '"e"',
          ["cache-control"] = "max-age=" .. age }, body = known and "" or '{ "a" : 1.0 }' }
      end
      local function get(id, headers)
        local reply = api.request("GET", "/things/" .. id, headers)
        return reply.status .. reply.body
      end
      for _ = 1, 2 do
        assert.equal('200{ "a" : 1.0 }', get(7))
      end
      assert.equal('200{ "a" : 1.0 }', get(7, { Accept = "text/x" }))
      assert.equal('200{ "a" : 1.0 }', get(7, { Range = "bytes=0-" }))
      assert.equal("304", get(7, { ["If-None-Match"] = '"e"' }))
      assert.same({ 200, 200, 200, 304 }, statuses)
      age = 0
      assert.equal('200{ "a" : 1.0 }', get(8))
      assert.equal('200{ "a" : 1.0 }', get(8))
      assert.same({ 200, 304 }, { statuses[5], statuses[6] })
    end)
  end)

  it("is in the document with its parameters and bodies, and not relayed where a handler is another one", function()
    with({}, function(api)
      local paths = api.server:openapi().paths
      local put = paths["/things/{id}"].put
      assert.same({ "id", "path" }, { put.parameters[1].name, put.parameters[1]["in"] })
      assert.truthy(put.requestBody.content["application/json"].schema.properties.n)
      assert.truthy(paths["/files/{name}.bin"].get)
      local definition = api.registry:get("api.get")
      definition.handler = function(input)
        return { a = input.id }
      end
      assert(api.registry:register(definition, { replace = true }))
      assert.equal('{"a":7}', api.request("GET", "/things/7").body)
    end)
  end)
end)

describe("an API as its own document says, in nginx", function()
  local missing = inside.missing("nginx")
  if missing then
    pending(missing)
    return
  end

  local test_server = require("spec.support.server")

  it("sends and takes bytes of any size", function()
    local app = test_server.start({ app = true, directives = "client_max_body_size 1g;" })
    operations.run(function()
      local size = 20 * 1024 * 1024
      local sent = assert(operations.http.request({ method = "POST", url = app.url .. "/relayed/bytes",
        headers = { ["content-type"] = "application/octet-stream" }, body = ("x"):rep(size) }))
      assert.same({ 200, tostring(size) }, { sent.status, sent.body })
      local got = assert(operations.http.request({ url = app.url .. "/relayed/bytes?size=" .. size,
        max_body = 2 * size }))
      assert.same({ 200, size, tostring(size), '"e"' }, { got.status, #got.body, got.headers["content-length"],
        got.headers.etag })
      local head = assert(operations.http.request({ method = "HEAD", url = app.url .. "/relayed/bytes?size=5" }))
      assert.same({ 200, "5" }, { head.status, head.headers["content-length"] })
    end)
    app:stop()
  end)
end)
