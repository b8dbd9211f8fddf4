--- How many places a call passes: the files and functions of lua/operations that run, and the hops, calls into another
--- file than the last. Usage: hops.lua [FLOW]; each flow runs in a process of its own.
--- Prints to stderr, as the command line program keeps stdout to itself.
local counts = { files = {}, functions = {}, hops = 0, last = nil, running = false }

local function count()
  if not counts.running then
    return
  end
  local info = debug.getinfo(2, "S")
  local file = info.what == "Lua" and info.source:match("lua/operations/.*")
  if file then
    counts.files[file] = true
    counts.functions[file .. ":" .. info.linedefined] = true
    counts.hops = counts.hops + (counts.last ~= file and 1 or 0)
    counts.last = file
  end
end

-- A hook belongs to one coroutine, so each new one gets it. Done before the library is loaded, which keeps these
-- functions in local variables.
local create = coroutine.create
function coroutine.create(fn) -- luacheck: ignore 122
  local thread = create(fn)
  debug.sethook(thread, count, "c")
  return thread
end
debug.sethook(count, "c")

local operations = require("operations")

local function size(set)
  local n = 0
  for _ in pairs(set) do
    n = n + 1
  end
  return n
end

local function measured(fn)
  counts.running, counts.last = true, nil
  fn()
  counts.running = false
end

-- The second of two equal calls: the first one loads and makes what later ones share.
local function second(call)
  call()
  measured(call)
end

local schema = { type = "object", properties = { n = { type = "integer" } } }

local function new_registry()
  local registry = operations.registry()
  assert(registry:register({ namespace = "a", name = "b", type = "query", inputSchema = schema, outputSchema = schema,
    handler = function(input)
      return { n = input.n }
    end }))
  assert(registry:register({ namespace = "a", name = "s", type = "subscription", inputSchema = schema,
    handler = function(input)
      coroutine.yield({ n = input.n })
    end }))
  return registry
end

local flows = {}

flows["execute"] = function()
  local registry = new_registry()
  second(function()
    assert(registry:execute("a.b", { n = 1 }))
  end)
end

flows["to_http, GET"] = function()
  local server = assert(operations.to_http(new_registry()))
  second(function()
    local response = server:handle({ method = "GET", target = "/a/b?n=1", headers = { host = "localhost" },
      peer = { address = "127.0.0.1", port = 1 } })
    assert(response.status == 200)
  end)
end

flows["OpenAPI call, with its server"] = function()
  operations.run(function()
    local server = assert(operations.to_http(new_registry()))
    local listener = assert(server:listen({ port = 0 }))
    local client = operations.registry()
    local document = { openapi = "3.1.0", info = { title = "c", version = "1" }, paths = { ["/a/b"] = { get = {
      operationId = "b", parameters = { { name = "n", ["in"] = "query", schema = { type = "integer" } } },
      responses = { ["200"] = { description = "", content = { ["application/json"] = { schema = schema } } } },
    } } } }
    assert(client:register_all(assert(operations.from_openapi.document(document,
      { base_url = "http://127.0.0.1:" .. listener.port, namespace = "c" }))))
    second(function()
      assert(client:execute("c.b", { n = 1 }))
    end)
    server:close()
  end)
end

flows["MCP over stdio, the client"] = function()
  operations.run(function()
    local client = assert(operations.from_mcp.connect("m", {
      command = arg[-1], args = { "spec/bench/mcp_server_program.lua", "ours", "stdio" },
      env = { LUA_PATH = os.getenv("LUA_PATH"), LUA_CPATH = os.getenv("LUA_CPATH") },
    }))
    local registry = operations.registry()
    assert(registry:register_all(client.operations))
    local first = client.operations[1]
    second(function()
      assert(registry:execute(first.namespace .. "." .. first.name, { message = "x" }))
    end)
    client:close()
  end)
end

flows["subscription over WebSocket, both ends"] = function()
  operations.run(function()
    local hub = assert(operations.transports.websocket_hub({ registry = new_registry() }))
    local map = operations.call_map(assert(operations.transports.websocket("ws://127.0.0.1:" .. hub.port)))
    second(function()
      for envelope in assert(map:subscribe("a.s", { n = 1 })) do
        assert(envelope.data.n == 1)
      end
    end)
    map:close()
    hub:close()
  end)
end

flows["Redis, reliable, both ends"] = function()
  local server = require("spec.support.redis").start()
  operations.run(function()
    local function open()
      return operations.call_map(assert(operations.transports.redis(server.url, { mode = "reliable" })))
    end
    local worker, caller = open(), open()
    operations.call_handler(new_registry(), worker)
    second(function()
      assert(caller:call("a.b", { n = 1 }))
    end)
    caller:close()
    worker:close()
  end)
  server.stop()
end

-- As the program runs: once, from nothing.
flows["operations call"] = function()
  local cli = require("operations.cli")
  local answer = os.tmpname()
  measured(function()
    assert(cli.main({ "call", "demo.greet", "name=Ada", "--lua", "examples/definitions", "-o", answer }) == 0)
  end)
  os.remove(answer)
end

local order = { "execute", "to_http, GET", "OpenAPI call, with its server", "MCP over stdio, the client",
  "subscription over WebSocket, both ends", "Redis, reliable, both ends", "operations call" }

local flow = arg[1]
if flow then
  flows[flow]()
  local loaded = 0
  for name in pairs(package.loaded) do
    loaded = loaded + (name:find("^operations") and 1 or 0)
  end
  io.stderr:write(("%-40s %5d %9d %5d %12d\n"):format(flow, size(counts.files), size(counts.functions), counts.hops,
    loaded))
else
  io.stderr:write(("%-40s %5s %9s %5s %12s\n"):format("flow", "files", "functions", "hops", "modules kept"))
  for _, name in ipairs(order) do
    assert(os.execute(("%s %s '%s'"):format(arg[-1], arg[0], name)))
  end
end
