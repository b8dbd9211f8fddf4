--- Asks for approval before a call runs.
local approvals = require("operations.people.approvals")
local argument = require("operations.base.argument")
local asking = require("operations.people.asking")
local layer = require("operations.middleware.layer")

local confirm = {}

---@class operations.ConfirmOptions
---@field memory? operations.Approvals  approvals beyond one call: `operations.approvals(stored?, changed?)`; default: a
---  memory of this middleware
---@field queries? boolean  also asks about queries and subscriptions

local kinds = { memory = "table", queries = "boolean" }

--- Asks before each mutation. `ask(call)` gets `{ operationId, input, identity, spec }`, may wait, and returns `true`
--- and the scope: "once" (default), "arguments" (always with these), "always"; or `false` and a reason. With "caller"
--- the user of the MCP client that called is asked. A call that is not approved fails with ACCESS_DENIED. An approval
--- applies to one identity only.
---@param ask operations.Confirm|"caller"
---@param options? operations.ConfirmOptions
---@return operations.Middleware
function confirm.new(ask, options)
  if ask ~= "caller" then
    argument.expect(ask, "function", 1, "confirm")
  end
  argument.optional(options, "table", 2, "confirm")
  options = options or {}
  argument.options(options, kinds, "confirm")
  if options.memory then
    argument.object(options.memory, "allows", "memory of approvals", 2, "confirm")
  end
  local memory = options.memory or approvals.new()
  return layer.new(function(inner, spec)
    if spec.type ~= "mutation" and not options.queries then
      return nil
    end
    local id = layer.id(spec)
    return function(input, context)
      local ok, err = approvals.ask({ operationId = id, input = input, identity = context.identity, spec = spec },
        ask == "caller" and asking.by_caller(context) or ask, memory)
      if not ok then
        return nil, err.mayHaveRun == false and err or layer.not_begun(err)
      end
      return inner(input, context)
    end
  end)
end

return confirm
