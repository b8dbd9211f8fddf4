--- Ends calls that take too long.
local errors = require("operations.base.error")
local layer = require("operations.middleware.layer")
local number_text = require("operations.base.number_text")
local scheduler = require("operations.task.scheduler")

local timeout = {}

local function expired(id, ms, err)
  local failure = errors.new("TIMEOUT", ("%s: took longer than %d ms"):format(id, ms), { timeout = ms })
  failure.retryable, failure.mayHaveRun = true, err.mayHaveRun ~= false
  return failure
end

--- Limits a call to `ms` from its start: its waits then raise TIMEOUT, as do calls that it makes, which get the
--- deadline. An earlier deadline of the caller is kept. Inside `retry` it limits each attempt, outside all of them.
--- Subscriptions are unchanged: their subscriber gives them a deadline.
---@param ms integer  at least 1
---@return operations.Middleware
function timeout.new(ms)
  if type(ms) ~= "number" or not (ms >= 1 and ms < math.huge) then
    error(("bad argument #1 to 'timeout' (ms from 1 on expected, got %s)"):format(number_text.of(ms)), 2)
  end
  return layer.new(function(inner, spec)
    if spec.type == "subscription" then
      return nil
    end
    local id = layer.id(spec)
    return function(input, context)
      local now = scheduler.host().now
      local deadline = now() + ms
      local strand = scheduler.here()
      local outer = scheduler.deadline_of(strand)
      if outer and outer <= deadline then
        return inner(input, context)
      end
      local before, given = strand.deadline, rawget(context, "deadline") -- set with the context, if there is one
      strand.deadline = deadline
      context.deadline = given and given < deadline and given or deadline
      local value, err = inner(input, context)
      strand.deadline = before
      context.deadline = given
      if err and err.code == "TIMEOUT" and now() >= deadline then
        return nil, expired(id, ms, err)
      end
      return value, err
    end
  end)
end

return timeout
