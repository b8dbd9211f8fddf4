local event_stream = require("operations.server.event_stream")
local http_request = require("spec.support.http_request")
local operations = require("operations")

local send = http_request.send

local function silent() end

local function serve(handler, options)
  local registry = operations.registry({ log = silent })
  assert(registry:register({ namespace = "task", name = "watch", type = "subscription", handler = handler }))
  options = options or {}
  options.log = options.log or silent
  return assert(operations.to_http(registry, options)), registry
end

local LINES = { accept = "application/x-ndjson" }

describe("a stream", function()
  it("is chosen by Accept", function()
    for accept, media in pairs({ [""] = "text/event-stream", ["*/*"] = "text/event-stream",
      ["text/event-stream"] = "text/event-stream", ["application/jsonl"] = "application/jsonl",
      ["text/html, application/x-ndjson;q=0.5"] = "application/x-ndjson",
      ["text/event-stream;q=0.1, application/x-ndjson"] = "application/x-ndjson",
      ["TEXT/Event-Stream; charset=utf-8"] = "text/event-stream" }) do
      assert.equal(media, event_stream.choose(accept), accept)
    end
    assert.equal("text/event-stream", event_stream.choose(nil))
    assert.is_nil(event_stream.choose("text/html"))
    assert.is_nil(event_stream.choose("text/event-stream;q=0"))
  end)

  it("is one event for each value, with the handler's ids, and says that it ended", function()
    local server = serve(function(_, context)
      context.emit({ a = "x\ny" }, { id = "e1" })
      context.emit(operations.null)
      context.emit("two\nlines", { id = "e2" })
    end)
    local answer = send(server, "GET", "/task/watch")
    assert.equal(200, answer.status)
    assert.same({ "text/event-stream", "no-store", "no" }, { answer.headers["content-type"],
      answer.headers["cache-control"], answer.headers["x-accel-buffering"] })
    assert.equal('retry: 2000\n\nid: e1\ndata: {"a":"x\\ny"}\n\ndata: null\n\nid: e2\ndata: "two\\nlines"\n\n' ..
      "event: end\ndata: {}\n\n", answer.text)
  end)

  it("is one line for each value of JSON lines", function()
    local server = serve(function(_, context)
      context.emit({ a = 1 })
      context.emit("x\ny")
    end)
    assert.equal('{"a":1}\n"x\\ny"\n', send(server, "GET", "/task/watch", LINES).text)
  end)

  it("tells a failure as its last event", function()
    local server = serve(function(_, context)
      context.emit(1)
      error(operations.error("TIMEOUT", "too slow"))
    end)
    local events = send(server, "GET", "/task/watch").text
    local problem = operations.json.decode(events:match("event: problem\ndata: ([^\n]+)\n\n$"))
    assert.same({ 504, "TIMEOUT", "too slow" }, { problem.status, problem.code, problem.detail })
    assert.is_nil(events:find("event: end", 1, true))
    local last = send(server, "GET", "/task/watch", LINES).text:match("1\n(.*)\n$")
    assert.equal("TIMEOUT", operations.json.decode(last).error.code)
  end)

  it("tells a failure whatever bytes describe it, and is over then", function()
    local server = serve(function(_, context)
      context.emit(1)
      error(operations.error("BUSY", "no \255"))
    end)
    assert.matches('event: problem\ndata: {"code":"BUSY","detail":"no %?"', send(server, "GET", "/task/watch").text)
    assert.equal(0, server.running)
  end)

  it("is over when its failure cannot be logged", function()
    local server = serve(function(_, context)
      context.emit(1)
      error("failed")
    end, { log = function() error("no log") end })
    assert.has_error(function() send(server, "GET", "/task/watch") end)
    assert.equal(0, server.running)
  end)

  it("ends with a problem at a value that JSON cannot say", function()
    local server = serve(function(_, context)
      context.emit(print)
    end)
    assert.matches('event: problem\ndata: {"code":"EXECUTION_ERROR"', send(server, "GET", "/task/watch").text, 1, true)
  end)

  it("has the status of its failure while nothing was sent", function()
    local registry = operations.registry()
    assert(registry:register({ namespace = "task", name = "watch", type = "subscription", handler = silent,
      inputSchema = operations.type.object({ n = operations.type.integer() }),
      accessControl = { requiredScopes = { "x" } } }))
    local server = assert(operations.to_http(registry, { log = silent, authorize = function(request)
      return { id = "ada", scopes = { request.token } }
    end }))
    assert.equal(403, send(server, "GET", "/task/watch?n=1").status)
    assert.equal(422, send(server, "GET", "/task/watch", { authorization = "Bearer x" }).status)
  end)

  it("continues from the last event that its reader saw", function()
    local seen = {}
    local server = serve(function(input, context)
      seen[#seen + 1] = tostring(context.lastEventId) .. " " .. operations.json.encode(input)
    end)
    send(server, "GET", "/task/watch", { ["last-event-id"] = "e7" })
    send(server, "GET", "/task/watch?lastEventId=e+8&n=1")
    send(server, "GET", "/task/watch")
    assert.same({ 'e7 {}', 'e 8 {"n":"1"}', "nil {}" }, seen)
  end)

  it("keeps the names and ids of events that another server sent, but for the names that end a stream", function()
    local server = serve(function(_, context)
      for _, name in ipairs({ "price", "end", "problem", "end\0", "\rproblem", "a\nb" }) do
        context.emit(operations.http_envelope(1, { statusCode = 200, headers = {}, event = name, lastEventId = "7" }))
      end
    end)
    assert.equal("retry: 2000\n\nevent: price\nid: 7\ndata: 1\n\n" .. ("id: 7\ndata: 1\n\n"):rep(4) ..
      "event: ab\nid: 7\ndata: 1\n\nevent: end\ndata: {}\n\n", send(server, "GET", "/task/watch").text)
  end)

  it("runs the handler's cleanup once when its reader leaves", function()
    local cleaned, left = 0, {}
    local server = serve(function(_, context)
      context.defer(function()
        cleaned = cleaned + 1
      end)
      while true do
        context.emit(1)
      end
    end)
    local response = server:handle({ method = "GET", target = "/task/watch", headers = {}, left = function(fn)
      left[#left + 1] = fn
    end })
    response.body()
    assert.equal("data: 1\n\n", response.body())
    assert.equal(1, server.running)
    for _, fn in ipairs(left) do
      fn()
    end
    assert.same({ 1, 0 }, { cleaned, server.running })
    assert.is_nil(response.body())
    assert.equal(1, cleaned)
  end)

  it("ends when the server is drained, and says so", function()
    local server = serve(function(_, context)
      while true do
        context.emit(1)
      end
    end)
    local response = server:handle({ method = "GET", target = "/task/watch", headers = {} })
    response.body()
    response.body()
    operations.run(function()
      local drained = operations.spawn(server.drain, server)
      operations.sleep(0)
      assert.equal('event: end\ndata: {"reason":"draining"}\n\n', response.body())
      assert.is_nil(response.body())
      assert.is_true(drained:wait())
    end)
    assert.equal(503, send(server, "GET", "/task/watch").status)
  end)
end)
