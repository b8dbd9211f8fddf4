--- The operations that workers of the specs serve.
local operations = require("operations")

--- Makes their registry.
---@param seen? table<string, integer>  takes note of the last tick that each `name` made
---@return operations.Registry
return function(seen)
  local registry = operations.registry({ log = function() end })
  assert(registry:register_all({
    { namespace = "work", name = "pid", handler = function()
      local stat = assert(io.open("/proc/self/stat"))
      local pid = stat:read("*n")
      stat:close()
      return pid
    end },
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
