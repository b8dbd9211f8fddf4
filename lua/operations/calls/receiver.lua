--- Handles the events that arrive at a call map, and the loss and return of its transport.
local call_event = require("operations.calls.event")
local call_request = require("operations.calls.request")
local errors = require("operations.base.error")

local call_receiver = {}

local check = call_event.check

-- The counters only show that something is wrong; the log says what.
local function refuse(self, err)
  self:_count("refused")
  self._log("warn", "refused: " .. err.message, err.details)
  return false
end

-- The pending request of this side for an event; nil for a late event.
local function pending(self, payload)
  local found = self._pending[payload.requestId]
  if not found then
    self:_count("late")
  end
  return found
end

-- Sends an error for a request, even an invalid one: its caller waits for an answer.
local function answer(self, payload, err, peer)
  local plain = not (peer.announced or call_event.announces(payload))
  err.retryable, err.mayHaveRun = false, false
  self._transport:send("call.error", call_event.failure(payload.requestId, err, plain), peer)
end

local arrivals = {}

arrivals["call.requested"] = function(self, payload, peer)
  local id = payload.requestId
  local there = self._requests[id]
  if there then
    local err = errors.new("VALIDATION_ERROR", ("call.requested: %s is being served already"):format(id))
    if there.peer ~= peer then -- another peer chose the same id
      answer(self, payload, err, peer)
    end
    return refuse(self, err)
  end
  local request = call_request.new(self, payload, peer)
  self._requests[id] = request
  if self._serve then
    return self._serve(request)
  end
  request:fail(errors.new("UNAVAILABLE", "this peer serves no operations"))
end

arrivals["call.responded"] = function(self, payload, peer)
  local found, id = pending(self, payload), payload.requestId
  if found then
    found:respond(payload)
  elseif payload.seq == nil and not self._stopped[id] then -- an event of a stream for a call
    self:_stop(id, "the request has ended", peer)
  end
end

arrivals["call.completed"] = function(self, payload)
  local found = pending(self, payload)
  if found then
    found:complete()
  end
end

arrivals["call.error"] = function(self, payload)
  local found = pending(self, payload)
  if found then
    found:fail(call_event.error(payload))
  end
end

arrivals["call.aborted"] = function(self, payload)
  local err = call_event.error({ code = "ABORTED", message = payload.reason or "aborted by the other side",
    mayHaveRun = true })
  local request = self._requests[payload.requestId]
  if request then
    return request:abort(err)
  end
  local found = pending(self, payload)
  if found then
    found:fail(err)
  end
end

arrivals["call.credit"] = function(self, payload, peer)
  local request = self._requests[payload.requestId]
  if request and request.peer == peer then
    request:grant(payload.n)
  else
    self:_count("late")
  end
end

local function lose(self, err, keeps)
  local waits = self._transport.reconnects and not self._closed
  for id, found in pairs(self._pending) do
    found.interrupted = waits and found.resubscribe
    if not found.interrupted and not (keeps and keeps(id)) then
      found:fail(call_event.error({ code = err.code, message = err.message, details = err.details, retryable = true,
        mayHaveRun = true }))
    end
  end
  if not next(self._pending) then
    self._deadlines:stop()
  end
  for id, request in pairs(self._requests) do
    if not (keeps and keeps(id)) then
      request:abort(err)
    end
  end
end

-- Called when the connection was re-established.
local function resubscribe(self)
  local again = {}
  for id, found in pairs(self._pending) do
    if found.interrupted then
      again[#again + 1], self._pending[id] = found, nil
    end
  end
  for _, found in ipairs(again) do
    found.interrupted = nil
    local payload = found:restart()
    self._pending[payload.requestId] = found
    local ok, err = self._transport:send("call.requested", payload)
    if not ok then
      found:fail(err)
    end
  end
end

--- Makes the receiver that a transport passes its events to.
---@param map operations.CallMap
---@return operations.Receiver
function call_receiver.new(map)
  return {
    announced = true,
    event = function(event, peer)
      local name, payload = check(event)
      if not name then
        local id = call_event.id_of_request(event)
        if id and not map._requests[id] then
          answer(map, event.payload, payload, peer)
        end
        return refuse(map, payload)
      end
      return arrivals[name](map, payload, peer)
    end,
    deliver = function(name, payload, peer)
      return arrivals[name](map, payload, peer)
    end,
    lost = function(err, keeps)
      lose(map, err, keeps)
    end,
    ready = function()
      resubscribe(map)
    end,
  }
end

return call_receiver
