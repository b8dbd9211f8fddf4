--- Readers of streams: pieces of a body in, envelopes out, each as soon as its bytes are there.
local core = require("operations.core")
local limits = require("operations.limits")
local response = require("operations.from_openapi.response")
local subscription = require("operations.subscription")

local reader = {}

---@class operations.openapi.Connection
---@field read fun(): string?, operations.Error?  the next piece of the body
---@field lend fun(): string|lightuserdata|nil, integer|operations.Error|nil  likewise, perhaps only where it lies
---@field reply { status: integer, headers: table }
---@field plan operations.openapi.Plan
---@field context operations.Context
---@field id? string  the last event id, committed
---@field wait? integer  ms until a reconnection, as the server wants it
---@field told? boolean  something came

-- Tells what waits in the queue.
local function emit(connection, queue)
  if queue[2] then
    connection.told = true
    subscription.emit_queue(connection.context, queue)
  end
end

--- Reads one connection to its end. What should be JSON and is not (some APIs end with "[DONE]") stays a string, so
--- that nothing is lost; the pipeline warns that it does not fit the schema.
---@param connection operations.openapi.Connection
---@param kind "events"|"lines"|"sequence"  server-sent events; NDJSON, JSON lines; JSON text sequences (RFC 7464)
---@return boolean finished  the stream said that it is over
---@return operations.Error? err
function reader.run(connection, kind)
  local plan = connection.plan
  local meta = core.http_envelope(nil, response.meta(connection.reply)).meta
  local items = core.envelope_reader(kind, meta, plan.max_event or limits.event, plan.json or kind ~= "events",
    plan.done, connection.id)
  local queue = items:queue()
  while true do
    local bytes, size = connection.lend()
    if not bytes then
      if not size then
        items:finish()
        emit(connection, queue)
      end
      return false, size
    end
    local more, problem = items:feed(bytes, size)
    connection.id, connection.wait = items:last_event_id(), items:retry() or connection.wait
    emit(connection, queue)
    if not more then
      return not problem, problem
    end
  end
end

return reader
