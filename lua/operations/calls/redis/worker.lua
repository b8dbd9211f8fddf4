--- The worker's side of mode `reliable`: takes requests from the queues while there is room, keeps their leases while
--- they run, takes over requests whose lease has expired, and stores the outcome of each. Only the holder of a
--- request's entry may do that; results of other workers are dropped.
local call_event = require("operations.calls.event")
local core = require("operations.core")
local errors = require("operations.base.error")
local json = require("operations.base.json")
local limits = require("operations.base.limits")
local queues = require("operations.calls.redis.queue")
local scripts = require("operations.calls.redis.scripts")
local signatures = require("operations.calls.redis.signature")

local redis_worker = {}

---@class operations.RedisJob
---@field id string  of the request
---@field entry string  in the queue
---@field operation string
---@field from string  the caller
---@field attempt integer  1; higher when it may have run before
---@field text string  the payload
---@field revived? boolean  its deadline is the old one; its time starts again
---@field started? boolean
---@field outcome? string  the event

local ended, late, room, take

---@class operations.RedisWorker
local Worker = {}
Worker.__index = Worker

---@param shared operations.RedisShared
---@return operations.RedisWorker
function redis_worker.new(shared)
  local self = setmetatable({ _shared = shared, _jobs = {}, _waiting = {}, _ahead = 0 }, Worker)
  self._outcomes = scripts.batch({
    link = shared.link, script = scripts.finish, shared = { shared.presence.id, shared.retention },
    add = function(words, n, job)
      words[n + 1], words[n + 2], words[n + 3] = job.entry, job.outcome, shared.presence:channel(job.from)
      return n + 3
    end,
    answered = function(...) ended(self, ...) end,
  })
  self._queues = queues.new(shared, {
    jobs = self._jobs,
    room = function(wake) return room(self, wake) end,
    take = function(...) take(self, ...) end,
    lost = function(job) late(self, job) end,
  })
  return self
end

--- Is a request running?
---@param id string
---@return boolean
function Worker:knows(id)
  return self._jobs[id] ~= nil
end

local function nothing() end

function late(self, job)
  self._shared.receiver.deliver("call.aborted",
    { requestId = job.id, reason = "its lease expired: another worker has it" }, {})
end

-- Redis has answered for an outcome. If the connection was lost before, the outcome is stored again.
function ended(self, job, reply, err)
  if err and err.code == "TRANSPORT_LOST" then
    return
  elseif reply == 0 then
    late(self, job)
  end
  if self._jobs[job.id] == job then
    self._jobs[job.id] = nil
  end
end

local function finish(self, job)
  self._outcomes:add(self._shared.keys:queue(job.operation), self._shared.keys:record(job.id), job)
end

-- The outcome of a job in the form for readers.
local function outcome_of(self, job, name, payload, max_message)
  local text, err = self._shared.presence:encode(name, payload, max_message)
  return text and self._shared.signature:seal(self._shared.keys:record(job.id), text), err
end

--- Ends a job with an event of its request. A job aborted because this process stops is left to other workers.
---@param job operations.RedisJob
---@param name string
---@param payload table
---@return boolean? ok
---@return operations.Error? err
function Worker:finish(job, name, payload)
  if name == "call.aborted" and #self._shared.receiver.offers() == 0 then
    self._queues:release(job)
    return true
  end
  local streams = payload.seq ~= nil
  payload.seq = nil
  local text, err = outcome_of(self, job, name, payload, self._shared.max_message)
  if not text then
    return nil, err
  elseif job.outcome then
    return true
  end
  job.outcome = text
  finish(self, job)
  if streams then
    self._shared.receiver.deliver("call.aborted", { requestId = job.id, reason = "called once" }, {})
  end
  return true
end

local function refuse(self, job, code, message)
  self:finish(job, "call.error", call_event.failure(job.id, errors.new(code, message)))
end

-- An id with invalid UTF-8 cannot be sent in an answer; the job gets another one. True if it was renamed.
local function rename(self, job)
  local id = job.id
  if json.encode(id) then
    return false
  end
  job.id = core.random_id()
  if self._jobs[id] == job then
    self._jobs[id], self._jobs[job.id] = nil, job
  end
  return true
end

local function start(self, job)
  local payload = #job.text <= self._shared.max_message + signatures.most and json.decode(job.text)
  -- Our callers send these fields twice; they were read.
  if (type(payload) ~= "table" or payload.requestId ~= job.id) and rename(self, job) then
    payload = nil
  end
  if type(payload) ~= "table" then
    return refuse(self, job, "VALIDATION_ERROR", "the request is not a JSON object, or too long")
  end
  if not self._shared.signature:fits(self._shared.keys:queue(job.operation), job.text) then
    return refuse(self, job, "ACCESS_DENIED", "the request is not signed with the secret shared here")
  end
  job.started = true
  payload.requestId, payload.sig = job.id, nil
  if type(payload.ttl) == "number" then -- it waited by Redis' clock; its deadline is by the caller's
    local queued = core.now() + self._ahead - tonumber(job.entry:match("^%d+"))
    payload.ttl, payload.deadline = math.max(0, payload.ttl - math.max(0, queued)), nil
  elseif job.revived then
    payload.deadline = nil
  end
  local taken = self._shared.receiver.event(call_event.new("call.requested", payload), { job = job,
    attempt = job.attempt, vouches = self._shared.vouches, announced = true })
  if taken == false then
    refuse(self, job, "VALIDATION_ERROR", "the request is not one of the call protocol")
  end
end

-- Starts waiting jobs while the receiver has room; returns how many more there is room for.
function room(self, wake)
  local waiting, left = self._waiting, self._shared.receiver.room
  if not left then
    return 0
  end
  while waiting[1] and left() > 0 do
    local job = table.remove(waiting, 1)
    if self._jobs[job.id] == job then
      start(self, job)
    end
  end
  return math.min(limits.redis_batch, left(wake) - #waiting)
end

local function bury(self, job)
  rename(self, job)
  local shared = self._shared
  local keys, presence, attempts = shared.keys, shared.presence, shared.attempts
  local text = assert(outcome_of(self, job, "call.error", { requestId = job.id, code = "POISON", retryable = false,
    mayHaveRun = true, message = ("no worker survived it, %d tried"):format(attempts),
    details = { attempts = attempts } }))
  scripts.bury:send(shared.link, nothing, 4, { keys:queue(job.operation), keys:record(job.id),
    keys:dead(job.operation), keys:dead_operations(), job.entry, presence.id, text, shared.retention,
    presence:channel(job.from), limits.redis_dead, attempts, job.id, job.from, job.text, job.operation })
end

-- Names of an entry's fields.
local meanings = { i = "id", f = "from", p = "text" }

-- Takes an entry that was read or taken over.
function take(self, operation, entry, deliveries)
  local job = { id = "", entry = entry[1], operation = operation, from = "", text = "", attempt = deliveries,
    deliveries = deliveries, started = nil, outcome = nil }
  local fields = entry[2]
  for i = 1, #fields, 2 do
    local name, value = fields[i], fields[i + 1]
    if meanings[name] then
      job[meanings[name]] = value
    elseif name == "a" then
      job.attempt, job.revived = job.attempt + 1, value == "revived"
    end
  end
  local known = self._jobs[job.id]
  if known then -- it still runs here: now under this entry
    known.entry = job.entry
    return known.outcome and finish(self, known)
  elseif deliveries > self._shared.attempts then
    return bury(self, job)
  end
  self._jobs[job.id] = job
  table.insert(self._waiting, job)
end

-- Returns requests that wait for room here, of operations no longer served, to other workers.
local function release_waiting(self, offered)
  local before = #self._waiting
  for i = #self._waiting, 1, -1 do
    local job = self._waiting[i]
    if not offered[job.operation] then
      table.remove(self._waiting, i)
      self._queues:release(job)
    end
  end
  if #self._waiting < before then
    self._shared.presence:show_release()
  end
end

--- Called when the served operations have changed.
---@param offered table<string, boolean>  operation ids
function Worker:serve(offered)
  local operations = {}
  for id in pairs(offered) do
    if not id:find("^services%.") then
      table.insert(operations, id)
    end
  end
  release_waiting(self, offered)
  self._queues:serve(operations)
end

--- Renews our leases, takes over requests whose lease has expired.
function Worker:look_after()
  self._queues:look_after()
end

--- How far Redis' clock is ahead of ours.
---@param ahead number  ms
function Worker:set_clock(ahead)
  self._ahead = ahead
end

--- Called after a reconnection.
function Worker:resume()
  for _, job in pairs(self._jobs) do
    if job.outcome then
      finish(self, job)
    end
  end
  self._queues:resume()
end

--- The place for which its request and an abort of it are signed.
---@param id string
---@return string
function Worker:place(id)
  return self._shared.keys:queue(self._jobs[id].operation)
end

--- Its request was taken back.
---@param id string
---@return boolean? begun  true: the running job must be aborted
function Worker:drop(id)
  local job = self._jobs[id]
  self._jobs[id] = nil
  return job.started
end

--- Ends it. Unfinished jobs are left to other workers; `release_rest` follows.
function Worker:close()
  self._outcomes:flush()
  for _, job in pairs(self._jobs) do
    if not job.outcome then
      self._queues:release(job)
    end
  end
  self._queues:close()
end

--- Leaves the requests that Redis had sent, and that were not read, to other workers.
function Worker:release_rest()
  self._queues:release_rest()
end

return redis_worker
