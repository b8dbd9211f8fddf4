local eventually = require("spec.support.eventually")
local http_request = require("spec.support.http_request")
local forward_clock = require("spec.support.forward_clock")
local operations = require("operations")
local registry = require("spec.support.mcp_server.registry")

local BOTH = "application/json, text/event-stream"
local PREFIX = "io.modelcontextprotocol/"

describe("an MCP server over HTTP", function()
  local server

  before_each(function()
    server = operations.to_mcp(registry, { max_body = 100000, max_sessions = 3, log = function() end })
  end)

  after_each(function()
    server:close()
  end)

  -- Posts a message; the answer, events as a list under `events`.
  local function post(body, headers, to)
    local given = { accept = BOTH, ["content-type"] = "application/json" }
    for name, value in pairs(headers or {}) do
      given[name] = value or nil
    end
    if type(body) == "table" and body.jsonrpc == nil and body[1] == nil then
      body.jsonrpc = "2.0"
    end
    local answer = http_request.send(to or server, "POST", "/mcp", given, body)
    answer.events = {}
    for data in answer.text:gmatch("data: ([^\n]+)") do
      answer.events[#answer.events + 1] = operations.json.decode(data)
    end
    return answer
  end

  local function initialize(version, headers, to)
    local answer = post({ id = 1, method = "initialize", params = { protocolVersion = version or "2025-11-25",
      capabilities = { elicitation = {} }, clientInfo = { name = "spec", version = "1" } } }, headers, to)
    return answer.headers["mcp-session-id"], answer
  end

  local function modern(method, params, headers)
    params = params or {}
    params._meta = params._meta or { [PREFIX .. "protocolVersion"] = "2026-07-28",
      [PREFIX .. "clientCapabilities"] = operations.object() }
    local given = { ["mcp-protocol-version"] = "2026-07-28", ["mcp-method"] = method, ["mcp-name"] = params.name }
    for name, value in pairs(headers or {}) do
      given[name] = value
    end
    return post({ id = 5, method = method, params = params }, given)
  end

  local function error_of(answer)
    return { answer.status, answer.json.error.code }
  end

  it("refuses pages and hosts that are not ours, before the body is read", function()
    local function body()
      error("it was read")
    end
    for _, headers in ipairs({ { host = "evil.example" }, { origin = "http://evil.example" }, { origin = "null" },
      { host = "evil.example", origin = "http://evil.example" }, { ["sec-fetch-site"] = "cross-site" } }) do
      assert.equal(403, post(body, headers).status)
    end
    for _, host in ipairs({ "localhost:1", "127.0.0.1:8080", "[::1]:3" }) do
      assert.equal(200, select(2, initialize(nil, { host = host, origin = "http://" .. host })).status)
    end
  end)

  it("takes JSON only, and clients that take one of both forms of answers", function()
    local ping = { id = 1, method = "ping" }
    assert.same({ 415, -32600 }, error_of(post(ping, { ["content-type"] = "text/plain" })))
    assert.same({ 415, -32600 }, error_of(post(ping, { ["content-type"] = "" })))
    for _, accept in ipairs({ "text/html", "application/json;q=0", "*/*;q=0", "application/xml, image/*" }) do
      assert.same({ 406, -32600 }, error_of(post(ping, { accept = accept })))
    end
    for _, accept in ipairs({ "*/*", "application/*", "application/json", "", false, "text/html, */*;q=0.1",
      "Application/JSON; q=0.9, text/event-stream;q=0.5", "text/event-stream;q=0, */*" }) do
      local _, answer = initialize(nil, { accept = accept, ["content-type"] = "Application/JSON; charset=utf-8" })
      assert.same({ 200, "application/json" }, { answer.status, answer.headers["content-type"] }, tostring(accept))
    end
    for _, accept in ipairs({ "text/event-stream", "text/*", "application/json;q=0, */*" }) do
      local session, answer = initialize(nil, { accept = accept })
      assert.same({ 200, "text/event-stream" }, { answer.status, answer.headers["content-type"] }, accept)
      assert.same("2025-11-25", answer.events[#answer.events].result.protocolVersion)
      assert.truthy(session)
      assert.same({ 404, -32001 }, error_of(post(ping, { accept = accept, ["mcp-session-id"] = "none" })))
    end
    assert.equal(413, post(("x"):rep(100001)).status)
    for _, accept in ipairs({ "application/json", "text/html", "text/event-stream;q=0" }) do
      local refused = http_request.send(server, "GET", "/mcp", { accept = accept })
      assert.same({ 406, -32600, "Accept has to list text/event-stream" },
        { refused.status, refused.json.error.code, refused.json.error.message })
    end
    local refused = http_request.send(server, "PUT", "/mcp")
    assert.same({ 405, "DELETE, GET, POST" }, { refused.status, refused.headers.allow })
  end)

  it("answers clients that take JSON alone by JSON; what comes before goes to the stream of their session", function()
    local session = initialize()
    local headers = { ["mcp-session-id"] = session, accept = "application/json" }
    local count = { id = 2, method = "tools/call", params = { name = "demo_count", _meta = { progressToken = 1 } } }
    assert.same({ n = 3 }, post(count, headers).json.result.structuredContent)
    local greet = { id = 3, method = "tools/call", params = { name = "demo_greet" } }
    assert.same({ action = "decline" }, post(greet, headers).json.result.structuredContent) -- nobody can be asked
    local general = server:handle({ method = "GET", target = "/mcp", body = "", headers = { host = "localhost",
      accept = "text/event-stream", ["mcp-session-id"] = session } })
    assert.matches("retry", general.body())
    assert.same({ n = 3 }, post(count, headers).json.result.structuredContent)
    assert.truthy(general.body():find('"progressToken":1', 1, true))
    local greeted = operations.spawn(post, greet, headers)
    local asked = operations.json.decode(general.body():match("data: ({[^\n]+)"))
    assert.equal(202, post({ id = asked.id, result = { action = "cancel" } }, headers).status)
    assert.same({ action = "cancel" }, greeted:wait().json.result.structuredContent)
    local listen = modern("subscriptions/listen", { notifications = { toolsListChanged = true } },
      { accept = "application/json" })
    assert.same({ 406, -32600 }, error_of(listen))
  end)

  it("refuses invalid messages", function()
    assert.same({ 400, -32700 }, error_of(post("garbage")))
    assert.same({ 400, -32700 }, error_of(post("")))
    for _, text in ipairs({ "1", "{}", "[]", '{"jsonrpc":"2.0","id":{},"method":"ping"}' }) do
      assert.same({ 400, -32600 }, error_of(post(text)))
    end
  end)

  it("keeps sessions, which end by DELETE", function()
    local session, answer = initialize()
    assert.truthy(session:find("^[\33-\126]+$"))
    assert.equal("2025-11-25", answer.json.result.protocolVersion)
    local headers = { ["mcp-session-id"] = session, ["mcp-protocol-version"] = "2025-11-25" }
    local accepted = post({ method = "notifications/initialized" }, headers)
    assert.same({ 202, "" }, { accepted.status, accepted.text })
    assert.same({ sum = 3 }, post({ id = 2, method = "tools/call",
      params = { name = "demo_add", arguments = { a = 1, b = 2 } } }, headers).json.result.structuredContent)
    assert.same({ 400, -32600 }, error_of(post({ id = 2, method = "ping" })))
    assert.same({ 404, -32001 }, error_of(post({ id = 2, method = "ping" }, { ["mcp-session-id"] = "nope" })))
    assert.same({ 400, -32600 }, error_of(post({ id = 2, method = "ping" },
      { ["mcp-session-id"] = session, ["mcp-protocol-version"] = "1999-01-01" })))
    assert.equal(204, http_request.send(server, "DELETE", "/mcp", headers).status)
    assert.equal(404, http_request.send(server, "DELETE", "/mcp", headers).status)
    assert.equal(404, post({ id = 2, method = "ping" }, headers).status)
  end)

  it("keeps few sessions: the one that was idle for longest ends", function()
    local first = initialize()
    operations.sleep(0.003)
    local second = initialize()
    initialize()
    initialize()
    assert.equal(404, post({ id = 2, method = "ping" }, { ["mcp-session-id"] = first }).status)
    assert.equal(200, post({ id = 2, method = "ping" }, { ["mcp-session-id"] = second }).status)
  end)

  it("binds a session to the credential that it began with", function()
    local guarded = operations.to_mcp(registry, { authorize = function(request)
      if request.token == "bad" then
        return nil, "expired"
      end
      return request.token and { id = request.token, scopes = request.token == "ada" and { "admin" } or {} } or nil
    end })
    local _, refused = initialize(nil, nil, guarded)
    assert.same({ 401, "Bearer" }, { refused.status, refused.headers["www-authenticate"] })
    _, refused = initialize(nil, { authorization = "Bearer bad" }, guarded)
    assert.truthy(refused.headers["www-authenticate"]:find("invalid_token", 1, true))
    local session = initialize(nil, { authorization = "Bearer ada" }, guarded)
    local call = { id = 2, method = "tools/call", params = { name = "demo_secret" } }
    assert.equal(42, post(call, { authorization = "Bearer ada", ["mcp-session-id"] = session }, guarded)
      .json.result.structuredContent.secret)
    assert.equal(404, post(call, { authorization = "Bearer bob", ["mcp-session-id"] = session }, guarded).status)
    local other = initialize(nil, { authorization = "Bearer bob" }, guarded)
    local denied = post(call, { authorization = "Bearer bob", ["mcp-session-id"] = other }, guarded)
    assert.equal(403, denied.status)
    assert.truthy(denied.headers["www-authenticate"]:find('scope="admin"', 1, true))
    local function names(who, id)
      return post({ id = 3, method = "tools/list" }, { authorization = "Bearer " .. who, ["mcp-session-id"] = id },
        guarded).text:find("demo_secret", 1, true) ~= nil
    end
    assert.is_true(names("ada", session))
    assert.is_false(names("bob", other))
  end)

  it("answers by events when there is something to tell before", function()
    local session = initialize()
    local params = { name = "demo_count", _meta = { progressToken = 0 } }
    local answer = post({ id = 2, method = "tools/call", params = params }, { ["mcp-session-id"] = session })
    assert.equal("text/event-stream", answer.headers["content-type"])
    assert.equal("no", answer.headers["x-accel-buffering"])
    local seen = {}
    for i, event in ipairs(answer.events) do
      seen[i] = event.method or event.id
      if event.method == "notifications/progress" then
        assert.same({ i, 0 }, { event.params.progress, event.params.progressToken })
      end
    end
    assert.same({ "notifications/progress", "notifications/progress", "notifications/progress",
      "notifications/message", 2 }, seen)
    assert.truthy(answer.text:find("^id: 1_1\nretry: %d+\ndata: \n\n"))
  end)

  it("logs a message that is not JSON, and continues", function()
    local logged = {}
    local other = operations.to_mcp(registry, { log = function(level, text)
      logged[#logged + 1] = level .. " " .. text
    end })
    local params = { name = "demo_count", arguments = { n = 1, odd = true }, _meta = { progressToken = 0 } }
    local answer = post({ id = 2, method = "tools/call", params = params },
      { ["mcp-session-id"] = initialize(nil, nil, other) }, other)
    assert.same({ n = 1 }, answer.events[#answer.events].result.structuredContent)
    assert.matches("error a message is not JSON: [^\n]*inf", table.concat(logged, "\n"))
    other:close()
  end)

  it("continues behind the last event that a client saw, of its own streams", function()
    local session = initialize()
    local headers = { ["mcp-session-id"] = session, accept = "text/event-stream" }
    post({ id = 2, method = "tools/call", params = { name = "demo_count", _meta = { progressToken = "" } } }, headers)
    headers["mcp-session-id"], headers.accept = session, BOTH
    local whole = post({ id = 3, method = "tools/call",
      params = { name = "demo_count", _meta = { progressToken = "" } } }, headers)
    local name, last = whole.text:match("id: (%d+)_(%d+)\ndata: [^\n]+\n\n$")
    headers["last-event-id"] = ("%s_%d"):format(name, last - 1)
    local again = http_request.send(server, "GET", "/mcp", headers)
    assert.same({ 200, 1 }, { again.status, select(2, again.text:gsub("data: ", "")) })
    assert.truthy(again.text:find('"id":3', 1, true))
    for _, id in ipairs({ "99_1", name .. "_99", "garbage", "", name .. "_" .. ("9"):rep(30) }) do
      headers["last-event-id"] = id
      assert.equal(400, http_request.send(server, "GET", "/mcp", headers).status)
    end
    headers["mcp-session-id"], headers["last-event-id"] = initialize(), ("%s_%d"):format(name, last - 1)
    assert.equal(400, http_request.send(server, "GET", "/mcp", headers).status)
  end)

  it("begins the stream of a slow call, so that a client that was cut off gets the result of the one run", function()
    local runs, leave = 0, nil
    local slow = operations.registry()
    assert(slow:register({ namespace = "demo", name = "slow", handler = function()
      runs = runs + 1
      operations.sleep(3)
      return { runs = runs }
    end }))
    local other = operations.to_mcp(slow)
    local session = initialize(nil, nil, other)
    local headers = { ["mcp-session-id"] = session, accept = BOTH, ["content-type"] = "application/json",
      host = "localhost" }
    forward_clock.with(function(clock)
      operations.run(function()
        local response, text
        operations.spawn(function()
          response = other:handle({ method = "POST", target = "/mcp", headers = headers, left = function(fn)
            leave = fn
          end, body = '{"jsonrpc":"2.0","id":2,"method":"tools/call","params":{"name":"demo_slow"}}' })
        end)
        operations.sleep(0)
        clock:forward(450)
        operations.sleep(0)
        assert.is_nil(response)
        clock:forward(100)
        operations.sleep(0)
        local prime = response.body()
        assert.matches("^id: %d+_1\nretry: 2000\ndata: \n\n$", prime)
        assert.is_number(response.heartbeat.after)
        leave()
        assert.is_nil(response.body())
        headers["last-event-id"] = prime:match("^id: (%S+)")
        local again = other:handle({ method = "GET", target = "/mcp", headers = headers, body = "" })
        operations.spawn(function()
          text = again.body()
        end)
        operations.sleep(0)
        clock:forward(3000)
        eventually(function()
          return text
        end)
        assert.same({ runs = 1 }, operations.json.decode(text:match("data: ({[^\n]+)")).result.structuredContent)
        assert.is_nil(again.body())
      end)
    end)
    other:close()
  end)

  it("begins a stream of notifications with the event to resume from", function()
    local session = initialize()
    local answer = server:handle({ method = "GET", target = "/mcp", body = "", headers = { host = "localhost",
      accept = "text/event-stream", ["mcp-session-id"] = session } })
    server:close()
    assert.equal("id: 1_1\nretry: 2000\ndata: \n\n", answer.body())
    assert.is_nil(answer.body())
  end)

  it("takes batches of revision 2025-03-26", function()
    local batch = { { jsonrpc = "2.0", id = "a", method = "ping" }, { jsonrpc = "2.0", method = "notifications/x" },
      { jsonrpc = "2.0", id = "b", method = "nope" }, 7 }
    local answer = post(batch, { ["mcp-session-id"] = initialize("2025-03-26") })
    assert.same({ "a", "b" }, { answer.json[1].id, answer.json[2].id })
    assert.same({ -32601, -32600 }, { answer.json[2].error.code, answer.json[3].error.code })
    assert.same({ 400, -32600 }, error_of(post(batch, { ["mcp-session-id"] = initialize() })))
  end)

  it("asks the client, whose answer comes by another request", function()
    local session = initialize()
    local headers = { ["mcp-session-id"] = session, accept = BOTH, ["content-type"] = "application/json",
      host = "localhost" }
    local response = server:handle({ method = "POST", target = "/mcp", headers = headers,
      body = '{"jsonrpc":"2.0","id":2,"method":"tools/call","params":{"name":"demo_greet"}}' })
    local text = response.body()
    local asked = operations.json.decode(text:match("data: ({[^\n]+)"))
    assert.equal("elicitation/create", asked.method)
    local accepted = { action = "accept", content = { name = "Ada" } }
    assert.equal(202, post({ id = asked.id, result = accepted }, headers).status)
    local answer = operations.json.decode(response.body():match("data: ([^\n]+)"))
    assert.same({ action = "accept", name = "Ada" }, answer.result.structuredContent)
    assert.is_nil(response.body())
  end)

  it("continues when a legacy client leaves, and stops when a modern one does", function()
    local function leave(body, headers)
      local gone
      local given = { accept = BOTH, ["content-type"] = "application/json", host = "localhost" }
      for name, value in pairs(headers) do
        given[name] = value
      end
      local waiting = operations.spawn(function()
        return server:handle({ method = "POST", target = "/mcp", headers = given, body = operations.json.encode(body),
          left = function(fn)
            gone = fn
          end })
      end)
      operations.sleep(0.02)
      gone()
      return waiting
    end
    local file = os.tmpname()
    local params = { name = "demo_wait", arguments = { seconds = 0.1, file = file } }
    local function said()
      local handle = io.open(file)
      local text = handle:read("*a")
      handle:close()
      return text
    end
    leave({ jsonrpc = "2.0", id = 2, method = "tools/call", params = params }, { ["mcp-session-id"] = initialize() })
      :wait()
    assert.equal("slept", said())
    params._meta = { [PREFIX .. "protocolVersion"] = "2026-07-28",
      [PREFIX .. "clientCapabilities"] = operations.object() }
    leave({ jsonrpc = "2.0", id = 2, method = "tools/call", params = params },
      { ["mcp-protocol-version"] = "2026-07-28", ["mcp-method"] = "tools/call", ["mcp-name"] = "demo_wait" }):wait()
    assert.equal("ABORTED: the client has left", said())
    os.remove(file)
  end)

  it("checks what a modern request says of itself", function()
    local meta = { [PREFIX .. "protocolVersion"] = "2026-07-28" }
    assert.same({ 400, -32602 }, error_of(modern("tools/list", { _meta = meta })))
    assert.same({ 400, -32602 }, error_of(modern("tools/list", { _meta = operations.object() })))
    meta = { [PREFIX .. "protocolVersion"] = "2027-01-01", [PREFIX .. "clientCapabilities"] = operations.object() }
    local refused = modern("tools/list", { _meta = meta }, { ["mcp-protocol-version"] = "2027-01-01" })
    assert.same({ 400, -32022 }, error_of(refused))
    assert.same({ "2026-07-28", "2025-11-25", "2025-06-18", "2025-03-26", "2024-11-05" },
      refused.json.error.data.supported)
    assert.same({ 404, -32601 }, error_of(modern("ping")))
    assert.same({ 404, -32601 }, error_of(modern("initialize")))
    assert.equal(5, refused.json.id)
  end)

  it("compares the headers of a modern request with its body", function()
    local params = { name = "demo_add", arguments = { a = 1, b = 2 } }
    assert.equal(3, modern("tools/call", params).json.result.structuredContent.sum)
    for _, headers in ipairs({ { ["mcp-protocol-version"] = "2025-11-25" }, { ["mcp-method"] = "tools/list" },
      { ["mcp-method"] = "Tools/Call" }, { ["mcp-name"] = "demo_fail" }, { ["mcp-name"] = "=?base64?!!?=" } }) do
      assert.same({ 400, -32020 }, error_of(modern("tools/call", params, headers)))
    end
    for _, headers in ipairs({ { ["mcp-method"] = " tools/call " }, { ["mcp-name"] = "=?base64?ZGVtb19hZGQ=?=" } }) do
      assert.equal(200, modern("tools/call", params, headers).status)
    end
  end)

  it("compares the headers that repeat arguments of a tool", function()
    local own = operations.registry()
    assert(own:register({ namespace = "a", name = "b", inputSchema = { type = "object", properties = {
      region = { type = "string", ["x-mcp-header"] = "Region" } } }, handler = function() return 1 end }))
    server:close()
    server = operations.to_mcp(own, { log = function() end })
    local function call(value)
      return modern("tools/call", { name = "a_b", arguments = { region = "eu" } }, { ["mcp-param-region"] = value })
    end
    assert.equal(200, call("eu").status)
    assert.same({ 400, -32020 }, error_of(call("us")))
    assert.same({ 400, -32020 }, error_of(call(nil)))
  end)

  it("tells failures of tools as results, failures of the protocol as errors", function()
    local function call(kind)
      return modern("tools/call", { name = "demo_fail", arguments = { kind = kind } }).json.result
    end
    assert.same({ true, "the operation failed" }, { call("raise").isError, call("raise").content[1].text })
    assert.same({ true, "NOT_THERE: no such thing" }, { call("told").isError, call("told").content[1].text })
    assert.is_true(call("nan").isError)
    local bad = modern("tools/call", { name = "demo_add", arguments = { a = "x" } }).json.result
    assert.is_true(bad.isError)
    assert.truthy(bad.content[1].text:find('/a: expected number, got "x"', 1, true))
    assert.truthy(bad.content[1].text:find("/b: required", 1, true))
    for _, name in ipairs({ "nope", "demo_inner", "demo_ticks", "" }) do
      assert.same({ 200, -32602 }, error_of(modern("tools/call", { name = name })))
    end
    assert.equal(-32602, modern("tools/call", { name = 7 }, { ["mcp-name"] = "7" }).json.error.code)
    assert.equal(-32602, modern("tools/call", { name = "demo_add", arguments = { 1 } }).json.error.code)
  end)

  it("asks in rounds, and believes no state but its own", function()
    local meta = { [PREFIX .. "protocolVersion"] = "2026-07-28",
      [PREFIX .. "clientCapabilities"] = { elicitation = operations.object() } }
    local function round(responses, state, name)
      return modern("tools/call", { name = name or "demo_greet", _meta = meta, inputResponses = responses,
        requestState = state }).json
    end
    local first = round().result
    assert.equal("input_required", first.resultType)
    assert.equal("elicitation/create", first.inputRequests.elicit_1.method)
    local ada = { elicit_1 = { action = "accept", content = { name = "Ada" } }, other = { action = "accept" } }
    assert.same({ action = "accept", name = "Ada" }, round(ada, first.requestState).result.structuredContent)
    for _, wrong in ipairs({ { elicit_1 = 7 }, { elicit_1 = { action = "nope" } }, { other = ada.elicit_1 },
      { elicit_1 = { action = "accept", content = { name = 7 } } } }) do
      assert.equal("input_required", round(wrong, first.requestState).result.resultType)
    end
    for _, state in ipairs({ "garbage", first.requestState .. "A", "A" .. first.requestState, 7,
      (first.requestState:gsub("%..*$", ".e30")) }) do
      assert.equal(-32602, round(ada, state).error.code)
    end
    assert.equal(-32602, round(ada, first.requestState, "demo_count").error.code)
    assert.equal(-32602, round(7, first.requestState).error.code)
    meta[PREFIX .. "clientCapabilities"] = operations.object()
    assert.same({ action = "decline" }, round().result.structuredContent)
  end)

  it("takes the level of a legacy client's log, one of eight", function()
    local headers = { ["mcp-session-id"] = initialize(), ["mcp-protocol-version"] = "2025-11-25" }
    local function set(level)
      return post({ id = 7, method = "logging/setLevel", params = { level = level } }, headers)
    end
    for _, level in ipairs({ "debug", "info", "notice", "warning", "error", "critical", "alert", "emergency" }) do
      assert.matches('"result":{}', set(level).text, 1, true)
    end
    for _, level in ipairs({ "trace", 3, operations.null }) do
      assert.equal(-32602, set(level).json.error.code)
    end
    assert.matches("^logging/setLevel: level: one of debug, info, ", set("trace").json.error.message)
  end)

  it("tells a modern client's log only what it asked for", function()
    local function call(level)
      return modern("tools/call", { name = "demo_count", arguments = { n = 0, level = "info" }, _meta = {
        [PREFIX .. "protocolVersion"] = "2026-07-28", [PREFIX .. "clientCapabilities"] = operations.object(),
        [PREFIX .. "logLevel"] = level } }).text:find("notifications/message", 1, true) ~= nil
    end
    assert.same({ false, true, true, false }, { call(nil), call("debug"), call("info"), call("warning") })
  end)

  it("refuses a batch of too many messages", function()
    local session, batch = initialize("2025-03-26"), {}
    for i = 1, 101 do
      batch[i] = { jsonrpc = "2.0", id = i, method = "ping" }
    end
    assert.same({ 400, -32600 }, error_of(post(batch, { ["mcp-session-id"] = session })))
    batch[101] = nil
    assert.equal(100, #post(batch, { ["mcp-session-id"] = session }).json)
  end)

  it("counts anonymous callers by their address in rate_limit", function()
    local rate = operations.middleware.rate_limit({ rate = 1, per = 60000 })
    local limited = operations.registry({ middleware = { rate } })
    limited:register({ namespace = "spec", name = "call", handler = function() return "ok" end })
    local one = operations.to_mcp(limited, { log = function() end })
    local function call(address)
      local answer = operations.run(function()
        return one:handle({ method = "POST", target = "/mcp", peer = { address = address }, headers = {
          accept = BOTH, ["content-type"] = "application/json", host = "localhost",
          ["mcp-protocol-version"] = "2026-07-28", ["mcp-method"] = "tools/call", ["mcp-name"] = "spec_call" },
          body = operations.json.encode({ jsonrpc = "2.0", id = 1, method = "tools/call", params = { name = "spec_call",
            arguments = operations.object(), _meta = { [PREFIX .. "protocolVersion"] = "2026-07-28",
            [PREFIX .. "clientCapabilities"] = operations.object() } } }) })
      end)
      return operations.json.decode(answer.body).result.isError or false
    end
    assert.same({ false, true, false }, { call("192.0.2.1"), call("192.0.2.1"), call("192.0.2.2") })
    one:close()
  end)

  it("runs the requests of a batch side by side, and hears of those that are cancelled", function()
    local id = initialize("2025-03-26")
    local given = { ["mcp-session-id"] = id }
    local batch = operations.spawn(post, { { jsonrpc = "2.0", id = "a", method = "tools/call", params = {
      name = "demo_wait", arguments = operations.object() } },
      { jsonrpc = "2.0", id = "b", method = "ping" } }, given)
    eventually(function() -- ping is over
      return server.running == 1
    end)
    assert.equal(202, post({ method = "notifications/cancelled", params = { requestId = "a" } }, given).status)
    local answer = batch:wait()
    assert.same({ "b", 1 }, { answer.json[1].id, #answer.json })
    assert.equal(0, server.running)
  end)

  it("refuses numbers below zero", function()
    for _, name in ipairs({ "schema_bytes", "ttl", "timeout", "max_sessions", "state_ttl" }) do
      assert.has_error(function()
        operations.to_mcp(registry, { [name] = -1 })
      end, ("bad option '%s' to 'to_mcp' (0 or more expected, got -1)"):format(name))
      operations.to_mcp(registry, { [name] = 0 })
    end
  end)

  it("listens with options, not with anything else", function()
    assert.has_error(function()
      server:listen(7)
    end, "bad argument #1 to 'listen' (table expected, got number)")
  end)

  it("is at /mcp of an HTTP API", function()
    local api = assert(operations.to_http(registry, { mcp = true }))
    assert.truthy(initialize(nil, nil, api))
    assert.equal(3, http_request.send(api, "POST", "/demo/add", {}, { a = 1, b = 2 }).json.sum)
    assert.equal(403, select(2, initialize(nil, { origin = "http://evil.example" }, api)).status)
    assert.truthy(initialize(nil, nil, assert(operations.to_http(registry, { mcp = server }))))
    assert.equal(404, post({ id = 1, method = "ping" }, nil,
      assert(operations.to_http(registry, { mcp = false }))).status)
    assert.has_error(function()
      operations.to_http(registry, { mcp = 7 })
    end, "bad option 'mcp' to 'to_http' (boolean or a server of to_mcp expected, got number)")
    api:close()
    assert.equal(503, select(2, initialize(nil, nil, api)).status) -- with what is mounted
  end)

  it("is below the prefix of an HTTP API, whose metadata names the issuer of its tokens", function()
    local ours = operations.to_mcp(registry, { oauth = { resource = "https://x.example/api/mcp",
      authorization_servers = { "https://as.example" } } })
    local api = assert(operations.to_http(registry, { prefix = "/api", mcp = ours }))
    local list = { jsonrpc = "2.0", id = 1, method = "ping" }
    assert.equal(404, http_request.send(api, "POST", "/mcp", {}, list).status)
    assert.equal(415, http_request.send(api, "POST", "/api/mcp", { ["content-type"] = "text/plain" }, "x").status)
    local found = http_request.send(api, "GET", "/.well-known/oauth-protected-resource/api/mcp")
    assert.equal("https://x.example/api/mcp", found.json.resource)
    api:close()
  end)

  it("serves pages of this machine on its loopback listeners, alone or mounted; the HTTP API does not", function()
    local api = assert(operations.to_http(registry, { mcp = true }))
    for _, served in ipairs({ server, api }) do
      local listener = assert(served:listen({ port = 0 }))
      local function status(path, origin)
        return assert(operations.http.request({ method = "POST", body = '{"jsonrpc":"2.0","method":"x"}',
          url = ("http://127.0.0.1:%d%s"):format(listener.port, path),
          headers = { Origin = origin, ["Content-Type"] = "application/json", Accept = BOTH } })).status
      end
      assert.equal(400, status("/mcp", "http://localhost:6274")) -- it lacks a session
      assert.equal(403, status("/mcp", "http://evil.example:6274"))
      if served == api then
        assert.equal(403, status("/demo/add", "http://localhost:6274"))
      end
      served:close()
    end
    assert.equal(403, select(2, initialize(nil, { origin = "http://localhost:6274" })).status) -- whose listener?
  end)

  it("ends what it listens at when it is closed or drained", function()
    for _, way in ipairs({ "close", "drain" }) do
      local ours, listeners = operations.to_mcp(registry), {}
      for i = 1, 2 do
        listeners[i] = assert(ours:listen())
      end
      ours[way](ours)
      for _, listener in ipairs(listeners) do
        local answer, err = operations.http.request({ url = ("http://127.0.0.1:%d/mcp"):format(listener.port) })
        assert.is_nil(answer)
        assert.equal("connect", err.details.kind)
      end
    end
  end)

  it("accepts no more once it is drained, and ends what listens", function()
    local listening = operations.spawn(modern, "subscriptions/listen",
      { notifications = { toolsListChanged = true } })
    operations.sleep(0.02)
    assert.is_true(server:drain(1000))
    local answer = listening:wait()
    assert.equal("notifications/subscriptions/acknowledged", answer.events[1].method)
    assert.equal("complete", answer.events[#answer.events].result.resultType)
    assert.equal(503, modern("tools/list").status)
  end)
end)
