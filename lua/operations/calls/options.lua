--- What a call can be told: the options of `call_map:call` and `:subscribe`, and the request that comes of them.
local argument = require("operations.base.argument")
local call_event = require("operations.calls.event")
local core = require("operations.core")
local marked = require("operations.base.marked")
local members = require("operations.base.members")
local scheduler = require("operations.task.scheduler")

local call_options = {}

local random_id = core.random_id
local none = {}

---@class operations.CallOptions
---@field requestId? string  default: a random UUID. Over a reliable transport a second call of the same id is the same
---  call
---@field parentRequestId? string
---@field deadline? integer  ms since the epoch
---@field timeout? integer  ms; the earlier of the two counts. Default over a wire: 60 s for calls
---@field idleTimeout? integer  subscriptions: ms that may pass without an event
---@field window? integer  subscriptions: how many unconsumed events may be under way, default 64
---@field unconsumed_bytes? integer  subscriptions to a peer that announced no credits: how many bytes of unconsumed
---  events are kept, about, default 4 MiB. Then a WebSocket is read no further until some are consumed; where nothing
---  can hold the peer back, the subscription ends with EXECUTION_ERROR
---@field consumer_timeout? integer  ms, default 20,000: when nothing is consumed for so long while the connection is
---  not read, the subscription ends with EXECUTION_ERROR, and what else goes over the connection goes on
---@field resubscribe? boolean  subscriptions: start again, from the beginning, when a lost connection is there again
---@field identity? operations.Identity
---@field metadata? table
---@field traceparent? string  W3C Trace Context

local kinds = {
  requestId = "string", parentRequestId = "string", deadline = "number", timeout = "number", idleTimeout = "number",
  window = "number", unconsumed_bytes = "number", consumer_timeout = "number",
  identity = "table", metadata = "table", traceparent = "string",
  resubscribe = "boolean",
}

local whole = { window = true, unconsumed_bytes = true, consumer_timeout = true }

local function fits(key, value)
  if key == "requestId" then
    return call_event.is_id(value), "1 to 256 characters"
  elseif whole[key] then -- any number of them: math.huge
    return value >= 1 and (value % 1 == 0 or value == math.huge), "a whole number from 1 on"
  elseif kinds[key] == "number" then -- NaN would be the time of all who wait
    return value > -math.huge, "a number"
  end
  return true
end

-- The earliest of the deadlines that this call has and those of what it is part of.
local function deadline_of(options, default, now)
  local deadline = scheduler.deadline_of(scheduler.here())
  local given = options.deadline
  local timeout = options.timeout or not given and default or nil
  if given and (not deadline or given < deadline) then
    deadline = given
  end
  if timeout and (not deadline or now + timeout < deadline) then
    deadline = now + timeout
  end
  return deadline ~= math.huge and deadline or nil -- none, over a wire, too
end

local function metadata_of(options)
  if not options.traceparent then
    return options.metadata
  end
  return members.merged({ traceparent = options.traceparent }, options.metadata)
end

--- The payload of the `call.requested` event.
---@param id string
---@param input any  nothing means an empty object
---@param options? operations.CallOptions
---@param default? integer  timeout, ms
---@return table
function call_options.request(id, input, options, default)
  local now = core.now()
  local deadline = deadline_of(options or none, default, now)
  local payload = {
    requestId = options and options.requestId or random_id(), operationId = id, input = input,
    deadline = deadline, ttl = deadline and math.max(0, deadline - now),
  }
  if input == nil then
    payload.input = {}
  end
  if options then
    payload.parentRequestId = options.parentRequestId
    payload.idleTimeout = options.idleTimeout ~= math.huge and options.idleTimeout or nil
    payload.identity = marked.value(options.identity, call_event.identity, call_event.identity)
    payload.metadata = metadata_of(options)
  end
  return payload
end

--- The context of a call that runs in this program.
---@param options? operations.CallOptions
---@return table
function call_options.context(options)
  if not options then
    return { requestId = random_id() }
  end
  return {
    requestId = options.requestId or random_id(),
    parentRequestId = options.parentRequestId,
    identity = options.identity,
    deadline = options.deadline,
    timeout = options.timeout,
    metadata = options.metadata,
    traceparent = options.traceparent,
  }
end

--- Raises when the arguments of a call are of the wrong type, at the place that made it.
---@param id any
---@param options any
---@param name string  of the public function
function call_options.check(id, options, name)
  if type(id) ~= "string" then
    error(("bad argument #1 to '%s' (string expected, got %s)"):format(name, type(id)), 3)
  elseif options ~= nil and type(options) ~= "table" then
    error(("bad argument #3 to '%s' (table expected, got %s)"):format(name, type(options)), 3)
  end
  argument.options(options or none, kinds, name, 4)
  for key, value in pairs(options or none) do
    local ok, expected = fits(key, value)
    if not ok then
      error(("bad option '%s' to '%s' (%s expected, got %s)"):format(key, name, expected, tostring(value)), 3)
    end
  end
end

return call_options
