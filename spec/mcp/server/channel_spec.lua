local channel = require("operations.mcp.server.channel")
local operations = require("operations")

describe("an event stream of an MCP server", function()
  it("keeps a thousand events that were read, for a client that resumes", function()
    local stream = channel.new("s")
    local read = stream:body(0)
    for i = 1, 1100 do
      assert.is_true(stream:put(tostring(i), true))
      read()
    end
    assert.same({ false, true, true, false },
      { stream:has(99), stream:has(100), stream:has(1100), stream:has(1101) })
    assert.matches("^id: s_101\ndata: 101\n\nid: s_102\n", stream:body(100)())
  end)

  it("drops events of 4 MiB that were read for new ones, and new ones while they are unread", function()
    local stream, large = channel.new("s"), ("x"):rep(1024 * 1024)
    local read = stream:body(0)
    for _ = 1, 8 do
      assert.is_true(stream:put(large, true))
      read()
    end
    assert.is_true(stream:has(5))
    for i = 1, 4 do
      assert.equal(i < 4, stream:put(large, true))
    end
    assert.is_true(stream:put(large)) -- an answer
    assert.same({ false, true }, { stream:has(7), stream:has(8) })
    assert.matches("^id: s_9\n", read())
  end)

  it("wakes who waits for the next event when it ends", function()
    operations.run(function()
      local stream = channel.new()
      local reading = operations.spawn(stream:body(0))
      operations.sleep(0)
      stream:close()
      assert.is_nil((reading:wait()))
    end)
  end)
end)
