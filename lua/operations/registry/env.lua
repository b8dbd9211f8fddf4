--- `env.namespace.name(input)`: how one operation calls others. It is live: operations registered later can be called.
local errors = require("operations.base.error")
local members = require("operations.base.members")

local env = {}

--- Makes an env over `invoke(id, input)`.
---@param invoke fun(id: string, input: any): any, operations.Error?
---@param options? { namespaces?: string[] }  only these namespaces can be reached
---@return table
function env.new(invoke, options)
  local allowed = options and options.namespaces and members.set(options.namespaces)
  local function bind(namespace, name)
    local id = namespace .. "." .. name
    return function(input)
      if allowed and not allowed[namespace] then
        return nil, errors.new("OPERATION_NOT_FOUND", ("%s is outside this env"):format(id), { operationId = id })
      end
      return invoke(id, input)
    end
  end
  return setmetatable({}, {
    __index = function(self, namespace)
      local operations = setmetatable({}, {
        __index = function(functions, name)
          local fn = bind(namespace, name)
          rawset(functions, name, fn)
          return fn
        end,
      })
      rawset(self, namespace, operations)
      return operations
    end,
  })
end

return env
