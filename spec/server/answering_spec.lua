local http_request = require("spec.support.http_request")
local operations = require("operations")

local T = operations.type
local send = http_request.send

local function silent() end

local function serve(definitions, options)
  local registry = operations.registry({ log = silent })
  for _, definition in ipairs(definitions) do
    definition.namespace = "task"
    assert(registry:register(definition))
  end
  options = options or {}
  options.log = options.log or silent
  return assert(operations.to_http(registry, options))
end

local function failing(failure, more)
  return serve({ { name = "fail", type = "query", errorSchemas = more, handler = function()
    return nil, failure
  end } })
end

local function who(request)
  if request.token == "ada" then
    return { id = "ada", scopes = { "read" } }
  elseif request.token then
    return nil, "the token is expired"
  end
end

local bearer = { authorization = "Bearer ada" }

describe("a request", function()
  it("over its rate is answered 429, and told when to come again", function()
    local limit = operations.middleware.rate_limit({ rate = 2, per = 90000, name = "basic" })
    local registry = operations.registry({ log = silent, middleware = { limit } })
    assert(registry:register({ namespace = "task", name = "get", type = "query", handler = function() return 1 end }))
    local server = assert(operations.to_http(registry, { log = silent }))
    assert.same({ 200, 200 }, { send(server, "GET", "/task/get").status, send(server, "GET", "/task/get").status })
    local refused = send(server, "GET", "/task/get")
    assert.same({ 429, "Too Many Requests", "RATE_LIMITED", "task.get: no more than 2 calls in 90 s", true, false },
      { refused.status, refused.json.title, refused.json.code, refused.json.detail, refused.json.retryable,
        refused.json.mayHaveRun })
    assert.same({ "45", '"basic";q=2;w=90', '"basic";r=0;t=45' }, { refused.headers["retry-after"],
      refused.headers["ratelimit-policy"], refused.headers.ratelimit })
  end)

  it("over its rate has no header of a policy that no header can say", function()
    for _, details in ipairs({ { policy = 'a"b' }, { quota = -1 }, { window = 0 / 0 }, { reset = "x" }, 7 }) do
      if type(details) == "table" then
        for name, value in pairs({ policy = "p", quota = 1, window = 1000, remaining = 0, reset = 1000 }) do
          details[name] = details[name] or value
        end
      end
      local refused = send(failing(operations.error("RATE_LIMITED", "enough", details)), "GET", "/task/fail")
      assert.equal(429, refused.status)
      assert.is_nil(refused.headers.ratelimit)
      assert.is_nil(refused.headers["ratelimit-policy"])
    end
  end)

  it("is answered by the bare data", function()
    local server = serve({ { name = "echo", handler = function(input) return input end } })
    local answer = send(server, "POST", "/task/echo", nil, { a = { 1, 2 }, b = operations.null })
    assert.equal(200, answer.status)
    assert.same({ a = { 1, 2 }, b = operations.null }, answer.json)
    assert.equal("application/json", answer.headers["content-type"])
    assert.equal("no-store", answer.headers["cache-control"])
    assert.equal("nosniff", answer.headers["x-content-type-options"])
  end)

  it("has 204 for no data, and null for null", function()
    local server = serve({ { name = "none", type = "query", handler = function() end },
      { name = "null", type = "query", handler = function() return operations.null end } })
    local none = send(server, "GET", "/task/none")
    assert.equal(204, none.status)
    assert.equal("", none.text)
    assert.is_nil(none.headers["content-type"])
    assert.equal("null", send(server, "GET", "/task/null").text)
  end)

  it("is refused by a status for each thing that is wrong with it", function()
    local server = serve({
      { name = "add", inputSchema = T.object({ title = T.string() }), handler = silent },
      { name = "watch", type = "subscription", handler = silent },
    }, { max_body = 100, max_depth = 8 })
    local function status(...)
      return send(server, ...).status
    end
    local json = { ["content-type"] = "application/json" }
    assert.equal(422, status("POST", "/task/add"))
    assert.equal(422, status("POST", "/task/add", nil, { title = 1 }))
    assert.equal(422, status("POST", "/task/add?title=x", nil, { title = "x" }))
    assert.equal(400, status("POST", "/task/add", json, "{"))
    assert.equal(400, status("POST", "/task/add", json, '{"title":"\255"}'))
    assert.equal(400, status("POST", "/task/add", json, ("["):rep(9) .. ("]"):rep(9)))
    assert.equal(400, status("GET", "/task/watch?a=%zz"))
    assert.equal(404, status("POST", "/task/nothing"))
    assert.equal(405, status("GET", "/task/add"))
    assert.equal(406, status("GET", "/task/watch", { accept = "text/html" }))
    assert.equal(413, status("POST", "/task/add", json, ("x"):rep(101)))
    assert.equal(413, status("POST", "/task/add", { ["content-length"] = "101" }))
    for _, given in ipairs({ "text/plain", "application/x-www-form-urlencoded", "application/jsonx",
      "application/json; charset=latin1" }) do
      assert.equal(415, status("POST", "/task/add", { ["content-type"] = given }, '{"title":"x"}'), given)
    end
    assert.equal(415, status("POST", "/task/add", nil, '{"title":"x"}'))
    json["content-encoding"] = "gzip"
    assert.equal(415, status("POST", "/task/add", json, "{}"))
    assert.equal(204, status("POST", "/task/add", { ["content-type"] = "Application/JSON; Charset=UTF-8" },
      '{"title":"x"}'))
  end)

  it("may open a share of the streams, by identity or address", function()
    local server = serve({ { name = "watch", type = "subscription", handler = function(_, context)
      context.emit(1)
      context.emit(2)
    end } }, { max_identity_streams = 2, anonymous = true, authorize = function(request)
      return request.token and { id = request.token, scopes = {} }
    end })
    local function open(address, token)
      return server:handle({ method = "GET", target = "/task/watch", body = "", peer = { address = address },
        headers = { host = "localhost", authorization = token and "Bearer " .. token } })
    end
    local first = open("192.0.2.1")
    assert.same({ 200, 200, 503, 200 }, { first.status, open("192.0.2.1").status, open("192.0.2.1").status,
      open("192.0.2.2").status })
    assert.same({ 200, 200, 503, 200 }, { open("192.0.2.1", "ada").status, open("192.0.2.2", "ada").status,
      open("192.0.2.3", "ada").status, open("192.0.2.3", "bob").status })
    while first.body() do end -- luacheck: ignore 542
    assert.same({ 200, 503 }, { open("192.0.2.1").status, open("192.0.2.1").status })
  end)

  it("has a body that may come in pieces, and may fail", function()
    local server = serve({ { name = "echo", handler = function(input) return input end } }, { max_body = 20 })
    local function pieces(...)
      local list, at = { ... }, 0
      return function()
        at = at + 1
        if type(list[at]) == "table" then
          return nil, list[at]
        end
        return list[at]
      end
    end
    local json = { ["content-type"] = "application/json" }
    assert.same({ a = 1 }, send(server, "POST", "/task/echo", json, pieces('{"a"', ":1}")).json)
    assert.equal(413, send(server, "POST", "/task/echo", json, pieces(("x"):rep(15), ("x"):rep(15))).status)
    local slow = operations.error("TIMEOUT", "the body came too slowly", { statusCode = 408 })
    assert.equal(408, send(server, "POST", "/task/echo", json, pieces("{", slow)).status)
  end)

  it("gets a problem for a failure, by its code", function()
    local function problem(failure, more)
      local answer = send(failing(failure, more), "GET", "/task/fail")
      assert.equal("application/problem+json", answer.headers["content-type"])
      assert.equal(answer.status, answer.json.status)
      assert.equal(answer.headers["x-request-id"], answer.json.requestId)
      return answer.json, answer
    end
    local error = operations.error
    local declared = { { code = "FULL", description = "d", schema = true },
      { code = "GONE", description = "d", schema = true, statusCode = 410 } }
    local full = problem(error("FULL", "no room", { left = 0 }), declared)
    assert.same({ 422, "FULL", "no room", { left = 0 } }, { full.status, full.code, full.detail, full.details })
    assert.equal(410, problem(error("GONE", "x"), declared).status)
    local statuses = { TIMEOUT = 504, ABORTED = 499, BUSY = 503, UNAVAILABLE = 503, DRAINING = 503,
      TRANSPORT_LOST = 502, WORKER_LOST = 502, POISON = 500, EXECUTION_ERROR = 500, UNKNOWN_ERROR = 500,
      OUTPUT_INVALID = 500, WHATEVER = 500, HTTP_400 = 400, HTTP_404 = 404, HTTP_409 = 409, HTTP_429 = 429,
      HTTP_401 = 502, HTTP_403 = 502, HTTP_407 = 502, HTTP_500 = 502, HTTP_503 = 502, HTTP_504 = 504,
      ["MCP_-32603"] = 502, VALIDATION_ERROR = 422 }
    for code, status in pairs(statuses) do
      assert.equal(status, problem(error(code, "x")).status, code)
    end
    local _, busy = problem(error("BUSY", "x"))
    assert.equal("1", busy.headers["retry-after"])
  end)

  it("gets the failure whatever bytes describe it", function()
    local declared = { { code = "NO_TASK", description = "None.", statusCode = 404 } }
    local answer = send(failing(operations.error("NO_TASK", "no \255 task"), declared), "GET", "/task/fail")
    assert.same({ 404, "NO_TASK", "no ? task" }, { answer.status, answer.json.code, answer.json.detail })
    local strange = operations.error("BUSY", "later")
    strange.retryable, strange.retryAfter = print, 0 / 0
    answer = send(failing(strange), "GET", "/task/fail")
    assert.same({ 503, "1", nil }, { answer.status, answer.headers["retry-after"], answer.json.retryable })
    local stranger = serve({}, { authorize = function() return nil, "\255" end })
    assert.equal(401, send(stranger, "GET", "/task/fail").status)
  end)

  it("shows nothing of an internal error", function()
    local answer = send(failing("secret path /etc"), "GET", "/task/fail")
    assert.equal(500, answer.status)
    assert.equal("the operation failed", answer.json.detail)
    assert.is_nil(answer.json.details)
    local upstream = send(failing(operations.error("HTTP_500", "GET http://inside/ failed",
      { statusCode = 500, headers = { server = "x" }, body = "trace" })), "GET", "/task/fail")
    assert.is_nil(upstream.text:find("inside", 1, true))
    assert.is_nil(upstream.text:find("trace", 1, true))
  end)

  it("shows an internal error where that is asked for, and always logs it", function()
    local told = {}
    local server = serve({ { name = "fail", type = "query", handler = function()
      return nil, "the disk is full"
    end } }, { expose_errors = true, log = function(level, message)
        told[#told + 1] = level .. ": " .. message
      end })
    local answer = send(server, "GET", "/task/fail", { ["x-request-id"] = "r1" })
    assert.equal("the disk is full", answer.json.detail)
    assert.same({ "error: task.fail: EXECUTION_ERROR: the disk is full (request r1)" }, told)
  end)

  it("needs credentials where there is an authorizer, and scopes where the operation wants them", function()
    local function make(options)
      options.authorize = who
      return serve({ { name = "open", type = "query", handler = function(_, context)
        return context.identity or {}
      end }, { name = "read", type = "query", accessControl = { requiredScopes = { "read" } }, handler = silent },
        { name = "write", accessControl = { requiredScopes = { "write" }, requiredScopesAny = { "a", "b" } },
          handler = silent } }, options)
    end
    local server = make({})
    local none = send(server, "GET", "/task/open")
    assert.equal(401, none.status)
    assert.equal("Bearer", none.headers["www-authenticate"])
    local bad = send(server, "GET", "/task/open", { authorization = "Bearer eve" })
    assert.equal(401, bad.status)
    assert.equal('Bearer error="invalid_token", error_description="the token is expired"',
      bad.headers["www-authenticate"])
    assert.equal("ada", send(server, "GET", "/task/open", bearer).json.id)
    local vague = serve({ { name = "open", type = "query", handler = silent } },
      { authorize = function() return nil, {} end })
    assert.equal("the credentials are invalid", send(vague, "GET", "/task/open").json.detail)
    assert.equal(204, send(server, "GET", "/task/read", bearer).status)
    local denied = send(server, "POST", "/task/write", bearer)
    assert.equal(403, denied.status)
    assert.equal('Bearer error="insufficient_scope", scope="write a"', denied.headers["www-authenticate"])
    assert.same({ "write", "a" }, denied.json.details.requiredScopes)
    assert.equal(401, send(server, "GET", "/nothing").status)
    assert.equal(200, send(server, "GET", "/healthz").status)

    local anonymous = make({ anonymous = true })
    assert.equal(200, send(anonymous, "GET", "/task/open").status)
    assert.equal(401, send(anonymous, "GET", "/task/read").status)
    assert.equal(401, send(anonymous, "GET", "/task/open", { authorization = "Bearer eve" }).status)

    local hiding = make({ hide_denied = true })
    assert.equal(404, send(hiding, "POST", "/task/write", bearer).status)
    assert.same(send(hiding, "POST", "/task/nothing", bearer).json.title,
      send(hiding, "POST", "/task/write", bearer).json.title)
  end)

  it("is never let in by a mistake of the authorizer", function()
    for _, authorize in ipairs({ function() error("oops") end, function() return "ada" end }) do
      local server = serve({ { name = "open", type = "query", handler = silent } }, { authorize = authorize })
      assert.equal(500, send(server, "GET", "/task/open").status)
    end
  end)

  it("finds no operation that is not exposed or filtered out", function()
    local server = serve({ { name = "in", type = "query", handler = silent },
      { name = "inner", type = "query", _meta = { exposed = false }, handler = silent },
      { name = "other", type = "query", tags = { "x" }, handler = silent } },
      { filter = function(spec) return not (spec.tags and spec.tags[1] == "x") end })
    assert.equal(204, send(server, "GET", "/task/in").status)
    for _, name in ipairs({ "inner", "other" }) do
      for _, method in ipairs({ "GET", "POST", "OPTIONS", "DELETE" }) do
        local answer = send(server, method, "/task/" .. name)
        assert.equal(404, answer.status)
        assert.equal("nothing is at /task/" .. name, answer.json.detail)
      end
    end
  end)

  it("learns at a path that several operations share of those that it may know", function()
    local function at(name, method, access)
      return { name = name, type = "mutation", _meta = { http = { method = method, path = "/tasks/{id}" } },
        accessControl = access, handler = silent }
    end
    local function definitions()
      return { at("a", "PUT"), at("get", "PATCH"), at("z", "DELETE", { requiredScopes = { "admin" } }) }
    end
    local function filter(spec)
      return spec.name ~= "z"
    end
    for _, options in ipairs({ { filter = filter }, { hide_denied = true } }) do
      local server = serve(definitions(), options)
      for _, method in ipairs({ "GET", "DELETE" }) do
        local answer = send(server, method, "/tasks/1")
        assert.same({ 405, "OPTIONS, PATCH, PUT" }, { answer.status, answer.headers.allow })
        assert.equal("OPTIONS, PATCH, PUT expected, got " .. method, answer.json.detail)
      end
      local answer = send(server, "OPTIONS", "/tasks/1")
      assert.same({ 204, "OPTIONS, PATCH, PUT" }, { answer.status, answer.headers.allow })
      assert.equal(204, send(server, "PUT", "/tasks/1").status)
    end
    local open = send(serve(definitions()), "OPTIONS", "/tasks/1")
    assert.equal("DELETE, OPTIONS, PATCH, PUT", open.headers.allow)
  end)

  it("is denied a resource that only its input names", function()
    local server = serve({ { name = "get", type = "query", inputSchema = T.object({ id = T.string() }),
      accessControl = { resourceType = "task", resourceAction = "read", resourceId = "/id" }, handler = silent } },
      { authorize = function() return { id = "ada", scopes = {}, resources = { ["task:7"] = { "read" } } } end })
    assert.equal(204, send(server, "GET", "/task/get?id=7").status)
    assert.equal(403, send(server, "GET", "/task/get?id=8").status)
  end)

  it("is cancelled when its caller left before the handler began", function()
    local cleaned
    local server = serve({ { name = "wait", type = "query", handler = function()
      local ok, raised = pcall(operations.sleep, 600)
      cleaned = not ok and raised.code
    end } })
    operations.run(function()
      server:handle({ method = "GET", target = "/task/wait", headers = {}, left = function(fn) fn("left") end })
    end)
    assert.equal("ABORTED", cleaned)
    assert.equal(0, server.running)
  end)

  it("is refused while too many are running", function()
    local server
    server = serve({ { name = "slow", type = "query", handler = function()
      return send(server, "GET", "/task/slow").status
    end } }, { max_requests = 1 })
    local answer = send(server, "GET", "/task/slow")
    assert.equal("503", answer.text)
    assert.equal(0, server.running)
  end)

  it("runs out of time as the operation's limit or its own header says", function()
    local server = serve({ { name = "left", type = "query", handler = function(_, context)
      return context.deadline
    end } }, { timeout = 5000, max_timeout = 20000 })
    local now = operations.local_envelope(nil, "x").meta.timestamp
    local function left(asked)
      return send(server, "GET", "/task/left", { ["request-timeout-ms"] = asked }).json - now
    end
    assert.is_true(left() >= 5000 and left() < 9000)
    assert.is_true(left("12000") >= 12000 and left("12000") < 16000)
    assert.is_true(left("99999999") >= 20000 and left("99999999") < 24000)
    assert.is_true(left("12345678901") < 9000)
    assert.is_true(left("-1") < 9000)
  end)
end)
