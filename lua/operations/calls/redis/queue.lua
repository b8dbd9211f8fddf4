--- The queues of what a worker serves: requests are read from them, as many as there is room for; the leases of those
--- that it has are renewed while it works on them, and given up when it will not any more; what others let lie is taken
--- over.
local compat = require("operations.base.compat")
local limits = require("operations.base.limits")
local links = require("operations.calls.redis.link")
local scheduler = require("operations.task.scheduler")
local scripts = require("operations.calls.redis.scripts")
local task = require("operations.task")

local redis_queue = {}

---@class operations.RedisReaderOptions
---@field address operations.RedisAddress
---@field link operations.RedisLink  for everything else
---@field keys operations.RedisKeys
---@field consumer string  who reads
---@field room fun(wake?: fun()): integer  how many more are taken; `wake` is called when there is room again
---@field take fun(operation: string, entry: table, deliveries: integer)  one that was read

-- The connection is one of its own: while it waits for requests, Redis does nothing else on it.
---@class operations.RedisReader
local Reader = {}
Reader.__index = Reader

local function nothing() end

--- Makes the queues, where they are not there.
function Reader:join()
  local given = self._options
  for _, queue in ipairs(self._queues) do
    scripts.join:send(given.link, nothing, 1, { queue, given.consumer, limits.redis_forget })
  end
end

-- XREADGROUP counts by queue.
local function command(self, count)
  local queues = self._queues
  local words = { "XREADGROUP", "GROUP", "w", self._options.consumer, "COUNT", math.max(1, math.floor(count / #queues)),
    "BLOCK", limits.presence, "STREAMS" }
  local n = #words
  for i, queue in ipairs(queues) do
    words[n + i], words[n + #queues + i] = queue, ">"
  end
  return words
end

local function read(self, count)
  local operations, take = self._operations, self._options.take
  local reply, err = self._link:call(compat.unpack(command(self, count)))
  if err then
    if err.message:find("NOGROUP", 1, true) then
      self:join()
    end
    return task.sleep(limits.reconnect_delay / 1000)
  end
  for _, queue in ipairs(reply or {}) do
    for _, entry in ipairs(queue[2]) do
      take(operations[queue[1]], entry, 1)
    end
  end
end

-- Waits until something has changed.
local function pause(self)
  scheduler.await(function(wake)
    self._wake = wake
  end)
  self._wake = nil
end

local function work(self)
  local function wake()
    if self._wake then
      self._wake()
    end
  end
  while true do
    local count = self._options.room(wake)
    if count > 0 and self._link.connected and #self._queues > 0 then
      read(self, count)
    else
      pause(self)
    end
  end
end

--- Begins to read.
---@param options operations.RedisReaderOptions
---@return operations.RedisReader
function redis_queue.read(options)
  local self = setmetatable({ _options = options, _queues = {}, _operations = {} }, Reader)
  self._link = links.start(options.address, { ready = function()
    self:wake()
  end })
  self._working = task.detach(work, self)
  return self
end

--- Something has changed.
function Reader:wake()
  if self._wake then
    self._wake()
  end
end

--- What to read.
---@param operations string[]
function Reader:serve(operations)
  self._queues, self._operations = {}, {}
  for i, operation in ipairs(operations) do
    local queue = self._options.keys:queue(operation)
    self._queues[i], self._operations[queue] = queue, operation
  end
  self:join()
  self:wake()
end

function Reader:close()
  self._working:cancel()
  self._link:close()
end

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

---@param options operations.RedisLeasesOptions
---@return operations.RedisLeases
function redis_queue.leases(options)
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

return redis_queue
