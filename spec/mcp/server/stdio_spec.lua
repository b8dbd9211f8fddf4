local command = require("spec.support.command")
local eventually = require("spec.support.eventually")
local operations = require("operations")
local pipe = require("spec.support.mcp_server.pipe")
local stream = require("operations.net.stream")

describe("an MCP server over stdio", function()
  local server

  before_each(function()
    server = pipe.start()
  end)

  after_each(function()
    server.child:abort()
  end)

  it("agrees on the revision that the client asks for, else on its own latest", function()
    for _, case in ipairs({ { "2025-11-25", "2025-11-25" }, { "2024-11-05", "2024-11-05" },
      { "1999-01-01", "2025-11-25" }, { "2026-07-28", "2025-11-25" } }) do
      local other = pipe.start()
      local result = other:initialize(case[1]).result
      assert.equal(case[2], result.protocolVersion)
      assert.same({ name = "spec", version = "1.2.3" }, result.serverInfo)
      assert.equal("Be kind", result.instructions)
      assert.same({ listChanged = true }, result.capabilities.tools)
      other.child:abort()
    end
  end)

  it("is asked nothing before initialize, and stays alive", function()
    local refused = server:request("tools/list")
    assert.equal(-32600, refused.error.code)
    assert.same({}, server:request("ping").result)
    assert.equal("2025-11-25", server:initialize().result.protocolVersion)
    assert.equal(-32602, server:request("initialize", { capabilities = {} }).error.code)
  end)

  it("begins a session with each initialize, and answers no request of an earlier one", function()
    server:initialize("2025-03-26")
    server:send({ id = "old", method = "tools/call", params = { name = "demo_greet" } })
    assert.equal("elicitation/create", server:receive().method)
    server:send({ id = 7, method = "tools/call", params = { name = "demo_wait" } })
    assert.same({}, server:request("ping").result)
    assert.equal("2025-06-18", server:initialize("2025-06-18", { roots = {} }).result.protocolVersion)
    local given = { value = { new = 1 } }
    server:send({ id = 7, method = "tools/call", params = { name = "demo_value", arguments = given } })
    local answer = server:receive()
    assert.same({ 7, { new = 1 } }, { answer.id, answer.result.structuredContent })
    assert.same({ action = "decline" }, server:call("demo_greet").result.structuredContent) -- it has no elicitation
    server:send({ id = 8, method = "tools/call", params = { name = "demo_wait" } })
    server:send({ id = 8, method = "ping" })
    assert.equal(-32600, server:receive().error.code)
  end)

  it("takes arguments that are null or missing for none", function()
    server:initialize()
    server:write('{"jsonrpc":"2.0","id":"n","method":"tools/call","params":{"name":"demo_count","arguments":null}}\n')
    local answer = server:receive()
    while answer.id ~= "n" do
      answer = server:receive()
    end
    assert.same({ n = 3 }, answer.result.structuredContent)
    assert.same({ n = 3 }, server:call("demo_count").result.structuredContent)
    assert.truthy(server:call("demo_add").result.content[1].text:find("/a: ", 1, true))
    local none = operations.array() -- which programs in some languages do not tell from an object
    assert.is_table(server:request("tools/list", none).result)
    assert.same({ n = 3 }, server:call("demo_count", none).result.structuredContent)
    assert.equal(-32602, server:call("demo_count", { 1 }).error.code)
  end)

  it("ends by TERM as by the end of its input: what runs is cancelled, and no error is shown", function()
    server:initialize()
    local file = os.tmpname()
    server:send({ id = "slow", method = "tools/call", params = { name = "demo_wait", arguments = { file = file } } })
    server:request("ping")
    os.execute("kill -TERM " .. server.child.pid)
    local ended = server.child:wait()
    assert.same({ 15, "" }, { ended.signal, server.child:stderr() })
    local handle = io.open(file)
    assert.matches("^ABORTED: ", handle:read("*a"))
    handle:close()
    os.remove(file)
  end)

  it("speaks the modern era without a handshake", function()
    local found = server:request("server/discover", { _meta = pipe.modern }).result
    assert.equal("2026-07-28", found.supportedVersions[1])
    assert.equal("complete", found.resultType)
    assert.equal("spec", found._meta["io.modelcontextprotocol/serverInfo"].name)
    local result = server:call("demo_add", { a = 1, b = 2 }, pipe.modern).result
    assert.same({ sum = 3 }, result.structuredContent)
    assert.equal("complete", result.resultType)
    assert.equal(-32601, server:request("ping", { _meta = pipe.modern }).error.code)
  end)

  it("lists what may be called, in the order of registration", function()
    server:initialize()
    local names = {}
    for i, tool in ipairs(server:request("tools/list").result.tools) do
      names[i] = tool.name
      assert.equal("object", tool.inputSchema.type)
    end
    assert.same({ "demo_add", "demo_value", "demo_noise", "demo_fail", "demo_count", "demo_wait", "demo_greet",
      "demo_guess" }, names)
  end)

  it("keeps what is printed away from its messages", function()
    server:initialize()
    assert.same({ read = true }, server:call("demo_noise").result.structuredContent)
    server.child:close_stdin()
    assert.equal(0, server.child:wait().code)
    local noise = server.child:stderr()
    for _, line in ipairs({ "printed", "written", "spoken by a child", "over" }) do
      assert.truthy(noise:find(line, 1, true), line)
    end
    assert.is_nil(server:receive())
  end)

  it("logs a message that is not JSON, and continues", function()
    server:initialize()
    local answer = server:call("demo_count", { n = 1, odd = true }, { progressToken = 1 })
    assert.same({ n = 1 }, answer.result.structuredContent)
    server.child:close_stdin()
    server.child:wait()
    assert.matches("a message is not JSON: [^\n]*inf", server.child:stderr())
  end)

  it("runs calls side by side and hears of those that are cancelled", function()
    server:initialize()
    local file = os.tmpname()
    server:send({ id = "slow", method = "tools/call", params = { name = "demo_wait", arguments = { file = file } } })
    assert.same({ sum = 3 }, server:call("demo_add", { a = 1, b = 2 }).result.structuredContent)
    server:send({ method = "notifications/cancelled", params = { requestId = "slow", reason = "enough" } })
    assert.same({}, server:request("ping").result)
    local handle = io.open(file)
    assert.equal("ABORTED: enough", handle:read("*a"))
    handle:close()
    os.remove(file)
  end)

  it("ends what runs when stdin ends", function()
    server:initialize()
    local file = os.tmpname()
    server:send({ id = "slow", method = "tools/call", params = { name = "demo_wait", arguments = { file = file } } })
    server:request("ping")
    server.child:close_stdin()
    local task = operations.spawn(server.child.wait, server.child)
    assert.equal(0, task:wait().code)
    local handle = io.open(file)
    assert.equal("ABORTED: the client has gone", handle:read("*a"))
    handle:close()
    os.remove(file)
  end)

  it("ends with its task, and tells that it was cancelled", function()
    local child = command.start("-e", [[
      local operations = require("operations")
      operations.run(function()
        local serving = operations.spawn(function()
          return operations.to_mcp(operations.registry()):stdio()
        end)
        operations.sleep(0)
        serving:cancel("enough")
        local served, err = serving:wait()
        io.stderr:write(("served %s: %s"):format(tostring(served), tostring(err)))
      end)]])
    child:wait()
    assert.equal("served nil: ABORTED: enough", child:stderr())
  end)

  it("serves over a socket that is its stdin and its stdout, until that ends", function()
    operations.run(function()
      local got, link = {}, nil
      local listener = assert(stream.listen("127.0.0.1", 0, function(connection)
        link = connection
        connection:each_chunk(function(bytes)
          got[#got + 1] = bytes
        end)
      end))
      local child = pipe.spawn("bash", "-c", ('exec "$0" "$@" 0<>/dev/tcp/127.0.0.1/%d >&0'):format(listener.port),
        command.interpreter() or "luajit", "spec/support/mcp_server/stdio.lua").child
      assert.is_true(eventually(function()
        return link ~= nil
      end))
      link:write('{"jsonrpc":"2.0","id":1,"method":"ping"}\n')
      assert.is_true(eventually(function()
        return #got > 0
      end))
      assert.same({ jsonrpc = "2.0", id = 1, result = {} }, operations.json.decode(table.concat(got)))
      link:finish()
      assert.equal(0, child:wait().code)
      link:close()
      listener:close()
    end)
  end)

  it("fails when it was started without stdout", function()
    local result = command.run([[
      printf '{"jsonrpc":"2.0","id":1,"method":"ping"}\n' | lua spec/support/mcp_server/stdio.lua >&-]])
    assert.truthy(result.err:find("TRANSPORT_LOST: stdout", 1, true), result.err)
    assert.not_equal(0, result.code)
  end)

  it("ends with an error when the client reads no more", function()
    local result = command.run([[
      ask() { id=$((id + 1)); printf '{"jsonrpc":"2.0","id":%d,"method":"ping"}\n' $id; }
      serve() { lua spec/support/mcp_server/stdio.lua; echo "code $?" >&2; }
      { while ask; do sleep 0.1; done; } 2>/dev/null | serve | head -n 1
    ]])
    assert.truthy(result.out:find('"result"', 1, true))
    assert.truthy(result.err:find("TRANSPORT_LOST: stdout", 1, true), result.err)
    assert.truthy(result.err:find("code [1-9]"), result.err)
  end)
end)
