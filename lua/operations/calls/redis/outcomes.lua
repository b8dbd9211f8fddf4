--- Stores the outcomes of requests in mode `reliable`: those of calls in batches, those of submitted jobs, and of
--- requests that no worker survived.
local limits = require("operations.base.limits")
local scripts = require("operations.calls.redis.scripts")

local redis_outcomes = {}

---@class operations.RedisOutcomes
---@field _shared operations.RedisShared
---@field _batch operations.RedisBatch
---@field _answered fun(job: operations.RedisJob, reply: any, err: operations.Error?)
---@field _now fun(): number
local Outcomes = {}
Outcomes.__index = Outcomes

---@param shared operations.RedisShared
---@param answered fun(job: operations.RedisJob, reply: any, err: operations.Error?)  0: the worker does not hold it
---@param now fun(): number  ms since the epoch, by Redis' clock
---@return operations.RedisOutcomes
function redis_outcomes.new(shared, answered, now)
  return setmetatable({ _shared = shared, _answered = answered, _now = now, _batch = scripts.batch({
    link = shared.link, script = scripts.finish, shared = { shared.presence.id, shared.retention },
    add = function(words, n, job)
      words[n + 1], words[n + 2], words[n + 3] = job.entry, job.outcome, shared.presence:channel(job.from)
      return n + 3
    end,
    answered = answered,
  }) }, Outcomes)
end

--- Stores the outcome of a job.
---@param job operations.RedisJob
function Outcomes:add(job)
  local shared = self._shared
  local keys = shared.keys
  if not job.keep then
    return self._batch:add(job.queue, keys:record(job.id), job)
  end
  scripts.finish_job:send(shared.link, function(...)
    self._answered(job, ...)
  end, 4, { job.queue, keys:record(job.id), keys:job(job.id), keys:owned(job.owner or ""), job.entry,
    shared.presence.id, job.outcome, job.keep, job.id, ("%.0f"):format(self._now()) })
end

local function nothing() end

--- Makes a dead letter of a job.
---@param job operations.RedisJob
---@param outcome string
function Outcomes:bury(job, outcome)
  local shared = self._shared
  local keys, presence = shared.keys, shared.presence
  scripts.bury:send(shared.link, nothing, 6, { job.queue, keys:record(job.id), keys:dead(job.operation),
    keys:dead_operations(), keys:job(job.id), keys:owned(job.owner or ""), job.entry, presence.id, outcome,
    job.keep or shared.retention, job.keep and "" or presence:channel(job.from), limits.redis_dead, shared.attempts,
    job.id, job.from, job.text, job.operation, job.keep, job.owner })
end

--- Sends what is gathered.
function Outcomes:flush()
  self._batch:flush()
end

return redis_outcomes
