--- The queues of a worker: reads requests while there is room; renews the leases of those that it runs, and releases
--- those that it will not run; takes over requests whose lease has expired. Reading has its own connection, which Redis
--- blocks while it waits.
local compat = require("operations.base.compat")
local limits = require("operations.base.limits")
local links = require("operations.calls.redis.link")
local members = require("operations.base.members")
local scheduler = require("operations.task.scheduler")
local scripts = require("operations.calls.redis.scripts")
local task = require("operations.task")

local redis_queue = {}

---@class operations.RedisQueueOptions
---@field jobs table<string, operations.RedisJob>  its jobs, by request id
---@field room fun(wake?: fun()): integer  how many more it accepts; `wake` is called when there is room again
---@field take fun(operation: string, entry: table, deliveries: integer)  called with a request that was read or taken
---  over
---@field lost fun(job: operations.RedisJob)  called when another worker has got the job

---@class operations.RedisQueues
---@field _shared operations.RedisShared
---@field _given operations.RedisQueueOptions
---@field _operations string[]
---@field _queues string[]  their keys
---@field _by_queue table<string, string>  operations
---@field _asked string[]  the queues of the last read, which Redis may still answer
---@field _link? operations.RedisLink  for reading, once there are queues
local Queues = {}
Queues.__index = Queues

local function nothing() end

---@param shared operations.RedisShared
---@param options operations.RedisQueueOptions
---@return operations.RedisQueues
function redis_queue.new(shared, options)
  return setmetatable({ _shared = shared, _given = options, _operations = {}, _queues = {}, _by_queue = {},
    _asked = {} }, Queues)
end

-- Creates the queues if necessary.
local function join(self)
  local shared = self._shared
  for _, queue in ipairs(self._queues) do
    scripts.join:send(shared.link, nothing, 1, { queue, shared.presence.id, limits.redis_forget })
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

-- Other workers can run these entries of a queue at once: pairs of an entry and its number of deliveries.
local function release(self, queue, entries)
  local shared = self._shared
  scripts.release:send(shared.link, nothing, 1, members.joined({ queue, shared.presence.id,
    shared.lease + limits.redis_forget }, entries))
end

-- Releases what was read of a queue that is no longer served.
local function give_back(self, queue, read)
  local entries = {}
  for _, entry in ipairs(read) do
    entries[#entries + 1], entries[#entries + 2] = entry[1], 0
  end
  release(self, queue, entries)
  self._shared.presence:show_release()
end

local function read(self, count)
  local take = self._given.take
  local reply, err = self._link:call(compat.unpack(command(self, count)))
  if err then
    if err.message:find("NOGROUP", 1, true) then
      join(self)
    end
    return task.sleep(limits.reconnect_delay / 1000)
  end
  for _, queue in ipairs(reply or {}) do
    local operation = self._by_queue[queue[1]] -- as it is now: reading takes long
    if not operation then
      give_back(self, queue[1], queue[2])
    end
    for _, entry in ipairs(operation and queue[2] or {}) do
      take(operation, entry, 1)
    end
  end
end

local function work(self, wake)
  while true do
    local count = self._given.room(wake)
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
  local shared, given = self._shared, self._given
  local by_operation, by_entry, jobs = {}, {}, given.jobs
  for _, job in pairs(jobs) do
    local list = by_operation[job.operation] or { shared.keys:queue(job.operation), shared.presence.id }
    by_operation[job.operation], by_entry[job.entry] = list, job
    list[#list + 1] = job.entry
  end
  for _, words in pairs(by_operation) do
    scripts.renew:send(shared.link, function(lost)
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

-- Takes over requests whose lease has expired.
local function claim(self, operation, from)
  local shared, given = self._shared, self._given
  local count = given.room()
  if count <= 0 then
    return
  end
  scripts.claim:send(shared.link, function(reply)
    if not reply then
      return
    end
    for _, entry in ipairs(reply[2]) do
      given.take(operation, entry, entry[3])
    end
    given.room() -- starts them
    if reply[1] ~= "0-0" then
      claim(self, operation, reply[1])
    end
  end, 1, { shared.keys:queue(operation), shared.presence.id, shared.lease, from, count })
end

--- Renews our leases, takes over requests whose lease has expired.
function Queues:look_after()
  renew(self)
  for _, operation in ipairs(self._operations) do
    claim(self, operation, "0-0")
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
  keep(self)
end

--- Sets the operations whose queues are read.
---@param operations string[]
function Queues:serve(operations)
  self._operations, self._queues, self._by_queue = operations, {}, {}
  for i, operation in ipairs(operations) do
    local queue = self._shared.keys:queue(operation)
    self._queues[i], self._by_queue[queue] = queue, operation
  end
  if #operations > 0 and not self._link then
    begin(self)
  end
  join(self)
  for _, operation in ipairs(operations) do
    claim(self, operation, "0-0") -- entries that were released while no worker served it
  end
  if self._wake then
    self._wake()
  end
end

--- Called after a reconnection.
function Queues:resume()
  if self._link then
    join(self)
    self:look_after()
  end
end

--- Releases a request, so that another worker can run it at once.
---@param job operations.RedisJob
function Queues:release(job)
  self._given.jobs[job.id] = nil
  release(self, self._shared.keys:queue(job.operation), { job.entry, job.deliveries - (job.started and 0 or 1) })
end

--- Stops reading. Redis may already have sent further requests: `release_rest` is called once it has seen
--- the end of the connection.
function Queues:close()
  if self._link then
    self._timer()
    self._working:cancel()
    self._link:close()
  end
end

--- Releases the requests that were sent and not read.
function Queues:release_rest()
  local shared = self._shared
  for _, queue in ipairs(self._asked) do
    scripts.release_rest:send(shared.link, nothing, 1, { queue, shared.presence.id,
      shared.lease + limits.redis_forget, limits.redis_queue })
  end
end

return redis_queue
