local operations = require("operations")
local errors = require("operations.base.error")

describe("an error object", function()
  it("prints as its code and message", function()
    assert.equal("NOT_FOUND: no such task", tostring(operations.error("NOT_FOUND", "no such task")))
  end)

  it("is joined with texts as its code and message", function()
    local err = operations.error("NOT_FOUND", "no such task")
    assert.equal("failed: NOT_FOUND: no such task", "failed: " .. err)
    assert.equal("NOT_FOUND: no such task\n1", err .. "\n" .. 1)
    assert.equal("NOT_FOUND: no such taskNOT_FOUND: no such task", err .. err)
    local missing = select(2, operations.registry():execute("a.b"))
    assert.equal(tostring(missing), missing .. "")
  end)

  it("is raised by assert as it is", function()
    local err = operations.error("NOT_FOUND", "no such task")
    local ok, raised = pcall(_G.assert, nil, err) -- luassert's own wraps what it raises
    assert.is_false(ok)
    assert.equal(err, raised)
  end)

  it("is told from other values", function()
    assert.is_true(operations.is_error(operations.error("A", "b")))
    assert.is_false(operations.is_error({ code = "A", message = "b" }))
    assert.is_false(operations.is_error("A: b"))
    assert.is_false(operations.is_error(nil))
  end)

  it("needs a code and a message, by name", function()
    assert.has_error(function() local _ = operations.error(1, "b") end,
      "bad argument #1 to 'error' (string expected, got number)")
    assert.has_error(function() local _ = operations.error("A") end,
      "bad argument #2 to 'error' (string expected, got nil)")
  end)

  it("prints even when its fields were taken away", function()
    assert.equal("UNKNOWN_ERROR: (no message)", tostring(setmetatable({}, errors.mt)))
  end)
end)

describe("what a handler raised becomes an error object:", function()
  local schemas = { { code = "NOT_FOUND", description = "no such thing" }, { code = "NOT", description = "no" } }

  local function from(failure)
    local err = errors.from(failure, schemas)
    return err.code, err.message
  end

  it("an error object stays the same one", function()
    local err = operations.error("X", "y")
    assert.equal(err, (errors.from(err, schemas)))
  end)

  it("a string that starts with a declared code takes the code", function()
    assert.same({ "NOT_FOUND", "task 7" }, { from("NOT_FOUND: task 7") })
    assert.same({ "NOT", "task 7" }, { from("NOT:task 7") })
    assert.same({ "NOT_FOUND", "no such thing" }, { from("NOT_FOUND") })
  end)

  it("the position that error() adds does not hide the code", function()
    local _, raised = pcall(error, "NOT_FOUND: task 7", 1)
    assert.same({ "NOT_FOUND", "task 7" }, { from(raised) })
    local _, deeper = pcall(function() error("NOT_FOUND: task 7") end)
    assert.same({ "NOT_FOUND", "task 7" }, { from(deeper) })
  end)

  it("a code somewhere inside the text is not taken", function()
    assert.equal("EXECUTION_ERROR", (from("it was NOT_FOUND: task 7")))
    assert.equal("EXECUTION_ERROR", (from("NOT_FOUNDATION: x")))
  end)

  it("another string is an EXECUTION_ERROR", function()
    assert.same({ "EXECUTION_ERROR", "disk full" }, { from("disk full") })
  end)

  it("a value that cannot be read or printed is told by its type", function()
    local function fail() error("no access") end
    for _, failure in ipairs({ setmetatable({}, { __tostring = fail }), setmetatable({}, { __index = fail }) }) do
      local err, expected = errors.from(failure, schemas)
      assert.equal("UNKNOWN_ERROR", err.code)
      assert.equal(failure, err.details.raw)
      assert.is_false(expected)
    end
    assert.equal("a table whose __tostring fails", errors.text(setmetatable({}, { __tostring = fail })))
  end)

  it("a table with code and message is taken at its word", function()
    local err = errors.from({ code = "BUSY", message = "x", retryable = false, mayHaveRun = true, retryAfter = 5 })
    assert.same({ false, true, 5 }, { err.retryable, err.mayHaveRun, err.retryAfter })
    assert.is_nil(errors.from({ code = "BUSY", message = "x", retryable = "yes" }).retryable)
    err = errors.from({ code = "TEAPOT", message = "short", details = { 1 } })
    assert.is_true(operations.is_error(err))
    assert.equal("TEAPOT", err.code)
    assert.same({ 1 }, err.details)
  end)

  it("whether the error was expected is passed on", function()
    local declared = {
      "NOT_FOUND", "NOT_FOUND: task 7", { code = "TEAPOT", message = "short" }, operations.error("X", "y"),
    }
    for _, failure in ipairs(declared) do
      assert.is_true((select(2, errors.from(failure, schemas))))
    end
    for _, failure in ipairs({ "disk full", 42, { code = "TEAPOT" }, false }) do
      assert.is_false((select(2, errors.from(failure, schemas))))
    end
  end)

  it("anything else is an UNKNOWN_ERROR that keeps the value", function()
    local err = errors.from(42)
    assert.equal("UNKNOWN_ERROR", err.code)
    assert.equal("42", err.message)
    assert.equal(42, err.details.raw)
    assert.equal("UNKNOWN_ERROR", errors.from(nil).code)
  end)
end)

describe("an error that leaves a handler", function()
  it("says no more that nothing ran, and is copied for that", function()
    local inner = errors.new("BUSY", "no room", { n = 1 })
    inner.retryable, inner.mayHaveRun, inner.retryAfter = true, false, 5
    local left = errors.of_handler(inner, function() end)
    assert.is_true(errors.is_error(left))
    assert.same({ "BUSY", "no room", { n = 1 }, true, 5 },
      { left.code, left.message, left.details, left.retryable, left.retryAfter })
    assert.is_nil(left.mayHaveRun)
    assert.is_false(inner.mayHaveRun)
    for _, said in ipairs({ true, "nothing" }) do
      inner.mayHaveRun = said == true or nil
      assert.equal(inner, errors.of_handler(inner, function() end))
    end
  end)

  it("is left alone where the handler does nothing but pass a call on", function()
    local inner = errors.new("BUSY", "no room")
    inner.mayHaveRun = false
    local relay = errors.relay(function() end)
    assert.equal(inner, errors.of_handler(inner, relay))
    assert.equal(inner, errors.of_handler(inner, nil))
    assert.equal(inner, errors.of_handler(inner, errors.relay(function() end, relay)))
    assert.not_equal(inner, errors.of_handler(inner, errors.relay(function() end, print)))
  end)
end)
