--- Operations that the specs of transports call in other programs: a hub that serves them, and a program of plain Lua
--- that is restarted when it was killed.
local command = require("spec.support.command")
local free_port = require("spec.support.free_port")
local operations = require("operations")

local calls = {}

--- The registry. `calls.seen` records what its handlers did.
---@return operations.Registry
function calls.registry()
  local registry, seen = operations.registry({ log = function() end }), {}
  local function count(what)
    seen[what] = (seen[what] or 0) + 1
  end
  local function add(name, fields, handler)
    fields.namespace, fields.name, fields.handler = "calls", name, handler
    assert(registry:register(fields))
  end
  add("who", {}, function(_, context)
    return context.identity and context.identity.id or "nobody"
  end)
  add("echo", {}, function(input)
    return input.text
  end)
  add("add", { inputSchema = { type = "object", required = { "a", "b" },
    properties = { a = { type = "integer" }, b = { type = "integer" } } } }, function(input)
    return input.a + input.b
  end)
  add("full", { errorSchemas = { { code = "FULL" } } }, function()
    return nil, operations.error("FULL", "no room", { left = 0 })
  end)
  add("sleep", {}, function(input)
    count("started")
    local ok, raised = pcall(operations.sleep, input.seconds)
    count(ok and "ended" or "aborted")
    if not ok then
      error(raised, 0)
    end
    return "slept"
  end)
  add("ticks", { type = "subscription" }, function(_, context)
    context.defer(function()
      count("closed")
    end)
    local n = 0
    while true do
      n = n + 1
      coroutine.yield(n)
      operations.sleep(0.005)
    end
  end)
  add("numbers", { type = "subscription" }, function(input)
    for n = 1, input.count do
      coroutine.yield(n)
    end
  end)
  add("seen", {}, function()
    return { started = seen.started or 0, ended = seen.ended or 0, aborted = seen.aborted or 0,
      closed = seen.closed or 0 }
  end)
  add("process", {}, function()
    return command.pid()
  end)
  add("die", {}, function()
    os.execute("kill -KILL " .. command.pid())
  end)
  return registry
end

--- The options of the hub: clients must have a token.
---@return operations.HubOptions
function calls.hub_options()
  return {
    registry = calls.registry(),
    log = function() end,
    authorize = function(request)
      operations.sleep(0)
      if request.token == "secret" then
        return { id = "ada", scopes = {} }
      end
      return nil, "unknown token"
    end,
  }
end

local program = [[export SANITIZER=$LD_PRELOAD; unset LD_PRELOAD
setsid timeout -s KILL 900 sh -c 'while :; do LD_PRELOAD=$SANITIZER "$@" </dev/null; done' \
  loop '%s' spec/support/calls_server.lua %d >/dev/null 2>&1 & loop=$!
read -r _; kill -KILL -$loop]]

--- Starts a program of plain Lua that serves it.
---@return { url: string, stop: fun() }
function calls.serve()
  local port = free_port()
  local pipe = assert(io.popen(program:format(command.interpreter(), port), "w"))
  return {
    url = "ws://127.0.0.1:" .. port,
    stop = function()
      pipe:write("\n")
      pipe:close()
    end,
  }
end

return calls
