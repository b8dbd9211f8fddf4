--- The caller's side of mode `reliable`: keeps each call until its outcome is there, and asks again for those that are
--- under way when a connection was lost. Asking twice is asking once: a call is known by its id.
local call_event = require("operations.calls.event")
local compat = require("operations.base.compat")
local core = require("operations.core")
local json = require("operations.base.json")
local limits = require("operations.base.limits")
local refusals = require("operations.calls.redis.refusal")
local scheduler = require("operations.task.scheduler")
local scripts = require("operations.calls.redis.scripts")

local redis_caller = {}

---@class operations.RedisCall
---@field payload table  of its call.requested
---@field named? boolean  the caller gave its id: another may ask for the same
---@field sent? boolean  it may be known to Redis
---@field again? boolean  it was when it was asked for last
---@field text? string  the payload
---@field accepted? boolean  it is in the queue
---@field shared? boolean  another caller has asked for it, too, and will be answered
---@field begun number  ms
---@field asked number  ms, when Redis was asked for it
---@field timer? fun()  until it is sent again, as nobody is known to serve it
---@field given_up? string  the event that takes it back, once it is known where it is

---@class operations.RedisCaller
local Caller = {}
Caller.__index = Caller

local UNKNOWN = "its outcome is none that can be understood"

local answered

local function nothing() end

-- Whom outcomes are said to come from.
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
      words[n + 4] = call.again and "1" or "0"
      return n + 4
    end,
    answered = function(call, reply, err)
      answered(self, call, reply, err)
    end,
  })
  return self
end

--- Is a call under way?
---@param id string
---@return boolean
function Caller:knows(id)
  return self._calls[id] ~= nil
end

-- Its record is of no use any more.
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

--- Sends what was gathered, drops the records of what has ended.
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

--- Takes an outcome, if it is one of a call from here.
---@param name string
---@param payload table
---@param event table
---@return boolean taken
function Caller:take(name, payload, event)
  local id = payload.requestId
  if not self._calls[id] or name == "call.requested" or name == "call.credit" then
    return false
  end
  drop(self, id)
  if self._shared.receiver.event(event, somebody) == false then
    self._shared.receiver.deliver("call.error", { requestId = id, code = "EXECUTION_ERROR",
      message = UNKNOWN, mayHaveRun = true }, somebody)
  end
  return true
end

local again = { BUSY = true, UNAVAILABLE = true } -- makes sense

local function fail(self, id, code, message, may_have_run)
  self._calls[id] = nil
  self._shared.receiver.deliver("call.error", { requestId = id, code = code, message = message,
    retryable = again[code] or false, mayHaveRun = may_have_run }, somebody)
end

--- Redis refuses us, and will: nothing is waited for any more.
---@param err operations.Error
function Caller:refuse(err)
  for id, call in pairs(self._calls) do
    self._calls[id] = nil
    self._shared.receiver.deliver("call.error", { requestId = id, code = err.code, message = err.message,
      details = err.details, retryable = err.retryable, mayHaveRun = call.sent }, somebody)
  end
end

local post

-- Nobody ever served it; somebody may be about to.
local function unknown(self, call)
  local id = call.payload.requestId
  call.sent = false
  if core.now() < call.begun + limits.discovery then
    self._shared.presence:ask()
    call.timer = scheduler.host().timer(limits.discovery / 10, function() -- stops when nobody holds it
      if self._calls[id] == call then
        post(self, call)
      end
    end)
    return
  end
  fail(self, id, "UNAVAILABLE", ("nobody on this Redis serves '%s'"):format(call.payload.operationId), false)
end

local function take_back(self, call)
  local payload = call.payload
  scripts.abort:send(self._shared.link, nothing, 2, { self._shared.keys:queue(payload.operationId),
    self._shared.keys:record(payload.requestId), call.given_up, self._shared.presence:channel("") })
end

local function is_lost(err)
  return err ~= nil and err.code == "TRANSPORT_LOST"
end

-- Nobody waited any more when Redis answered.
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

-- Redis answers with where the call is, or what became of it.
function answered(self, call, reply, err)
  local id = call.payload.requestId
  if call.given_up then
    too_late(self, call, reply, err)
  elseif self._calls[id] ~= call or is_lost(err) then -- it is asked for after the next connect
    if err and refusals.lasts(err) then -- Redis has it only from before
      call.sent = call.again
    end
  elseif err then
    fail(self, id, err.code, err.message, call.again)
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
  text = self._shared.signature:seal(keys:queue(payload.operationId), text)
  call.text, call.asked, call.again, call.sent = text, core.now(), call.sent, true
  self._submissions:add(keys:queue(payload.operationId), keys:record(payload.requestId), call)
  return true
end

local unset = nil -- keeps room in a constructor; LuaJIT keeps none where `nil` is written
--- Asks for a call; when there is no connection, as soon as there is one.
---@param payload table
---@param named? boolean
---@return boolean? ok
---@return operations.Error? err
function Caller:submit(payload, named)
  local id = payload.requestId
  local call = { payload = payload, named = named, begun = core.now(), asked = 0, sent = false, again = false,
    text = unset, accepted = unset, shared = unset, timer = unset, given_up = unset } -- room for what comes
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

--- Reconnected: asks for the outcomes of all calls under way.
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

-- Asks for the outcome of a call without events for long.
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

--- Looks after calls that nothing was heard of for long, and those whose answer goes to another caller.
function Caller:check()
  local now = core.now()
  for _, call in pairs(self._calls) do
    if call.accepted and now - call.asked >= (call.shared and limits.presence / 2 or limits.redis_check) then
      check(self, call)
    end
  end
end

--- Nobody waits for it any more: takes it back, wherever it is.
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

--- Takes back what is under way.
function Caller:close()
  self:tidy()
  for id, call in pairs(self._calls) do
    call.accepted = true -- at least it will be, before it is taken back
    self:abort(call_event.aborted(id, "the caller has left"))
  end
end

return redis_caller
