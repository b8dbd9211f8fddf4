local inside = require("spec.support.inside")
local operations = require("operations")
local test_server = require("spec.support.server")

describe("an MCP server in several workers of OpenResty", function()
  local missing = inside.missing("nginx")
  if missing then
    pending(missing)
    return
  end

  local nginx

  setup(function()
    nginx = test_server.start({ app = true, workers = 4, init = 'require("spec.mcp.conformance.server")' })
  end)

  teardown(function()
    nginx:stop()
  end)

  -- Each request comes over a connection of its own, so that any worker may take it.
  local function send(method, session, body, to)
    local answer = assert(operations.http.request({ url = (to or nginx).url .. "/mcp", method = method,
      body = body and operations.json.encode(body), headers = { ["mcp-session-id"] = session, connection = "close",
        ["content-type"] = "application/json", accept = "application/json, text/event-stream" } }))
    return answer.status, answer
  end

  local function initialize(to)
    local _, answer = send("POST", nil, { jsonrpc = "2.0", id = 1, method = "initialize", params = {
      protocolVersion = "2025-11-25", capabilities = {}, clientInfo = { name = "spec", version = "1" } } }, to)
    return answer.headers["mcp-session-id"]
  end

  local ping = { jsonrpc = "2.0", id = 2, method = "ping" }

  it("finds the worker that has a session", function()
    local ports, count = {}, 0
    for _ = 1, 12 do
      local session = initialize()
      local port = session:match("^%d+")
      count = count + (ports[port] and 0 or 1)
      ports[port] = true
      for _ = 1, 4 do
        assert.equal(200, (send("POST", session, ping)))
      end
      local status, answer = send("POST", session, { jsonrpc = "2.0", id = 3, method = "tools/call",
        params = { name = "test_tool_with_progress", _meta = { progressToken = "x" } } })
      assert.equal(200, status)
      assert.equal(3, select(2, answer.body:gsub("notifications/progress", "")))
      assert.equal(204, (send("DELETE", session)))
      assert.equal(404, (send("POST", session, ping)))
    end
    assert.is_true(count <= 4) -- one for each worker
  end)

  -- Reads the events of an answer over a socket of its own until `is_enough(text)`, and cuts the connection.
  local function read_events(method, headers, body, is_enough)
    headers.connection, headers.accept = "close", "application/json, text/event-stream"
    headers["content-type"] = "application/json"
    local stream = assert(operations.http.open({ url = nginx.url .. "/slow/mcp", method = method, headers = headers,
      body = body and operations.json.encode(body) }))
    local text = ""
    while not is_enough(text) do
      text = text .. (stream:read() or error("the stream has ended: " .. text))
    end
    stream:close()
    return text
  end

  it("gives a client whose connection was cut, twice, the result of the one run, whichever workers it meets", function()
    local function begun(text)
      return text:find("id: ", 1, true)
    end
    for i, tells in ipairs({ false, false, true }) do
      local answer = assert(operations.http.request({ url = nginx.url .. "/slow/mcp", method = "POST",
        body = operations.json.encode({ jsonrpc = "2.0", id = 1, method = "initialize", params = {
          protocolVersion = "2025-11-25", capabilities = {}, clientInfo = { name = "spec", version = "1" } } }),
        headers = { ["content-type"] = "application/json", accept = "application/json, text/event-stream" } }))
      local session = answer.headers["mcp-session-id"]
      local text = read_events("POST", { ["mcp-session-id"] = session }, { jsonrpc = "2.0", id = 7,
        method = "tools/call", params = { name = "slow_run", arguments = { seconds = 1.5, tells = tells },
          _meta = { progressToken = 1 } } }, begun)
      local last = text:match(".*id: (%S+)")
      text = read_events("GET", { ["mcp-session-id"] = session, ["last-event-id"] = last }, nil, function(got)
        return got:find(":\n\n", 1, true) -- a comment, which keeps the connection open
      end)
      last = text:match(".*id: (%S+)") or last
      text = read_events("GET", { ["mcp-session-id"] = session, ["last-event-id"] = last }, nil, function(got)
        return got:find('"id":7', 1, true)
      end)
      assert.equal(i, operations.json.decode(text:match("data: ({[^\n]*\"id\":7[^\n]*)")).result.structuredContent.runs)
    end
  end)

  it("continues a program that waits for an answer, whichever worker gets it", function()
    local modern = { ["io.modelcontextprotocol/protocolVersion"] = "2026-07-28",
      ["io.modelcontextprotocol/clientCapabilities"] = { elicitation = {} } }
    local function run(params)
      params._meta = modern
      local answer = assert(operations.http.request({ url = nginx.url .. "/code/mcp", method = "POST",
        body = operations.json.encode({ jsonrpc = "2.0", id = 1, method = "tools/call", params = params }),
        headers = { ["content-type"] = "application/json", accept = "application/json, text/event-stream",
          ["mcp-protocol-version"] = "2026-07-28", ["mcp-method"] = "tools/call", ["mcp-name"] = "run_lua",
          connection = "close" } }))
      local text = answer.body:match("data: ({[^\n]*)") or answer.body
      return assert(operations.json.decode(text).result, text)
    end
    local workers, count = {}, 0
    for i = 1, 12 do
      local params = { name = "run_lua", arguments = { code =
        'local runs = call("tasks.runs") return { runs = runs, did = call("tasks.remove", { id = 1 }) }' } }
      local asked = run(params)
      params.requestState, params.inputResponses = asked.requestState, {}
      for key in pairs(asked.inputRequests) do
        params.inputResponses[key] = { action = "accept", content = { answer = "Yes, once" } }
      end
      local result = run(params).structuredContent
      assert.same({ i, 1 }, { result.runs, result.did.removed })
      count = count + (workers[result.did.worker] and 0 or 1)
      workers[result.did.worker] = true
    end
    assert.is_true(count > 1)
  end)

  it("opens no port for its sessions where there is one worker", function()
    local alone = test_server.start({ app = true, init = 'require("spec.mcp.conformance.server")' })
    finally(function()
      alone:stop()
    end)
    assert.is_nil(initialize(alone):find(".", 1, true)) -- nor a signature
  end)

  it("hands nothing on by an id that it did not make, and takes nothing that was not handed on", function()
    local port, random, seal = initialize():match("^(%d+)%.([^.]+)%.(.+)$")
    for _, id in ipairs({ ("%d.%s.%s"):format(port + 1, random, seal), port .. ".x." .. seal, port, "1.1.1" }) do
      assert.equal(404, (send("POST", id, ping)))
    end
    local answer = assert(operations.http.request({ url = ("http://127.0.0.1:%d/mcp"):format(port), method = "POST",
      body = operations.json.encode(ping), headers = { ["mcp-session-id"] = ("%d.%s.%s"):format(port, random, seal),
        ["content-type"] = "application/json", accept = "application/json, text/event-stream" } }))
    assert.equal(403, answer.status)
  end)
end)
