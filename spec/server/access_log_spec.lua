local http_peer = require("spec.support.http_peer")
local http_request = require("spec.support.http_request")
local operations = require("operations")

local function silent() end

describe("the access log of a server", function()
  local entries, server

  before_each(function()
    entries = {}
    local registry = operations.registry({ log = silent })
    assert(registry:register_all({
      { namespace = "task", name = "get", type = "query", handler = function() return "x" end },
      { namespace = "task", name = "watch", type = "subscription", handler = function(_, context)
        context.emit(1)
        context.emit(2)
      end },
    }))
    server = assert(operations.to_http(registry, { log = silent, access_log = function(entry)
      entries[#entries + 1] = entry
    end, anonymous = true, authorize = function(request)
      return request.token and { id = request.token, scopes = {} } or nil
    end }))
  end)

  it("has one entry for each request, without its query", function()
    http_request.send(server, "GET", "/task/get?", { authorization = "Bearer ada", ["x-request-id"] = "r1" })
    http_request.send(server, "GET", "/nothing?token=secret")
    assert.equal(2, #entries)
    local first = entries[1]
    assert.same({ "r1", "GET", "/task/get", "task.get", "ada", 200, 3 }, { first.requestId, first.method, first.path,
      first.operation, first.identity, first.status, first.bytes })
    assert.is_true(first.time > 1e12 and first.ms >= 0)
    assert.same({ "/nothing", 404, "OPERATION_NOT_FOUND" }, { entries[2].path, entries[2].status, entries[2].code })
  end)

  it("costs no answer when it fails", function()
    local told = {}
    local registry = operations.registry({ log = silent })
    assert(registry:register({ namespace = "task", name = "get", type = "query", handler = function() return "x" end }))
    local failing = assert(operations.to_http(registry, {
      access_log = function() error("the disk is full") end,
      log = function(_, message) told[#told + 1] = message end,
    }))
    assert.equal(200, http_request.send(failing, "GET", "/task/get").status)
    assert.matches("access_log failed: .*the disk is full", told[1])
  end)

  it("tells of a stream when it has ended, or its reader left", function()
    local response = server:handle({ method = "GET", target = "/task/watch", headers = {} })
    local bytes = 0
    assert.equal(0, #entries)
    for piece in response.body do
      bytes = bytes + #piece
    end
    assert.same({ 1, bytes }, { #entries, entries[1].bytes })
    local left = {}
    response = server:handle({ method = "GET", target = "/task/watch", headers = {}, left = function(fn)
      left[#left + 1] = fn
    end })
    response.body()
    for _, fn in ipairs(left) do
      fn()
    end
    assert.equal(2, #entries)
    assert.is_nil(response.body())
    assert.equal(2, #entries)
  end)

  it("has the answers of what is mounted: of MCP its method, operation and error", function()
    local registry = operations.registry({ log = silent })
    assert(registry:register_all({
      { namespace = "task", name = "id", type = "query", handler = function(_, context) return context.requestId end },
      { namespace = "task", name = "fail", type = "query", handler = function()
        return nil, operations.error("FULL", "no room")
      end },
    }))
    local metrics = operations.middleware.metrics()
    server = assert(operations.to_http(registry, { log = silent, mcp = true, metrics = metrics,
      access_log = function(entry)
        entries[#entries + 1] = entry
      end, authorize = function(request)
        return request.token and { id = request.token, scopes = {} } or nil
      end }))
    local function post(method, params, token)
      params._meta = { ["io.modelcontextprotocol/protocolVersion"] = "2026-07-28",
        ["io.modelcontextprotocol/clientCapabilities"] = operations.object({}) }
      return operations.run(function()
        return http_request.send(server, "POST", "/mcp?key=secret", { ["content-type"] = "application/json",
          accept = "application/json, text/event-stream", ["mcp-protocol-version"] = "2026-07-28",
          ["mcp-method"] = method, ["mcp-name"] = params.name, ["x-request-id"] = "r7",
          authorization = token and "Bearer " .. token },
          operations.json.encode({ jsonrpc = "2.0", id = 1, method = method, params = params }))
      end)
    end
    local answer = post("tools/call", { name = "task_id", arguments = operations.object({}) }, "ada")
    assert.same({ "r7", "r7" }, { answer.headers["x-request-id"], answer.json.result.structuredContent })
    post("tools/call", { name = "task_fail", arguments = operations.object({}) }, "ada")
    post("tools/call", { name = "task_none", arguments = operations.object({}) }, "ada")
    post("tools/list", {})
    local shown = {}
    for i, entry in ipairs(entries) do
      shown[i] = table.concat({ entry.path, entry.status, entry.mcp or "-", entry.operation or "-",
        entry.identity or "-", entry.code or "-" }, " ")
    end
    assert.same({ "/mcp 200 tools/call task.id ada -", "/mcp 200 tools/call task.fail ada FULL",
      "/mcp 200 tools/call - ada MCP_-32602", "/mcp 401 - - - ACCESS_DENIED" }, shown)
    assert.matches('operations_http_responses_total{part="mcp",status="401",class="4xx",code="ACCESS_DENIED"} 1\n',
      metrics:text(), 1, true)
  end)

  it("of a mounted server that has its own is not written twice", function()
    local inner = {}
    local registry = operations.registry({ log = silent })
    local outer = assert(operations.to_http(registry, { log = silent, access_log = function(entry)
      entries[#entries + 1] = entry
    end }))
    outer:mount("/mcp", operations.to_mcp(registry, { log = silent, access_log = function(entry)
      inner[#inner + 1] = entry
    end }))
    local answer = http_request.send(outer, "GET", "/mcp", { ["x-request-id"] = "r8" })
    assert.same({ 0, "/mcp", 400, "r8", "r8" }, { #entries, inner[1].path, inner[1].status, inner[1].requestId,
      answer.headers["x-request-id"] })
  end)

  it("has the requests that a connection refuses", function()
    operations.run(function()
      local metrics = operations.middleware.metrics()
      server = assert(operations.to_http(operations.registry(), { log = silent, metrics = metrics,
        access_log = function(entry)
          entries[#entries + 1] = entry
        end }))
      local listener = assert(server:listen({ max_connections = 1 }))
      local function send(bytes, expected)
        local peer = http_peer.connect(listener.port):send(bytes)
        assert.equal(expected, (peer:answer()))
        return peer
      end
      send("no request\r\n\r\n", 400):rest()
      local held = send("GET /healthz HTTP/1.1\r\nHost: localhost\r\n\r\nGET", 200)
      send("GET /healthz HTTP/1.1\r\nHost: localhost\r\n\r\n", 503):rest()
      held.stream:close()
      server:close()
      assert.same({ { 400, "VALIDATION_ERROR" }, { 200 }, { 503, "BUSY" } }, {
        { entries[1].status, entries[1].code }, { entries[2].status }, { entries[3].status, entries[3].code } })
      assert.same({ "127.0.0.1", "127.0.0.1" }, { entries[1].address, entries[3].address })
      assert.matches('status="400",class="4xx",code="VALIDATION_ERROR"} 1\n', metrics:text(), 1, true)
    end)
  end)

  it("goes to variables of nginx there only", function()
    assert.has_error(function() operations.to_http(operations.registry(), { access_log = "nginx" }) end,
      "bad option 'access_log' to 'to_http' (\"nginx\": nginx does not run this program)")
    assert.has_error(function() operations.to_mcp(operations.registry(), { access_log = "file" }) end,
      "bad option 'access_log' to 'to_mcp' (function or \"nginx\" expected)")
  end)
end)
