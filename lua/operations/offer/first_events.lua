--- The first events of a subscription, for callers that take one answer.
local core = require("operations.core")
local marked = require("operations.base.marked")

local first_events = {}

--- Reads the first events, and closes the subscription.
---@param stream operations.Subscription
---@param most integer
---@return any[]? list  the data of each; also where it failed after the first
---@return operations.Error? err  it failed before the first
function first_events.read(stream, most)
  local list, err = marked.array(), nil
  while #list < most do
    local envelope
    envelope, err = stream:next()
    if not envelope then
      break
    end
    list[#list + 1] = envelope.data == nil and core.null or envelope.data
  end
  stream:close()
  if err and #list == 0 then
    return nil, err
  end
  return list
end

return first_events
