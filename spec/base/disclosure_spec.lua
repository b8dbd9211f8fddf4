local connections = require("spec.calls.connections")
local disclosure = require("operations.base.disclosure")
local errors = require("operations.base.error")
local free_port = require("spec.support.free_port")
local http_request = require("spec.support.http_request")
local json = require("operations.base.json")
local members = require("operations.base.members")
local operations = require("operations")
local streams = require("operations.net.stream")

-- The result of a method of an MCP server, by a client of 2026-07-28.
local function modern(server, method, params)
  local prefix = "io.modelcontextprotocol/"
  params._meta = { [prefix .. "protocolVersion"] = "2026-07-28",
    [prefix .. "clientCapabilities"] = operations.object() }
  return http_request.send(server, "POST", "/mcp", { accept = "application/json, text/event-stream",
    ["mcp-protocol-version"] = "2026-07-28", ["mcp-method"] = method, ["mcp-name"] = params.name },
    { jsonrpc = "2.0", id = 1, method = method, params = params }).json.result
end

-- The same by a client of 2025-11-25.
local function legacy(server, method, params)
  local headers = { accept = "application/json, text/event-stream" }
  headers["mcp-session-id"] = http_request.send(server, "POST", "/mcp", headers, { jsonrpc = "2.0", id = 1,
    method = "initialize", params = { protocolVersion = "2025-11-25", capabilities = operations.object(),
      clientInfo = { name = "c", version = "1" } } }).headers["mcp-session-id"]
  local answer = http_request.send(server, "POST", "/mcp", headers, { jsonrpc = "2.0", id = 2, method = method,
    params = params })
  return (answer.json or json.decode(answer.text:match("data: ({[^\n]*})"))).result
end

local SECRETS = { "inside", "8080", "/opt", "db.lan" }

local function read(code, message, details, rule, spec)
  return disclosure.read(errors.new(code, message, details), rule, spec)
end

describe("what remote callers read of the errors of a GraphQL service", function()
  local function told(rule, errors_given)
    local seen, is_told, is_hidden = read("FORBIDDEN", "not you", { kind = "graphql", errors = errors_given,
      path = { "a" }, headers = { server = "inside" }, statusCode = 200 }, rule)
    return { seen.message, seen.details, is_told, is_hidden }
  end

  it("is their text and their list, bounded, and by option only the code", function()
    local list = { { message = "not you" } }
    local whole = { "not you", { kind = "graphql", errors = list, path = { "a" } }, true, false }
    assert.same({ whole, whole }, { told("client", list), told("all", list) })
    assert.same({ "a server behind this one failed", { kind = "graphql" }, true, true }, told("none", list))
    local long = told("client", { { message = ("x"):rep(100000) } })[2]
    assert.same({ true, 16384 }, { long.truncated, #long.errors })
  end)
end)

describe("what remote callers read of a failed exchange", function()
  local function assert_hidden(code, details)
    for _, rule in ipairs({ "client", "all", "none" }) do
      local seen, told, hidden = read(code, "GET http://inside:8080/opt: /opt/server on db.lan", details, rule)
      local text = seen.message .. tostring(seen.details.url) .. tostring(seen.details.command)
        .. tostring(seen.details.stderr)
      for _, secret in ipairs(SECRETS) do
        assert.is_nil(text:find(secret, 1, true))
      end
      assert.same({ true, true }, { told, hidden })
      assert.equal(details.kind, seen.details.kind)
    end
  end

  it("names no host, path or command, whatever the code and the rule", function()
    for _, code in ipairs({ "EXECUTION_ERROR", "TIMEOUT", "ABORTED", "TRANSPORT_LOST", "UNAVAILABLE", "BUSY",
      "ACCESS_DENIED", "HTTP_404", "HTTP_503" }) do
      for _, kind in ipairs({ "dns", "connect", "tls", "timeout", "reset", "truncated", "size", "protocol", "redirect",
        "response", "closed", "lost", "malformed", "status", "aborted", "oauth", "file", "configuration", "command",
        "redis", "body", "request" }) do
        assert_hidden(code, { kind = kind, url = "http://inside:8080/opt", command = "/opt/server", stderr = "db.lan" })
      end
    end
    assert_hidden("MCP_-32022", { kind = "version", rpcCode = -32022, supported = { "db.lan" } })
  end)

  it("says how it failed, and what is known of a retry", function()
    for kind, message in pairs({ connect = "a server behind this one cannot be reached",
      reset = "a server behind this one failed", timeout = "a server behind this one took too long",
      aborted = "the call was cancelled", file = "the operation failed" }) do
      assert.equal(message, (read("EXECUTION_ERROR", "m", { kind = kind })).message)
    end
    local err = errors.new("TIMEOUT", "m", { kind = "timeout", phase = "connect", url = "u" })
    err.retryable, err.mayHaveRun, err.retryAfter = true, false, 7
    local seen = disclosure.read(err)
    assert.same({ "TIMEOUT", true, false, 7, { kind = "timeout", phase = "connect" } },
      { seen.code, seen.retryable, seen.mayHaveRun, seen.retryAfter, seen.details })
    err = errors.new("EXECUTION_ERROR", "m", { kind = "reset" })
    err.mayHaveRun = true
    assert.equal("a server behind this one failed; the call may have run", disclosure.read(err).message)
  end)

  it("does not blame the caller's rights for a program that may not be started", function()
    assert.equal("EXECUTION_ERROR", (read("ACCESS_DENIED", "starting 'x' is not allowed", { kind = "command" })).code)
  end)

  it("is read again without a change", function()
    local seen = read("TIMEOUT", "m", { kind = "timeout", url = "u" })
    local again = disclosure.read(seen)
    assert.same({ seen.code, seen.message, seen.details }, { again.code, again.message, again.details })
  end)
end)

describe("what remote callers read of an API's error", function()
  local function of(status, rule, body)
    local seen, told = read("HTTP_" .. status, status .. " Reason: the body says so",
      { statusCode = status, headers = { server = "inside" }, body = body or { field = "name" } }, rule)
    assert.is_true(told)
    return seen
  end

  it("has status and body for 4xx, but for those about credentials", function()
    for _, status in ipairs({ 400, 402, 404, 409, 418, 422, 429, 451 }) do
      local seen = of(status)
      assert.same({ status .. " Reason: the body says so", { statusCode = status, body = { field = "name" } } },
        { seen.message, seen.details })
    end
    for _, status in ipairs({ 401, 403, 407, 500, 502, 503, 304 }) do
      assert.same({ status .. " Reason", { statusCode = status } }, { of(status).message, of(status).details })
    end
  end)

  it("has bodies of every status with 'all', and of none with 'none'", function()
    assert.same({ statusCode = 500, body = { field = "name" } }, of(500, "all").details)
    assert.same({ statusCode = 403, body = { field = "name" } }, of(403, "all").details)
    assert.same({ "422 Reason", { statusCode = 422 } }, { of(422, "none").message, of(422, "none").details })
  end)

  it("has at most 16 KiB of a body, in whole characters", function()
    assert.equal(16384, #of(422, nil, ("a"):rep(16384)).details.body)
    assert.is_nil(of(422, nil, ("a"):rep(16384)).details.truncated)
    local long = of(422, nil, "a" .. ("\195\188"):rep(10000)).details
    assert.same({ "a" .. ("\195\188"):rep(8191), true }, { long.body, long.truncated })
    local list = of(422, nil, { ("b"):rep(20000) }).details
    assert.same({ '["' .. ("b"):rep(16382), true }, { list.body, list.truncated })
  end)

  it("has a body that JSON can hold, whatever its bytes", function()
    assert.equal("a?b", of(422, nil, "a\255b").details.body)
    assert.is_nil(of(422, nil, { print }).details.body)
  end)

  it("is the status where the message is not of the answer", function()
    assert.equal("status 404", (read("HTTP_404", "GET http://inside/x", { statusCode = 404 })).message)
    assert.equal("status 404", (read("HTTP_404", "4040 inside", { statusCode = 404 })).message)
  end)

  it("is nothing of an error that only has such a code", function()
    local seen, told = read("HTTP_404", "no such thing", nil)
    assert.same({ "no such thing", false }, { seen.message, told })
  end)
end)

describe("what remote callers read of an MCP server's error", function()
  local details = { rpcCode = -32602, data = { known = { "Berlin" } }, method = "tools/call", statusCode = 200 }

  it("is the error as it was", function()
    for _, rule in ipairs({ "client", "all" }) do
      local seen, told, hidden = read("MCP_-32602", "tools/call: Unknown city", details, rule)
      assert.same({ "tools/call: Unknown city", { rpcCode = -32602, data = { known = { "Berlin" } } }, true, false },
        { seen.message, seen.details, told, hidden })
    end
  end)

  it("is its code with 'none'", function()
    local seen, _, hidden = read("MCP_-32602", "tools/call: Unknown city", details, "none")
    assert.same({ "a server behind this one failed", { rpcCode = -32602 }, true },
      { seen.message, seen.details, hidden })
  end)

  it("is the answer of a tool that failed, and nothing of it with 'none'", function()
    local blocks = { { type = "text", text = "no such city" } }
    local given = { kind = "tool", tool = "weather", content = blocks, structuredContent = { n = 1 }, _meta = {} }
    local seen, told, hidden = read("EXECUTION_ERROR", "weather failed: no such city", given)
    assert.same({ "weather failed: no such city", { kind = "tool", content = blocks, structuredContent = { n = 1 } },
      true, false }, { seen.message, seen.details, told, hidden })
    seen, told, hidden = read("EXECUTION_ERROR", "weather failed: no such city", given, "none")
    assert.same({ "a server behind this one failed", { kind = "tool" }, true, true },
      { seen.message, seen.details, told, hidden })
  end)

  it("says that its question was not answered, without the code, which is not the server's", function()
    for _, rule in ipairs({ "client", "all", "none" }) do
      local seen, told, hidden = read("MCP_-32603", "tools/call: the server's roots/list: there was no answer",
        { rpcCode = -32603, kind = "input" }, rule)
      assert.same({ "tools/call: the server's roots/list: there was no answer", { kind = "input" }, true, false },
        { seen.message, seen.details, told, hidden })
    end
  end)
end)

describe("what remote callers read of other errors", function()
  it("is the error itself; its code tells whether they read the message", function()
    for code, expected in pairs({ VALIDATION_ERROR = true, OPERATION_NOT_FOUND = true, ACCESS_DENIED = true,
      TIMEOUT = true, ABORTED = true, BUSY = true, DRAINING = true, TOOL_ERROR = true, RATE_LIMITED = true,
      UNAVAILABLE = false, TRANSPORT_LOST = false, EXECUTION_ERROR = false, UNKNOWN_ERROR = false,
      OUTPUT_INVALID = false, OTHER = false }) do
      local err = errors.new(code, "m", { kind = "mine" })
      local seen, told, hidden = disclosure.read(err)
      assert.equal(err, seen)
      assert.same({ expected, false }, { told, hidden })
    end
    local spec = { errorSchemas = { { code = "OTHER" } } }
    assert.is_true(select(2, read("OTHER", "m", { kind = "timeout" }, nil, spec)))
    assert.equal("m", (read("OTHER", "m", { kind = "timeout" }, nil, spec)).message)
  end)
end)

describe("the option upstream_errors", function()
  it("has three values", function()
    for _, rule in ipairs({ "client", "all", "none" }) do
      disclosure.check(rule, "f", 1)
    end
    disclosure.check(nil, "f", 1)
    assert.error_matches(function() disclosure.check("some", "f", 1) end,
      "bad option 'upstream_errors' to 'f' (\"client\", \"all\" or \"none\" expected, got \"some\")", 1, true)
  end)
end)

describe("a remote caller of an imported operation", function()
  local listener, answer

  setup(function()
    listener = assert(streams.listen("127.0.0.1", 0, function(stream)
      if answer == "nothing" then
        return -- the caller has to give up
      end
      stream:offer(answer)
      stream:finish()
    end))
  end)

  teardown(function()
    listener:close()
  end)

  local function registry_at(port)
    local registry = operations.registry({ log = function() end })
    assert(registry:register_all(assert(operations.from_openapi.document({ openapi = "3.1.0",
      info = { title = "T", version = "1" }, paths = { ["/secret-path"] = { get = { operationId = "get",
        responses = { ["200"] = { content = { ["application/json"] = { schema = {} } } } } } } } },
      { namespace = "api", base_url = ("http://127.0.0.1:%d/secret-base"):format(port), accessControl = {} }))))
    return registry
  end

  -- What callers read over HTTP, MCP in both eras and the call protocol, by name.
  local function reads(raw, options, port, timeout)
    answer = raw
    local registry = registry_at(port or listener.port)
    local kept = members.merged({ log = function() end }, options)
    local found, http = {}, operations.to_http(registry, kept)
    found.http = http_request.send(http, "GET", "/api/get", { ["request-timeout-ms"] = timeout })
    kept.timeout = tonumber(timeout)
    found.modern = modern(operations.to_mcp(registry, kept), "tools/call", { name = "api_get" })
    found.legacy = legacy(operations.to_mcp(registry, kept), "tools/call", { name = "api_get" })
    local map, _, close = connections.wire(registry, options)
    found.calls = select(2, map:call("api.get", {}, { timeout = tonumber(timeout) }))
    close()
    return found
  end

  local function assert_secret(found)
    for name, seen in pairs({ http = found.http.text, modern = json.encode(found.modern),
      legacy = json.encode(found.legacy), calls = tostring(found.calls) .. json.encode(found.calls.details) }) do
      for _, secret in ipairs({ "127.0.0.1", "secret-base", "secret-path", "http://" }) do
        assert.is_nil(seen:find(secret, 1, true), name .. ": " .. seen)
      end
    end
  end

  it("reads neither host nor path when the exchange fails", function()
    local json_head = "HTTP/1.1 200 OK\r\nContent-Type: application/json\r\n"
    for _, case in ipairs({ { 503, "connect", nil, free_port() }, { 502, "reset", "" },
      { 502, "truncated", json_head .. "Content-Length: 9\r\n\r\n{" }, { 502, "protocol", "SSH-2.0-OpenSSH\r\n" },
      { 502, "response", json_head .. "Content-Length: 1\r\n\r\n{" }, { 504, "timeout", "nothing", nil, "50" } }) do
      local status, kind = case[1], case[2]
      local found = reads(case[3], nil, case[4], case[5])
      assert.same({ status, { kind = kind } }, { found.http.status, { kind = found.http.json.details.kind } })
      assert.equal(status == 503 and "1" or nil, found.http.headers["retry-after"])
      assert.is_true(found.modern.isError)
      assert.equal(kind, found.legacy._meta["operations/error"].details.kind)
      assert_secret(found)
    end
  end)

  local function refusal(status)
    local body = '{"error":{"field":"name","reason":"too_short"}}'
    return ("HTTP/1.1 %s\r\nContent-Type: application/json\r\nServer: secret-path\r\nContent-Length: %d\r\n\r\n%s")
      :format(status, #body, body)
  end

  it("reads the reason of an API that refuses the input", function()
    local found = reads(refusal("422 Unprocessable Content"))
    assert.equal(422, found.http.status)
    assert.equal("too_short", found.http.json.details.body.error.reason)
    for _, result in ipairs({ found.modern, found.legacy }) do
      assert.matches('^HTTP_422: 422 .*"reason":"too_short"', result.content[1].text)
    end
    assert.same({ "HTTP_422", { statusCode = 422, body = { error = { field = "name", reason = "too_short" } } } },
      { found.calls.code, found.calls.details })
    assert_secret(found)
  end)

  it("reads the status alone when the API refuses this program, or fails", function()
    for _, status in ipairs({ "401 Unauthorized", "403 Forbidden", "500 Internal Server Error" }) do
      local found = reads(refusal(status))
      assert.equal(502, found.http.status)
      for _, seen in ipairs({ found.http.text, json.encode(found.modern), json.encode(found.legacy),
        json.encode(found.calls) }) do
        assert.is_nil(seen:find("too_short", 1, true))
        assert.is_truthy(seen:find(status:sub(1, 3), 1, true))
      end
    end
  end)

  it("reads what upstream_errors says", function()
    for _, case in ipairs({ { "all", "500 Internal Server Error", true }, { "none", "422 Unprocessable", false } }) do
      local found = reads(refusal(case[2]), { upstream_errors = case[1] })
      for _, seen in ipairs({ found.http.text, json.encode(found.modern), json.encode(found.legacy),
        json.encode(found.calls) }) do
        assert.equal(case[3], seen:find("too_short", 1, true) ~= nil)
      end
    end
  end)
end)
