--- The operations that workers of the specs serve.
local command = require("spec.support.command")
local operations = require("operations")

-- Records events in a file immediately.
local function note(path, ...)
  local file = assert(io.open(path, "a"))
  file:write(table.concat({ ... }, " "), "\n")
  file:close()
end

-- Takes `seconds`, its first attempt `first` if that is set.
local function run(input, context)
  note(input.file, "begin", context.attempt or 0)
  local ok, raised = pcall(operations.sleep, context.attempt == 1 and input.first or input.seconds)
  note(input.file, ok and "end" or "cut", context.attempt or 0)
  if not ok then
    error(raised, 0)
  end
  return { attempt = context.attempt, pid = command.pid() }
end

local function die(input, context)
  note(input.file, "begin", context.attempt or 0)
  os.execute("kill -9 " .. command.pid())
end

--- Makes their registry.
---@param seen? table<string, integer>  records the last tick of each `name`
---@return operations.Registry
return function(seen)
  local registry = operations.registry({ log = function() end })
  assert(registry:register_all({
    { namespace = "work", name = "pid", handler = command.pid },
    { namespace = "work", name = "run", type = "mutation", handler = run },
    { namespace = "work", name = "die", type = "mutation", handler = die },
    { namespace = "work", name = "sleep", handler = function(input)
      operations.sleep(input.seconds)
      return "slept"
    end },
    { namespace = "work", name = "ticks", type = "subscription", handler = function(input)
      for i = 1, input.n or math.huge do
        if seen and input.name then
          seen[input.name] = i
        end
        coroutine.yield(i)
        if input.pause then
          operations.sleep(input.pause)
        end
      end
    end },
  }))
  return registry
end
