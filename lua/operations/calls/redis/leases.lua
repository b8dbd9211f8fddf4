--- The leases of the requests that a worker has: renewed while it works on them, given up when it will not any more;
--- what others let lie is taken over.
local limits = require("operations.base.limits")
local scheduler = require("operations.task.scheduler")
local scripts = require("operations.calls.redis.scripts")

local redis_leases = {}

---@class operations.RedisLeasesOptions
---@field link operations.RedisLink
---@field keys operations.RedisKeys
---@field consumer string  whose leases
---@field lease number  ms
---@field jobs table<string, operations.RedisJob>  what it has, by the requests' ids
---@field operations fun(): string[]  what it serves
---@field room fun(): integer  how many more it takes
---@field take fun(operation: string, entry: table, deliveries: integer)  one that was taken over
---@field taken fun()  so were those that there is room for
---@field lost fun(job: operations.RedisJob)  another has it

---@class operations.RedisLeases
---@field _given operations.RedisLeasesOptions
local Leases = {}
Leases.__index = Leases

local function nothing() end

---@param options operations.RedisLeasesOptions
---@return operations.RedisLeases
function redis_leases.new(options)
  return setmetatable({ _given = options }, Leases)
end

-- Has the leases of what we work on begin anew.
local function renew(given)
  local by_operation, by_entry, jobs = {}, {}, given.jobs
  for _, job in pairs(jobs) do
    local list = by_operation[job.operation] or { given.keys:queue(job.operation), given.consumer }
    by_operation[job.operation], by_entry[job.entry] = list, job
    list[#list + 1] = job.entry
  end
  for _, words in pairs(by_operation) do
    scripts.renew:send(given.link, function(lost)
      for _, entry in ipairs(lost or {}) do
        local job = by_entry[entry]
        if job.entry == entry and jobs[job.id] == job and not job.outcome then
          jobs[job.id] = nil
          given.lost(job)
        end
      end
    end, 1, words)
  end
end

-- Takes over what others let lie.
local function claim(given, operation, from)
  local count = given.room()
  if count <= 0 then
    return
  end
  scripts.claim:send(given.link, function(reply)
    if not reply then
      return
    end
    for _, entry in ipairs(reply[2]) do
      given.take(operation, entry, entry[3])
    end
    given.taken()
    if reply[1] ~= "0-0" then
      claim(given, operation, reply[1])
    end
  end, 1, { given.keys:queue(operation), given.consumer, given.lease, from, count })
end

--- Renews our leases, takes over what others let lie.
function Leases:look_after()
  local given = self._given
  renew(given)
  for _, operation in ipairs(given.operations()) do
    claim(given, operation, "0-0")
  end
end

--- Looks after them from now on, until it is closed.
function Leases:keep()
  local given = self._given
  self._timer = scheduler.host().timer(given.lease / 3 * (0.8 + 0.4 * math.random()), function()
    if given.link.connected then
      self:look_after()
    end
    self:keep()
  end)
end

--- Lets others have a request at once.
---@param job operations.RedisJob
function Leases:release(job)
  local given = self._given
  given.jobs[job.id] = nil
  scripts.release:send(given.link, nothing, 1, { given.keys:queue(job.operation), given.consumer,
    given.lease + limits.redis_forget, job.entry, job.deliveries - (job.started and 0 or 1) })
end

function Leases:close()
  if self._timer then
    self._timer()
  end
end

return redis_leases
