--- Sends requests to a GraphQL service and reads its answers.
local errors = require("operations.base.error")

local exchange = {}

--- An endpoint for the options of an import.
---@param options operations.graphql.Config
---@return table
function exchange.new(options)
  return { options = options }
end

--- Sends a query or a mutation.
---@return nil
---@return operations.Error
function exchange.send()
  return nil, errors.new("UNAVAILABLE", "requests are not sent yet")
end

return exchange
