local eventually = require("spec.support.eventually")
local forward_clock = require("spec.support.forward_clock")
local http_request = require("spec.support.http_request")
local json = require("operations.base.json")
local operations = require("operations")
local registry = require("spec.support.mcp_server.registry")
local streams = require("operations.net.stream")
local usage = require("spec.support.usage")

local PREFIX = "io.modelcontextprotocol/"

local function quiet() end

describe("a bad client of an MCP server over HTTP", function()
  local server

  local function start(options)
    options.log = quiet
    server = operations.to_mcp(registry, options)
    return assert(server:listen())
  end

  after_each(function()
    server:close()
  end)

  local function send(method, body, headers)
    local given = { accept = "application/json, text/event-stream" }
    for name, value in pairs(headers or {}) do
      given[name] = value
    end
    return http_request.send(server, method, "/mcp", given, body)
  end

  local function initialize()
    return send("POST", { jsonrpc = "2.0", id = 1, method = "initialize", params = { protocolVersion = "2025-11-25",
      capabilities = operations.object(), clientInfo = { name = "spec", version = "1" } } }).headers["mcp-session-id"]
  end

  local function ping(session)
    return send("POST", { jsonrpc = "2.0", id = 2, method = "ping" }, { ["mcp-session-id"] = session })
  end

  -- A connection; what came is in `text`, and whether it ended in `over`.
  local function connect(listener)
    local client = { text = "", over = false, stream = assert(streams.connect("127.0.0.1", listener.port)) }
    client.stream:each_chunk(function(bytes)
      client.text, client.over = client.text .. (bytes or ""), bytes == nil
    end)
    return client
  end

  local function head(length, session)
    return ("POST /mcp HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n"
      .. "Accept: application/json, text/event-stream\r\nContent-Length: %d\r\n%s\r\n"):format(length,
      session and ("Mcp-Session-Id: %s\r\n"):format(session) or "")
  end

  it("sends half a request and goes, at every place of it", function()
    operations.run(function()
      local listener = start({})
      local body = json.encode({ jsonrpc = "2.0", id = 3, method = "ping" })
      local whole = head(#body) .. body
      for length = 1, #whole - 1, 7 do
        local client = connect(listener)
        assert(client.stream:write(whole:sub(1, length)))
        client.stream:flush()
        client.stream:close()
      end
      assert.equal(200, ping(initialize()).status)
      assert.equal(0, server.running)
    end)
  end)

  it("sends other things than requests under an id, which the refusal repeats as it was", function()
    operations.run(function()
      start({})
      for _, id in ipairs({ "1", "a", 1 }) do
        local response = send("POST", { jsonrpc = "2.0", id = id, result = 1 })
        assert.same({ 400, id }, { response.status, response.json.id })
      end
    end)
  end)

  it("goes while its tool runs: a modern call is cancelled", function()
    operations.run(function()
      local listener, file = start({}), os.tmpname()
      local body = json.encode({ jsonrpc = "2.0", id = 3, method = "tools/call", params = { name = "demo_wait",
        arguments = { file = file }, _meta = { [PREFIX .. "protocolVersion"] = "2026-07-28",
          [PREFIX .. "clientCapabilities"] = operations.object() } } })
      local client = connect(listener)
      assert(client.stream:write((head(#body):gsub("\r\n\r\n$",
        "\r\nMCP-Protocol-Version: 2026-07-28\r\nMcp-Method: tools/call\r\nMcp-Name: demo_wait\r\n\r\n")) .. body))
      eventually(function()
        return server.running == 1
      end)
      client.stream:close()
      eventually(function()
        return server.running == 0
      end)
      local handle = io.open(file)
      assert.equal("ABORTED: the client has left", handle:read("*a"))
      handle:close()
      os.remove(file)
    end)
  end)

  it("reads its event stream slowly: it gets the latest change, and the memory for it is bounded", function()
    start({})
    server:resource({ uri = "note://a", read = function() return "a" end })
    local session = initialize()
    assert.equal(200, send("POST", { jsonrpc = "2.0", id = 2, method = "resources/subscribe",
      params = { uri = "note://a" } }, { ["mcp-session-id"] = session }).status)
    local response = server:handle({ method = "GET", target = "/mcp", body = "",
      headers = { host = "localhost", accept = "text/event-stream", ["mcp-session-id"] = session } })
    assert.equal(200, response.status)
    for _ = 1, 10000 do
      server:updated("note://a")
    end
    local channel = server.sessions.all[session].general
    assert.is_true(channel.last - channel.first < 1000)
    assert.equal(200, ping(session).status) -- the others wait for nobody
    server.sessions:remove(server.sessions.all[session], "the spec is over")
    local count = 0
    for piece in response.body do
      count = count + select(2, piece:gsub("resources/updated", ""))
    end
    assert.is_true(count > 100 and count <= 1000, count)
  end)

  it("comes back after its session has expired", function()
    forward_clock.with(function(clock)
      start({ session_ttl = 60000 })
      local session = initialize()
      clock:forward(60001)
      assert.equal(404, ping(session).status)
      assert.equal(200, ping(initialize()).status)
      assert.equal(1, server.sessions.count)
    end)
  end)

  it("answers too late, with a state that has expired", function()
    start({ state_ttl = 1 })
    local params = { name = "demo_greet", _meta = { [PREFIX .. "protocolVersion"] = "2026-07-28",
      [PREFIX .. "clientCapabilities"] = { elicitation = operations.object() } } }
    local function call()
      return send("POST", { jsonrpc = "2.0", id = 3, method = "tools/call", params = params },
        { ["mcp-protocol-version"] = "2026-07-28", ["mcp-method"] = "tools/call", ["mcp-name"] = "demo_greet" }).json
    end
    params.requestState = call().result.requestState
    params.inputResponses = { elicit_1 = { action = "accept", content = { name = "Ada" } } }
    operations.sleep(0.05)
    local failure = call().error
    assert.equal(-32602, failure.code)
    assert.truthy(failure.message:find("it has expired", 1, true))
  end)

  it("opens session after session: there are so many, of a few KiB each", function()
    start({ max_sessions = 10000, max_identity_sessions = 10000 })
    initialize()
    local before = usage.heap()
    for _ = 1, 10000 do
      initialize()
    end
    assert.equal(10000, server.sessions.count)
    local each = (usage.heap() - before) / 10000
    assert.is_true(each < 4, ("%.2f KiB a session"):format(each))
    for _ = 1, 100 do
      initialize()
    end
    assert.equal(10000, server.sessions.count)
  end)
end)
