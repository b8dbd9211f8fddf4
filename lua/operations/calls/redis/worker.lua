--- The worker's side of mode `reliable`: reads requests from the queues while there is room, keeps their leases while
--- they run, takes over requests whose lease has expired, stores the outcome of each, and releases those that it will
--- not run. Only the holder of a request's entry may store an outcome; results of other workers are dropped. Reading
--- has its own connection, which Redis blocks while it waits.
local call_event = require("operations.calls.event")
local compat = require("operations.base.compat")
local core = require("operations.core")
local delayed = require("operations.calls.redis.delayed")
local errors = require("operations.base.error")
local json = require("operations.base.json")
local limits = require("operations.base.limits")
local links = require("operations.calls.redis.link")
local members = require("operations.base.members")
local notes = require("operations.calls.redis.notes")
local outcomes = require("operations.calls.redis.outcomes")
local scheduler = require("operations.task.scheduler")
local scripts = require("operations.calls.redis.scripts")
local signatures = require("operations.calls.redis.signature")
local task = require("operations.task")

local redis_worker = {}

---@class operations.RedisJob
---@field id string  of the request
---@field entry string  in the queue
---@field operation string
---@field queue string  its key
---@field from string  the caller
---@field attempt integer  1; higher when it may have run before
---@field text string  the payload
---@field keep? integer  of a submitted job: ms for which its outcome is kept
---@field owner? string  of a submitted job
---@field notes? operations.RedisNotes|false  of a submitted job that was started
---@field revived? boolean  its deadline is the old one; its time starts again
---@field started? boolean
---@field outcome? string  the event

---@class operations.RedisWorker
---@field _shared operations.RedisShared
---@field _jobs table<string, operations.RedisJob>  by request id
---@field _waiting operations.RedisJob[]  for room
---@field _queues string[]  the keys of those that are read
---@field _by_queue table<string, string>  their operations
---@field _asked string[]  the queues of the last read, which Redis may still answer
---@field _link? operations.RedisLink  for reading, once there are queues
local Worker = {}
Worker.__index = Worker

local function nothing() end

local function forget(self, job)
  self._jobs[job.id] = nil
  if job.notes then
    job.notes:close()
  end
end

local function late(self, job)
  self._shared.receiver.deliver("call.aborted",
    { requestId = job.id, reason = "its lease expired: another worker has it" }, {})
end

-- Redis has answered for an outcome. If the connection was lost before, the outcome is stored again.
local function ended(self, job, reply, err)
  if err and err.code == "TRANSPORT_LOST" then
    return
  elseif reply == 0 then
    late(self, job)
  end
  if self._jobs[job.id] == job then
    forget(self, job)
  end
end

---@param shared operations.RedisShared
---@return operations.RedisWorker
function redis_worker.new(shared)
  local self = setmetatable({ _shared = shared, _jobs = {}, _waiting = {}, _ahead = 0,
    _queues = {}, _by_queue = {}, _asked = {} }, Worker)
  function self._now()
    return core.now() + self._ahead
  end
  self._outcomes = outcomes.new(shared, function(...) ended(self, ...) end, self._now)
  return self
end

--- Is a request running?
---@param id string
---@return boolean
function Worker:knows(id)
  return self._jobs[id] ~= nil
end

--- Sends the outcomes that are gathered; are there any that Redis has not confirmed?
---@return boolean
function Worker:stores()
  self._outcomes:flush()
  for _, job in pairs(self._jobs) do
    if job.outcome then
      return true
    end
  end
  return false
end

-- The outcome of a job in the form for readers.
local function outcome_of(self, job, name, payload, max_message)
  local text, err = self._shared.presence:encode(name, payload, max_message)
  return text and self._shared.signature:seal(self._shared.keys:record(job.id), text), err
end

-- Other workers can run these entries of a queue at once: pairs of an entry and its number of deliveries. They
-- are notified once Redis has answered: a script that Redis does not have yet is sent twice.
local function release_entries(self, queue, entries)
  local shared = self._shared
  scripts.release:send(shared.link, function(_, err)
    if not err then
      shared.presence:show_release()
    end
  end, 1, members.joined({ queue, shared.presence.id, shared.lease + limits.redis_forget }, entries))
end

-- Releases a request, so that another worker can run it at once.
local function release(self, job)
  forget(self, job)
  release_entries(self, job.queue, { job.entry, job.deliveries - (job.started and 0 or 1) })
end

-- Progress goes to the caller only: it is no outcome.
local function publish(self, job, text)
  local channel = self._shared.presence:channel(job.from)
  self._shared.link:publish(channel, text, nothing)
  return true
end

--- Ends a job with an event of its request, or sends its progress. A job aborted because this process stops is left to
--- other workers.
---@param job operations.RedisJob
---@param name string
---@param payload table
---@return boolean? ok
---@return operations.Error? err
function Worker:finish(job, name, payload)
  if name == "call.aborted" and #self._shared.receiver.offers() == 0 then
    release(self, job)
    return true
  end
  if name == "call.progress" and job.keep then
    job.notes:progress(payload)
    return true
  end
  local streams = payload.seq ~= nil
  payload.seq = nil
  local text, err = outcome_of(self, job, name, payload, self._shared.max_message)
  if not text then
    return nil, err
  elseif job.outcome then
    return true
  elseif name == "call.progress" then
    return publish(self, job, text)
  end
  job.outcome = text
  if job.notes then
    job.notes:flush()
  end
  self._outcomes:add(job)
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
  if not self._shared.signature:fits(job.queue, job.text) then
    return refuse(self, job, "ACCESS_DENIED", "the request is not signed with the secret shared here")
  end
  job.started = true
  payload.requestId, payload.sig = job.id, nil
  if type(payload.ttl) == "number" then -- it waited by Redis' clock; its deadline is by the caller's
    local queued = self._now() - tonumber(job.entry:match("^%d+"))
    payload.ttl, payload.deadline = math.max(0, payload.ttl - math.max(0, queued)), nil
  elseif job.revived then
    payload.deadline = nil
  end
  local peer = { job = job, attempt = job.attempt, vouches = self._shared.vouches, announced = true }
  job.notes = job.keep and notes.new(self._shared, job, peer, self._now)
  local taken = self._shared.receiver.event(call_event.new("call.requested", payload), peer)
  if taken == false then
    refuse(self, job, "VALIDATION_ERROR", "the request is not one of the call protocol")
  end
end

-- Starts waiting jobs while the receiver has room; returns how many more there is room for.
local function room(self, wake)
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
  local attempts = self._shared.attempts
  self._outcomes:bury(job, assert(outcome_of(self, job, "call.error", { requestId = job.id, code = "POISON",
    retryable = false, mayHaveRun = true, message = ("no worker survived it, %d tried"):format(attempts),
    details = { attempts = attempts } })))
end

-- Names of an entry's fields.
local meanings = { i = "id", f = "from", p = "text", w = "owner" }

-- Takes an entry that was read or taken over.
local function take(self, queue, entry, deliveries)
  local job = { id = "", entry = entry[1], operation = self._by_queue[queue], queue = queue, from = "", text = "",
    attempt = deliveries, deliveries = deliveries, started = nil, outcome = nil }
  local fields = entry[2]
  for i = 1, #fields, 2 do
    local name, value = fields[i], fields[i + 1]
    if meanings[name] then
      job[meanings[name]] = value
    elseif name == "j" then
      job.keep = tonumber(value)
    elseif name == "a" then
      job.attempt, job.revived = job.attempt + 1, value == "revived"
    end
  end
  local known = self._jobs[job.id]
  if known then -- it still runs here: now under this entry
    known.entry = job.entry
    return known.outcome and self._outcomes:add(known)
  elseif deliveries > self._shared.attempts then
    return bury(self, job)
  end
  self._jobs[job.id] = job
  table.insert(self._waiting, job)
end

-- Creates the queues if necessary.
local function join(self)
  local shared = self._shared
  for _, queue in ipairs(self._queues) do
    scripts.join:send(shared.link, nothing, 2, { queue, shared.keys:queues(), shared.presence.id,
      limits.redis_forget, self._by_queue[queue] })
  end
end

-- XREADGROUP's count applies to each queue.
local function command(self, count)
  local queues = self._queues
  self._asked = queues
  local words = { "XREADGROUP", "GROUP", "w", self._shared.presence.id, "COUNT",
    math.max(1, math.floor(count / #queues)), "BLOCK", limits.presence, "STREAMS" }
  local n = #words
  for i, queue in ipairs(queues) do
    words[n + i], words[n + #queues + i] = queue, ">"
  end
  return words
end

-- Takes entries of a queue, each with its number of deliveries unless it is the first; releases those of a queue that
-- is no longer served.
local function take_all(self, queue, entries)
  local released, served = {}, self._by_queue[queue] ~= nil
  for _, entry in ipairs(entries) do
    local deliveries = entry[3] or 1
    if served then
      take(self, queue, entry, deliveries)
    else
      released[#released + 1], released[#released + 2] = entry[1], deliveries - 1
    end
  end
  if released[1] then
    release_entries(self, queue, released)
  end
end

local function read(self, count)
  local reply, err = self._link:call(compat.unpack(command(self, count)))
  if err then
    if err.message:find("NOGROUP", 1, true) then
      join(self)
    end
    return task.sleep(limits.reconnect_delay / 1000)
  end
  for _, queue in ipairs(reply or {}) do
    take_all(self, queue[1], queue[2])
  end
end

local function work(self, wake)
  while true do
    local count = room(self, wake)
    if count > 0 and self._link.connected and #self._queues > 0 then
      read(self, count)
    else
      scheduler.await(function(woken)
        self._wake = woken
      end)
      self._wake = nil
    end
  end
end

-- Renews the leases of our jobs.
local function renew(self)
  local shared, jobs = self._shared, self._jobs
  local by_queue, by_entry = {}, {}
  for _, job in pairs(jobs) do
    local list = by_queue[job.queue] or { job.queue, shared.presence.id }
    by_queue[job.queue], by_entry[job.entry] = list, job
    list[#list + 1] = job.entry
  end
  for _, words in pairs(by_queue) do
    scripts.renew:send(shared.link, function(lost)
      for _, entry in ipairs(lost or {}) do
        local job = by_entry[entry]
        if job.entry == entry and jobs[job.id] == job and not job.outcome then
          forget(self, job)
          late(self, job)
        end
      end
    end, 1, words)
  end
end

-- Takes over requests whose lease has expired.
local function claim(self, queue, from)
  local shared = self._shared
  local count = room(self)
  if count <= 0 then
    return
  end
  scripts.claim:send(shared.link, function(reply)
    if not reply then
      return
    end
    take_all(self, queue, reply[2])
    room(self) -- starts them
    if reply[1] ~= "0-0" then
      claim(self, queue, reply[1])
    end
  end, 1, { queue, shared.presence.id, shared.lease, from, count })
end

--- Renews our leases, takes over requests whose lease has expired.
function Worker:look_after()
  renew(self)
  for _, queue in ipairs(self._queues) do
    claim(self, queue, "0-0")
  end
end

-- Manages the leases from now on.
local function keep(self)
  local shared = self._shared
  self._timer = scheduler.host().timer(shared.lease / 3 * (0.8 + 0.4 * math.random()), function()
    if shared.link.connected then
      self:look_after()
    end
    keep(self)
  end)
end

local function begin(self)
  local function wake()
    if self._wake then
      self._wake()
    end
  end
  self._link = links.start(self._shared.address, { ready = wake })
  self._working = task.detach(work, self, wake)
  self._stop_delayed = delayed.watch(self._shared, self._now)
  keep(self)
end

-- Returns requests that wait for room here, of operations no longer served, to other workers.
local function release_waiting(self, offered)
  for i = #self._waiting, 1, -1 do
    local job = self._waiting[i]
    if not offered[job.operation] then
      table.remove(self._waiting, i)
      release(self, job)
    end
  end
end

--- Called when the served operations have changed.
---@param offered table<string, boolean>  operation ids
function Worker:serve(offered)
  self._queues, self._by_queue = {}, {}
  for id in pairs(offered) do
    if not id:find("^services%.") then
      local queue = self._shared.keys:queue(id)
      table.insert(self._queues, queue)
      self._by_queue[queue] = id
    end
  end
  release_waiting(self, offered)
  if #self._queues > 0 and not self._link then
    begin(self)
  end
  join(self)
  for _, queue in ipairs(self._queues) do
    claim(self, queue, "0-0") -- entries that were released while no worker served it
  end
  if self._wake then
    self._wake()
  end
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
      self._outcomes:add(job)
    end
  end
  if self._link then
    join(self)
    self:look_after()
  end
end

--- The place for which its request and an abort of it are signed.
---@param id string
---@return string
function Worker:place(id)
  return self._jobs[id].queue
end

--- Its request was taken back.
---@param id string
---@return boolean? begun  true: the running job must be aborted
function Worker:drop(id)
  local job = self._jobs[id]
  forget(self, job)
  return job.started
end

--- Stops reading, and leaves unfinished jobs to other workers. Redis may already have sent further requests:
--- `release_rest` is called once it has seen the end of the connection.
function Worker:close()
  self._outcomes:flush()
  for _, job in pairs(self._jobs) do
    if not job.outcome then
      release(self, job)
    end
  end
  if self._link then
    self._timer()
    self._stop_delayed()
    self._working:cancel()
    self._link:close()
  end
end

--- Releases the requests that were sent and not read.
---@param fn fun()  called when Redis has answered, or the connection is lost
function Worker:release_rest(fn)
  local shared, left = self._shared, #self._asked
  if left == 0 then
    return fn()
  end
  local function answered()
    left = left - 1
    if left == 0 then
      fn()
    end
  end
  for _, queue in ipairs(self._asked) do
    scripts.release_rest:send(shared.link, answered, 1, { queue, shared.presence.id,
      shared.lease + limits.redis_forget, limits.redis_queue })
  end
end

return redis_worker
