--- A network that is really cut: the worker runs in a network namespace of its own, the only way there is a link that
--- is set down. For `spec.support.network`, as root of its own namespaces; prints what `endurance.cut` tells.
local command = require("spec.support.command")
local endurance = require("spec.calls.endurance")
local json = require("operations.base.json")
local operations = require("operations")
local proxy = require("spec.support.proxy")
local redis = require("spec.support.redis")

local HERE, THERE = "10.9.0.1", "10.9.0.2"

local function spawn(words)
  words.env = command.environment()
  return assert(operations.process.spawn(words))
end

local function execute(text, ...)
  local script = text:format(...)
  local ok = os.execute(script)
  assert(ok == true or ok == 0, script)
end

-- The other network, as long as the process that holds it lives.
local function make_network()
  local holder = spawn({ "unshare", "-n", "sh", "-c", "echo ready; exec sleep 300" })
  assert(holder:read_line() == "ready")
  local inside = ("nsenter -t %d -n "):format(holder.pid)
  execute("ip link add name here type veth peer name there netns %d", holder.pid)
  execute("ip address add %s/24 dev here && ip link set here up", HERE)
  execute("%s ip address add %s/24 dev there && %s ip link set there up", inside, THERE, inside)
  return {
    holder = holder,
    cut = function()
      execute("%s ip link set there down", inside)
    end,
    heal = function()
      execute("%s ip link set there up", inside)
    end,
  }
end

local function start_worker(network, ...)
  network.worker = spawn({ "nsenter", "-t", tostring(network.holder.pid), "-n", command.interpreter(),
    "spec/support/worker.lua", ... })
  assert(network.worker:read_line() == "ready", network.worker:stderr())
end

local function quiet() end

-- Each makes a call map whose calls are served over there, and what ends the rest.
local connect = {}

function connect.websocket(network)
  local map
  local hub = assert(operations.transports.websocket_hub({ host = HERE, log = quiet, on_connection = function(to_spoke)
    map = to_spoke
  end }))
  start_worker(network, "websocket", ("ws://%s:%d"):format(HERE, hub.port))
  return map, function()
    hub:close()
  end
end

function connect.redis(network, mode)
  local server = redis.start()
  local way = proxy.start(server.port, HERE) -- Redis itself is at home only
  start_worker(network, "redis", ("redis://%s:%d"):format(HERE, way.port), mode)
  local transport = assert(operations.transports.redis(server.url, { mode = mode }))
  return operations.call_map(transport, { log = quiet }), function()
    way:stop()
    server.stop()
  end
end

---@param transport "websocket"|"redis"
---@param mode? "fast"|"reliable"
---@param seconds number
return function(transport, mode, seconds)
  operations.run(function()
    local network = make_network()
    local map, close = connect[transport](network, mode)
    local ok, told = pcall(endurance.cut, map, network, seconds)
    map:close()
    close()
    assert(ok, told)
    io.stdout:write(assert(json.encode(told)), "\n")
  end)
end
