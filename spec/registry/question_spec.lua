local eventually = require("spec.support.eventually")
local http_request = require("spec.support.http_request")
local json = require("operations.base.json")
local operations = require("operations")
local questions = require("operations.registry.question")
local raises = require("spec.support.raises")

local PREFIX = "io.modelcontextprotocol/"
local ALL = { elicitation = operations.object(), sampling = operations.object(), roots = operations.object() }

describe("what a handler asks the client of its MCP server", function()
  local server, ask

  before_each(function()
    local registry = operations.registry({ log = function() end })
    assert(registry:register({ namespace = "a", name = "b", type = "mutation", handler = function(_, context)
      return ask(context)
    end }))
    server = operations.to_mcp(registry, { log = function() end })
  end)

  after_each(function()
    server:close()
  end)

  -- A round of the modern era.
  local function round(responses, state, capabilities)
    local params = { name = "a_b", inputResponses = responses, requestState = state, _meta = {
      [PREFIX .. "protocolVersion"] = "2026-07-28", [PREFIX .. "clientCapabilities"] = capabilities or ALL } }
    return http_request.send(server, "POST", "/mcp", { accept = "application/json, text/event-stream",
      ["mcp-protocol-version"] = "2026-07-28", ["mcp-method"] = "tools/call", ["mcp-name"] = "a_b" },
      { jsonrpc = "2.0", id = 1, method = "tools/call", params = params }).json.result
  end

  it("has a key each, its own or one that counts", function()
    function ask(context)
      local _, one = context.elicit("One?")
      local _, two = context.elicit("Two?")
      local three = context.sample({ messages = operations.array(), maxTokens = 1 })
      local _, four = context.elicit("Four?", nil, "mine")
      local five = context.sample({ messages = operations.array(), maxTokens = 2 }, "said")
      local six, seven = context.roots(), context.roots("places")
      return { one.n, two.n, three.role, four.n, five.role, six[1].uri, seven[1].uri }
    end
    local function content(n)
      return { action = "accept", content = { n = n } }
    end
    local sampled = { role = "assistant", content = { type = "text", text = "x" } }
    local given, state = {}, nil
    for _, expected in ipairs({ { "elicit_1", "elicitation/create", content(1) },
      { "elicit_2", "elicitation/create", content(2) }, { "sample_1", "sampling/createMessage", sampled },
      { "mine", "elicitation/create", content(4) }, { "said", "sampling/createMessage", sampled },
      { "roots_1", "roots/list", { roots = { { uri = "file:///6" } } } },
      { "places", "roots/list", { roots = { { uri = "file:///7" } } } } }) do
      local result = round(given, state)
      assert.equal("input_required", result.resultType)
      local key, asked = next(result.inputRequests)
      assert.same({ expected[1], expected[2] }, { key, asked.method })
      given, state = { [key] = expected[3] }, result.requestState
    end
    assert.same({ 1, 2, "assistant", 4, "assistant", "file:///6", "file:///7" },
      round(given, state).structuredContent)
  end)

  it("comes again where the answer is not one to it", function()
    function ask(context)
      return { role = assert(context.sample({ messages = operations.array(), maxTokens = 1 })).role,
        roots = #context.roots() }
    end
    local state = round().requestState
    for _, wrong in ipairs({ { role = 1, content = operations.object() }, { role = "user" }, operations.object() }) do
      assert.equal("sampling/createMessage", round({ sample_1 = wrong }, state).inputRequests.sample_1.method)
    end
    local sampled = round({ sample_1 = { role = "user", content = operations.array() } }, state)
    assert.equal("roots/list", sampled.inputRequests.roots_1.method)
    local again = round({ roots_1 = { roots = { a = 1 } } }, sampled.requestState)
    assert.equal("roots/list", again.inputRequests.roots_1.method)
    assert.same({ role = "user", roots = 0 },
      round({ roots_1 = { roots = operations.array() } }, sampled.requestState).structuredContent)
  end)

  it("may be several at once, of which each has its answer or its failure", function()
    function ask(context)
      local answers, failures = context.ask({
        who = { method = "elicitation/create", params = { message = "Who?" } }, where = { method = "roots/list" } })
      return { who = answers.who and answers.who.action, failed = failures.where and failures.where.code }
    end
    local both = round().inputRequests
    assert.same({ "Who?", "roots/list" }, { both.who.params.message, both.where.method })
    assert.equal(operations.object_mt, getmetatable(both.where.params))
    local able = { elicitation = operations.object() }
    local one = round(nil, nil, able)
    assert.is_nil(one.inputRequests.where)
    assert.same({ who = "decline", failed = "CAPABILITY_MISSING" },
      round({ who = { action = "decline" } }, one.requestState, able).structuredContent)
  end)

  it("fails where the client declares no such capability; a form counts as declined", function()
    local told
    function ask(context)
      local _, sampled = context.sample(operations.object())
      local _, listed = context.roots()
      told = { sampled, listed }
      return { context.elicit("Who?") }
    end
    assert.same({ "decline" }, round(nil, nil, operations.object()).structuredContent)
    assert.same({ sampling = operations.object() }, told[1].details.requiredCapabilities)
    assert.same({ "CAPABILITY_MISSING", "CAPABILITY_MISSING" }, { told[1].code, told[2].code })
    assert.is_false(told[1].retryable)
    assert.truthy(told[2].message:find("'roots'", 1, true))
  end)

  it("leads the user to a page where the client can open one", function()
    function ask(context)
      return { context.elicit({ url = "https://a.test/login", message = "Log in", id = "e1" }) }
    end
    local able = { elicitation = { url = operations.object() } }
    local first = round(nil, nil, able)
    assert.same({ elicit_1 = { method = "elicitation/create", params = { mode = "url", url = "https://a.test/login",
      message = "Log in", elicitationId = "e1" } } }, first.inputRequests)
    assert.same({ "accept" }, round({ elicit_1 = { action = "accept" } }, first.requestState, able).structuredContent)
    assert.same({ "decline" }, round(nil, nil, { elicitation = operations.object() }).structuredContent)
    function ask(context)
      return { tostring(select(2, pcall(context.elicit, { url = "http://a.test/" }))) }
    end
    assert.matches("neither https nor on this machine", round(nil, nil, able).structuredContent[1])
  end)

  it("raises where it is no question, in the line of the handler", function()
    local raised = {}
    function ask(context)
      for i, fn in ipairs({ function() context.ask() end, function() context.ask({ 7 }) end,
        function() context.ask({ a = { method = "tools/call" } }) end, function() context.elicit() end,
        function() context.elicit("Who?", 7) end, function() context.sample() end }) do
        raised[i] = select(2, pcall(fn))
      end
      return {}
    end
    round()
    for i, expected in ipairs({ "bad argument #1 to 'ask' (table expected, got nil)", "bad argument #1 to 'ask' (1: {",
      "bad argument #1 to 'ask' (a: {", "bad argument #1 to 'elicit' (string expected, got nil)",
      "bad argument #2 to 'elicit' (table expected, got number)",
      "bad argument #1 to 'sample' (table expected, got nil)" }) do
      assert.matches("^spec/registry/question_spec%.lua:%d+: ", raised[i])
      assert.truthy(raised[i]:find(expected, 1, true), raised[i])
    end
  end)

  it("is a request in the legacy era, whose failure the handler hears of", function()
    local begun, told
    function ask(context)
      begun = true
      local _, err = context.sample({ messages = operations.array(), maxTokens = 1 })
      told = err
      return { roots = context.roots() }
    end
    local headers = { accept = "application/json, text/event-stream" }
    local session = http_request.send(server, "POST", "/mcp", headers, { jsonrpc = "2.0", id = 1, method = "initialize",
      params = { protocolVersion = "2025-11-25", capabilities = ALL } }).headers["mcp-session-id"]
    headers["mcp-session-id"] = session
    local events = operations.spawn(http_request.send, server, "POST", "/mcp", headers,
      { jsonrpc = "2.0", id = 2, method = "tools/call", params = { name = "a_b" } })
    eventually(function()
      return begun
    end)
    http_request.send(server, "POST", "/mcp", headers,
      { jsonrpc = "2.0", id = 1, error = { code = -1, message = "no" } })
    eventually(function()
      return told
    end)
    http_request.send(server, "POST", "/mcp", headers, { jsonrpc = "2.0", id = "2", result = { roots = { "r" } } })
    local text = events:wait().text
    assert.same({ "EXECUTION_ERROR", "sampling/createMessage: no" }, { told.code, told.message })
    assert.same({ roots = { "r" } }, json.decode(text:match('data: ({[^\n]*"structuredContent"[^\n]*)')).result
      .structuredContent)
  end)
end)

describe("an answer to a question of a handler", function()
  local question = require("operations.registry.question")

  it("is accepted where it has the fields of the method", function()
    local form = { type = "object", required = { "n" }, properties = { n = { type = "integer" } } }
    for _, case in ipairs({
      { "elicitation/create", form, { action = "accept", content = { n = 1 } }, true },
      { "elicitation/create", form, { action = "accept", content = { n = "x" } }, false },
      { "elicitation/create", form, { action = "accept" }, false },
      { "elicitation/create", nil, { action = "accept" }, true },
      { "elicitation/create", { type = 7 }, { action = "accept", content = { n = "x" } }, true },
      { "elicitation/create", { type = 7 }, { action = "accept", content = "x" }, false },
      { "elicitation/create", form, { action = "decline" }, true },
      { "elicitation/create", form, { action = "cancel" }, true },
      { "elicitation/create", form, { action = "maybe" }, false },
      { "elicitation/create", form, "accept", false },
      { "sampling/createMessage", nil, { role = "user", content = { type = "text" } }, true },
      { "sampling/createMessage", nil, { role = "user" }, false },
      { "sampling/createMessage", nil, { role = 7, content = {} }, false },
      { "roots/list", nil, { roots = operations.array() }, true },
      { "roots/list", nil, { roots = 7 }, false }, { "roots/list", nil, 7, false },
    }) do
      local asked = { method = case[1], params = { requestedSchema = case[2] } }
      assert.equal(case[4], (question.accepts(asked, case[3]) and true or false))
    end
  end)

  -- The functions of a context; what is asked, and what is answered by key.
  local function context_of(capabilities, answers)
    local asked = {}
    return question.add({}, capabilities, function(given)
      asked[#asked + 1] = given
      local answer = answers and answers[given.key]
      if answer == false then
        return nil, operations.error("UNAVAILABLE", "not now")
      end
      return answer
    end), asked
  end

  it("is given for each key, and none for what the client cannot do", function()
    local context, asked = context_of({ elicitation = operations.object() }, { a = { action = "accept" }, b = false })
    local answers, failures = context.ask({ a = { method = "elicitation/create", params = { message = "?" } },
      b = { method = "elicitation/create" }, c = { method = "roots/list" } })
    assert.same({ a = { action = "accept" } }, answers)
    assert.equal("UNAVAILABLE: not now", tostring(failures.b))
    assert.equal("CAPABILITY_MISSING: the client did not declare the capability 'roots'", tostring(failures.c))
    assert.same({ { roots = {} }, false }, { failures.c.details.requiredCapabilities, failures.c.retryable })
    assert.same({ { key = "a", method = "elicitation/create", params = { message = "?" } },
      { key = "b", method = "elicitation/create", params = {} } }, asked)
  end)

  it("is waited for by running again, after all was asked", function()
    local context, asked = context_of(ALL, { a = { roots = {} } })
    local ok, raised = pcall(context.ask, { a = { method = "roots/list" }, b = { method = "roots/list" },
      c = { method = "roots/list" } })
    assert.is_false(ok)
    assert.equal("INPUT_REQUIRED: the client is asked for input; the operation runs again with the answer",
      tostring(raised))
    assert.equal(3, #asked)
    for _, ask in ipairs({ function() context.elicit("?") end, function() context.sample({}) end, context.roots }) do
      ok, raised = pcall(ask)
      assert.same({ false, "INPUT_REQUIRED" }, { ok, raised.code })
    end
  end)

  it("belongs to a key, which counts where none is given", function()
    local context, asked = context_of(ALL, { elicit_1 = { action = "accept", content = { n = 1 } },
      elicit_2 = { action = "decline", content = { n = 1 } }, mine = { action = "maybe" }, elicit_3 = false,
      sample_1 = { role = "user" }, roots_1 = { roots = { 1 } }, roots_2 = false })
    assert.same({ "accept", { n = 1 } }, { context.elicit("?") })
    assert.same({ "decline" }, { context.elicit("?", { type = "object" }) })
    assert.same({ "decline" }, { context.elicit("?", nil, "mine") })
    assert.same({ "decline" }, { context.elicit("?") })
    assert.same({ { role = "user" } }, { context.sample({ maxTokens = 1 }) })
    assert.same({ { 1 } }, { context.roots() })
    local roots, err = context.roots()
    assert.same({ nil, "UNAVAILABLE" }, { roots, err.code })
    local keys = {}
    for i, given in ipairs(asked) do
      keys[i] = given.key
    end
    assert.same({ "elicit_1", "elicit_2", "mine", "elicit_3", "sample_1", "roots_1", "roots_2" }, keys)
    assert.same({ message = "?", requestedSchema = { type = "object", properties = {} } }, asked[1].params)
    assert.same({ message = "?", requestedSchema = { type = "object" } }, asked[2].params)
    assert.same({ maxTokens = 1 }, asked[5].params)
  end)

  it("is asked for in a form that is understood", function()
    local context = context_of(ALL)
    local wrong = "bad argument #1 to 'ask' (%s: { method = \"elicitation/create\", \"sampling/createMessage\" or "
      .. "\"roots/list\", params } expected)"
    raises({
      [wrong:format("a")] = function() context.ask({ a = 7 }) end,
      [wrong:format("b")] = function() context.ask({ b = { method = "other" } }) end,
      ["bad argument #1 to 'ask' (table expected, got nil)"] = function() context.ask() end,
      ["bad argument #1 to 'elicit' (string expected, got nil)"] = function() context.elicit() end,
      ["bad argument #2 to 'elicit' (table expected, got number)"] = function() context.elicit("?", 7) end,
      ["bad argument #1 to 'sample' (table expected, got nil)"] = function() context.sample() end,
    }, "question_spec")
  end)
end)

describe("the answer of a client of the legacy era", function()
  -- What a handler gets for a form, when a client answers so.
  local function elicited(answer)
    local context = questions.add({}, { elicitation = operations.object() }, function()
      return answer
    end)
    return { context.elicit("Sure?", { type = "object", properties = { approved = { type = "boolean" } } }) }
  end

  it("must fit the form that was asked", function()
    assert.same({ "accept", { approved = true } }, elicited({ action = "accept", content = { approved = true } }))
    assert.same({ "decline" }, elicited({ action = "accept", content = { approved = "yes" } }))
    assert.same({ "decline" }, elicited({ action = "accept" }))
  end)
end)
