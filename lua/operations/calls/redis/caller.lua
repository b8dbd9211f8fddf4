--- The caller's side of mode `reliable`: keeps each call until its outcome arrives, and submits running calls again
--- after a lost connection. Submitting twice runs it once: a call is identified by its id.
local call_event = require("operations.calls.event")
local compat = require("operations.base.compat")
local core = require("operations.core")
local json = require("operations.base.json")
local limits = require("operations.base.limits")
local redis_reply = require("operations.calls.redis.reply")
local scheduler = require("operations.task.scheduler")
local scripts = require("operations.calls.redis.scripts")

local redis_caller = {}

---@class operations.RedisCall
---@field payload table  of its call.requested
---@field named? boolean  the caller gave its id: another may use the same one
---@field sent? boolean  Redis may have it
---@field again? boolean  Redis may have had it at the last submission
---@field text? string  the payload
---@field accepted? boolean  Redis has queued it
---@field shared? boolean  another caller submitted it too and gets the answer
---@field begun number  ms
---@field asked number  ms, when it was submitted
---@field given_up? string  the abort event, sent once its place is known

---@class operations.RedisCaller
local Caller = {}
Caller.__index = Caller

local UNKNOWN = "its outcome is invalid"

local answered

local function nothing() end

-- The sender in events made from outcomes.
local somebody = {}

---@param shared operations.RedisShared
---@return operations.RedisCaller
function redis_caller.new(shared)
  local self = setmetatable({ _shared = shared, _calls = {}, _forgotten = {}, _ended = {} }, Caller)
  self._submissions = scripts.batch({
    link = shared.link, script = scripts.submit, shared = { shared.presence.id, shared.max_queue },
    add = function(words, n, call)
      local payload = call.payload
      words[n + 1], words[n + 2] = payload.requestId, call.text
      words[n + 3] = math.floor(math.min((payload.ttl or 0) + shared.retention, limits.redis_ages))
      words[n + 4] = call.again and "1" or call.named and "0" or ""
      return n + 4
    end,
    answered = function(call, reply, err)
      answered(self, call, reply, err)
    end,
  })
  return self
end

--- Is a call running?
---@param id string
---@return boolean
function Caller:knows(id)
  return self._calls[id] ~= nil
end

-- Its record is no longer needed.
local function forget_record(self, id)
  local ended = self._ended
  ended[#ended + 1] = self._shared.keys:record(id)
  if #ended == 1 then
    self._stop_ending = scheduler.host().timer(limits.redis_tidy, function()
      self:tidy()
    end)
  elseif #ended >= 64 then
    self:tidy()
  end
end

--- Sends the gathered commands, removes the records of ended calls.
function Caller:tidy()
  self._submissions:flush()
  local ended = self._ended
  if #ended > 0 then
    self._ended = {}
    self._stop_ending()
    self._shared.link:post(nothing, "UNLINK", compat.unpack(ended))
  end
end

local function drop(self, id)
  local call = self._calls[id]
  self._calls[id] = nil
  if call and not call.named then
    forget_record(self, id)
  end
end

--- Takes an outcome, or progress, if it belongs to a call made here.
---@param name string
---@param payload table
---@param event table
---@return boolean taken
function Caller:take(name, payload, event)
  local id = payload.requestId
  if not self._calls[id] or name == "call.requested" or name == "call.credit" then
    return false
  end
  if name ~= "call.progress" then
    drop(self, id)
  end
  if self._shared.receiver.event(event, somebody) == false and not self._calls[id] then
    self._shared.receiver.deliver("call.error", { requestId = id, code = "EXECUTION_ERROR",
      message = UNKNOWN, mayHaveRun = true }, somebody)
  end
  return true
end

local again = { BUSY = true, UNAVAILABLE = true } -- retryable

local function fail(self, id, code, message, may_have_run)
  self._calls[id] = nil
  self._shared.receiver.deliver("call.error", { requestId = id, code = code, message = message,
    retryable = again[code] or false, mayHaveRun = may_have_run }, somebody)
end

--- Redis refuses us permanently: fails all calls.
---@param err operations.Error
function Caller:refuse(err)
  for id, call in pairs(self._calls) do
    self._calls[id] = nil
    self._shared.receiver.deliver("call.error", { requestId = id, code = err.code, message = err.message,
      details = err.details, retryable = err.retryable, mayHaveRun = call.sent }, somebody)
  end
end

local post

-- No process has ever served the operation; one may announce itself soon.
local function unknown(self, call)
  local id = call.payload.requestId
  call.sent = false
  if core.now() < call.begun + limits.discovery then
    self._shared.presence:seek(function()
      if self._calls[id] == call then
        post(self, call)
      end
    end)
    return
  end
  fail(self, id, "UNAVAILABLE", ("no process on this Redis serves '%s'"):format(call.payload.operationId), false)
end

local function take_back(self, call)
  local payload, keys = call.payload, self._shared.keys
  scripts.abort:send(self._shared.link, nothing, 3, { keys:queue(payload.operationId), keys:record(payload.requestId),
    keys:job(payload.requestId), call.given_up, self._shared.presence:channel("") })
end

local function is_lost(err)
  return err ~= nil and err.code == "TRANSPORT_LOST"
end

-- The call had ended before Redis answered.
local function too_late(self, call, reply, err)
  if reply then
    take_back(self, call)
  elseif is_lost(err) then
    table.insert(self._forgotten, call)
  end
end

local function understood(self, call, reply)
  if not reply then
    unknown(self, call)
  elseif reply == 0 then
    fail(self, call.payload.requestId, "BUSY", ("%d requests for '%s' are queued, no more are accepted"):format(
      self._shared.max_queue, call.payload.operationId), call.again)
  elseif type(reply) == "string" then
    local id = call.payload.requestId
    local event = self._shared.signature:fits(self._shared.keys:record(id), reply) and json.decode(reply)
    local payload = type(event) == "table" and event.payload
    if type(payload) ~= "table" or payload.requestId ~= id or not self:take(event.type, payload, event) then
      fail(self, id, "EXECUTION_ERROR", UNKNOWN, true)
    end
  else
    call.accepted, call.shared = true, call.shared or reply == 2 and not call.again
  end
end

-- Redis answers with the state of the call, or its outcome.
function answered(self, call, reply, err)
  local id = call.payload.requestId
  if call.given_up then
    too_late(self, call, reply, err)
  elseif self._calls[id] ~= call or is_lost(err) then -- it is submitted again after the next connection
    -- Refused now; Redis may have it from an earlier submission.
    if err and redis_reply.lasts(err) and err.details.kind ~= "protocol" then
      call.sent = call.again
    end
  elseif err then
    fail(self, id, err.code, err.message, err.mayHaveRun or call.again)
  else
    understood(self, call, reply)
  end
end

function post(self, call)
  local payload, keys = call.payload, self._shared.keys
  payload.ttl = call_event.ttl(payload.deadline)
  local text, err = call_event.encode(payload, self._shared.max_message)
  if not text then
    return nil, err
  end
  local queue = keys:queue(payload.operationId)
  text = self._shared.signature:seal(queue, text)
  call.text, call.asked, call.again, call.sent = text, core.now(), call.sent, true
  self._submissions:add(queue, keys:record(payload.requestId), call)
  return true
end

local unset = nil -- reserves a field in a constructor; LuaJIT reserves none for a literal `nil`
--- Submits a call; without a connection, as soon as there is one.
---@param payload table
---@param named? boolean
---@return boolean? ok
---@return operations.Error? err
function Caller:submit(payload, named)
  local id = payload.requestId
  local call = { payload = payload, named = named, begun = core.now(), asked = 0, sent = false,
    again = unset, text = unset, accepted = unset, shared = unset, given_up = unset } -- reserves the fields set later
  self._calls[id] = call
  local ok, err
  if self._shared.link.connected then
    ok, err = post(self, call)
  elseif self._shared.link:refusal() then
    err = self._shared.link:unconnected()
  else
    ok, err = call_event.encode(payload, self._shared.max_message)
  end
  if not ok then
    self._calls[id] = nil
    return nil, err
  end
  return true
end

--- Called after a reconnection: asks for the outcomes of all running calls.
function Caller:resume()
  local forgotten = self._forgotten
  self._forgotten = {}
  for _, call in ipairs(forgotten) do
    take_back(self, call)
  end
  for _, call in pairs(self._calls) do
    post(self, call)
  end
end

-- Asks for the outcome of a call without events for a long time.
local function check(self, call)
  call.asked = core.now()
  self._shared.link:post(function(reply, err)
    if self._calls[call.payload.requestId] ~= call or err then
      return
    elseif not reply then
      post(self, call)
    elseif reply:byte() == 0x7b then -- {
      understood(self, call, reply)
    end
  end, "GET", self._shared.keys:record(call.payload.requestId))
end

--- Checks calls without events for a long time, and those whose answer goes to another caller.
function Caller:check()
  local now = core.now()
  for _, call in pairs(self._calls) do
    if call.accepted and now - call.asked >= (call.shared and limits.presence / 2 or limits.redis_check) then
      check(self, call)
    end
  end
end

--- The call is no longer wanted: takes it back, wherever it is.
---@param payload table  of its call.aborted
function Caller:abort(payload)
  local id = payload.requestId
  local call = self._calls[id]
  self._calls[id] = nil
  call.given_up = self._shared.signature:seal(self._shared.keys:queue(call.payload.operationId),
    (assert(self._shared.presence:encode("call.aborted", payload))))
  if not self._shared.link.connected and call.sent then
    table.insert(self._forgotten, call)
  elseif call.accepted then
    take_back(self, call)
  end
end

--- Takes running calls back.
function Caller:close()
  self:tidy()
  for id, call in pairs(self._calls) do
    call.accepted = true -- it will be queued before it is taken back
    self:abort(call_event.aborted(id, "the caller has left"))
  end
end

return redis_caller
