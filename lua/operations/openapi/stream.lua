--- Handlers of streams: opens the connection, reads its body, and opens it again (WHATWG HTML, 9.2.3) if requested.
local backoff = require("operations.base.backoff")
local call = require("operations.openapi.call")
local core = require("operations.core")
local credential = require("operations.openapi.credential")
local errors = require("operations.base.error")
local limits = require("operations.base.limits")
local media = require("operations.openapi.media")
local members = require("operations.base.members")
local relay = require("operations.openapi.relay")
local request = require("operations.openapi.request")
local response = require("operations.openapi.response")
local subscription = require("operations.registry.subscription")
local task = require("operations.task")
local trace = require("operations.net.http.trace")

local stream = {}

---@class operations.openapi.Connection
---@field source? operations.HttpStream  if it is open
---@field reply { status: integer, headers: table }
---@field plan operations.openapi.Plan
---@field context operations.Context
---@field id? string  the last event id, committed
---@field wait? integer  ms until a reconnection, set by the server
---@field told? boolean  an event came
---@field over? boolean  the stream's last event came
---@field failure? operations.Error  in the stream's last event
---@field reads_texts? boolean  the items are JSON that is read here, leniently

-- Reads the rest of an unexpected body, for messages.
local function rest(connection)
  local pieces, size, source = {}, 0, connection.source
  if source.linger then -- not a stream: it ends soon or is dropped
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

--- Handles answers other than streams: an error status, or another kind of body.
local function refuse(connection)
  local reply = connection.reply
  local whole = { status = reply.status, headers = reply.headers, body = rest(connection) }
  if not response.is_success(reply.status) then
    return false, response.failure(whole, connection.plan.declared_json, connection.plan.lenient)
  end
  local content_type = reply.headers["content-type"] or "none"
  return false, response.unreadable(whole, ("expected a stream, got content type %s"):format(content_type))
end

-- Removes the stream's last event from the queue, if the plan defines one.
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

-- Reads the texts of items that may be almost JSON; what is not stays text.
local function read_texts(connection, queue)
  local context = connection.context
  local i = 2
  while queue[i] do
    local value, message, warning = response.decode(queue[i].data, "application/json", true)
    if not message then
      queue[i].data = value
    end
    if warning and context.misread then
      context:misread(connection.plan.id, warning)
    end
    i = i + 1
  end
end

-- Emits the queued events.
local function emit(connection, queue)
  if connection.reads_texts then
    read_texts(connection, queue)
  end
  if connection.plan.ending then
    take_ending(connection, queue)
  end
  if queue[2] then
    connection.told = true
    subscription.emit_queue(connection.context, queue)
  end
end

-- The failure of a stream that ends without its last event.
local function broken_off(connection)
  if connection.plan.ending and not connection.over then
    local err = errors.new("TRANSPORT_LOST", "the stream ended unexpectedly")
    err.retryable, err.mayHaveRun = true, true
    return err
  end
end

--- Reads a body to its end: pieces in, envelopes out as soon as their bytes have come. Invalid JSON (some APIs end with
--- "[DONE]") stays a string, so that nothing is lost; the pipeline warns that it does not fit the schema.
---@param connection operations.openapi.Connection
---@param kind "events"|"lines"|"sequence"  server-sent events; NDJSON, JSON lines; JSON text sequences (RFC 7464)
---@return boolean finished  the stream declared its end
---@return operations.Error? err
local function read_body(connection, kind)
  local plan = connection.plan
  local meta = core.http_envelope(nil, response.meta(connection.reply)).meta
  local is_json = plan.json or kind ~= "events"
  connection.reads_texts = plan.lenient and is_json
  local items = core.envelope_reader(kind, meta, plan.max_event or limits.event, is_json and not connection.reads_texts,
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
---@return boolean finished  the stream has ended for good
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

-- One connection from opening to end; `fatal` if the message could not be made.
local function connect(plan, input, context, connection)
  local id = connection.id
  local extra = id and id ~= "" and { headers = { ["Last-Event-ID"] = id } } or nil
  local source, err, credentials = call.exchange(plan, input, context, extra)
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
---@field attempts? integer  consecutive connections without an event, default 10
---@field delay? number  ms before the first reconnection unless the server names a time, default 1000; doubles each
---  time
---@field max_delay? number  ms, default 30000; up to five minutes if the server asks for more
---@field jitter? number  random share added to a delay, default 0.25

local defaults = { attempts = limits.reconnects, delay = 1000, max_delay = 30000, jitter = 0.25 }


--- Completes a policy; or returns the problem.
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
      return nil, ("unknown option %q"):format(tostring(name))
    elseif type(value) ~= "number" or value ~= value or value < 0 then
      return nil, name .. ": a number from 0 expected"
    end
    policy[name] = value
  end
  return policy
end

-- Is the failure temporary? No failure means the end of the body.
local function may_heal(err)
  return not err or err.retryable or err.code == "HTTP_500" -- opening a stream again does no harm
end

-- The wait that the server asks for: in its stream, or with the status of its refusal.
local function asked_for(connection, err)
  return math.min(math.max(connection.wait or 0, err and err.retryAfter or 0), limits.reconnect_wait)
end

--- ms to wait for the next connection, or nil for no more.
---@param policy operations.openapi.Reconnect
---@param connection operations.openapi.Connection
---@param failures integer  consecutive connections without an event
---@param err operations.Error?  nil: the body ended
---@return number? ms
function stream.delay(policy, connection, failures, err)
  if failures > policy.attempts or not may_heal(err) then
    return nil
  end
  local delay = backoff.delay(connection.wait or policy.delay, failures, policy.max_delay)
  return backoff.spread(math.max(delay, asked_for(connection, err)), policy.jitter)
end

-- Opens the stream again until it has ended; returns the error that ended it, if any.
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
    trace.reconnection({ method = plan.method, url = plan.base .. (plan.path or "") }, delay, connection.id)
    task.sleep(delay / 1000)
  end
end

-- Settings of a stream's requests that differ from other requests.
local function prepare(plan)
  call.open_ended(plan)
  if plan.reconnect then
    plan.options.retry = nil -- reconnecting replaces it
  end
  plan.head = request.head({ ["Cache-Control"] = "no-store" }, plan.head.headers)
end

--- The handler of a subscription.
---@param plan operations.openapi.Plan  changed here
---@return fun(input: table, context: operations.Context): nil, operations.Error?
function stream.handler(plan)
  local relayed = relay.handler(plan)
  prepare(plan)
  return function(input, context)
    if context.relay then
      return relayed(input or {}, context)
    end
    local connection = { plan = plan, context = context, id = context.lastEventId }
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
