local failure = require("operations.mcp.protocol.failure")
local message = require("operations.mcp.protocol.message")

describe("a failure of an MCP request", function()
  local function known(err)
    return { retryable = err.retryable, mayHaveRun = err.mayHaveRun }
  end

  it("says whether trying again makes sense, and whether the request may have run", function()
    for kind, expected in pairs({
      timeout = { retryable = true, mayHaveRun = true }, lost = { retryable = true, mayHaveRun = true },
      session = { retryable = true, mayHaveRun = false }, closed = { retryable = false, mayHaveRun = true },
      malformed = { retryable = false, mayHaveRun = true }, protocol = { retryable = false, mayHaveRun = true },
      size = { retryable = false, mayHaveRun = true }, rounds = { retryable = false, mayHaveRun = true },
      task = { mayHaveRun = true }, version = { retryable = false, mayHaveRun = false },
      tool = { mayHaveRun = true },
    }) do
      local err = failure.new(kind, "no", { more = 1 })
      assert.same(expected, known(err))
      assert.same({ kind = kind, more = 1 }, err.details)
      assert.equal(kind == "timeout" and "TIMEOUT" or "EXECUTION_ERROR", err.code)
    end
    assert.same({ kind = "lost" }, failure.new("lost", "no").details)
    local closed = failure.closed("over")
    assert.equal("ABORTED", closed.code)
    assert.same({ retryable = false, mayHaveRun = true }, known(closed))
  end)

  it("has not run when the server refused it", function()
    for _, code in ipairs({ -32700, -32600, -32601, -32602, -32002, -32042, -32020, -32021, -32022 }) do
      local err = failure.of_answer(message.failure(1, code, "no").error, "tools/call")
      assert.same({ retryable = false, mayHaveRun = false }, known(err))
      assert.equal("MCP_" .. code, err.code)
    end
    for _, code in ipairs({ -32603, -32000, -1, 0, 7 }) do
      assert.same({ mayHaveRun = true }, known(failure.of_answer(message.failure(1, code, "no").error, "tools/call")))
    end
  end)

  it("has not run when it was not sent, whatever else is known", function()
    local err = failure.new("lost", "no", {})
    err.retryAfter = 5
    local unsent = failure.unsent(err)
    assert.same({ retryable = true, mayHaveRun = false }, known(unsent))
    assert.same({ tostring(err), err.details, 5 }, { tostring(unsent), unsent.details, unsent.retryAfter })
    assert.is_true(err.mayHaveRun)
  end)
end)
