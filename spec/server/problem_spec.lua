local errors = require("operations.base.error")
local json = require("operations.base.json")
local problem = require("operations.server.problem")

local function status(code, route)
  return { problem.status(errors.new(code, "m"), route) }
end

describe("the status of an error", function()
  it("follows from its code, and so does whether its message is told", function()
    for code, expected in pairs({
      VALIDATION_ERROR = { 422, true }, OPERATION_NOT_FOUND = { 404, true }, ACCESS_DENIED = { 403, true },
      TIMEOUT = { 504, true }, ABORTED = { 499, true }, BUSY = { 503, true }, DRAINING = { 503, true },
      UNAVAILABLE = { 503, false }, TRANSPORT_LOST = { 502, false }, WORKER_LOST = { 502, false },
      POISON = { 500, false }, EXECUTION_ERROR = { 500, false }, UNKNOWN_ERROR = { 500, false },
      OUTPUT_INVALID = { 500, false }, TOOL_ERROR = { 422, true }, RATE_LIMITED = { 429, true },
      ["MCP_-32000"] = { 502, false }, OTHER = { 500, false }, X_MCP_1 = { 500, false },
    }) do
      assert.same(expected, status(code))
    end
  end)

  it("of another server is passed on where it speaks of the call", function()
    for upstream, expected in pairs({ [400] = 400, [404] = 404, [409] = 409, [410] = 410, [412] = 412, [422] = 422,
      [429] = 429, [504] = 504, [401] = 502, [403] = 502, [500] = 502, [503] = 502, [418] = 502 }) do
      assert.same({ expected, false }, status("HTTP_" .. upstream))
    end
    assert.same({ 500, false }, status("HTTP_4040"))
  end)

  it("is what the operation declares, 422 where it declares none", function()
    local route = { spec = { errorSchemas = { { code = "GONE", statusCode = 410 }, { code = "FULL" },
      { code = "HTTP_404", statusCode = 418 }, { code = "TIMEOUT", statusCode = 408 } } } }
    assert.same({ 410, true }, status("GONE", route))
    assert.same({ 422, true }, status("FULL", route))
    assert.same({ 404, false }, status("HTTP_404", route))
    assert.same({ 408, true }, status("TIMEOUT", route))
    assert.same({ 500, false }, status("OTHER", route))
    assert.same({ 500, false }, status("OTHER", { spec = { errorSchemas = 7 } }))
    assert.same({ 500, false }, status("OTHER", { spec = {} }))
  end)

  it("of an invalid output is that of a server behind where the operation is imported", function()
    assert.same({ 502, false }, status("OUTPUT_INVALID", { imported = true }))
    assert.same({ 500, false }, status("OUTPUT_INVALID", { imported = false }))
    assert.same({ 500, false }, status("EXECUTION_ERROR", { imported = true }))
  end)
end)

describe("the answer to a failed call", function()
  it("is logged from status 500 on, but for what happens in everyday service", function()
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

  it("says what may be told", function()
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

  it("has the details of what may be told, where they are JSON", function()
    assert.same({ 1 }, of(errors.new("BUSY", "m", { 1 })).details)
    assert.is_nil(of(errors.new("BUSY", "m", { print })).details)
    assert.is_nil(of(errors.new("EXECUTION_ERROR", "m", { 1 })).details)
    assert.is_nil(of(errors.new("EXECUTION_ERROR", "m", { 1 }), { expose = true }).details)
  end)

  it("has the answer of another server only where that is exposed", function()
    local err = errors.new("HTTP_500", "m", { statusCode = 500, body = "b", headers = { a = "b" } })
    assert.is_nil(of(err).details)
    assert.same({ upstream = { statusCode = 500, body = "b" } }, of(err, { expose = true }).details)
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
    for ms, seconds in pairs({ [1] = "1", [1000] = "1", [1001] = "2", [0] = "1", [-5] = "1", [90000] = "90" }) do
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
