local call_event = require("operations.calls.event")
local core = require("operations.core")
local json = require("operations.base.json")

local LIMIT = 1000 -- bytes

describe("an event of the call protocol", function()
  it("is written as JSON", function()
    local event = { type = "call.requested", payload = { requestId = "1", operationId = "a.b", input = { x = 1 } } }
    local text = assert(call_event.encode(event, LIMIT))
    assert.same(event, json.decode(text))
    assert.equal(text, call_event.encode(event, #text))
    assert.is_nil((call_event.encode(event, #text - 1)))
  end)

  it("may have the envelope of a tool of MCP, with any content", function()
    local meta = { source = "mcp", isError = false, content = { { type = "text", text = "x" }, 7 } }
    assert.equal("call.responded", (call_event.check({ type = "call.responded", payload = { requestId = "1",
      output = { data = 1, meta = meta } } })))
  end)

  it("names the place of a value that JSON cannot hold, in the input, the result or another argument", function()
    local function nan_at(event)
      local text, err = call_event.encode(event, LIMIT)
      assert.is_nil(text)
      assert.equal("VALIDATION_ERROR", err.code)
      local issue = err.details[1]
      assert.equal((issue.path == "" and "" or issue.path .. ": ") .. issue.message, err.message)
      return issue.path
    end
    local bad = { list = { 1, 0 / 0 } }
    assert.equal("/list/1", nan_at({ type = "call.requested", payload = { input = bad } }))
    assert.equal("", nan_at({ type = "call.requested", payload = { input = 0 / 0 } }))
    assert.equal("/list/1", nan_at({ input = bad })) -- a payload alone
    assert.equal("/payload/list/1", nan_at({ input = { payload = bad } }))
    assert.equal("/metadata/list/1", nan_at({ type = "call.requested", payload = { metadata = bad } }))
    assert.equal("/list/1", nan_at({ type = "call.responded", payload = { output = { data = bad } } }))
    assert.equal("/output/meta/list/1", nan_at({ type = "call.responded", payload = { output = { meta = bad } } }))
  end)

  it("says how much time is left", function()
    assert.is_nil(call_event.ttl(nil))
    assert.equal(0, call_event.ttl(1))
    local left = call_event.ttl(core.now() + 60000)
    assert.is_true(left > 0 and left <= 60000)
  end)

  it("tells why a request is aborted, where that can be told", function()
    for _, reason in ipairs({ "no more", "caf\195\169", ("x"):rep(4096) }) do
      assert.same({ requestId = "1", reason = reason }, call_event.aborted("1", reason))
    end
    for _, reason in ipairs({ "caf\233", ("x"):rep(4097) }) do
      assert.same({ requestId = "1" }, call_event.aborted("1", reason))
    end
  end)

  it("is not longer than may be", function()
    local text, err = call_event.encode({ payload = { input = ("x"):rep(LIMIT) } }, LIMIT)
    assert.is_nil(text)
    assert.equal("VALIDATION_ERROR", err.code)
    assert.matches("longer than max_message, 1000", err.message)
  end)
end)
