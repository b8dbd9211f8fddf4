local operations = require("operations")
local support = require("spec.support.openapi")

local function stream_of(media, schema, key)
  return { ["200"] = { content = { [media] = { [key or "schema"] = schema } } } }
end

local function reply(chunks, media, status)
  return { status = status or 200, headers = { ["content-type"] = media or "text/event-stream" }, chunks = chunks }
end

--- Subscribes and collects: the envelopes, the error that ended them, the API.
local function collect(responses, answer, config)
  local api = support.api(support.one({ responses = responses }), config, answer)
  local envelopes, deferred = {}, {}
  local context = {
    emit = function(envelope)
      envelopes[#envelopes + 1] = envelope
    end,
    defer = function(fn)
      deferred[#deferred + 1] = fn
    end,
  }
  local ok, _, err = pcall(api.definitions[1].handler, {}, context)
  for _, fn in ipairs(deferred) do
    fn()
  end
  return envelopes, ok and err or _, api
end

local object = { type = "object" }

describe("an operation that answers with a stream", function()
  it("resumes after the event that its caller names", function()
    local api = support.api(support.one({ responses = stream_of("text/event-stream", object) }), nil,
      reply({ "id: 8\ndata: {}\n\n" }))
    api.definitions[1].handler({}, { lastEventId = "7", emit = function() end, defer = function() end })
    assert.equal("7", api.requests[1].headers["Last-Event-ID"])
  end)

  for media, schema in pairs({
    ["text/event-stream"] = object, ["application/x-ndjson"] = object, ["application/jsonl"] = object,
    ["application/json-seq"] = object,
  }) do
    it("is a subscription: " .. media, function()
      local api = support.api(support.one({ responses = stream_of(media, schema) }))
      assert.equal(1, #api.definitions)
      assert.equal("subscription", api.definitions[1].type)
      assert.same(object, api.definitions[1].outputSchema)
    end)
  end

  for media, chunks in pairs({
    ["text/event-stream"] = { 'data: {"a":NaN}\n\n', 'data: {"a":"\255"}\n\ndata: "{}"\n\ndata: {\n\n' },
    ["application/x-ndjson"] = { '{"a":NaN}\n{"a":"\255"', '}\n"{}"\n\n{' },
    ["application/json-seq"] = { '\30{"a":NaN}\n\30{"a":"\255"}\n', '\30"{}"\n\30{' },
  }) do
    it("has items that are almost JSON read by option, those that are not as text: " .. media, function()
      local told, got = {}, {}
      local registry = operations.registry({ on_warning = function(warning)
        told[#told + 1] = warning.issues[1].message
      end })
      local api = support.api(support.one({ responses = stream_of(media, object) }),
        { lenient = true, namespace = "api", normalize = "off" }, reply(chunks, media))
      local id = assert(registry:register(api.definitions[1]))
      for envelope in assert(registry:subscribe(id, {})) do
        got[#got + 1] = operations.json.encode(envelope.data)
      end
      assert.same({ '{"a":null}', '{"a":"\239\191\189"}', '"{}"', '"{"' }, got)
      assert.matches("^it is not JSON, and was read with U%+FFFD and null: ", told[1])
    end)
  end

  it("or with a value makes two operations, each with its own Accept", function()
    local responses = { ["200"] = { content = {
      ["application/json"] = { schema = object }, ["text/event-stream"] = { schema = { type = "array" } },
    } } }
    local api = support.api(support.one({ responses = responses }, { method = "post" }), nil, reply({}))
    local value, stream = api.by_name.op, api.by_name.op_stream
    assert.equal("mutation", value.type)
    assert.same(object, value.outputSchema)
    assert.equal("subscription", stream.type)
    assert.same({ type = "array" }, stream.outputSchema)
    value.handler({})
    stream.handler({}, { emit = function() end, defer = function() end })
    assert.equal("application/json", api.requests[1].headers.Accept)
    assert.equal("text/event-stream", api.requests[2].headers.Accept)
  end)
end)

describe("an event", function()
  it("is an HTTP envelope with its event, id and retry", function()
    local envelopes = collect(stream_of("text/event-stream", object),
      reply({ "retry: 500\nid: 7\nevent: tick\ndata: {\"n\":1}\n\n" }))
    assert.equal(1, #envelopes)
    assert.is_true(operations.is_response_envelope(envelopes[1]))
    assert.same({ n = 1 }, envelopes[1].data)
    assert.equal("tick", envelopes[1].meta.event)
    assert.equal("7", envelopes[1].meta.lastEventId)
    assert.equal(500, envelopes[1].meta.retry)
    assert.equal(200, envelopes[1].meta.statusCode)
    assert.equal("text/event-stream", envelopes[1].meta.contentType)
  end)

  it("is told before the next bytes are read", function()
    local told
    local answer = reply({ "data: 1\n\ndata: ", "2\n\n" })
    local api = support.api(support.one({ responses = stream_of("text/event-stream", object) }), nil, answer)
    local co = coroutine.create(api.definitions[1].handler)
    local context = { emit = coroutine.yield, defer = function() end }
    told = select(2, coroutine.resume(co, {}, context))
    assert.equal(1, told.data)
    told = select(2, coroutine.resume(co))
    assert.equal(2, told.data)
    assert.is_true((coroutine.resume(co)))
    assert.equal("dead", coroutine.status(co))
  end)

  for text, expected in pairs({ ["false"] = false, ["null"] = operations.null, ['""'] = "", ["[1]"] = { 1 } }) do
    it("keeps the JSON value " .. text, function()
      local envelopes = collect(stream_of("text/event-stream", object), reply({ "data: " .. text .. "\n\n" }))
      assert.same(expected, envelopes[1].data)
    end)
  end

  it("that should be JSON and is not stays a string", function()
    local envelopes = collect(stream_of("text/event-stream", object), reply({ "data: [DONE]\n\n" }))
    assert.equal("[DONE]", envelopes[1].data)
  end)

  for name, schema in pairs({
    ["says that it is a string"] = { type = "string" }, ["is missing"] = false,
    ["has the string as its one type"] = { type = operations.array({ "string" }) },
  }) do
    it("is text when its schema " .. name, function()
      local envelopes = collect(stream_of("text/event-stream", schema or nil), reply({ "data: 12\n\n" }))
      assert.equal("12", envelopes[1].data)
    end)
  end

  it("is JSON when its schema has other types as well", function()
    for _, types in ipairs({ { "string", "integer" }, { "integer" } }) do
      local responses = stream_of("text/event-stream", { type = operations.array(types) })
      assert.equal(12, collect(responses, reply({ "data: 12\n\n" }))[1].data)
    end
  end)

  it("is the JSON that contentSchema describes", function()
    local schema = { type = "string", contentMediaType = "application/json", contentSchema = object }
    local responses = stream_of("text/event-stream", schema)
    local envelopes, _, api = collect(responses, reply({ "data: {}\n\n" }))
    assert.same({}, envelopes[1].data)
    assert.same(object, api.definitions[1].outputSchema)
  end)

  it("is the data of an itemSchema (3.2)", function()
    local item = { type = "object", properties = {
      event = { type = "string" },
      data = { type = "string", contentMediaType = "application/json", contentSchema = object },
    } }
    local envelopes, _, api = collect(stream_of("text/event-stream", item, "itemSchema"), reply({ "data: {}\n\n" }))
    assert.same({}, envelopes[1].data)
    assert.same(object, api.definitions[1].outputSchema)
  end)

  it("with no data lines is left out, and one that is cut off is dropped", function()
    assert.same({}, (collect(stream_of("text/event-stream", object), reply({ ": hi\n\nid: 1\n\ndata: 1" }))))
  end)
end)

describe("a line of a stream", function()
  it("is a JSON value, wherever the pieces are cut", function()
    local text = '{"n":1}\n\n[2]\r\n"three"\n4'
    local pieces = {}
    for i = 1, #text do
      pieces[i] = text:sub(i, i)
    end
    for _, media in ipairs({ "application/x-ndjson", "application/stream+json;charset=UTF-8" }) do
      for _, chunks in ipairs({ { text }, pieces }) do
        local responses, data = stream_of(media, object), {}
        for i, envelope in ipairs((collect(responses, reply(chunks, media)))) do
          data[i] = envelope.data
        end
        assert.same({ { n = 1 }, { 2 }, "three", 4 }, data)
      end
    end
  end)

  it("may follow a record separator", function()
    local envelopes = collect(stream_of("application/json-seq", object),
      reply({ "\30{\"n\":1}\n\30{\"n\":2}\n" }, "application/json-seq"))
    assert.same({ n = 2 }, envelopes[2].data)
  end)

  it("may be a record over many lines, told as soon as it is whole", function()
    local text = '\30{\n "n": 1\n}\n\30{"n":\n2}\n\0303\n'
    for at = 0, #text do
      local data = {}
      local envelopes = collect(stream_of("application/json-seq", object),
        reply({ text:sub(1, at), text:sub(at + 1) }, "application/json-seq"))
      for i, envelope in ipairs(envelopes) do
        data[i] = envelope.data
      end
      assert.same({ { n = 1 }, { n = 2 }, 3 }, data)
    end
  end)

  it("that says it is the last ends the stream", function()
    for _, media in ipairs({ "application/x-ndjson", "text/event-stream" }) do
      local chunk = media == "text/event-stream" and "data: 1\n\ndata: [DONE]\n\ndata: 2\n\n" or "1\n[DONE]\n2\n"
      local envelopes, err = collect(stream_of(media, object), reply({ chunk }, media), { done = "[DONE]" })
      assert.is_nil(err)
      assert.equal(1, #envelopes)
      assert.equal(1, envelopes[1].data)
    end
    assert.same({}, (collect(stream_of("application/x-ndjson", object), reply({ "[DONE]" }, "application/x-ndjson"),
      { done = "[DONE]" })))
  end)

  it("must not grow without a limit", function()
    local _, err = collect(stream_of("application/x-ndjson", object),
      reply({ "123456", "7890" }, "application/x-ndjson"), { max_event = 8 })
    assert.equal("EXECUTION_ERROR", err.code)
    assert.equal("size", err.details.kind)
  end)
end)

describe("a stream", function()
  local responses = stream_of("text/event-stream", object)

  it("is closed when the subscription ends", function()
    local _, _, api = collect(responses, reply({ "data: 1\n\n" }))
    assert.equal(1, api.closed)
  end)

  it("is closed when the subscriber fails", function()
    local api = support.api(support.one({ responses = responses }), nil, reply({ "data: 1\n\n" }))
    local cleanup
    local context = { emit = error, defer = function(fn)
      cleanup = fn
    end }
    assert.is_false((pcall(api.definitions[1].handler, {}, context)))
    assert.equal(0, api.closed)
    cleanup()
    assert.equal(1, api.closed)
  end)

  it("that fails raises the client's error, after the events that came", function()
    local failure = operations.error("EXECUTION_ERROR", "reset", { kind = "reset" })
    local envelopes, err = collect(responses, reply({ "data: 1\n\n", failure }))
    assert.equal(1, #envelopes)
    assert.equal(failure, err)
  end)

  it("that is refused is the error of its status, with its body", function()
    local envelopes, err = collect(responses, reply({ '{"message":', '"no"}' }, "application/json", 401))
    assert.same({}, envelopes)
    assert.equal("HTTP_401", err.code)
    assert.same({ message = "no" }, err.details.body)
  end)

  it("of another type is an error with the body", function()
    local envelopes, err = collect(responses, reply({ '{"error":"x"}' }, "application/json"))
    assert.same({}, envelopes)
    assert.equal("EXECUTION_ERROR", err.code)
    assert.equal('{"error":"x"}', err.details.body)
    assert.matches("application/json", err.message, 1, true)
  end)

  it("of another content type is read as an answer, up to its limit or its end", function()
    local piece, chunks = ("x"):rep(1024 * 1024), {}
    for i = 1, 20 do
      chunks[i] = piece
    end
    local _, err = collect(responses, reply(chunks, "text/plain", 503))
    assert.equal(16 * 1024 * 1024, #err.details.body)
    _, err = collect(responses, reply({ piece, piece, operations.error("EXECUTION_ERROR", "reset") }, "text/plain"))
    assert.equal(2 * 1024 * 1024, #err.details.body)
    _, err = collect(responses, { status = 200, chunks = { "a", "b" } })
    assert.equal("expected a stream, got content type none", err.message)
    assert.equal("ab", err.details.body)
  end)

  it("of another content type is waited for as long as an answer", function()
    local lingered
    local refusal = reply({}, "text/plain", 503)
    function refusal.linger(_, ms)
      lingered = ms
    end
    collect(responses, refusal)
    assert.equal(60000, lingered)
    collect(responses, refusal, { timeout = 5000 })
    assert.equal(5000, lingered)
  end)

  it("tells no credentials in its errors", function()
    for _, answer in ipairs({
      reply({ operations.error("EXECUTION_ERROR", "lost: s3cret", { kind = "reset" }) }),
      reply({ "s3cret" }, "text/plain", 403), reply({ "s3cret" }, "text/plain"),
    }) do
      local _, err = collect(responses, answer, { headers = { ["X-Api-Key"] = "s3cret" } })
      assert.matches("%*%*%*", operations.json.encode({ err.message, err.details }))
      assert.is_nil(operations.json.encode({ err.message, err.details }):find("s3cret", 1, true))
    end
  end)

  it("that cannot be opened is the client's error", function()
    local failure = operations.error("EXECUTION_ERROR", "no route", { kind = "connect" })
    local _, err = collect(responses, function()
      return nil, failure
    end)
    assert.equal(failure, err)
  end)

  it("may come with whatever status says success, as a POST's does", function()
    local created = { ["201"] = { content = { ["text/event-stream"] = { schema = {} } } } }
    local envelopes, err = collect(created, reply({ "data: 1\n\n" }, nil, 201))
    assert.is_nil(err)
    assert.equal(201, envelopes[1].meta.statusCode)
  end)

  it("ends at once with status 204", function()
    local envelopes, err = collect(responses, reply({}, nil, 204))
    assert.same({}, envelopes)
    assert.is_nil(err)
  end)

  it("has no total time, and the configured one until the first byte", function()
    local _, _, api = collect(responses, reply({}), { timeout = 5 })
    assert.is_nil(api.requests[1].timeout)
    assert.equal(5, api.requests[1].first_byte_timeout)
  end)

  it("refuses input that cannot be sent before anything is opened", function()
    local api = support.api(support.one({ responses = responses }), nil, reply({}))
    local _, err = api.definitions[1].handler({ nope = 1 }, {})
    assert.equal("VALIDATION_ERROR", err.code)
    assert.same({}, api.requests)
  end)
end)

describe("a stream that is opened again", function()
  local responses = stream_of("text/event-stream", object)
  local reset = operations.error("EXECUTION_ERROR", "reset", { kind = "reset" })
  reset.retryable = true

  -- Answers with one reply after the other; tells the data of all events, the error and the requests.
  local function follow(replies, policy, config)
    local i = 0
    config = config or {}
    config.reconnect = policy or { delay = 0 }
    local envelopes, err, api = collect(responses, function()
      i = i + 1
      local answer = replies[i] or reply({}, nil, 204)
      if operations.is_error(answer) then
        return nil, answer
      end
      return answer
    end, config)
    local data = {}
    for n, envelope in ipairs(envelopes) do
      data[n] = envelope.data
    end
    return data, err, api.requests, envelopes
  end

  it("is so only when asked for", function()
    local _, _, api = collect(responses, reply({ "data: 1\n\n" }))
    assert.equal(1, #api.requests)
  end)

  it("continues after an end, a lost and a refused connection, until 204", function()
    local data, err, requests = follow({
      reply({ "data: 1\n\n" }), reply({ "data: 2\n\n", reset }), reset, reply({ "data: 3\n\n" }),
    })
    assert.same({ 1, 2, 3 }, data)
    assert.is_nil(err)
    assert.equal(5, #requests)
  end)

  it("names the last event id that was committed", function()
    local _, _, requests, envelopes = follow({
      reply({ "id: 1\ndata: 1\n\nid: 2\ndata: cut" }), reply({ "data: 3\n\nid\ndata: 4\n\n" }), reply({}),
    })
    assert.is_nil(requests[1].headers["Last-Event-ID"])
    assert.equal("1", requests[2].headers["Last-Event-ID"])
    assert.is_nil(requests[3].headers["Last-Event-ID"])
    assert.equal("1", envelopes[2].meta.lastEventId)
  end)

  for _, status in ipairs({ 400, 401, 403, 404, 410, 501 }) do
    it("ends with the error of status " .. status, function()
      local _, err, requests = follow({ reply({ "data: 1\n\n" }), reply({ "no" }, "text/plain", status) })
      assert.equal("HTTP_" .. status, err.code)
      assert.equal("no", err.details.body)
      assert.equal(2, #requests)
    end)
  end

  for _, status in ipairs({ 429, 500, 502, 503, 504 }) do
    it("continues after status " .. status, function()
      local data, err = follow({ reply({}, nil, status), reply({ "data: 1\n\n" }) })
      assert.same({ 1 }, data)
      assert.is_nil(err)
    end)
  end

  it("ends with an answer that is not a stream", function()
    local _, err, requests = follow({ reply({ '{"error":"x"}' }, "application/json") })
    assert.equal("response", err.details.kind)
    assert.equal(1, #requests)
  end)

  it("gives up after so many attempts without an event", function()
    local replies = {}
    for i = 1, 50 do
      replies[i] = reset
    end
    local _, err, requests = follow(replies, { delay = 0, attempts = 3 })
    assert.equal(reset, err)
    assert.equal(4, #requests)
    replies[4] = reply({ "data: 1\n\n", reset })
    _, _, requests = follow(replies, { delay = 0, attempts = 3 })
    assert.equal(4 + 4, #requests)
  end)

  it("is so after an end only where it has events, after a failure in any case", function()
    local lines = stream_of("application/x-ndjson", object)
    local function requests(...)
      local replies, i = { ... }, 0
      local _, _, api = collect(lines, function()
        i = i + 1
        return replies[i] or reply({}, nil, 204)
      end, { reconnect = { delay = 0 } })
      return #api.requests
    end
    assert.equal(1, requests(reply({ "1\n" }, "application/x-ndjson")))
    assert.equal(2, requests(reply({ "1\n", reset }, "application/x-ndjson"),
      reply({ "2\n" }, "application/x-ndjson")))
    assert.equal(2, requests(reply({ "data: 1\n\n" })))
  end)

  it("is not by its requests' own attempts", function()
    local retry = { attempts = 2 }
    local _, _, requests = follow({}, nil, { retry = retry })
    assert.is_nil(requests[1].retry)
    local _, _, api = collect(responses, reply({}, nil, 204), { retry = retry })
    assert.is_not_nil(api.requests[1].retry)
  end)

  it("asks for answers that are not stored", function()
    local _, _, requests = follow({})
    assert.equal("no-store", requests[1].headers["Cache-Control"])
    assert.equal("text/event-stream", requests[1].headers.Accept)
  end)

  it("ends when the stream says that it is done", function()
    local data, err, requests = follow({ reply({ "data: 1\n\ndata: [DONE]\n\n" }) }, nil, { done = "[DONE]" })
    assert.same({ 1 }, data)
    assert.is_nil(err)
    assert.equal(1, #requests)
  end)

  it("needs a policy that is one", function()
    for _, policy in ipairs({ { tries = 1 }, { delay = -1 }, { attempts = "2" }, { jitter = 0 / 0 } }) do
      assert.error_matches(function()
        follow({}, policy)
      end, "config.reconnect")
    end
    local stream = require("operations.openapi.stream")
    local usual = { attempts = 10, delay = 1000, max_delay = 30000, jitter = 0.25 }
    assert.same(usual, stream.reconnect_policy(true))
    assert.same(usual, stream.reconnect_policy({}))
    assert.same({ attempts = 0, delay = 0, max_delay = 0, jitter = 0 },
      stream.reconnect_policy({ attempts = 0, delay = 0, max_delay = 0, jitter = 0 }))
    assert.is_nil(stream.reconnect_policy(false))
    assert.is_nil(stream.reconnect_policy(nil))
  end)
end)

describe("the time until a stream is opened again", function()
  local response = require("operations.openapi.response")
  local stream = require("operations.openapi.stream")
  local policy = stream.reconnect_policy({ delay = 100, max_delay = 500, jitter = 0 })

  it("doubles while nothing comes, up to a cap", function()
    local delays = {}
    for failures = 0, 5 do
      delays[#delays + 1] = stream.delay(policy, {}, failures)
    end
    assert.same({ 100, 100, 200, 400, 500, 500 }, delays)
  end)

  it("is the server's when it names one, and never less", function()
    assert.equal(200, stream.delay(policy, { wait = 200 }, 0))
    assert.equal(9000, stream.delay(policy, { wait = 9000 }, 3))
    local busy = response.failure({ status = 503, headers = { ["retry-after"] = "7" } })
    assert.equal(7000, stream.delay(policy, {}, 1, busy))
  end)

  it("is nil after the last attempt, and after permanent failures", function()
    local last = stream.reconnect_policy({ attempts = 2, delay = 100, jitter = 0 })
    assert.equal(200, stream.delay(last, {}, 2))
    assert.is_nil(stream.delay(last, {}, 3))
    assert.is_nil(stream.delay(last, {}, 1, operations.error("NOT_FOUND", "gone")))
    assert.equal(100, stream.delay(last, {}, 1, response.failure({ status = 500, headers = {} })))
  end)

  it("is five minutes at the most, whatever the server says", function()
    assert.equal(300000, stream.delay(policy, { wait = 2 ^ 53 }, 1))
    local busy = response.failure({ status = 503, headers = { ["retry-after"] = "99999" } })
    assert.equal(300000, stream.delay(policy, {}, 1, busy))
  end)

  it("is a number after however many failures", function()
    local patient = stream.reconnect_policy({ attempts = math.huge, delay = 0, max_delay = 500, jitter = 0 })
    assert.equal(0, stream.delay(patient, {}, 2000))
    assert.equal(500, stream.delay(patient, { wait = 1 }, 2000))
  end)

  it("is made longer by chance, by a quarter at most", function()
    for _ = 1, 100 do
      local delay = stream.delay(stream.reconnect_policy({ delay = 100 }), {}, 0)
      assert.is_true(delay >= 100 and delay <= 125)
    end
  end)
end)
