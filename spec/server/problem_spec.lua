local errors = require("operations.base.error")
local json = require("operations.base.json")
local problem = require("operations.server.problem")

local function status(code, route)
  return problem.status(errors.new(code, "m"), route)
end

describe("the status of an error", function()
  it("follows from its code", function()
    for code, expected in pairs({
      VALIDATION_ERROR = 422, OPERATION_NOT_FOUND = 404, ACCESS_DENIED = 403, TIMEOUT = 504, ABORTED = 499, BUSY = 503,
      DRAINING = 503, UNAVAILABLE = 503, TRANSPORT_LOST = 502, WORKER_LOST = 502, POISON = 500, EXECUTION_ERROR = 500,
      UNKNOWN_ERROR = 500, OUTPUT_INVALID = 500, TOOL_ERROR = 422, RATE_LIMITED = 429, ["MCP_-32000"] = 502,
      ["MCP_-32602"] = 422, ["MCP_-32002"] = 404, OTHER = 500, X_MCP_1 = 500,
    }) do
      assert.equal(expected, status(code))
    end
  end)

  it("of an API is passed on where it is about the request", function()
    for upstream, expected in pairs({ [400] = 400, [404] = 404, [409] = 409, [418] = 418, [422] = 422, [429] = 429,
      [499] = 499, [504] = 504, [401] = 502, [403] = 502, [407] = 502, [399] = 502, [500] = 502, [503] = 502 }) do
      assert.equal(expected, status("HTTP_" .. upstream))
    end
    assert.equal(500, status("HTTP_4040"))
  end)

  it("of an exchange with an upstream follows from the kind of its failure", function()
    local function of(kind, code, may_have_run)
      local err = errors.new(code or "EXECUTION_ERROR", "m", { kind = kind })
      err.mayHaveRun = may_have_run
      return problem.status(err)
    end
    for kind, expected in pairs({ dns = 503, connect = 503, session = 503, command = 503, reset = 502, truncated = 502,
      protocol = 502, encoding = 502, size = 502, response = 502, malformed = 502, lost = 502, closed = 502, tls = 502,
      oauth = 502, timeout = 504, configuration = 500, file = 500, unknown = 500 }) do
      assert.equal(expected, of(kind))
    end
    assert.equal(503, of("closed", "EXECUTION_ERROR", false))
    assert.equal(502, of("closed", "ABORTED", true))
    assert.equal(504, of("timeout", "TIMEOUT", false))
    assert.equal(503, of("connect", "TRANSPORT_LOST"))
    assert.equal(502, of("status", "HTTP_404"))
    assert.equal(503, of("command", "ACCESS_DENIED"))
    assert.equal(500, of("connect", "MY_CODE"))
    assert.equal("1", problem.response(errors.new("EXECUTION_ERROR", "m", { kind = "dns" }), {}).headers["retry-after"])
  end)

  it("is the declared one of the operation, 422 without a declaration", function()
    local route = { spec = { errorSchemas = { { code = "GONE", statusCode = 410 }, { code = "FULL" },
      { code = "HTTP_404", statusCode = 418 }, { code = "TIMEOUT", statusCode = 408 } } } }
    assert.equal(410, status("GONE", route))
    assert.equal(422, status("FULL", route))
    assert.equal(404, status("HTTP_404", route))
    assert.equal(408, status("TIMEOUT", route))
    assert.equal(500, status("OTHER", route))
    assert.equal(500, status("OTHER", { spec = { errorSchemas = 7 } }))
    assert.equal(500, status("OTHER", { spec = {} }))
  end)

  it("of an invalid output is that of a server behind where the operation is imported", function()
    assert.equal(502, status("OUTPUT_INVALID", { imported = true }))
    assert.equal(500, status("OUTPUT_INVALID", { imported = false }))
    assert.equal(500, status("EXECUTION_ERROR", { imported = true }))
  end)
end)

describe("the answer to a failed call", function()
  it("is logged from status 500 on, but for everyday failures", function()
    local function logged(code, given)
      local lines = {}
      local call = { path = "/p", id = "r", server = { options = { log = function(level, message)
        lines[#lines + 1] = level .. ": " .. message
      end } } }
      problem.answer(call, errors.new(code, "m"), given)
      return lines
    end
    assert.same({ "error: /p: OTHER: m (request r)" }, logged("OTHER"))
    assert.same({ "error: /p: TIMEOUT: m (request r)" }, logged("TIMEOUT"))
    assert.same({ "error: /p: ACCESS_DENIED: m (request r)" }, logged("ACCESS_DENIED", 500))
    for code, other in pairs({ OTHER = 499, ACCESS_DENIED = false, ABORTED = 500, BUSY = 503, DRAINING = 503 }) do
      assert.same({}, logged(code, other or nil))
    end
  end)
end)

describe("a problem", function()
  local function of(err, options)
    return problem.of(err, options or {})
  end

  it("has the public message", function()
    assert.same({ type = "about:blank", title = "Not Found", status = 404, detail = "no such thing",
      code = "OPERATION_NOT_FOUND", requestId = "r" },
      (of(errors.new("OPERATION_NOT_FOUND", "no such thing"), { request_id = "r" })))
    for code, expected in pairs({ EXECUTION_ERROR = "the operation failed", UNAVAILABLE =
      "the operation is not available", TRANSPORT_LOST = "a server behind this one failed", HTTP_504 =
      "a server behind this one took too long", HTTP_404 = "Not Found" }) do
      assert.equal(expected, of(errors.new(code, "secret")).detail)
      assert.equal("secret", of(errors.new(code, "secret"), { expose = true }).detail)
    end
  end)

  it("has the title of its status, or none in particular", function()
    for code, title in pairs({ [400] = "Bad Request", [401] = "Unauthorized", [403] = "Forbidden", [405] =
      "Method Not Allowed", [406] = "Not Acceptable", [408] = "Request Timeout", [409] = "Conflict", [410] = "Gone",
      [412] = "Precondition Failed", [413] = "Content Too Large", [414] = "URI Too Long",
      [415] = "Unsupported Media Type", [417] = "Expectation Failed", [421] = "Misdirected Request",
      [422] = "Unprocessable Content", [426] = "Upgrade Required", [428] = "Precondition Required",
      [429] = "Too Many Requests", [431] = "Request Header Fields Too Large", [499] = "Client Closed Request",
      [500] = "Internal Server Error", [501] = "Not Implemented", [502] = "Bad Gateway",
      [503] = "Service Unavailable", [504] = "Gateway Timeout", [505] = "HTTP Version Not Supported",
      [418] = "Error" }) do
      local body, given = of(errors.new("OTHER", "m"), { status = code })
      assert.same({ title, code, code }, { body.title, body.status, given })
    end
  end)

  it("has the details of public errors, where they are JSON", function()
    assert.same({ 1 }, of(errors.new("BUSY", "m", { 1 })).details)
    assert.is_nil(of(errors.new("BUSY", "m", { print })).details)
    assert.is_nil(of(errors.new("EXECUTION_ERROR", "m", { 1 })).details)
    assert.is_nil(of(errors.new("EXECUTION_ERROR", "m", { 1 }), { expose = true }).details)
  end)

  it("has the answer of an API as upstream_errors says", function()
    local err = errors.new("HTTP_422", "422 Unprocessable Content: no", { statusCode = 422, body = { a = 1 },
      headers = { server = "x" } })
    assert.same({ statusCode = 422, body = { a = 1 } }, of(err).details)
    assert.equal("422 Unprocessable Content: no", of(err).detail)
    assert.same({ statusCode = 422 }, of(err, { upstream_errors = "none" }).details)
    err = errors.new("HTTP_500", "m", { statusCode = 500, body = "b" })
    assert.same({ statusCode = 500 }, of(err).details)
    assert.same({ statusCode = 500, body = "b" }, of(err, { expose = true }).details)
    assert.is_nil(of(errors.new("HTTP_500", "m", "x"), { expose = true }).details)
  end)

  it("says whether trying again makes sense, in booleans only", function()
    local err = errors.new("BUSY", "m")
    err.retryable, err.mayHaveRun = true, false
    assert.same({ true, false }, { of(err).retryable, of(err).mayHaveRun })
    err.retryable, err.mayHaveRun = "yes", 1
    assert.is_nil(of(err).retryable)
    assert.is_nil(of(err).mayHaveRun)
  end)

  it("has readable texts", function()
    local body = of(errors.new("BUSY", "a\255b"))
    assert.equal("a?b", body.detail)
    assert.equal("B?", of(errors.new("B\200", "m")).code)
    assert.equal("\195\188", of(errors.new("BUSY", "\195\188")).detail)
  end)
end)

describe("the answer to a request that failed", function()
  local function headers(err, options)
    return problem.response(err, options or {}).headers
  end

  it("is the problem as JSON, not to be stored", function()
    local response = problem.response(errors.new("BUSY", "m"), { headers = { allow = "GET" } })
    assert.equal(503, response.status)
    assert.same({ ["content-type"] = "application/problem+json", ["cache-control"] = "no-store", ["retry-after"] = "1",
      allow = "GET" }, response.headers)
    assert.equal('{"code":"BUSY","detail":"m","status":503,"title":"Service Unavailable","type":"about:blank"}',
      response.body)
    assert.equal(404, json.decode(problem.response(errors.new("OPERATION_NOT_FOUND", "m"), {}).body).status)
  end)

  it("says when to try again, in whole seconds from 1 on", function()
    for ms, seconds in pairs({ [1] = "1", [1000] = "1", [1001] = "2", [0] = "1", [-5] = "1", [90000] = "90",
      [1e300] = "9007199254741" }) do
      local err = errors.new("OTHER", "m")
      err.retryAfter = ms
      assert.equal(seconds, headers(err)["retry-after"])
    end
    for _, wrong in ipairs({ math.huge, 0 / 0, "5" }) do
      local err = errors.new("OTHER", "m")
      err.retryAfter = wrong
      assert.is_nil(headers(err)["retry-after"])
    end
    assert.is_nil(headers(errors.new("OTHER", "m"))["retry-after"])
  end)

  it("says how many calls a limited rate still has", function()
    local function limited(changes, code)
      local details = { policy = "p-1.x _", quota = 10, remaining = 0, window = 1500, reset = 1 }
      for name, value in pairs(changes) do
        details[name] = value ~= "none" and value or nil
      end
      local given = headers(errors.new(code or "RATE_LIMITED", "m", details))
      return { given["ratelimit-policy"], given.ratelimit }
    end
    assert.same({ '"p-1.x _";q=10;w=2', '"p-1.x _";r=0;t=1' }, limited({}))
    assert.same({ '"p";q=10;w=1', '"p";r=3;t=0' }, limited({ policy = "p", window = 1000, remaining = 3, reset = 0 }))
    for _, changes in ipairs({ { policy = 'p"' }, { policy = 7 }, { quota = "none" }, { quota = -1 }, { quota = 1e12 },
      { remaining = "none" }, { window = "none" }, { reset = "none" }, { window = -1 }, { reset = "x" } }) do
      assert.same({}, limited(changes))
    end
    assert.same({}, limited({}, "BUSY"))
    assert.is_nil(headers(errors.new("RATE_LIMITED", "m", "x")).ratelimit)
  end)
end)
