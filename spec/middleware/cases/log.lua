local operations = require("operations")

local log = operations.middleware.log

return function(kit)
  local it, assert = kit.it, kit.assert

  local function logged(definition)
    local lines = {}
    local call, registry = kit.operation({ log(function(line)
      lines[#lines + 1] = line
    end) }, definition)
    return call, lines, registry
  end

  it("writes a line of JSON about a call", function()
    local call, lines = logged(function() operations.sleep(0.25) return "secret" end)
    local start = kit.clock.now
    call({ secret = "secret" }, { requestId = "r1", identity = { id = "ada", scopes = { "secret" } },
      traceparent = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01" })
    assert.same({ ('{"identity":"ada","ms":250,"operation":"spec.call","requestId":"r1","time":%d,"traceparent":'
      .. '"00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01","type":"query"}'):format(start) }, lines)
  end)

  it("says how a call failed", function()
    local call, lines = logged(kit.answers(kit.failure("NOT_FOUND", false, true)).handler)
    local _, err = call()
    assert.equal("NOT_FOUND", err.code)
    local entry = operations.json.decode(lines[1])
    assert.same({ "NOT_FOUND", "it failed", false, true },
      { entry.code, entry.message, entry.retryable, entry.mayHaveRun })
    assert.equal(operations.json.encode(entry, { sort_keys = true }), lines[1])
  end)

  it("escapes characters that control a terminal or the direction of text", function()
    local call, lines = logged(function() error("\226\128\174\226\128\168\127", 0) end)
    call({}, {})
    assert.is_nil(lines[1]:find("[\127-\255]"))
    assert.equal("\226\128\174\226\128\168\127", operations.json.decode(lines[1]).message)
  end)

  it("writes one line, whatever bytes there are", function()
    local call, lines = logged(function() error("a\nb\255", 0) end)
    call({}, { requestId = "\254" })
    assert.equal(1, #lines)
    assert.is_nil(lines[1]:find("\n"))
    local entry = operations.json.decode(lines[1])
    assert.same({ "a\nb?", "?" }, { entry.message, entry.requestId })
  end)

  it("names the call that a nested one belongs to", function()
    local call, lines, registry = logged(function(_, context) context.env.spec.inner({}) end)
    assert(registry:register({ namespace = "spec", name = "inner", handler = function() end }))
    call({}, { requestId = "outer" })
    assert.equal("outer", operations.json.decode(lines[1]).parentRequestId)
    assert.equal("outer", operations.json.decode(lines[2]).requestId)
  end)

  it("writes when a subscription ends, once", function()
    local _, lines, registry = logged({ type = "subscription", handler = function(_, context) context.emit(1) end })
    local stream = assert(registry:subscribe("spec.call"))
    stream:next()
    assert.equal(0, #lines)
    stream:close()
    assert.equal(1, #lines)
    assert.equal("ABORTED", operations.json.decode(lines[1]).code)
    stream = assert(registry:subscribe("spec.call"))
    stream:next()
    stream:next()
    stream:close()
    assert.equal(2, #lines)
    assert.is_nil(operations.json.decode(lines[2]).code)
  end)

  it("costs no call when it cannot write", function()
    local call = kit.operation({ log(function() error("disk full", 0) end) }, kit.answers(1).handler)
    assert.equal(1, (call()))
    assert.same({ "error: spec.call: middleware: disk full" }, kit.log)
    assert.has_error(function() log("file") end, "bad argument #1 to 'log' (function expected, got string)")
  end)
end
