local operations = require("operations")

local confirm = operations.middleware.confirm

return function(kit)
  local it, assert = kit.it, kit.assert

  local function asked(answers, options, definition)
    local self, calls = { calls = {} }, 0
    local given = { type = "mutation", handler = function() calls = calls + 1 return calls end }
    for name, value in pairs(definition or {}) do
      given[name] = value
    end
    local call = kit.operation({ confirm(function(about)
      self.calls[#self.calls + 1] = about
      local answer = answers[math.min(#self.calls, #answers)]
      return answer[1], answer[2]
    end, options) }, given)
    self.call = call
    return self
  end

  it("asks before a mutation, and runs none that is not approved", function()
    local one = asked({ { true }, { false, "not today" } })
    assert.equal(1, (one.call({ a = 1 }, { identity = { id = "ada", scopes = {} } })))
    local _, err = one.call()
    assert.same({ "ACCESS_DENIED", "the call was not approved: not today", false, false },
      { err.code, err.message, err.retryable, err.mayHaveRun })
    local about = one.calls[1]
    assert.same({ "spec.call", { a = 1 }, "ada", "mutation" },
      { about.operationId, about.input, about.identity.id, about.spec.type })
  end)

  it("asks the user of the client that called", function()
    local asked_for, calls = {}, 0
    local call = kit.operation({ confirm("caller") }, { type = "mutation", handler = function()
      calls = calls + 1
      return calls
    end })
    local function by(answer, identity)
      return call({ a = 1 }, { identity = identity, elicit = function(message)
        asked_for[#asked_for + 1] = message
        return answer and "accept" or "decline", answer and { answer = answer }
      end })
    end
    assert.equal(1, (by("Yes, once")))
    assert.equal("spec.call: {\"a\":1}", asked_for[1])
    for _, refused in ipairs({ "No", "Maybe", false }) do
      local _, err = by(refused)
      assert.equal("ACCESS_DENIED", err.code)
    end
    local _, err = call({ a = 1 })
    assert.equal("ACCESS_DENIED", err.code)
    local ada = { id = "ada", scopes = {} }
    assert.same({ 2, 3 }, { (by("Yes, always with these arguments", ada)), (call({ a = 1 }, { identity = ada })) })
    assert.equal(4, (by("Yes, always"))) -- callers without an identity are many
    _, err = by("No")
    assert.equal("ACCESS_DENIED", err.code)
  end)

  it("remembers approvals for longer", function()
    local one = asked({ { true, "arguments" }, { true, "always" }, { false } })
    local function as(id, input)
      return one.call(input, { identity = { id = id, scopes = {} } })
    end
    assert.same({ 1, 2, 3, 4 }, { (as("a", { x = 1 })), (as("a", { x = 1 })), (as("a", { x = 2 })),
      (as("a", { x = 3 })) })
    assert.equal(2, #one.calls)
    assert.is_nil((as("b", { x = 1 })))
  end)

  it("shares a memory that the program keeps", function()
    local memory = operations.approvals()
    asked({ { true, "always" } }, { memory = memory }).call()
    assert.equal(1, (asked({ { false } }, { memory = operations.approvals(memory:list()) }).call()))
    asked({ { true, "always" } }, { memory = memory }, { name = "other" }).call()
    assert.equal("spec.other", memory:list()[2].operationId)
  end)

  it("asks about queries when it is told to", function()
    local one = asked({ { false } }, nil, { type = "query" })
    assert.equal(1, (one.call()))
    one = asked({ { false } }, { queries = true }, { type = "query" })
    assert.equal("ACCESS_DENIED", select(2, one.call()).code)
  end)

  it("may wait, and ends when the call is cancelled", function()
    local call = kit.operation({ confirm(function()
      operations.sleep(5)
      return true
    end) }, { type = "mutation", handler = function() return 1 end })
    assert.equal(1, (call()))
    local _, err = call({}, { timeout = 1000 })
    assert.same({ "TIMEOUT", false }, { err.code, err.mayHaveRun })
  end)

  it("refuses invalid arguments", function()
    assert.has_error(function() confirm() end, "bad argument #1 to 'confirm' (function expected, got nil)")
    assert.has_error(function() confirm(print, { memory = {} }) end,
      "bad argument #2 to 'confirm' (memory of approvals expected, got table)")
    assert.has_error(function() confirm(print, { all = true }) end, "bad option 'all' to 'confirm' (unknown)")
  end)
end
