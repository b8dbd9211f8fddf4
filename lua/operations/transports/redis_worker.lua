--- The worker's side of mode `reliable`: takes requests from the queues, as many as there is room for, keeps their
--- leases while they are worked on, takes over what others let lie, and writes down what became of each. Only who holds
--- the entry of a request may; the result of one that came too late is dropped.
local call_event = require("operations.call_event")
local compat = require("operations.compat")
local core = require("operations.core")
local errors = require("operations.error")
local json = require("operations.json")
local limits = require("operations.limits")
local link = require("operations.transports.redis_link")
local scheduler = require("operations.scheduler")
local scripts = require("operations.transports.redis_scripts")
local task = require("operations.task")

local redis_worker = {}

---@class operations.RedisJob
---@field id string  of the request
---@field entry string  in the queue
---@field operation string
---@field from string  the caller
---@field attempt integer  1, more when it may have been begun before
---@field text string  the payload
---@field started? boolean
---@field outcome? string  the event

---@class operations.RedisWorker
local Worker = {}
Worker.__index = Worker

---@param options { link: operations.RedisLink, address: operations.RedisAddress, keys: operations.RedisKeys,
---  presence: operations.RedisPresence, receiver: operations.Receiver, lease: number, attempts: integer,
---  retention: integer, vouches?: boolean }
---@return operations.RedisWorker
function redis_worker.new(options)
  return setmetatable({
    _link = options.link, _address = options.address, _keys = options.keys, _presence = options.presence,
    _receiver = options.receiver, _lease = options.lease, _attempts = options.attempts,
    _retention = options.retention, _vouches = options.vouches,
    _jobs = {}, _waiting = {}, _queues = {}, _ahead = 0,
  }, Worker)
end

--- Is a request being worked on?
---@param id string
---@return boolean
function Worker:knows(id)
  return self._jobs[id] ~= nil
end

local function late(self, job)
  self._receiver.deliver("call.aborted", { requestId = job.id, reason = "its lease ran out: another has it" }, {})
end

-- Writes the outcome down; once more when the connection was lost before Redis said so.
local function finish(self, job)
  scripts.finish:post(self._link, function(reply, err)
    if reply == 0 then
      late(self, job)
    elseif err and err.code == "TRANSPORT_LOST" then
      return
    end
    if self._jobs[job.id] == job then
      self._jobs[job.id] = nil
    end
  end, self._keys:queue(job.operation), self._keys:record(job.id), job.entry, self._presence.id, job.outcome,
    self._retention, self._presence:channel(job.from))
end

--- Ends a job with an event of its request.
---@param job operations.RedisJob
---@param name string
---@param payload table
---@return boolean? ok
---@return operations.Error? err
function Worker:finish(job, name, payload)
  local streams = payload.seq ~= nil
  payload.seq = nil
  local text, err = json.encode({ type = name, payload = payload, from = self._presence.id })
  if not text then
    return nil, err
  elseif job.outcome then
    return true
  end
  job.outcome = text
  finish(self, job)
  if streams then
    self._receiver.deliver("call.aborted", { requestId = job.id, reason = "called once" }, {})
  end
  return true
end

local function refuse(self, job, code, message)
  self:finish(job, "call.error", call_event.failure(job.id, errors.new(code, message)))
end

local function start(self, job)
  local payload = json.decode(job.text)
  if type(payload) ~= "table" then
    return refuse(self, job, "VALIDATION_ERROR", "the request is no JSON object")
  end
  job.started = true
  if type(payload.ttl) == "number" then -- it waited
    local queued = core.now() + self._ahead - tonumber(job.entry:match("^%d+"))
    payload.ttl = math.max(0, payload.ttl - math.max(0, queued))
  end
  payload.requestId = job.id
  local taken = self._receiver.event({ type = "call.requested", payload = payload }, { job = job,
    attempt = job.attempt, vouches = self._vouches })
  if taken == false then
    refuse(self, job, "VALIDATION_ERROR", "the request is not one of the call protocol")
  end
end

local function room(self, wake)
  local receiver = self._receiver
  return receiver.room and receiver.room(wake) or 0
end

local function start_waiting(self)
  local waiting = self._waiting
  while waiting[1] and room(self) > 0 do
    local job = table.remove(waiting, 1)
    if self._jobs[job.id] == job then
      start(self, job)
    end
  end
end

local function bury(self, job)
  local message = ("no worker survived it, %d tried"):format(self._attempts)
  local err = errors.new("POISON", message, { attempts = self._attempts })
  err.retryable, err.mayHaveRun = false, true
  local text = assert(json.encode({ type = "call.error", payload = call_event.failure(job.id, err),
    from = self._presence.id }))
  local keys = self._keys
  scripts.bury:post(self._link, function() end, keys:queue(job.operation), keys:record(job.id),
    keys:dead(job.operation), job.entry, self._presence.id, text, self._retention, self._presence:channel(job.from),
    limits.redis_dead, self._attempts, job.id, job.from, job.text)
end

-- An entry that was read or taken over.
local function take(self, operation, entry, deliveries)
  local fields = {}
  for i = 1, #entry[2], 2 do
    fields[entry[2][i]] = entry[2][i + 1]
  end
  local job = { id = fields.i or "", entry = entry[1], operation = operation, from = fields.f or "",
    text = fields.p or "", attempt = deliveries + (fields.a and 1 or 0), deliveries = deliveries, started = nil,
    outcome = nil }
  local known = self._jobs[job.id]
  if known then -- we are at it still: now it is for this entry
    known.entry = job.entry
    return known.outcome and finish(self, known)
  elseif deliveries > self._attempts then
    return bury(self, job)
  end
  self._jobs[job.id] = job
  table.insert(self._waiting, job)
end

local function join(self)
  for _, operation in ipairs(self._queues) do
    scripts.join:post(self._link, function() end, self._keys:queue(operation), self._presence.id,
      limits.redis_forget)
  end
end

local function command(self, count)
  local words = { "XREADGROUP", "GROUP", "w", self._presence.id, "COUNT", count, "BLOCK", limits.presence, "STREAMS" }
  local n, queues = #words, self._queues
  for i, operation in ipairs(queues) do
    words[n + i], words[n + #queues + i] = self._keys:queue(operation), ">"
  end
  return words
end

-- Reads what there is room for; waits for it.
local function read(self, count)
  local by_key = {}
  for _, operation in ipairs(self._queues) do
    by_key[self._keys:queue(operation)] = operation
  end
  local reply, err = self._reader:call(compat.unpack(command(self, math.max(1, math.floor(count / #self._queues)))))
  if err then
    if err.message:find("NOGROUP", 1, true) then
      join(self)
    end
    return task.sleep(limits.reconnect_delay / 1000)
  end
  for _, stream in ipairs(reply or {}) do
    for _, entry in ipairs(stream[2]) do
      take(self, by_key[stream[1]], entry, 1)
    end
  end
  start_waiting(self)
end

-- Waits until something has changed.
local function pause(self, arm)
  scheduler.await(function(wake)
    self._wake = wake
    return arm and arm(wake)
  end)
  self._wake = nil
end

local function work(self)
  while not self._closed do
    start_waiting(self)
    local count = math.min(limits.redis_batch, room(self) - #self._waiting)
    if not self._reader.connected or #self._queues == 0 then
      pause(self)
    elseif count <= 0 then
      pause(self, function(wake)
        room(self, wake)
      end)
    else
      read(self, count)
    end
  end
end

-- Has the leases of what we work on begin anew.
local function renew(self)
  local by_operation, by_entry = {}, {}
  for _, job in pairs(self._jobs) do
    local list = by_operation[job.operation] or {}
    by_operation[job.operation], by_entry[job.entry] = list, job
    list[#list + 1] = job.entry
  end
  for operation, entries in pairs(by_operation) do
    scripts.renew:post(self._link, function(lost)
      for _, entry in ipairs(lost or {}) do
        local job = by_entry[entry]
        if job.entry == entry and self._jobs[job.id] == job and not job.outcome then
          self._jobs[job.id] = nil
          late(self, job)
        end
      end
    end, self._keys:queue(operation), self._presence.id, compat.unpack(entries))
  end
end

-- Takes over what others let lie.
local function claim(self, operation, from)
  local count = math.min(limits.redis_batch, room(self) - #self._waiting)
  if count <= 0 then
    return
  end
  scripts.claim:post(self._link, function(reply)
    if not reply then
      return
    end
    for _, entry in ipairs(reply[2]) do
      take(self, operation, entry, entry[3])
    end
    start_waiting(self)
    if reply[1] ~= "0-0" then
      claim(self, operation, reply[1])
    end
  end, self._keys:queue(operation), self._presence.id, self._lease, from, count)
end

local function keep_leases(self)
  self._timer = scheduler.host().timer(self._lease / 3 * (0.8 + 0.4 * math.random()), function()
    if self._link.connected then
      self:look_after()
    end
    keep_leases(self)
  end)
end

--- Renews our leases, takes over what others let lie.
function Worker:look_after()
  renew(self)
  for _, operation in ipairs(self._queues) do
    claim(self, operation, "0-0")
  end
end

local function wake(self)
  if self._wake then
    self._wake()
  end
end

-- Lets others have a request at once.
local function release(self, job)
  scripts.release:post(self._link, function() end, self._keys:queue(job.operation), self._presence.id,
    self._lease + limits.redis_forget, job.entry, job.deliveries - (job.started and 0 or 1))
end

-- What waits for room here, and is not offered any more, is for others.
local function release_waiting(self, offered)
  for i = #self._waiting, 1, -1 do
    local job = self._waiting[i]
    if not offered[job.operation] then
      table.remove(self._waiting, i)
      self._jobs[job.id] = nil
      release(self, job)
    end
  end
end

--- What is offered has changed.
---@param offered table<string, boolean>  operation ids
function Worker:serve(offered)
  self._queues = {}
  for id in pairs(offered) do
    if not id:find("^services%.") then
      table.insert(self._queues, id)
    end
  end
  release_waiting(self, offered)
  if #self._queues > 0 and not self._reader then
    self._reader = link.start(self._address, { ready = function()
      wake(self)
    end })
    keep_leases(self)
    self._working = task.detach(work, self)
  end
  join(self)
  wake(self)
end

--- The connection is there again.
---@param ahead number  ms, of Redis' clock before ours
function Worker:resume(ahead)
  self._ahead = ahead
  join(self)
  for _, job in pairs(self._jobs) do
    if job.outcome then
      finish(self, job)
    end
  end
  if self._reader then
    self:look_after()
  end
end

--- Its request was taken back.
---@param id string
function Worker:drop(id)
  self._jobs[id] = nil
end

--- Ends it. What is not done is left to others.
function Worker:close()
  self._closed = true
  for _, job in pairs(self._jobs) do
    if not job.outcome then
      release(self, job)
    end
  end
  if self._reader then
    self._timer()
    self._working:cancel()
    self._reader:close()
  end
end

return redis_worker
