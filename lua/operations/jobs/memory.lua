--- Jobs in this process: they end with it.
local call_job = require("operations.registry.job")
local errors = require("operations.base.error")
local limits = require("operations.base.limits")
local members = require("operations.base.members")
local rules = require("operations.jobs.rules")
local scheduler = require("operations.task.scheduler")
local shares = require("operations.base.shares")
local task = require("operations.task")
local weight = require("operations.base.weight")

local memory = {}

-- A job that a store in memory has.
---@class operations.KeptJob
---@field job operations.Job
---@field owner string
---@field ttl integer  ms from its start
---@field ends number  by the monotonic clock

---@class operations.MemoryJobs : operations.JobStore
---@field _registry operations.Registry
---@field _options operations.JobsOptions
---@field _unended table<string, operations.KeptJob>  by id
---@field _ended operations.Shares  those that have ended
---@field _running table<string, integer>  handlers by owner
---@field _count integer  of all of these
local Memory = {}
Memory.__index = Memory

-- Is its time over? Whatever the clock on the wall says.
local function is_over(kept)
  return task.monotonic() >= kept.ends
end

local function remove(self, kept)
  local id = kept.job.id
  self._unended[id] = nil
  self._ended:remove(kept.owner, id)
end

-- Removes a job whose time is over.
local function expire(self, kept)
  remove(self, kept)
  kept.job:cancel("its time to live is over")
end

local function find(self, id, identity)
  local owner = rules.owner_of(identity)
  local kept = type(id) == "string" and (self._unended[id] or self._ended:get(owner, id))
  if not kept or kept.owner ~= owner then
    return nil
  elseif is_over(kept) then
    expire(self, kept)
    return nil
  end
  return kept
end

local function record_of(self, kept)
  local _, record = kept.job:state()
  record.ttl, record.poll = kept.ttl, self._options.poll
  return record
end

-- Ends the jobs that run beyond their time.
local function sweep(self)
  self._sweeping = scheduler.host().timer(limits.job_sweep, function()
    self._sweeping = nil
    for _, kept in pairs(members.copy(self._unended)) do
      if is_over(kept) then
        expire(self, kept)
      end
    end
    if next(self._unended) ~= nil then
      sweep(self)
    end
  end)
end

-- Keeps what a job leaves, if it is not too much.
local function ended(self, kept)
  local id = kept.job.id
  if self._unended[id] == kept then
    self._unended[id] = nil
    local _, record = kept.job:state()
    local bytes = weight.of(record.envelope)
    if bytes > limits.job_result then
      kept.job:lose(errors.new("EXECUTION_ERROR", ("%s: the result is too large to be kept: about %d bytes"):format(
        kept.job.operation, bytes)))
      bytes = 0
    end
    self._ended:put(kept.owner, id, kept, bytes + #id)
  end
end

local function leave(self, kept)
  local left = self._running[kept.owner] - 1
  self._running[kept.owner], self._count = left > 0 and left or nil, self._count - 1
end

local function busy(count, whose)
  local err = errors.new("BUSY", ("%d jobs %s are running, no more are accepted"):format(count, whose))
  err.retryable, err.mayHaveRun = true, false
  return nil, err
end

function Memory:start(id, input, options)
  options = options or {}
  local owner, most = rules.owner_of(options.identity), self._options
  local context = { identity = options.identity, metadata = options.metadata, traceparent = options.traceparent }
  local ok, err = self._registry:admit(id, input, context)
  if not ok then
    return nil, err
  elseif (self._running[owner] or 0) >= most.max_identity_jobs then
    return busy(most.max_identity_jobs, "of this caller")
  elseif self._count >= most.max_jobs then
    return busy(most.max_jobs, "of all callers")
  end
  local kept = { owner = owner, ttl = rules.granted(most, options.ttl) }
  kept.ends = task.monotonic() + kept.ttl
  self._running[owner], self._count = (self._running[owner] or 0) + 1, self._count + 1
  kept.job = call_job.start(self._registry, { operation = id, input = input, context = context,
    capabilities = options.capabilities, on_end = function()
      ended(self, kept)
    end, on_return = function()
      leave(self, kept)
    end })
  self._unended[kept.job.id] = kept
  if not self._sweeping then
    sweep(self)
  end
  return record_of(self, kept)
end

function Memory:get(id, identity)
  local kept = find(self, id, identity)
  if not kept then
    return rules.unknown(id)
  end
  return record_of(self, kept)
end

function Memory:wait(id, identity, options)
  options = options or {}
  local deadline = task.monotonic() + (options.timeout or math.huge)
  local kept = find(self, id, identity)
  while kept do
    local record = record_of(self, kept)
    local now = task.monotonic()
    if now >= deadline or rules.suffices(record, options) then
      return record
    end
    kept.job:await_change(math.min(deadline, kept.ends) - now)
    kept = find(self, id, identity)
  end
  return rules.unknown(id)
end

function Memory:answer(id, identity, answers)
  local kept = find(self, id, identity)
  if not kept then
    return rules.unknown(id)
  end
  local ok, err = kept.job:answer(answers)
  return ok and record_of(self, kept), err
end

function Memory:cancel(id, identity, reason)
  local kept = find(self, id, identity)
  if not kept then
    return rules.unknown(id)
  end
  kept.job:cancel(reason)
  return record_of(self, kept)
end

function Memory:forget(id, identity)
  local kept = find(self, id, identity)
  if not kept then
    return rules.unknown(id)
  end
  remove(self, kept)
  kept.job:cancel("its record was removed")
  return true
end

--- Cancels all jobs.
function Memory:close()
  for _, kept in pairs(members.copy(self._unended)) do
    remove(self, kept)
    kept.job:cancel("the server has closed")
  end
  if self._sweeping then
    self._sweeping()
    self._sweeping = nil
  end
end

---@param registry operations.Registry
---@param options operations.JobsOptions  all of them
---@return operations.MemoryJobs
function memory.new(registry, options)
  return setmetatable({ _registry = registry, _options = options, _unended = {}, _running = {}, _count = 0,
    _ended = shares.new({ count = limits.ended_job_records, weight = limits.job_results,
      owner_count = limits.identity_job_records, owner_weight = limits.job_identity_results }) }, Memory)
end

return memory
