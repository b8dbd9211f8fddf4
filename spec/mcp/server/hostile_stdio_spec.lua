local eventually = require("spec.support.eventually")
local operations = require("operations")
local pipe = require("spec.support.mcp_server.pipe")
local running = require("spec.support.running")

describe("a bad client of an MCP server over stdio", function()
  local server

  after_each(function()
    server.child:abort()
  end)

  local function start(...)
    server = pipe.start(...)
    server:initialize()
  end

  -- The server still answers, with nothing in between.
  local function is_alive()
    assert.same({}, server:request("ping").result)
  end

  it("sends invalid JSON", function()
    start()
    for _, text in ipairs({ "garbage\n", "{\"jsonrpc\":\"2.0\",\n", "\255\254\n", "{\n" }) do
      server:write(text)
      local answer = server:receive()
      assert.equal(-32700, answer.error.code)
      assert.equal(operations.null, answer.id)
      assert.truthy(answer.error.message:find("Parse error", 1, true))
    end
    is_alive()
  end)

  it("sends JSON that is no message", function()
    start()
    for _, text in ipairs({ "1", "\"text\"", "null", "{}", '{"jsonrpc":"1.0","id":1,"method":"ping"}',
      '{"jsonrpc":"2.0","id":{},"method":"ping"}', '{"jsonrpc":"2.0","id":1.5,"method":"ping"}',
      '{"jsonrpc":"2.0","id":null,"method":"ping"}', '{"jsonrpc":"2.0","id":1,"method":2}',
      '{"jsonrpc":"2.0","id":1,"method":"ping","params":[1]}' }) do
      server:write(text .. "\n")
      assert.equal(-32600, server:receive().error.code, text)
    end
    is_alive()
  end)

  it("sends other things than requests under an id, which the refusal repeats as it was", function()
    start()
    for _, id in ipairs({ "1", "a", 1 }) do
      server:send({ id = id, result = 1 })
      assert.equal(id, server:receive().id)
    end
    is_alive()
  end)

  it("sends blank lines, carriage returns and half lines", function()
    start()
    server:write("\n\r\n  \n")
    for byte in ('{"jsonrpc":"2.0","id":"slowly","method":"ping"}\r\n'):gmatch(".") do
      server:write(byte)
    end
    assert.equal("slowly", server:receive().id)
  end)

  it("sends batches, which only revision 2025-03-26 has", function()
    start()
    local batch = '[{"jsonrpc":"2.0","id":"a","method":"ping"},{"jsonrpc":"2.0","id":"b","method":"ping"}]\n'
    server:write(batch)
    assert.equal(-32600, server:receive().error.code)
    server.child:abort()
    server = pipe.start()
    server:initialize("2025-03-26")
    server:write(batch)
    assert.equal("a", server:receive().id)
    assert.equal("b", server:receive().id)
    server:write("[1]\n")
    assert.equal(-32600, server:receive().error.code)
    is_alive()
  end)

  it("uses an id twice at a time", function()
    start()
    server:send({ id = 77, method = "tools/call", params = { name = "demo_wait", arguments = { seconds = 0.2 } } })
    server:send({ id = 77, method = "ping" })
    local refused = server:receive()
    assert.same({ 77, -32600 }, { refused.id, refused.error.code })
    local answer = server:receive()
    assert.same({ 77, true }, { answer.id, answer.result.structuredContent.slept })
    server:send({ id = 77, method = "ping" })
    assert.same({}, server:receive().result)
  end)

  it("cancels requests that are over, unknown or without an id", function()
    start()
    for _, params in ipairs({ { requestId = 1 }, { requestId = "x" }, {}, { requestId = { 1 } } }) do
      server:send({ method = "notifications/cancelled", params = params })
    end
    server:send({ method = "notifications/cancelled" })
    server:send({ method = "notifications/unknown", params = {} })
    server:send({ id = 12345, result = {} })
    is_alive()
  end)

  it("sends more requests at once than are allowed", function()
    start("max_requests=5")
    for i = 101, 107 do
      server:send({ id = i, method = "tools/call", params = { name = "demo_wait", arguments = { seconds = 0.3 } } })
    end
    local busy, done = 0, 0
    for _ = 1, 7 do
      local answer = server:receive()
      if answer.error then
        busy = busy + 1
        assert.same({ -32603, "BUSY" }, { answer.error.code, answer.error.data.code })
      else
        done = done + 1
      end
    end
    assert.same({ 2, 5 }, { busy, done })
    is_alive()
  end)

  it("sends a line of 8 MiB, and one that is too long", function()
    start("max_body=10000000")
    local text = ("x"):rep(8 * 1024 * 1024)
    local result = server:call("demo_value", { value = text }).result
    assert.equal(text, result.content[1].text)
    server:write('{"jsonrpc":"2.0","id":"huge","method":"ping","params":{"name":"' .. ("y"):rep(10000001) .. '"}}\n')
    local answer = server:receive()
    assert.same({ "huge", -32600 }, { answer.id, answer.error.code })
    is_alive()
  end)

  it("nests deeply", function()
    start()
    local nested = ("["):rep(20000) .. ("]"):rep(20000)
    server:write('{"jsonrpc":"2.0","id":1,"method":"ping","params":{"a":' .. nested .. "}}\n")
    assert.truthy(server:receive().error)
    is_alive()
  end)

  it("does not read its answers, and then does", function()
    start("max_requests=20")
    local text = ("z"):rep(100000)
    local sender = operations.spawn(function()
      for i = 1001, 1100 do
        server:send({ id = i, method = "tools/call", params = { name = "demo_value", arguments = { value = text } } })
      end
    end)
    -- waits: the server, a program of its own, must have filled its pipe
    operations.sleep(0.3)
    local answers = 0
    for _ = 1, 100 do
      assert.truthy(server:receive())
      answers = answers + 1
    end
    sender:wait()
    assert.equal(100, answers)
    is_alive()
  end)

  it("vanishes in the middle of a call and of a line", function()
    start()
    local file = os.tmpname()
    server:send({ id = 1, method = "tools/call", params = { name = "demo_wait", arguments = { file = file } } })
    is_alive()
    server:write('{"jsonrpc":"2.0","id":')
    server.child:close_stdin()
    local ended = server.child:wait()
    assert.equal(0, ended.code)
    local handle = io.open(file)
    assert.equal("ABORTED: the client has gone", handle:read("*a"))
    handle:close()
    os.remove(file)
  end)

  it("closes its end of stdout", function()
    start()
    local pid = server.child.pid
    server.child:abort()
    eventually(function()
      return not running(pid)
    end)
  end)
end)
