--- A Redis Cluster of two nodes: the keys of a prefix are on one of them.
local addresses = require("operations.calls.redis.address")
local eventually = require("spec.support.eventually")
local free_port = require("spec.support.free_port")
local link = require("operations.calls.redis.link")
local operations = require("operations")
local redis = require("spec.support.redis")
local resp = require("operations.redis")
local scripts = require("operations.calls.redis.scripts")
local streams = require("operations.net.stream")

local function quiet() end

local directory, nodes

-- Asks a node; an answer of it.
local function ask(node, ...)
  local reader, reply = resp.reader(), nil
  local stream = assert(streams.connect("127.0.0.1", node.port))
  stream:each_chunk(function(bytes)
    for _, came in ipairs(bytes and reader:feed(bytes) or {}) do
      reply = came
    end
  end)
  stream:offer(resp.command(...))
  eventually(function()
    return reply ~= nil
  end)
  stream:close()
  return reply
end

local function start_node(name)
  local bus = free_port()
  local node = redis.start(nil, nil, ("--cluster-enabled yes --dir '%s' --cluster-config-file '%s' --cluster-port %d")
    :format(directory, name, bus))
  node.bus = bus
  return node
end

setup(function()
  directory = os.tmpname()
  os.remove(directory)
  os.execute("mkdir " .. directory)
  nodes = { start_node("one"), start_node("two") }
  operations.run(function()
    nodes[1].id, nodes[2].id = ask(nodes[1], "CLUSTER", "MYID"), ask(nodes[2], "CLUSTER", "MYID")
    assert.equal("OK", ask(nodes[1], "CLUSTER", "ADDSLOTSRANGE", 0, 8191))
    assert.equal("OK", ask(nodes[2], "CLUSTER", "ADDSLOTSRANGE", 8192, 16383))
    assert.equal("OK", ask(nodes[1], "CLUSTER", "MEET", "127.0.0.1", nodes[2].port, nodes[2].bus))
    for _, node in ipairs(nodes) do
      eventually(function()
        return ask(node, "CLUSTER", "INFO"):find("cluster_state:ok", 1, true)
      end)
    end
  end)
end)

teardown(function()
  for _, node in ipairs(nodes) do
    node.stop()
  end
  os.execute("rm -r " .. directory)
end)

-- The slot of a prefix, the node that has it, and the other one.
local function places(prefix)
  local slot = ask(nodes[1], "CLUSTER", "KEYSLOT", scripts.keys(prefix):any())
  if slot < 8192 then
    return slot, nodes[1], nodes[2]
  end
  return slot, nodes[2], nodes[1]
end

local function connect(node, mode, prefix)
  return operations.call_map(assert(operations.transports.redis(node.url, { mode = mode, prefix = prefix })),
    { log = quiet })
end

local function serve(map)
  local registry = operations.registry({ log = quiet })
  registry:register({ namespace = "a", name = "echo", handler = function(input)
    return input
  end })
  registry:register({ namespace = "a", name = "ticks", type = "subscription", handler = function()
    coroutine.yield(1)
    coroutine.yield(2)
  end })
  return operations.call_handler(registry, map)
end

for _, mode in ipairs({ "fast", "reliable" }) do
  describe("over a Redis Cluster, " .. mode .. ",", function()
    it("processes meet on the node that has the keys, whichever each connects to", function()
      operations.run(function()
        local _, owner, other = places("ops")
        for _, pair in ipairs({ { owner, other }, { other, owner }, { other, other } }) do
          local served, map = connect(pair[1], mode), connect(pair[2], mode)
          serve(served)
          for i = 1, 3 do
            assert.equal(i, assert(map:call("a.echo", { i })).data[1])
          end
          local ticks = assert(map:subscribe("a.ticks"))
          assert.equal(1, assert(ticks:next()).data)
          assert.equal(2, assert(ticks:next()).data)
          assert.is_nil(ticks:next())
          map:close()
          served:close()
        end
      end)
    end)
  end)
end

-- Runs `fn(url)` with a node that has no keys: `elsewhere(command, port)` says where they are.
local function with_node(elsewhere, fn)
  operations.run(function()
    local held, listener = {}, nil
    listener = assert(streams.listen("127.0.0.1", 0, function(stream)
      local reader = resp.reader()
      held[#held + 1] = stream -- dropped, it is closed
      stream:each_chunk(function(bytes)
        for _, command in ipairs(bytes and reader:feed(bytes) or {}) do
          stream:offer(command[1] == "PING" and "+PONG\r\n"
            or ("-MOVED 7 %s\r\n"):format(elsewhere(command[1], listener.port)))
        end
      end)
    end))
    fn("redis://127.0.0.1:" .. listener.port)
    listener:close()
    for _, stream in ipairs(held) do
      stream:close()
    end
  end)
end

describe("over a Redis Cluster, reliable,", function()
  it("calls wait while the keys are moved to another node, and continue there", function()
    operations.run(function()
      local slot, owner, other = places("moved")
      local served, map = connect(owner, "reliable", "moved"), connect(owner, "reliable", "moved")
      serve(served)
      assert(map:call("a.echo"))
      -- What is there is not taken along: as if that had been lost on the way.
      ask(other, "CLUSTER", "SETSLOT", slot, "IMPORTING", owner.id)
      ask(owner, "CLUSTER", "SETSLOT", slot, "MIGRATING", other.id)
      local call = operations.spawn(function()
        return map:call("a.echo", { "moved" })
      end)
      local _, err = operations.transports.redis(owner.url, { mode = "reliable", prefix = "moved" })
      assert.same({ "TRANSPORT_LOST", true }, { err.code, err.retryable })
      assert.matches("ASK .*it works again after that", err.message)
      for _, key in ipairs(ask(owner, "CLUSTER", "GETKEYSINSLOT", slot, 100)) do
        ask(owner, "UNLINK", key)
      end
      for _, node in ipairs({ other, owner }) do
        assert.equal("OK", ask(node, "CLUSTER", "SETSLOT", slot, "NODE", other.id))
      end
      assert.same({ "moved" }, assert(call:wait()).data)
      assert.is_true(ask(other, "EXISTS", scripts.keys("moved"):queue("a.echo")) == 1)
      map:close()
      served:close()
    end)
  end)

  it("the error names a node that cannot be reached", function()
    with_node(function()
      return "127.0.0.1:1"
    end, function(url)
      local transport, err = operations.transports.redis((url:gsub("//", "//:secret@")))
      assert.is_nil(transport)
      assert.equal("TRANSPORT_LOST", err.code)
      assert.matches("Redis Cluster has the keys like 'ops:{ops}:any' on 127.0.0.1:1,", err.message, 1, true)
      assert.is_nil(err.message:find("secret", 1, true))
    end)
  end)

  it("nodes that send from one to another for ever are left", function()
    local asked = 0
    with_node(function(command, port)
      asked = asked + (command == "GET" and 1 or 0)
      return ":" .. port
    end, function(url)
      local _, err = operations.transports.redis(url)
      assert.matches("MOVED", err.message)
      assert.is_true(asked < 10)
    end)
  end)
end)

describe("the nodes of a Redis Cluster", function()
  -- A node that has all keys, or says where they are; `ports`, of others that it knows.
  local function start(port, moved_to, ports)
    local held = {}
    local listener = assert(streams.listen("127.0.0.1", port, function(stream)
      local reader = resp.reader()
      held[#held + 1] = stream
      stream:each_chunk(function(bytes)
        for _, command in ipairs(bytes and reader:feed(bytes) or {}) do
          local slots = ""
          for _, other in ipairs(ports) do
            slots = slots .. ("*2\r\n$9\r\n127.0.0.1\r\n:%d\r\n"):format(other)
          end
          stream:offer(command[1] == "PING" and "+PONG\r\n"
            or command[1] == "CLUSTER" and ("*1\r\n*%d\r\n:0\r\n:16383\r\n%s"):format(2 + #ports, slots)
            or moved_to and ("-MOVED 7 127.0.0.1:%d\r\n"):format(moved_to) or "$-1\r\n")
        end
      end)
    end))
    return { port = listener.port, stop = function()
      listener:close()
      for _, stream in ipairs(held) do
        stream:close()
      end
    end }
  end

  local function open(port, options)
    local address, connected = addresses.read("redis://127.0.0.1:" .. port, options or {}), 0
    address.key = "k"
    local made, err = link.connect(address, { ready = function()
      connected = connected + 1
    end })
    return made, err, function()
      return connected
    end
  end

  it("that are given are asked where that of the URL cannot be reached", function()
    operations.run(function()
      local node = start(0, nil, {})
      local made = assert(open(free_port(), { nodes = { "127.0.0.1:1", "127.0.0.1:" .. node.port } }))
      made:close()
      node.stop()
    end)
    for _, wrong in ipairs({ "a", "a:99999", ":1", 5 }) do
      assert.error_matches(function() operations.transports.redis("redis://a", { nodes = { wrong } }) end,
        "bad option 'nodes' to 'redis' %(\"host:port\" expected at %[1%], got ")
    end
  end)

  it("that had the keys, and those that it knew, are remembered where others are gone", function()
    operations.run(function()
      local last = start(0, nil, {})
      local owner = start(0, nil, { last.port })
      local first = start(0, owner.port, {})
      local made, _, count = open(first.port)
      assert.equal(1, count())
      first.stop()
      local port = owner.port
      owner.stop()
      owner = start(port, nil, { last.port }) -- the node of the URL is gone
      eventually(function() return count() == 2 end)
      owner.stop()
      eventually(function() return count() == 3 end)
      assert.is_true(made.connected)
      made:close()
      last.stop()
    end)
  end)
end)

describe("a Redis Sentinel", function()
  it("is not asked, which the error says", function()
    assert.error_matches(function() operations.transports.redis("redis+sentinel://a:26379/primary") end,
      "Redis Sentinel is not asked; the URL of the primary, or of a proxy that follows it, expected")
    local port, file = free_port(), directory .. "/sentinel.conf"
    os.execute(("echo 'port %d' >%s"):format(port, file))
    local sentinel = assert(operations.process.spawn({ "redis-server", file, "--sentinel" }))
    operations.run(function()
      local err
      eventually(function()
        err = select(2, operations.transports.redis("redis://127.0.0.1:" .. port))
        return err.message:find("unknown command", 1, true)
      end)
      assert.matches("a Redis Sentinel? It is not asked: the URL of the primary", err.message, 1, true)
    end)
    sentinel:stop({ close = 0 })
  end)
end)
