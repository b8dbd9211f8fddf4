--- Handlers of streams: opens the connection, has its body read, opens it again (WHATWG HTML, 9.2.3) where that was
--- asked for.
local backoff = require("operations.base.backoff")
local call = require("operations.openapi.call")
local core = require("operations.core")
local credential = require("operations.openapi.credential")
local errors = require("operations.base.error")
local limits = require("operations.base.limits")
local media = require("operations.openapi.media")
local members = require("operations.base.members")
local request = require("operations.openapi.request")
local response = require("operations.openapi.response")
local subscription = require("operations.registry.subscription")
local task = require("operations.task")

local stream = {}

---@class operations.openapi.Connection
---@field source? operations.HttpStream  while it is open
---@field reply { status: integer, headers: table }
---@field plan operations.openapi.Plan
---@field context operations.Context
---@field id? string  the last event id, committed
---@field wait? integer  ms until a reconnection, as the server wants it
---@field told? boolean  something came
---@field over? boolean  the event that ends the stream came
---@field failure? operations.Error  that it told of

-- As much of a body as comes: what it is about was said by the head.
local function rest(connection)
  local pieces, size, source = {}, 0, connection.source
  if source.linger then -- no stream: it is over in time, or never
    source:linger(connection.plan.timeout or limits.idle_timeout)
  end
  while size <= limits.body do
    local chunk = source:read()
    if not chunk then
      return table.concat(pieces)
    end
    pieces[#pieces + 1] = chunk
    size = size + #chunk
  end
  return table.concat(pieces):sub(1, limits.body)
end

--- Answers that are not streams: an error status, or another kind of body.
local function refuse(connection)
  local reply = connection.reply
  local whole = { status = reply.status, headers = reply.headers, body = rest(connection) }
  if not response.is_success(reply.status) then
    return false, response.failure(whole, connection.plan.declared_json)
  end
  local content_type = reply.headers["content-type"] or "none"
  return false, response.unreadable(whole, ("expected a stream, got content type %s"):format(content_type))
end

-- Takes the event that ends a stream out of the queue, where the plan knows it.
local function take_ending(connection, queue)
  local last = 1
  while queue[last + 1] do
    last = last + 1
  end
  if last > 1 then
    connection.over, connection.failure = connection.plan.ending(queue[last])
    queue[last] = not connection.over and queue[last]
  end
end

-- Tells what waits in the queue.
local function emit(connection, queue)
  if connection.plan.ending then
    take_ending(connection, queue)
  end
  if queue[2] then
    connection.told = true
    subscription.emit_queue(connection.context, queue)
  end
end

-- The failure of a stream that ends without the event that ends it.
local function broken_off(connection)
  if connection.plan.ending and not connection.over then
    local err = errors.new("TRANSPORT_LOST", "the stream broke off")
    err.retryable, err.mayHaveRun = true, true
    return err
  end
end

--- Reads a body to its end: pieces in, envelopes out, each as soon as its bytes are there. What should be JSON and is
--- not (some APIs end with "[DONE]") stays a string, so that nothing is lost; the pipeline warns that it does not fit
--- the schema.
---@param connection operations.openapi.Connection
---@param kind "events"|"lines"|"sequence"  server-sent events; NDJSON, JSON lines; JSON text sequences (RFC 7464)
---@return boolean finished  the stream said that it is over
---@return operations.Error? err
local function read_body(connection, kind)
  local plan = connection.plan
  local meta = core.http_envelope(nil, response.meta(connection.reply)).meta
  local items = core.envelope_reader(kind, meta, plan.max_event or limits.event, plan.json or kind ~= "events",
    plan.done, connection.id)
  local queue, source = items:queue(), connection.source
  local lend = source.lend or source.read
  while true do
    local bytes, size = lend(source)
    if not bytes then
      if not size then
        items:finish()
        emit(connection, queue)
      end
      return connection.over or false, size or connection.failure or broken_off(connection)
    end
    local more, problem = items:feed(bytes, size)
    connection.id, connection.wait = items:last_event_id(), items:retry() or connection.wait
    emit(connection, queue)
    if connection.over then
      return true, connection.failure
    elseif not more then
      return not problem, problem
    end
  end
end

--- Reads one connection to its end.
---@param connection operations.openapi.Connection
---@return boolean finished  there is nothing more to come, ever
---@return operations.Error? err
local function run(connection)
  local reply = connection.reply
  local kind = media.stream_kind(media.essence(reply.headers["content-type"]))
  if reply.status == 204 then
    return true -- 9.2.3 of the HTML standard
  elseif not response.is_success(reply.status) or not kind then
    return refuse(connection)
  end
  connection.is_events = kind == "events"
  return read_body(connection, kind)
end

-- One connection from its opening to its end; `fatal` when the message could not even be made.
local function connect(plan, input, context, connection)
  local id = connection.id
  local headers = id and id ~= "" and { ["Last-Event-ID"] = id } or nil
  local source, err, credentials = call.exchange(plan, input, context, nil, headers)
  if not source then
    return false, err, credentials == nil
  end
  connection.source, connection.reply = source, { status = source.status, headers = source.headers }
  local finished, failure = run(connection)
  source:close()
  connection.source = nil
  return finished, failure and credential.redact(failure, credentials)
end

---@class operations.openapi.Reconnect
---@field attempts? integer  connections in a row that bring no event, default 10
---@field delay? number  ms before the first one when the server names no time, default 1000; doubles each time
---@field max_delay? number  ms, default 30000; a server that asks for more gets up to five minutes
---@field jitter? number  how much longer chance may make a delay: 0.25 is up to a quarter

local defaults = { attempts = limits.reconnects, delay = 1000, max_delay = 30000, jitter = 0.25 }


--- Fills a policy in; the problem when it is none.
---@param given boolean|operations.openapi.Reconnect|nil
---@return operations.openapi.Reconnect?
---@return string? problem
function stream.reconnect_policy(given)
  if not given then
    return nil
  end
  local policy = members.copy(defaults)
  for name, value in pairs(given ~= true and given or {}) do
    if not defaults[name] then
      return nil, ("there is no option %q"):format(tostring(name))
    elseif type(value) ~= "number" or value ~= value or value < 0 then
      return nil, name .. ": a number from 0 expected"
    end
    policy[name] = value
  end
  return policy
end

-- Is the failure one that time may heal? No failure is the end of the body.
local function may_heal(err)
  return not err or err.retryable or err.code == "HTTP_500" -- to open a stream again does no harm
end

-- What the server asks for: in its stream, or with the status that refuses us.
local function asked_for(connection, err)
  return math.min(math.max(connection.wait or 0, err and err.retryAfter or 0), limits.reconnect_wait)
end

--- How many ms to wait for the next connection, or nil when there shall be none.
---@param policy operations.openapi.Reconnect
---@param connection operations.openapi.Connection
---@param failures integer  connections in a row that brought no event
---@param err operations.Error?  nil: the body ended
---@return number? ms
function stream.delay(policy, connection, failures, err)
  if failures > policy.attempts or not may_heal(err) then
    return nil
  end
  local delay = backoff.delay(connection.wait or policy.delay, failures, policy.max_delay)
  return backoff.spread(math.max(delay, asked_for(connection, err)), policy.jitter)
end

-- Opens the stream until it is over; nil, or what ended it.
local function keep_open(plan, input, context, connection)
  local failures = 0
  while true do
    connection.told = false
    local finished, err, fatal = connect(plan, input, context, connection)
    if finished or fatal or not plan.reconnect or not (connection.is_events or err) then
      return err
    end
    failures = connection.told and 0 or failures + 1
    local delay = stream.delay(plan.reconnect, connection, failures, err)
    if not delay then
      return err
    end
    task.sleep(delay / 1000)
  end
end

-- Settings of all requests of streams, unlike others.
local function prepare(plan)
  call.open_ended(plan)
  if plan.reconnect then
    plan.options.retry = nil -- one way to try again is enough
  end
  plan.head = request.head({ ["Cache-Control"] = "no-store" }, plan.head.headers)
end

--- The handler of a subscription.
---@param plan operations.openapi.Plan  changed here
---@return fun(input: table, context: operations.Context): nil, operations.Error?
function stream.handler(plan)
  prepare(plan)
  return function(input, context)
    local connection = { plan = plan, context = context, id = plan.ending and context.lastEventId or nil }
    if context.defer then
      context.defer(function()
        if connection.source then
          connection.source:close()
        end
      end)
    end
    return nil, keep_open(plan, input or {}, context, connection)
  end
end

return stream
