local compat = require("operations.base.compat")
local errors = require("operations.base.error")
local eventually = require("spec.support.eventually")
local fake_host = require("spec.support.fake_host")
local hosts = require("operations.hosts")
local json = require("operations.base.json")
local limits = require("operations.base.limits")
local listener = require("operations.server.listener")
local operations = require("operations")
local reply = require("operations.mcp.client.reply")

--- A reader of a stream that is over, and was these bytes.
local function reader_of(bytes)
  local reader = reply.reader(1024)
  local pieces = { bytes }
  reader:run({ read = function()
    return table.remove(pieces)
  end }, function() end)
  return reader
end

describe("the time until an MCP server's stream is opened again", function()
  it("is the server's, and doubles while nothing comes", function()
    local reader = reader_of("retry: 100\ndata: x\n\n")
    assert.same({ 100, 200, 400 }, { reader:delay(1), reader:delay(2), reader:delay(3) })
    assert.equal(1000, reader_of("data: x\n\n"):delay(1))
  end)

  it("is neither none nor more than five minutes", function()
    assert.equal(50, reader_of("retry: 0\ndata: x\n\n"):delay(1))
    assert.equal(300000, reader_of("retry: 9007199254740991\ndata: x\n\n"):delay(1))
  end)
end)

describe("a reader of events", function()
  -- A stream of pieces, and an error at its end.
  local function stream_of(pieces, err)
    local stream, at = {}, 0
    function stream.read()
      at = at + 1
      return pieces[at], not pieces[at] and err or nil
    end
    function stream:close()
      self.closed = true
    end
    return stream
  end

  it("stops where enough was read, and continues there", function()
    local reader, seen, wanted = reply.reader(1024), {}, 1
    local function take(event, data)
      seen[#seen + 1] = event .. " " .. data
      return #seen < wanted
    end
    local stream = stream_of({ "id: 1\ndata: a\n\ndata: b\n\nevent: e\nda", "ta: c\nid: 2\n\ndata: d\n\n", "data: e" })
    for count, data in ipairs({ "message a", "message b", "e c", "message d" }) do
      wanted = count
      assert.is_nil(reader:run(stream, take))
      assert.equal(data, seen[count])
      assert.same({ count, count < 3 and "1" or "2" }, { reader.events, reader.last_id })
    end
    wanted = 9
    assert.is_nil(reader:run(stream, take))
    assert.same({ "message e", 5, nil }, { seen[5], reader.events, stream.closed })
    assert.is_nil(reader:run(stream_of({ "data: f\n\n" }), take))
    assert.same({ "message f", "2" }, { seen[6], reader.last_id })
  end)

  it("tells why a stream ended, and what it said of the next one", function()
    local reader, err = reply.reader(20), errors.new("EXECUTION_ERROR", "reset")
    assert.equal(err, reader:run(stream_of({ "id: 7\nretry: 9\n\n" }, err), function() end))
    assert.same({ "7", 9, 0 }, { reader.last_id, reader.retry, reader.events })
    local stream = stream_of({ ("data: x"):rep(9) })
    local problem = reader:run(stream, function() end)
    assert.same({ "size", true }, { problem.details.kind, stream.closed })
    assert.equal("7", reader.last_id)
  end)
end)

-- Over the program's own HTTP client, which is in memory; time passes in jumps.
describe("the answer of an MCP server over HTTP", function()
  local host, requests, script, logged, streams

  before_each(function()
    host, requests, script, logged, streams = fake_host.new(1000), {}, {}, {}, {}
    hosts.use(host)
  end)

  after_each(function()
    hosts.use("plain")
  end)

  -- A stream: its pieces are texts, pauses in ms, or an error.
  local function stream_of(answer)
    local stream, pieces, at = { status = answer.status or 200, headers = answer.headers or {} }, answer, 0
    function stream:read()
      at = at + 1
      local piece = pieces[at]
      if type(piece) == "number" then
        operations.sleep(piece / 1000)
        return self:read()
      elseif self.closed then
        return nil, errors.new("ABORTED", "the stream was closed")
      elseif errors.is_error(piece) then
        return nil, piece
      end
      return piece
    end
    function stream:close()
      self.closed = true
    end
    function stream:linger(ms)
      self.lingers = ms
    end
    streams[#streams + 1] = stream
    return stream
  end

  local function json_answer(value, more)
    local answer = { type(value) == "string" and value or assert(json.encode(value)),
      headers = { ["content-type"] = "application/json" } }
    for key, member in pairs(more or {}) do
      answer[key] = member
    end
    return answer
  end

  local function result(message, value)
    value = value or { n = 1 }
    return { jsonrpc = "2.0", id = message.id, result = value }
  end

  local function events(...)
    local answer = { ... }
    answer.headers = { ["content-type"] = "text/event-stream" }
    return answer
  end

  local function event(value, head)
    return (head or "") .. "data: " .. (type(value) == "string" and value or assert(json.encode(value))) .. "\n\n"
  end

  local client_of_program = { open = function(options)
    local message = options.body and json.decode(options.body) or {}
    local request = { method = options.method, headers = options.headers, message = message, at = host.now() }
    requests[#requests + 1] = request
    local act = script[message.method or options.method]
    if act then
      local answer, err = act(message, request)
      return answer and stream_of(answer), err
    elseif message.method == "initialize" then
      return stream_of(json_answer(result(message, { protocolVersion = message.params.protocolVersion,
        capabilities = operations.object() }), { headers = { ["content-type"] = "application/json",
        ["mcp-session-id"] = script.session } }))
    elseif message.id == nil or not message.method then
      return stream_of({ status = options.method == "GET" and 405 or 202 })
    end
    return stream_of(json_answer({ jsonrpc = "2.0", id = message.id, error = { code = -32601, message = "no" } }))
  end }

  -- Calls fn(client) with a client that is connected; what it asked for then are the `requests`.
  local function with(era, more, fn)
    local given = { url = "http://a.test/mcp", era = era, stream = false, http = client_of_program, timeout = 500,
      log = function(level, text)
        logged[#logged + 1] = level .. " " .. text
      end }
    for key, value in pairs(more or {}) do
      given[key] = value
    end
    return operations.run(function()
      local client = assert(operations.from_mcp.connect("s", given))
      if given.stream == false then
        requests, streams = {}, {}
      end
      fn(client)
      client:close()
    end)
  end

  -- The result of a request `x` as { value } or { code, message, kind }.
  local function ask(era, act, more, options)
    local got
    script.x = act
    with(era, more, function(client)
      local value, err = client:request("x", nil, options)
      got = value or { err.code, err.message, err.details.kind, err = err }
    end)
    return got
  end

  it("is JSON of any name, or looks like it", function()
    for _, media in ipairs({ "application/json", "Application/JSON; charset=utf-8", "application/vnd.a+json" }) do
      assert.same({ n = 1 }, ask("legacy", function(message)
        return json_answer(result(message), { headers = { ["content-type"] = media } })
      end))
    end
    for _, before in ipairs({ "", " \n", "\239\187\191" }) do
      assert.same({ n = 1 }, ask("legacy", function(message)
        return { before .. assert(json.encode(result(message))) }
      end))
    end
    for _, status in ipairs({ 200, 201, 299 }) do
      assert.same({ n = 1 }, ask("legacy", function(message)
        return json_answer(result(message), { status = status })
      end))
    end
  end)

  it("is outside the protocol otherwise", function()
    for expected, answer in pairs({
      ["x: expected JSON or a stream of events, got content type text/plain: a b"] = { "a\n  b",
        headers = { ["content-type"] = "text/plain" } },
      ["x: expected JSON or a stream of events, got content type none: hello"] = { "hello" },
      ["x: expected JSON or a stream of events, got content type text/event-stream: data"] = { "data", status = 201,
        headers = { ["content-type"] = "text/event-stream" } },
      ['x: the server answered something else: {"jsonrpc":"2.0", "method":"y"}'] =
        json_answer('{"jsonrpc":"2.0",\n"method":"y"}'),
      ["x: the request was answered with status 202 and nothing else"] = { status = 202 },
      ["x: the request was answered with status 204 and nothing else"] = { status = 204 },
    }) do
      local got = ask("legacy", function() return answer end)
      assert.same({ "EXECUTION_ERROR", expected, "protocol" }, { got[1], got[2], got[3] })
      assert.equal(answer.status or 200, got.err.details.statusCode)
    end
    local long = ask("legacy", function() return { ("x"):rep(300) } end)
    assert.equal(("x"):rep(200), long[2]:match("none: (x+)$"))
  end)

  it("is malformed where it is a success that cannot be read, and else the status is told", function()
    for status, code in pairs({ [200] = "EXECUTION_ERROR", [299] = "EXECUTION_ERROR", [304] = "HTTP_304",
      [400] = "HTTP_400", [500] = "HTTP_500" }) do
      local got = ask("legacy", function()
        return json_answer('{"jsonrpc":', { status = status })
      end)
      assert.equal(code, got[1])
      assert.equal(status < 300 and "malformed" or "status", got[3])
      assert.equal(status, got.err.details.statusCode)
    end
  end)

  it("may be an error in any status; if the request may have run, the status says more", function()
    for code, retry_after in pairs({ [-32000] = 7000, [-32602] = false }) do
      local got = ask("legacy", function()
        return json_answer({ jsonrpc = "2.0", error = { code = code, message = "no" } }, { status = 503,
          headers = { ["content-type"] = "application/json", ["retry-after"] = "7" } })
      end)
      assert.same({ "MCP_" .. code, "x: no" }, { got[1], got[2] })
      assert.equal(503, got.err.details.statusCode)
      assert.equal(retry_after or nil, got.err.retryAfter)
    end
    local got = ask("legacy", function()
      return json_answer({ error = "denied", error_description = "no more" }, { status = 429 })
    end)
    assert.same({ "HTTP_429", "POST http://a.test/mcp: status 429: no more" }, { got[1], got[2] })
    got = ask("legacy", function(message)
      return json_answer({ jsonrpc = "2.0", id = message.id, error = { code = -32000, message = "no" } },
        { headers = { ["content-type"] = "application/json", ["retry-after"] = "7" } })
    end)
    assert.is_nil(got.err.retryAfter)
  end)

  it("is not read further than is allowed", function()
    local got = ask("legacy", function()
      return { ("x"):rep(60), ("x"):rep(41) }
    end, { max_message = 100 })
    assert.same({ "the response is larger than 100 bytes", "size" }, { got[2], got[3] })
    got = ask("legacy", function()
      return { ("x"):rep(60), ("x"):rep(40) }
    end, { max_message = 100 })
    assert.equal("protocol", got[3])
  end)

  it("is in a stream of events, of which only messages count", function()
    assert.same({ n = 1 }, ask("legacy", function(message)
      return events(": hello\n\n", "data:\n\n", event("{", "event: other\n"), event(result({ id = 999 })),
        event(result(message)):sub(1, 20), event(result(message)):sub(21), event("{"))
    end))
    assert.equal(reply.LINGER, streams[1].lingers)
    assert.is_nil(streams[1].closed)
    assert.same({ "debug s: an answer without a waiting request" }, { logged[#logged] })
  end)

  it("has its timeout restarted by each report of progress, up to the longest", function()
    local seen = {}
    local function reports(count)
      return function(message)
        local pieces = {}
        for i = 1, count do
          pieces[#pieces + 1] = 400
          pieces[#pieces + 1] = event({ jsonrpc = "2.0", method = "notifications/progress",
            params = { progressToken = message.id, progress = i } })
        end
        pieces[#pieces + 1] = event(result(message))
        return events(compat.unpack(pieces))
      end
    end
    local on_progress = { on_progress = function(report)
      seen[#seen + 1] = report.progress
    end }
    assert.same({ n = 1 }, ask("legacy", reports(3), { max_timeout = 5000 }, on_progress))
    assert.same({ 1, 2, 3 }, seen)
    assert.equal("TIMEOUT", ask("legacy", reports(20), { max_timeout = 2000 }, on_progress)[1])
    assert.equal("TIMEOUT", ask("legacy", function(message)
      return events(501, event(result(message)))
    end)[1])
    assert.same({ n = 1 }, ask("legacy", reports(3), { max_timeout = 5000 }))
  end)

  it("is lost where its stream ends, unless it can be resumed", function()
    for _, case in ipairs({ { "modern", "id: 1\ndata:\n\n" }, { "legacy", "data: \n\n" }, { "legacy" } }) do
      local got = ask(case[1], function()
        return events(case[2])
      end)
      assert.same({ "EXECUTION_ERROR", "x: the stream ended without the answer", "lost" }, { got[1], got[2], got[3] })
    end
    local got = ask("legacy", function()
      return events(errors.new("EXECUTION_ERROR", "reset", { kind = "closed" }))
    end)
    assert.equal("x: the stream ended without the answer: reset", got[2])
    got = ask("legacy", function()
      return events("id: 1\ndata: {}\n\n", "data: " .. ("x"):rep(400))
    end, { max_message = 300 })
    assert.equal("lost", got[3])
    assert.is_true(streams[1].closed)
  end)

  it("is asked for again after the last event, at the server's pace", function()
    local gets = {}
    function script.GET(_, request)
      gets[#gets + 1] = request
      if #gets == 1 then
        return events("id: e2\ndata: {}\n\n")
      elseif #gets == 2 then
        return nil, errors.new("EXECUTION_ERROR", "unreachable", { kind = "connect" })
      end
      return events(event(result({ id = script.id })))
    end
    local got = ask("legacy", function(message)
      script.id = message.id
      return events("retry: 100\nid: e1\ndata: {}\n\n")
    end, { timeout = 5000 })
    assert.same({ n = 1 }, got)
    local ids, times = {}, {}
    for i, request in ipairs(gets) do
      ids[i], times[i] = request.headers["Last-Event-ID"], request.at - gets[1].at
    end
    assert.same({ "e1", "e2", "e2" }, ids)
    assert.same({ 0, 100, 300 }, times) -- the pause doubles where nothing came
    assert.equal("text/event-stream", gets[1].headers.Accept)
    assert.equal(100, gets[1].at - requests[1].at)
  end)

  it("is lost where it cannot be resumed, or that fails too often", function()
    local count = 0
    function script.GET()
      count = count + 1
      return script.again
    end
    local function broken()
      return events("retry: 50\nid: e1\ndata: {}\n\n")
    end
    script.again = { status = 405 }
    local got = ask("legacy", broken, { timeout = 1000000, max_timeout = 1000000 })
    assert.same({ "lost", 1 }, { got[3], count })
    assert.matches("^x: the stream ended without the answer: GET http://a.test/mcp: status 405", got[2])
    count, script.again = 0, events()
    got = ask("legacy", broken, { timeout = 1000000, max_timeout = 1000000 })
    assert.same({ "lost", limits.reconnects }, { got[3], count })
    count, script.again = 0, events(errors.new("EXECUTION_ERROR", "reset", { kind = "closed" }))
    got = ask("legacy", broken, { timeout = 200 })
    assert.same({ "TIMEOUT", 2 }, { got[1], count })
  end)

  -- Answers in session s2 only; s1 is over.
  local function answer_of_s2(message, request)
    if request.headers["Mcp-Session-Id"] == "s1" then
      script.session = "s2"
      return { status = 404 }
    end
    return json_answer(result(message))
  end

  -- The forms in which servers answer 400 to the id of a session that they have forgotten.
  for name, body in pairs({
    ["an error without an id"] = '{"jsonrpc":"2.0","id":null,"error":{"code":-32000,"message":"No valid session ID"}}',
    ["an error of another id"] = '{"jsonrpc":"2.0","id":"server-error","error":{"code":-32600,"message":"Session?"}}',
    ["a text"] = "Invalid or missing session ID",
  }) do
    it("ends the session with status 400 and " .. name .. ", and the next request begins another one", function()
      script.session = "s1"
      function script.x(message, request)
        if request.headers["Mcp-Session-Id"] == "s1" then
          script.session = "s2"
          return json_answer(body, { status = 400 })
        end
        return json_answer(result(message))
      end
      local states = {}
      with("legacy", nil, function(client)
        client:on_state(function(state)
          states[#states + 1] = state
        end)
        assert.same({ n = 1 }, client:request("x"))
        assert.same({ "lost", "connecting", "connected" }, states)
      end)
      assert.equal("s2", requests[#requests].headers["Mcp-Session-Id"])
    end)
  end

  it("is a refusal with status 400 where another session is refused, too", function()
    script.session = "s1"
    local count = 0
    function script.x()
      count = count + 1
      return json_answer("we do not like this", { status = 400 })
    end
    with("legacy", nil, function(client)
      local _, err = client:request("x")
      assert.same({ "HTTP_400", 2 }, { err.code, count })
      assert.matches("we do not like this", err.message)
      function script.x(message)
        count = count + 1
        return json_answer(('{"jsonrpc":"2.0","id":%d,"error":{"code":-32602,"message":"n?"}}'):format(message.id),
          { status = 400 })
      end
      assert.equal("MCP_-32602", select(2, client:request("x")).code)
      assert.equal(3, count)
    end)
  end)

  it("is asked for in another session when the server's stream is refused with the old one", function()
    script.session = "s1"
    local initialized = 0
    function script.GET(_, request)
      if request.headers["Mcp-Session-Id"] == "s1" and script.session == "s1" then
        script.session = "s2" -- it was started again
        return events(20, event({ jsonrpc = "2.0", method = "notifications/x" }))
      end
      return request.headers["Mcp-Session-Id"] == "s1" and { status = 400 } or { status = 405 }
    end
    with("legacy", { stream = true }, function(client)
      operations.sleep(30)
      assert.equal("connected", client.state)
    end)
    for _, request in ipairs(requests) do
      initialized = initialized + (request.message and request.message.method == "initialize" and 1 or 0)
    end
    assert.equal(2, initialized)
    assert.equal("s2", requests[#requests].headers["Mcp-Session-Id"])
  end)

  it("ends the session with status 404, and the next request begins another one", function()
    local initialized = 0
    script.session = "s1"
    script.x = answer_of_s2
    with("legacy", nil, function(client)
      assert.same({ n = 1 }, client:request("x"))
      for _, request in ipairs(requests) do
        initialized = initialized + (request.message.method == "initialize" and 1 or 0)
      end
      assert.equal(1, initialized)
      assert.is_true(streams[1].closed)
    end)
    assert.equal("DELETE", requests[#requests].method)
    assert.equal("s2", requests[#requests].headers["Mcp-Session-Id"])
    script.session = nil
    local got = ask("legacy", function()
      return { status = 404 }
    end)
    assert.equal("HTTP_404", got[1])
    assert.equal("POST", requests[#requests].method) -- no session, nothing to end
  end)

  it("belongs to requests with the headers of the protocol", function()
    script.session = "s1"
    ask("legacy", function(message) return json_answer(result(message)) end)
    assert.same({ Accept = "application/json, text/event-stream", ["Content-Type"] = "application/json",
      ["Mcp-Session-Id"] = "s1", ["MCP-Protocol-Version"] = "2025-11-25" }, requests[1].headers)
    ask("modern", function(message) return json_answer(result(message)) end)
    assert.same({ Accept = "application/json, text/event-stream", ["Content-Type"] = "application/json",
      ["MCP-Protocol-Version"] = "2026-07-28", ["Mcp-Method"] = "x" }, requests[1].headers)
    assert.equal(1, #requests)
  end)

  it("is cancelled in the legacy era when its caller has gone", function()
    for era, count in pairs({ legacy = 2, modern = 1 }) do
      function script.x()
        return events(60000)
      end
      with(era, nil, function(client)
        client:request("x")
        operations.sleep(0.01)
        assert.equal(count, #requests)
      end)
    end
  end)

  it("has messages of the server before it, whose answers are posted", function()
    with("legacy", { sampling = function() return { n = 7 } end }, function(client)
      function script.x(message)
        return events(event({ jsonrpc = "2.0", id = "q", method = "sampling/createMessage" }), 10,
          event(result(message)))
      end
      assert.same({ n = 1 }, client:request("x"))
      assert.same({ jsonrpc = "2.0", id = "q", result = { n = 7 } }, requests[2].message)
      function script.POST()
        return { status = 500 }
      end
      assert.same({ n = 1 }, client:request("x"))
      operations.sleep(0.1)
      assert.equal("debug s: an answer was not delivered: POST http://a.test/mcp: status 500", logged[#logged])
    end)
  end)

  it("is not waited for after the end", function()
    with("legacy", nil, function(client)
      client:close()
      local value, err = client:request("x")
      assert.is_nil(value)
      assert.same({ "ABORTED", false, 0 }, { err.code, err.mayHaveRun, #requests })
    end)
  end)

  it("cannot be asked for with a value that JSON cannot hold", function()
    with("legacy", nil, function(client)
      local value, err = client:request("x", { f = print })
      assert.is_nil(value)
      assert.same({ "VALIDATION_ERROR", 0 }, { err.code, #requests })
    end)
  end)

  -- The stream for messages of a legacy server.

  it("is beside a stream for the server's messages, which is opened again when it ends", function()
    local gets, seen, times = {}, {}, {}
    function script.GET(_, request)
      times[#times + 1] = request.at - (times.first or request.at)
      times.first = times.first or request.at
      gets[#gets + 1] = request.headers["Last-Event-ID"] or "none"
      if #gets < 3 then
        return events(20, event({ jsonrpc = "2.0", method = "notifications/x", params = { n = #gets } },
          ("retry: 100\nid: g%d\n"):format(#gets)), event("{", "event: other\n"))
      end
      return { status = 405 }
    end
    with("legacy", { stream = true }, function(client)
      client:on_notification(function(_, params)
        seen[#seen + 1] = params.n
      end)
      operations.sleep(60)
    end)
    assert.same({ "none", "g1", "g2" }, gets)
    assert.same({ 0, 120, 240 }, { times[1], times[2], times[3] })
    for _, stream in ipairs(streams) do
      assert.is_true(stream.closed or stream.headers["content-type"] ~= "text/event-stream")
    end
    assert.same({ 1, 2 }, seen)
    assert.same({ "warn s: the server declares no capabilities, so it is not asked for tools" }, logged)
  end)

  it("is beside such a stream, which is read until the connection is closed or the server's session is over", function()
    for _, ends in ipairs({ "connection", "session" }) do
      local gets, seen = {}, {}
      script.session = "s1"
      local function note(n)
        return event({ jsonrpc = "2.0", method = "notifications/x", params = { n = n } })
      end
      function script.GET(_, request)
        gets[#gets + 1] = request.headers["Mcp-Session-Id"]
        return gets[2] and { status = 405 } or events(10, note(1) .. note(2), 20, note(3) .. note(4), 60000)
      end
      script.x = answer_of_s2
      function script.initialize(message) -- slow: events come meanwhile
        operations.sleep(0.05)
        return json_answer(result(message, { protocolVersion = message.params.protocolVersion,
          capabilities = operations.object() }), { headers = { ["content-type"] = "application/json",
          ["mcp-session-id"] = script.session } })
      end
      with("legacy", { stream = true }, function(client)
        client:on_notification(function(_, params)
          seen[#seen + 1] = params.n
          if params.n == 3 and ends == "connection" then
            client:close()
          end
        end)
        operations.sleep(0.02)
        if ends == "session" then
          assert(client:request("x"))
        end
        operations.sleep(10)
      end)
      assert.same({ 1, 2, 3 }, seen)
      assert.same({ "s1", ends == "session" and "s2" or nil }, gets)
    end
  end)

  it("is beside such a stream until that fails too often", function()
    local count, times = 0, {}
    function script.GET(_, request)
      count = count + 1
      times[count] = request.at - (times[0] or request.at)
      times[0] = times[0] or request.at
      return { status = 500 }
    end
    with("legacy", { stream = true }, function()
      operations.sleep(7200)
    end)
    assert.equal(limits.reconnects, count)
    assert.same({ 0, 1000, 3000, 7000 }, { times[1], times[2], times[3], times[4] })
    count = 0
    function script.GET()
      count = count + 1
      return count == 1 and events(event("{")) or { status = 500 }
    end
    with("legacy", { stream = true }, function()
      operations.sleep(7200)
    end)
    assert.equal(1 + limits.reconnects, count) -- the first one is no failure
    count = 0
    function script.GET()
      count = count + 1
      return { status = 499 }
    end
    with("legacy", { stream = true }, function()
      operations.sleep(7200)
    end)
    assert.equal(1, count)
    for _, more in ipairs({ { stream = false } }) do
      count = 0
      with("legacy", more, function()
        operations.sleep(10)
      end)
      assert.equal(0, count)
    end
  end)

  it("comes after that stream is open, where the program answers questions, or after a second", function()
    for _, case in ipairs({ { 300, true, 300 }, { 3000, true, 1000 }, { 300, false, 0 } }) do
      function script.GET()
        operations.sleep(case[1] / 1000)
        return events(60000)
      end
      local began = host.now()
      with("legacy", { stream = true, roots = case[2] and {} or nil }, function()
        assert.equal(case[3], host.now() - began)
      end)
    end
  end)

  it("leaves no stream open after the end", function()
    function script.GET()
      return events(60000000)
    end
    local before = host.timers
    with("legacy", { stream = true }, function()
      operations.sleep(1)
    end)
    assert.equal(before, host.timers)
  end)
end)

describe("the connection of an answer that is a stream of events", function()
  it("serves the next request where the stream ends soon after its answer", function()
    local ports, count, ends = {}, 0, 0
    local opened = assert(listener.listen({ port = 0 }, function(request)
      local text = ""
      for piece in type(request.body) == "function" and request.body or function() end do
        text = text .. piece
      end
      local message = json.decode(type(request.body) == "string" and request.body or text)
      if not ports[request.peer.port] then
        ports[request.peer.port], count = true, count + 1
      end
      local pieces = { "data: " .. json.encode({ jsonrpc = "2.0", id = message.id,
        result = { tools = operations.array() } }) .. "\n\n",
        ": the end\n\n" }
      return { status = 200, headers = { ["content-type"] = "text/event-stream" }, body = function()
        if #pieces == 1 then
          operations.sleep(0.01)
        end
        ends = ends + (#pieces == 0 and 1 or 0)
        return table.remove(pieces, 1)
      end }
    end))
    operations.run(function()
      local client = assert(operations.from_mcp.connect("s", { url = ("http://127.0.0.1:%d/mcp"):format(opened.port),
        version = "2026-07-28", stream = false }))
      for request = 1, 10 do
        eventually(function()
          return ends == request -- the stream of the request before
        end)
        assert(client:request("x"))
      end
      client:close()
    end)
    opened:close()
    assert.is_true(count < 5) -- most of eleven requests
  end)
end)
