-- Calls that take rounds of input, of a server of 2026-07-28 that answers by a script.
local json = require("operations.base.json")
local limits = require("operations.base.limits")
local listener = require("operations.server.listener")
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
