-- Calls that take rounds of input, of a server of 2026-07-28 that answers by a script.
local errors = require("operations.base.error")
local fake_host = require("spec.support.fake_host")
local hosts = require("operations.hosts")
local json = require("operations.base.json")
local limits = require("operations.base.limits")
local listener = require("operations.server.listener")
local mcp_link = require("spec.support.mcp_link")
local operations = require("operations")

local VERSION = "2026-07-28"

describe("a call in rounds", function()
  local opened, answers, asked, clients

  setup(function()
    opened = assert(listener.listen({ port = 0 }, function(request)
      local body = request.body
      if type(body) == "function" then
        local pieces = {}
        for piece in body do
          pieces[#pieces + 1] = piece
        end
        body = table.concat(pieces)
      end
      local message = json.decode(body)
      local answer
      if message.method == "server/discover" then
        answer = { result = { supportedVersions = { VERSION }, capabilities = { tools = operations.object() } } }
      elseif message.method == "tools/list" then
        answer = { result = { tools = { { name = "t", inputSchema = operations.object() } } } }
      else
        asked[#asked + 1] = { message.method, message.params, request.headers["mcp-protocol-version"] }
        answer = #answers > 1 and table.remove(answers, 1) or answers[1]
      end
      answer = { jsonrpc = "2.0", id = message.id, result = answer.result, error = answer.error }
      return { status = 200, headers = { ["content-type"] = "application/json" }, body = assert(json.encode(answer)) }
    end))
  end)

  teardown(function()
    opened:close()
  end)

  before_each(function()
    answers, asked, clients = {}, {}, {}
  end)

  after_each(function()
    operations.run(function()
      for _, client in ipairs(clients) do
        client:close()
      end
    end)
  end)

  -- Calls the tool; its data, or nil and the error.
  local function call(more)
    local config = { url = ("http://127.0.0.1:%d/mcp"):format(opened.port), version = VERSION, stream = false,
      log = function() end }
    for name, value in pairs(more or {}) do
      config[name] = value
    end
    return operations.run(function()
      local client = assert(operations.from_mcp.connect("s", config))
      clients[#clients + 1] = client
      local registry = operations.registry()
      assert(client:register(registry))
      local envelope, err = registry:execute("s.t", { x = 1 })
      return envelope and envelope.data, err
    end)
  end

  local function input_required(more)
    local result = { resultType = "input_required" }
    for name, value in pairs(more) do
      result[name] = value
    end
    return { result = result }
  end

  local done = { result = { resultType = "complete", content = operations.array(), structuredContent = { ok = true } } }

  local function form(message)
    return { method = "elicitation/create", params = { mode = "form", message = message, requestedSchema = {
      type = "object" } } }
  end

  it("is over at once where nothing is asked", function()
    answers = { done }
    assert.same({ ok = true }, (call()))
    answers = { { result = { content = operations.array(), structuredContent = { ok = true } } } }
    assert.same({ ok = true }, (call()))
    assert.equal(2, #asked)
  end)

  it("answers what the server asks, in the order of the keys, and gives its state back", function()
    answers = { input_required({ requestState = "s1", inputRequests = { b = form("second"), a = form("first") } }),
      done }
    local texts = {}
    assert.same({ ok = true }, (call({ elicitation = function(params)
      texts[#texts + 1] = params.message
      return { action = "accept", content = { n = #texts } }
    end })))
    assert.same({ "first", "second" }, texts)
    local params = asked[2][2]
    assert.same({ "tools/call", "t", { x = 1 }, "s1" }, { asked[2][1], params.name, params.arguments,
      params.requestState })
    assert.same({ a = { action = "accept", content = { n = 1 } }, b = { action = "accept", content = { n = 2 } } },
      params.inputResponses)
    assert.is_nil(asked[1][2].requestState)
    assert.is_nil(asked[1][2].inputResponses)
  end)

  it("comes back with the state alone", function()
    answers = { input_required({ requestState = "s1" }), input_required({ requestState = "s2" }), done }
    assert.same({ ok = true }, (call()))
    assert.same({ "s1", "s2" }, { asked[2][2].requestState, asked[3][2].requestState })
    assert.is_nil(asked[3][2].inputResponses)
  end)

  it("does not keep the answers of a round for the next", function()
    answers = { input_required({ inputRequests = { a = form("x") } }), input_required({ requestState = "s" }), done }
    call({ elicitation = function()
      return { action = "decline" }
    end })
    assert.same({ a = { action = "decline" } }, asked[2][2].inputResponses)
    assert.is_nil(asked[2][2].requestState)
    assert.is_nil(asked[3][2].inputResponses)
  end)

  it("fails where the server asks for nothing, or in a wrong way", function()
    for text, answer in pairs({
      ["/resultType: input_required with neither inputRequests nor requestState"] = input_required({}),
      ["/inputRequests: an object expected"] = input_required({ inputRequests = operations.array() }),
      ["/inputRequests/a: a request expected"] = input_required({ inputRequests = { a = 7 } }),
      ["/inputRequests/b: a request expected"] = input_required({ inputRequests = { b = { method = 7 } } }),
      ['/resultType: "other" is unknown'] = { result = { resultType = "other" } },
    }) do
      answers = { answer }
      local data, err = call()
      assert.is_nil(data)
      assert.same({ "tools/call: malformed result: " .. text, "malformed" }, { err.message, err.details.kind })
    end
  end)

  it("fails where the program cannot answer", function()
    answers = { input_required({ inputRequests = { a = form("x") } }) }
    local _, err = call()
    assert.equal("input", err.details.kind)
    assert.matches("^tools/call: the server's elicitation/create", err.message)
    _, err = call({ elicitation = function()
      error("boom", 0)
    end })
    assert.equal("input", err.details.kind)
    assert.equal(2, #asked)
  end)

  it("is not made for ever", function()
    answers = { input_required({ inputRequests = { a = form("x") } }) }
    local _, err = call({ elicitation = function()
      return { action = "decline" }
    end })
    assert.equal(("tools/call: no result after %d rounds of input"):format(limits.mcp_rounds), err.message)
    assert.same({ "rounds", limits.mcp_rounds }, { err.details.kind, #asked })
  end)

  it("fails with the error of the server", function()
    answers = { { error = { code = -32000, message = "no" } } }
    local _, err = call()
    assert.same({ "MCP_-32000", "tools/call" }, { err.code, err.details.method })
    answers = { input_required({ requestState = "s" }), { error = { code = -32001, message = "no" } } }
    assert.equal("MCP_-32001", select(2, call()).code)
    assert.equal(3, #asked)
  end)

  it("fails where the result is malformed", function()
    answers = { { result = { resultType = "complete", content = 7 } } }
    local _, err = call()
    assert.matches("^tools/call: malformed result: /content: ", err.message)
  end)
end)

-- A server in this process; time passes in jumps.
describe("a tool that asks", function()
  local host

  before_each(function()
    host = fake_host.new(1000)
    hosts.use(host)
  end)

  after_each(function()
    hosts.use("plain")
  end)

  local function listed()
    return { tools = { { name = "t", inputSchema = operations.object() } } }
  end

  -- Calls the tool for a caller who answers by `ask`; the envelope's data, or nil and the error.
  local function call(era, tool, ask, more, answered)
    local server = mcp_link.server(era, nil, { ["tools/list"] = listed, ["tools/call"] = tool })
    server.answered = answered
    return operations.run(function()
      local client = assert(mcp_link.connect(server, more))
      local envelope, err = client.operations[1].handler({}, { ask = ask })
      client:close()
      return envelope and envelope.data, err
    end)
  end

  -- A tool of the modern era: asks, and gives back the answers.
  local function asking(requests)
    return function(params)
      if not params.inputResponses then
        return { resultType = "input_required", inputRequests = requests }
      end
      return { resultType = "complete", content = operations.array(), structuredContent = params.inputResponses }
    end
  end

  local form = { method = "elicitation/create", params = { message = "?" } }
  local sample = { method = "sampling/createMessage", params = 7 }
  local caller = { questions = "caller" }

  it("is answered by its caller, in the modern era", function()
    local seen
    local data = call("modern", asking({ a = form, b = sample }), function(requests)
      seen = requests
      return { ["1.a"] = { action = "accept" }, ["1.b"] = { role = "user" } }, {}
    end, caller)
    assert.same({ a = { action = "accept" }, b = { role = "user" } }, data)
    assert.same({ ["1.a"] = form, ["1.b"] = { method = sample.method } }, seen)
  end)

  it("is declined by a caller that does not answer, and fails where no answer is possible", function()
    local function none()
      return {}, {}
    end
    assert.same({ a = { action = "decline" } }, (call("modern", asking({ a = form }), none, caller)))
    local _, err = call("modern", asking({ b = sample }), none, caller)
    assert.same({ "tools/call: the server's sampling/createMessage: there was no answer", "input", -32603 },
      { err.message, err.details.kind, err.details.rpcCode })
    _, err = call("modern", asking({ b = sample }), function()
      return {}, { ["1.b"] = errors.new("BUSY", "not now") }
    end, caller)
    assert.equal("tools/call: the server's sampling/createMessage: not now", err.message)
  end)

  it("is answered by the program where that has a function, and not by a caller that must not be asked", function()
    local function never()
      error("not to be asked")
    end
    local function own()
      return { own = true }
    end
    assert.same({ b = { own = true } }, (call("modern", asking({ b = sample }), never,
      { questions = "caller", sampling = own })))
    assert.same({ b = { own = true } }, (call("modern", asking({ b = sample }), never, { sampling = own })))
    local _, err = call("modern", asking({ a = form }), never)
    assert.equal("tools/call: the server's elicitation/create: the client has no elicitation/create", err.message)
    _, err = call("modern", asking({ a = { method = "roots/list" } }), never, caller)
    assert.equal("tools/call: the server's roots/list: the client has no roots/list", err.message)
    _, err = call("modern", asking({ a = 7 }), never, caller)
    assert.equal("tools/call: malformed result: /inputRequests/a: a request expected", err.message)
  end)

  it("is answered by its caller in the legacy era, too, whose questions are counted", function()
    local names, call_id = {}, nil
    local function ask(requests)
      local name = next(requests)
      names[#names + 1] = name
      return { [name] = { action = "accept", content = { n = #names } } }, {}
    end
    local data = call("legacy", function(_, link, value)
      call_id = value.id
      link:say({ id = "q", method = "elicitation/create", params = form.params })
    end, ask, caller, function(answer, link)
      if #names < 2 then
        link:say({ id = "r", method = "elicitation/create", params = form.params })
      else
        link:say({ id = call_id, result = { content = operations.array(), structuredContent = answer.result } })
      end
    end)
    assert.same({ action = "accept", content = { n = 2 } }, data)
    assert.same({ "1.asked", "2.asked" }, names)
  end)

  it("ends the call where the answer comes with another one", function()
    local _, err = call("legacy", function(_, link)
      link:say({ id = "q", method = "elicitation/create", params = form.params })
    end, function()
      error(errors.new("INPUT_REQUIRED", "ask first"), 0)
    end, caller)
    assert.same({ "ABORTED", "the caller is asked first, and calls again" }, { err.code, err.message })
  end)

  it("is asked again after a pause that doubles, up to five seconds", function()
    local times = {}
    local _, err = call("modern", function()
      times[#times + 1] = host.now()
      return { resultType = "input_required", requestState = "s" }
    end)
    assert.equal("rounds", err.details.kind)
    local pauses = {}
    for i = 2, #times do
      pauses[i - 1] = times[i] - times[i - 1]
    end
    assert.same({ 50, 100, 200, 400, 800, 1600, 3200, 5000, 5000 }, { pauses[1], pauses[2], pauses[3], pauses[4],
      pauses[5], pauses[6], pauses[7], pauses[8], pauses[9] })
    assert.equal(limits.mcp_rounds, #times)
  end)

  it("is over where the result says so, or nothing, and always in the legacy era", function()
    for _, result in ipairs({ { resultType = "complete" }, { resultType = operations.null }, operations.object() }) do
      result.content, result.structuredContent = operations.array(), { n = 1 }
      assert.same({ n = 1 }, (call("modern", function() return result end)))
    end
    local data = call("legacy", function()
      return { resultType = "input_required", content = operations.array(), structuredContent = { n = 1 } }
    end)
    assert.same({ n = 1 }, data) -- the word means nothing there
  end)
end)
