--- A subscription as the body of an answer: event stream (WHATWG HTML, 9.2) or JSON lines. An event is taken from the
--- subscription when the previous one was sent, so a slow reader holds the handler back.
local errors = require("operations.base.error")
local header_field = require("operations.net.http.header_field")
local json = require("operations.base.json")
local subscription = require("operations.registry.subscription")

local event_stream = {}

local EVENTS, LINES = "text/event-stream", "application/x-ndjson"
local types = { [EVENTS] = EVENTS, [LINES] = LINES, ["application/jsonl"] = "application/jsonl", ["*/*"] = EVENTS,
  ["text/*"] = EVENTS, ["application/*"] = LINES }

local RETRY = 2000 -- ms; a browser waits so long before it reconnects

--- Chooses the form of a stream by an Accept field (RFC 9110, 12.5.1): the first acceptable type of the highest weight.
---@param accept? string
---@return string? media  nil: none is acceptable
function event_stream.choose(accept)
  if not accept or accept == "" then
    return EVENTS
  end
  local chosen, best
  for entry in accept:gmatch("[^,]+") do
    local media = types[header_field.trim(entry:match("^[^;]*")):lower()]
    local weight = tonumber(entry:match(";%s*[qQ]=([%d.]+)")) or 1
    if media and weight > 0 and (not best or weight > best) then
      chosen, best = media, weight
    end
  end
  return chosen
end

local function one_line(text)
  return (text:gsub("[\r\n%z]", ""))
end

-- One event. The names `end` and `problem` are reserved for this protocol.
local function write_event(envelope)
  local data, err = json.encode(envelope.data)
  if envelope.data == nil then
    data = "null"
  elseif not data then
    return nil, err
  end
  local meta, lines = envelope.meta, ""
  local name = type(meta.event) == "string" and one_line(meta.event) or "message"
  if name ~= "problem" and name ~= "end" and name ~= "message" then
    lines = "event: " .. name .. "\n"
  end
  if type(meta.lastEventId) == "string" then
    lines = lines .. "id: " .. one_line(meta.lastEventId) .. "\n"
  end
  return lines .. "data: " .. data .. "\n\n"
end

local forms = {}

forms[EVENTS] = {
  first = ("retry: %d\n\n"):format(RETRY),
  heartbeat = ":\n\n",
  event = write_event,
  failure = function(problem)
    return "event: problem\ndata: " .. problem .. "\n\n"
  end,
  ending = function(reason)
    return "event: end\ndata: " .. (reason and json.encode({ reason = reason }) or "{}") .. "\n\n"
  end,
}

forms[LINES] = {
  event = function(envelope)
    local text, err = json.encode(envelope.data)
    text = envelope.data == nil and "null" or text
    return text and text .. "\n", err
  end,
  failure = function(problem)
    return '{"error":' .. problem .. "}\n"
  end,
  ending = function()
    return nil
  end,
}
forms["application/jsonl"] = forms[LINES]

-- The bytes of an event; those of one with many readers are made once.
local function bytes_of(form, envelope)
  local kept = subscription.texts(envelope)
  if kept and kept[form] then
    return kept[form]
  end
  local bytes, flaw = form.event(envelope)
  if kept then
    kept[form] = bytes
  end
  return bytes, flaw
end

---@class operations.EventStreamOptions
---@field problem fun(err: operations.Error): string?  the JSON of a failure; nil: the caller is gone
---@field heartbeat integer  ms of silence after which a comment goes out
---@field done fun()  runs once, however it ends

--- Makes the answer of a subscription.
---@param events operations.Subscription
---@param media string  as `choose` gave it
---@param options operations.EventStreamOptions
---@return operations.ServerResponse
---@return fun(reason: string?) close  ends the subscription; with a reason, which is the last event
function event_stream.response(events, media, options)
  local form = forms[media]
  local state, ending = "first", nil
  local function finish(bytes)
    if state ~= "over" then
      state = "over"
      events:close()
      options.done()
    end
    return bytes
  end
  local function failed(err)
    finish() -- even if the failure cannot be reported
    local problem = options.problem(err)
    return problem and form.failure(problem)
  end
  local function body()
    if state == "first" and form.first then
      state = "events"
      return form.first
    elseif state == "over" then
      return nil
    end
    local envelope, err
    if not ending then
      envelope, err = events:next()
    end
    if ending then
      return finish(form.ending(ending))
    elseif envelope then
      local bytes, flaw = bytes_of(form, envelope)
      return bytes or failed(errors.new("EXECUTION_ERROR", "an event is not JSON: " .. flaw.message))
    elseif err then
      return failed(err)
    end
    return finish(form.ending())
  end
  return {
    status = 200, body = body,
    headers = { ["content-type"] = media, ["cache-control"] = "no-store", ["x-accel-buffering"] = "no" },
    heartbeat = form.heartbeat and { after = options.heartbeat, bytes = form.heartbeat } or nil,
  }, function(reason)
    ending = reason
    if not reason then
      finish()
    elseif state ~= "over" then
      events:close()
    end
  end
end

return event_stream
