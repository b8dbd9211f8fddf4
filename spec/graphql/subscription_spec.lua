-- Subscriptions to a GraphQL service, over WebSocket and over server-sent events.
local eventually = require("spec.support.eventually")
local exchange = require("operations.graphql.exchange")
local json = require("operations.base.json")
local operations = require("operations")
local subscription = require("operations.graphql.subscription")
local support = require("spec.support.graphql")

local function open(endpoint, more)
  local registry = operations.registry({ log = function() end })
  registry:register({ namespace = "a", name = "ticks", type = "subscription", handler = function(_, context)
    local request = { type = "subscription", query = "subscription { ticks }", field = "ticks" }
    for name, value in pairs(more or {}) do
      request[name] = value
    end
    return subscription.run(endpoint, request, context)
  end })
  return assert(registry:subscribe("a.ticks"))
end

-- The data of all events, and the error that ended them.
local function all_of(endpoint, more)
  local list, stream = {}, open(endpoint, more)
  while true do
    local envelope, err = stream:next()
    if not envelope then
      return list, err
    end
    list[#list + 1] = envelope.data
  end
end

describe("over WebSocket", function()
  local service, answer

  -- The service's part: acknowledges, then runs `answer`.
  before_each(function()
    service = support.sockets(function(connection, message)
      if message.type == "connection_init" then
        connection.send({ type = "connection_ack" })
      end
      if answer then
        answer(connection, message)
      end
    end)
  end)

  after_each(function()
    service.close()
    answer = nil
  end)

  local function endpoint_of(options)
    local all = { endpoint = service.url }
    for name, value in pairs(options or {}) do
      all[name] = value
    end
    return exchange.new(all)
  end

  local function ticks(connection, from, to)
    for i = from, to do
      connection.send({ id = "1", type = "next", payload = { data = { ticks = i } } })
    end
  end

  it("events are those of one subscription, until it completes", function()
    answer = function(connection, message)
      if message.type == "subscribe" then
        ticks(connection, 1, 2)
        connection.send({ id = "other", type = "next", payload = { data = { ticks = 9 } } })
        connection.send({ id = "1", type = "complete" })
      end
    end
    local list, err = all_of(endpoint_of(), { variables = operations.object({ a = 1 }) })
    assert.same({ { 1, 2 } }, { list, err })
    local received = service.connections[1].received
    assert.same({ type = "connection_init" }, received[1])
    assert.same({ id = "1", type = "subscribe", payload = { query = "subscription { ticks }", variables = { a = 1 } } },
      received[2])
  end)

  it("the handshake has the credentials, the first message the parameters of the connection", function()
    answer = function(connection, message)
      if message.type == "subscribe" then
        connection.send({ id = "1", type = "complete" })
      end
    end
    all_of(endpoint_of({ auth = { type = "bearer", token = "t" }, headers = { ["X-Own"] = "1" },
      connection_params = function() return { token = "p" } end }))
    local connection = service.connections[1]
    assert.same({ "Bearer t", "1", "graphql-transport-ws" }, { connection.request.headers.authorization,
      connection.request.headers["x-own"], connection.request.headers["sec-websocket-protocol"] })
    assert.same({ token = "p" }, connection.received[1].payload)
  end)

  it("an event with errors and no result is null, and the next ones come", function()
    answer = function(connection, message)
      if message.type == "subscribe" then
        local payload = { data = operations.null, errors = { { message = "x" } } }
        connection.send({ id = "1", type = "next", payload = payload })
        ticks(connection, 2, 2)
        connection.send({ id = "1", type = "complete" })
      end
    end
    assert.same({ operations.null, 2 }, (all_of(endpoint_of())))
    local _, err = all_of(endpoint_of({ partial = "fail" }))
    assert.equal("GRAPHQL_ERROR", err.code)
  end)

  it("a refusal is an error with the service's code", function()
    answer = function(connection, message)
      if message.type == "subscribe" then
        connection.send({ id = "1", type = "error", payload = { { message = "no", extensions = { code = "NO" } } } })
      end
    end
    local list, err = all_of(endpoint_of())
    assert.same({ {}, "NO", "no" }, { list, err.code, err.message })
  end)

  it("the service has to acknowledge the connection in time", function()
    local silent = support.sockets(function() end)
    local list, err = all_of(exchange.new({ endpoint = silent.url, timeout = 20 })) -- waits: it is the protocol's clock
    silent.close()
    assert.same({ {}, "TIMEOUT" }, { list, err.code })
  end)

  it("credentials that the service refuses are renewed once", function()
    local tokens, refused = { "old", "new" }, 0
    local source = { get = function() return tokens[refused + 1] end, refuse = function() refused = refused + 1 end }
    service.refuses = function(request)
      return request.headers.authorization == "Bearer old"
    end
    answer = function(connection, message)
      if message.type == "subscribe" then
        connection.send({ id = "1", type = "complete" })
      end
    end
    assert.same({ {} }, { all_of(endpoint_of({ auth = { type = "oauth2", token = source } })) })
    assert.equal(1, refused)
  end)

  it("a ping of the protocol is answered", function()
    answer = function(connection, message)
      if message.type == "subscribe" then
        connection.send({ type = "ping" })
      elseif message.type == "pong" then
        connection.send({ id = "1", type = "complete" })
      end
    end
    assert.same({ {} }, { all_of(endpoint_of()) })
  end)

  it("leaving it early completes it at the service and closes the connection", function()
    answer = function(connection, message)
      if message.type == "subscribe" then
        ticks(connection, 1, 3)
      end
    end
    local stream = open(endpoint_of())
    assert.equal(1, stream:next().data)
    stream:close()
    eventually(function() return service.connections[1].closed or service.connections[1].ended end)
  end)

  it("a slow reader loses nothing", function()
    answer = function(connection, message)
      if message.type == "subscribe" then
        ticks(connection, 1, 1000)
        connection.send({ id = "1", type = "complete" })
      end
    end
    local stream, sum = open(endpoint_of()), 0
    for i = 1, 1000 do
      local envelope = assert(stream:next())
      assert.equal(i, envelope.data)
      sum = sum + 1
      if i % 100 == 0 then
        operations.sleep(0.001)
      end
    end
    assert.same({ 1000 }, { sum, (stream:next()) })
  end)

  it("a lost connection may be opened again, a refused one not", function()
    for case, expected in pairs({ [0] = { "TRANSPORT_LOST", true }, [4401] = { "ACCESS_DENIED", false },
      [4403] = { "ACCESS_DENIED", false }, [4400] = { "EXECUTION_ERROR", false },
      [1001] = { "TRANSPORT_LOST", true } }) do
      answer = function(connection, message)
        if message.type == "subscribe" and case == 0 then
          connection.drop()
        elseif message.type == "subscribe" then
          connection.close(case, "because")
        end
      end
      local _, err = all_of(endpoint_of())
      assert.same(expected, { err.code, err.retryable })
    end
  end)

  it("a connection that is lost in the handshake may be opened again", function()
    service.refuses = function()
      service.connections[1].drop()
      return true
    end
    local _, err = all_of(endpoint_of())
    assert.same({ "TRANSPORT_LOST", true }, { err.code, err.retryable })
  end)

  it("garbage ends it with an error", function()
    for _, garbage in ipairs({ "", "{", "[]", "7", '{"type":7}', '{"id":"1"}', ("x"):rep(100000),
      { id = "1", type = "next" }, { id = "1", type = "next", payload = 7 }, { id = "1", type = "next", payload = {} },
      { id = "1", type = "error" }, { id = "1", type = "error", payload = { 1 } },
      { id = "1", type = "next", payload = { errors = { { message = "e" } } } } }) do
      answer = function(connection, message)
        if message.type == "subscribe" then
          connection.send(garbage)
        end
      end
      local list, err = all_of(endpoint_of())
      assert.same({}, list)
      assert.truthy(operations.is_error(err))
    end
  end)

  it("is at the URL that the configuration names, which is encrypted where the service is", function()
    answer = function(connection, message)
      if message.type == "subscribe" then
        connection.send({ id = "1", type = "complete" })
      end
    end
    local place = service.url:gsub("^http", "ws")
    all_of(exchange.new({ endpoint = "http://api.test/graphql", auth = { type = "bearer", token = "t" },
      subscriptions = place }))
    assert.equal("Bearer t", service.connections[1].request.headers.authorization)
    assert.has_error(function()
      operations.from_graphql.document("type Query { a: String }", { endpoint = "https://api.test/graphql",
        subscriptions = place })
    end)
  end)
end)

describe("over server-sent events", function()
  local function event(name, data)
    return ("event: %s\ndata: %s\n\n"):format(name, data and json.encode(data) or "")
  end

  local function endpoint_of(client)
    return exchange.new({ endpoint = "https://api.test/graphql", http = client, subscriptions = "sse" })
  end

  local first, second = event("next", { data = { ticks = 1 } }), event("next", { data = { ticks = 2 } })
  local complete = event("complete")

  it("events are those of one request, until it completes", function()
    local text = ": comment\n\n" .. first .. second .. complete .. event("next", { data = { ticks = 3 } })
    for size = 1, #text, 7 do
      local pieces = {}
      for at = 1, #text, size do
        pieces[#pieces + 1] = text:sub(at, at + size - 1)
      end
      local client = support.events(pieces)
      assert.same({ { 1, 2 } }, { all_of(endpoint_of(client)) })
      assert.equal("text/event-stream", client.sent[1].headers.Accept)
      assert.same({ query = "subscription { ticks }" }, client.sent[1].json)
      assert.truthy(client.stream.closed > 0)
    end
  end)

  it("an end without completion is a lost stream", function()
    local list, err = all_of(endpoint_of(support.events({ first })))
    assert.same({ { 1 }, "TRANSPORT_LOST", true }, { list, err.code, err.retryable })
  end)

  it("a completion without data is one", function()
    for _, text in ipairs({ "event: complete\n\n", "event:complete\r\n\r\n" }) do
      assert.same({ { 1 } }, { all_of(endpoint_of(support.events({ first, text:sub(1, 9), text:sub(10) }))) })
    end
  end)

  it("an answer that is no stream is a refusal, or the only event", function()
    local function answer(body, status)
      return all_of(endpoint_of(support.events({ json.encode(body) }, status, "application/json")))
    end
    local _, err = answer({ errors = { { message = "no", extensions = { code = "NO" } } } }, 400)
    assert.equal("NO", err.code)
    _, err = answer({ errors = { { message = "no" } } }, 200)
    assert.equal("GRAPHQL_ERROR", err.code)
    assert.same({ { 7 } }, { answer({ data = { ticks = 7 } }, 200) })
    _, err = answer({ message = "no" }, 403)
    assert.equal("HTTP_403", err.code)
  end)

  it("garbage ends it with an error", function()
    for _, garbage in ipairs({ "event: next\ndata: {\n\n", "event: next\ndata: 7\n\n", "event: next\ndata:\n\n",
      ("data: %s\n\n"):format(("x"):rep(2000000)) }) do
      local list, err = all_of(endpoint_of(support.events({ first, garbage, second, complete })))
      assert.same({ 1 }, list)
      assert.truthy(operations.is_error(err))
    end
  end)

  it("are used where the server speaks no WebSocket", function()
    local server = require("spec.support.server").start()
    local client = support.events({ first, complete })
    local endpoint = exchange.new({ endpoint = server.url .. "/status/404", http = client })
    local ok, list = pcall(all_of, endpoint)
    server:stop()
    assert.same({ true, { 1 }, "sse" }, { ok, list, endpoint.streams })
  end)

  it("are used for the time being where the server refuses WebSocket for now", function()
    local server = require("spec.support.server").start()
    local client = support.events({ first, complete })
    local endpoint = exchange.new({ endpoint = server.url .. "/status/503", http = client })
    local ok, list = pcall(all_of, endpoint)
    server:stop()
    assert.same({ true, { 1 } }, { ok, list, endpoint.streams })
  end)
end)
