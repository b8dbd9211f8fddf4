-- What a handler says to its client, and asks it, by the context of a call.
local errors = require("operations.base.error")
local hmac = require("operations.base.hmac")
local identities = require("spec.support.identities")
local interaction = require("operations.mcp.server.interaction")
local operations = require("operations")
local state = require("operations.mcp.server.state")

describe("the context of a call of an MCP server", function()
  local sent, logged, call

  before_each(function()
    sent, logged = {}, {}
    call = {
      method = "tools/call", params = { name = "t" }, meta = {}, capabilities = {}, version = "v", id = 7,
      send = function(value)
        sent[#sent + 1] = value
      end,
      server = {
        options = { timeout = 9, state_ttl = 60000, log = function(...)
          logged[#logged + 1] = { ... }
        end },
        sign = function(text)
          return "signed " .. #text
        end,
      },
    }
  end)

  local function context()
    local found
    interaction.run(call, function(given)
      found = given
      return {}
    end)
    return found
  end

  it("has the caller, the deadline and the trace", function()
    call.identity, call.meta, call.client = { id = "ann" }, { traceparent = "00-a", x = 1 }, { name = "c" }
    local given = context()
    assert.same({ { id = "ann" }, 9, "00-a" }, { given.identity, given.timeout, given.traceparent })
    assert.same({ mcp = { method = "tools/call", version = "v", client = { name = "c" }, _meta = call.meta } },
      given.metadata)
    assert.is_nil(given.other)
    call.meta = { traceparent = 7 }
    assert.is_nil(context().traceparent)
    function call.hang_up() end
    assert.equal(call.hang_up, context().hang_up)
  end)

  it("has progress where the client wants it, which only grows", function()
    for _, token in ipairs({ "a", 7 }) do
      sent, call.meta = {}, { progressToken = token }
      local given = context()
      for _, done in ipairs({ 1, 1, 0, "2", 0 / 0, 1.5 }) do
        given.on_progress(done, 2, "m")
      end
      local values = {}
      for i, value in ipairs(sent) do
        assert.same({ "notifications/progress", token, 2, "m" }, { value.method, value.params.progressToken,
          value.params.total, value.params.message })
        values[i] = value.params.progress
      end
      assert.same({ 1, 1.5 }, values)
    end
    for _, token in ipairs({ true, false }) do
      call.meta = { progressToken = token or nil }
      assert.is_nil(context().on_progress)
    end
  end)

  it("sends nothing of a call that is over, or was cancelled", function()
    call.meta = { progressToken = "a" }
    for _, member in ipairs({ "over", "cancelled" }) do
      local given = context()
      call[member] = true
      given.on_progress(1)
      given.log("error", "x")
      call[member] = nil
    end
    assert.same({}, sent)
    assert.equal(2, #logged)
  end)

  it("logs, and tells the client what is severe enough", function()
    for _, case in ipairs({ { false, nil, 4 }, { false, "warning", 2 }, { false, "error", 1 }, { false, "debug", 4 },
      { true, nil, 0 }, { true, "info", 3 }, { true, "warning", 2 }, { true, "emergency", 0 } }) do
      sent, logged, call.modern, call.log_level = {}, {}, case[1], case[2]
      local given = context()
      for _, level in ipairs({ "error", "warn", "info", "debug", "other" }) do
        given.log(level, "m")
      end
      assert.same({ case[3], 5 }, { #sent, #logged })
      for i = 1, #sent do
        assert.same({ jsonrpc = "2.0", method = "notifications/message", params = { logger = "t", data = "m",
          level = ({ "error", "warning", "info", "debug" })[i] } }, sent[i])
      end
    end
    sent, call.modern, call.log_level = {}, false, nil
    context().log("info", "m", { a = 1 })
    context().log("info", "m", { print })
    assert.same({ { message = "m", details = { a = 1 } }, "m" }, { sent[1].params.data, sent[2].params.data })
    assert.same({ "info", "m", { a = 1 } }, logged[#logged - 1])
  end)

  it("asks the client by requests in the legacy era", function()
    local asked
    local results = { { { roots = { 1 } } }, { nil, errors.new("BUSY", "wait") },
      { nil, { code = -1, message = "no" } } }
    call.capabilities = { roots = operations.object() }
    call.peer = { request = function(_, method, params, send)
      asked = { method, params, send }
      return results[1][1], results[1][2]
    end }
    assert.same({ { 1 } }, { context().roots() })
    assert.same({ "roots/list", {}, call.send }, asked)
    table.remove(results, 1)
    assert.equal("BUSY: wait", tostring(select(2, context().roots())))
    table.remove(results, 1)
    local _, err = context().roots()
    assert.same({ "EXECUTION_ERROR: roots/list: no", { code = -1, message = "no" } }, { tostring(err), err.details })
  end)

  -- Runs a handler that asks for roots twice, in the modern era.
  local function round(params)
    call.modern, call.capabilities = true, { roots = operations.object() }
    call.params = { name = "t", inputResponses = params and params.answers, requestState = params and params.state }
    local found
    local result, failure = interaction.run(call, function(given)
      local ok, answers = pcall(given.ask, { a = { method = "roots/list" }, b = { method = "roots/list" } })
      found = ok and answers or nil
      return { done = ok }
    end)
    return result, failure, found
  end

  it("asks in the result of a round, in the modern era, and for what is missing only", function()
    local first = round()
    assert.equal("input_required", first.resultType)
    assert.same({ a = { method = "roots/list", params = {} }, b = { method = "roots/list", params = {} } },
      first.inputRequests)
    local a, b = { roots = operations.array({ 1 }) }, { roots = operations.array({ 2 }) }
    local second = round({ state = first.requestState, answers = { a = a, b = { roots = 7 } } })
    assert.same({ b = { method = "roots/list", params = {} } }, second.inputRequests)
    local third, _, answers = round({ state = second.requestState, answers = { b = b } })
    assert.same({ { done = true }, { a = a, b = b } }, { third, answers })
    local early, _, both = round({ answers = { a = a, b = b } })
    assert.same({ { done = true }, { a = a, b = b } }, { early, both })
  end)

  it("takes a state back from the identity that got it only, whatever makes it another one", function()
    call.server.sign = hmac.signer("secret")
    local answers = { a = { roots = operations.array() } }
    for _, identity in ipairs(identities.different) do
      call.identity = identity
      local sealed = round().requestState
      for _, other in ipairs(identities.different) do
        call.identity = other
        local _, failure = round({ state = sealed, answers = answers })
        assert.equal(identity == other, failure == nil)
      end
    end
    call.identity = identities.same[1]
    local sealed = round().requestState
    call.identity = identities.same[2]
    assert.is_table((round({ state = sealed, answers = answers })))
  end)

  it("fails where the client's state or answers are not what they were", function()
    local first = round()
    for text, params in pairs({
      ["requestState: it is not from this server, or belongs to another call"] = { state = first.requestState .. "A" },
      ["requestState: it is not from this server, or belongs to another call "] = { state = 7 },
      ["inputResponses: object expected"] = { answers = operations.array({ 1 }) },
    }) do
      local result, failure = round(params)
      assert.is_nil(result)
      assert.same({ code = -32602, message = text:gsub(" $", "") }, failure)
    end
    assert.equal("input_required", round({ state = operations.null, answers = operations.null }).resultType)
    call.server.options.state_ttl = -1
    local expired = round()
    assert.same({ code = -32602, message = "requestState: it has expired" },
      select(2, round({ state = expired.requestState })))
  end)

  it("has a state that belongs to the caller, the method and the arguments", function()
    local places = {}
    function call.server.sign(text)
      places[#places + 1] = text:sub(1, 32)
      return "s"
    end
    local none = { used = {} }
    state.seal(call, none)
    call.params = { name = "t", _meta = { x = 1 }, inputResponses = {}, requestState = "y" }
    state.seal(call, none)
    call.params = { name = "u" }
    state.seal(call, none)
    call.params, call.identity = { name = "t" }, { id = "ann" }
    state.seal(call, none)
    call.identity, call.method = nil, "prompts/get"
    state.seal(call, none)
    assert.equal(places[1], places[2])
    for i = 3, 5 do
      assert.not_equal(places[1], places[i])
    end
  end)
end)
