local json = require("operations.base.json")
local lfs = require("lfs")
local operations = require("operations")
local stream = require("operations.net.stream")

-- A client at the socket: sends messages, collects those that come.
local function connect(path)
  local connected = assert(stream.connect_path(path))
  local client = { messages = {}, text = "" }
  connected:each_chunk(function(bytes)
    client.text, client.ended = client.text .. (bytes or ""), bytes == nil
    client.text = client.text:gsub("([^\n]*)\n", function(line)
      table.insert(client.messages, json.decode(line))
      return ""
    end)
  end)
  function client.send(value)
    value.jsonrpc = "2.0"
    assert(connected:write(json.encode(value) .. "\n"))
  end
  function client.wait(test)
    local give_up = os.time() + 20
    while not test() do
      assert(os.time() < give_up, "nothing came")
      operations.sleep(0.005)
    end
  end
  function client.receive(id)
    local found
    client.wait(function()
      for _, message in ipairs(client.messages) do
        found = message.id == id and message or found
      end
      return found
    end)
    return found
  end
  function client.close()
    connected:close()
  end
  return client
end

local function hello(client, id)
  client.send({ id = id, method = "initialize", params = { protocolVersion = "2025-11-25",
    capabilities = operations.object(), clientInfo = { name = "spec", version = "1" } } })
  return client.receive(id)
end

describe("an MCP server at a Unix socket", function()
  local path, registry, server, cancelled

  before_each(function()
    path = os.tmpname()
    os.remove(path)
    registry, cancelled = operations.registry(), 0
    registry:register({ namespace = "demo", name = "echo", type = "query", handler = function(input)
      return { said = input.say }
    end })
    registry:register({ namespace = "demo", name = "who", type = "query", handler = function(_, context)
      return { name = context.metadata.mcp.client and context.metadata.mcp.client.name }
    end })
    registry:register({ namespace = "demo", name = "hang", handler = function()
      local ok, raised = pcall(operations.sleep, 1000)
      cancelled = cancelled + 1
      return ok or error(raised, 0)
    end })
    server = operations.to_mcp(registry)
  end)

  after_each(function()
    server:close()
    os.remove(path)
  end)

  it("serves several clients, each for itself", function()
    operations.run(function()
      assert.equal("rw-------", assert(server:listen_lines({ path = path })) and lfs.attributes(path, "permissions"))
      local one, other = connect(path), connect(path)
      assert.equal("2025-11-25", hello(one, 1).result.protocolVersion)
      other.send({ id = 1, method = "tools/list" })
      assert.equal(-32600, other.receive(1).error.code) -- it has not said who it is
      one.send({ id = "a", method = "tools/call", params = { name = "demo_echo", arguments = { say = "x" } } })
      assert.same({ said = "x" }, one.receive("a").result.structuredContent)
      hello(other, 2)
      registry:unregister("demo.echo")
      for _, client in ipairs({ one, other }) do
        client.wait(function()
          local last = client.messages[#client.messages]
          return last.method == "notifications/tools/list_changed"
        end)
        client.close()
      end
    end)
  end)

  it("tells handlers which program the client is, in both eras", function()
    operations.run(function()
      assert(server:listen_lines({ path = path }))
      local client = connect(path)
      hello(client, 1)
      client.send({ id = 2, method = "tools/call", params = { name = "demo_who" } })
      assert.equal("spec", client.receive(2).result.structuredContent.name)
      local name = "io.modelcontextprotocol/"
      client.send({ id = 3, method = "tools/call", params = { name = "demo_who", _meta = {
        [name .. "protocolVersion"] = "2026-07-28", [name .. "clientCapabilities"] = operations.object(),
        [name .. "clientInfo"] = { name = "other", version = "2" } } } })
      assert.equal("other", client.receive(3).result.structuredContent.name)
      client.close()
    end)
  end)

  it("cancels what runs for a client that has gone", function()
    operations.run(function()
      local listener = assert(server:listen_lines({ path = path }))
      local client = connect(path)
      hello(client, 1)
      for id = 2, 11 do
        client.send({ id = id, method = "tools/call", params = { name = "demo_hang" } })
      end
      client.send({ id = 99, method = "ping" })
      client.receive(99)
      assert.equal(1, listener.connections)
      client.close()
      client.wait(function()
        return listener.connections == 0
      end)
      assert.equal(10, cancelled)
      assert.is_nil(next(server.links))
    end)
  end)

  it("accepts no more clients than it may, and tells those", function()
    operations.run(function()
      local listener = assert(server:listen_lines({ path = path, max_connections = 2 }))
      local clients = {}
      for i = 1, 5 do
        clients[i] = connect(path)
      end
      clients[5].wait(function()
        return clients[3].ended and clients[4].ended and clients[5].ended
      end)
      assert.equal("BUSY", clients[5].messages[1].error.data.code)
      assert.equal(2, listener.connections)
      assert.truthy(hello(clients[1], 1).result)
    end)
  end)

  it("ends its connections and removes its file when it is closed", function()
    operations.run(function()
      assert(server:listen_lines({ path = path }))
      local client = connect(path)
      hello(client, 1)
      client.send({ id = 2, method = "tools/call", params = { name = "demo_hang" } })
      client.send({ id = 3, method = "ping" })
      client.receive(3)
      server:close()
      assert.is_nil(lfs.attributes(path))
      client.wait(function()
        return client.ended
      end)
      assert.equal(1, cancelled)
    end)
  end)

  it("says what is wrong with its options, and with the path", function()
    assert.has_error(function()
      server:listen_lines({})
    end, "bad option 'path' to 'listen_lines' (string expected, got nil)")
    local listener, err = server:listen_lines({ path = "/no/such/directory/x" })
    assert.is_nil(listener)
    assert.equal("TRANSPORT_LOST", err.code)
    assert(server:listen_lines({ path = path }))
    assert.matches("in use", select(2, server:listen_lines({ path = path })).message)
  end)
end)
