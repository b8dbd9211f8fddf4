local channel = require("operations.mcp.server.channel")
local operations = require("operations")
local task = require("operations.task")

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

  it("drops new events while a thousand are unread, but for answers", function()
    local stream = channel.new("s")
    local read = stream:body(0)
    for i = 1, 1001 do
      assert.equal(i <= 1000, stream:put(tostring(i), true))
    end
    assert.is_true(stream:put("answer"))
    local piece = read()
    assert.matches("^id: s_1\n", piece)
    assert.matches("id: s_1001\ndata: answer\n\n$", piece)
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

  -- Calls act(stream, task) while a task waits for the stream's next piece; what the task returned.
  local function wait_while(act)
    local stream = channel.new("s")
    return operations.run(function()
      local reading = operations.spawn((stream:body(0)))
      operations.sleep(0)
      act(stream, reading)
      return reading:wait()
    end)
  end

  it("continues for a reader that waits, and ends for it", function()
    assert.equal("id: s_1\ndata: x\n\n", wait_while(function(stream)
      stream:put("x")
    end))
    assert.equal("id: s_1\nretry: 7\ndata: \n\n", wait_while(function(stream)
      stream:prime(7)
    end))
    for _, name in ipairs({ "close", "hang_up" }) do
      assert.is_nil((wait_while(function(stream)
        stream[name](stream)
      end)))
    end
  end)

  it("tells a reader that was cancelled why, also where it was cancelled before it waits", function()
    local _, err = wait_while(function(_, reading)
      reading:cancel("enough")
    end)
    assert.same({ "ABORTED", "enough" }, { err.code, err.message })
    _, err = operations.run(function()
      local reading = operations.spawn(function()
        task.current():cancel("before")
        return channel.new():body(0)()
      end)
      return reading:wait()
    end)
    assert.same({ "ABORTED", "before" }, { err.code, err.message })
  end)
end)
