--- Reads requests from the queues of what a worker serves, as many as it has room for. The connection is one of its
--- own: while it waits for requests, Redis does nothing else on it.
local compat = require("operations.base.compat")
local limits = require("operations.base.limits")
local links = require("operations.calls.redis.link")
local scheduler = require("operations.task.scheduler")
local scripts = require("operations.calls.redis.scripts")
local task = require("operations.task")

local redis_reader = {}

---@class operations.RedisReaderOptions
---@field address operations.RedisAddress
---@field link operations.RedisLink  for everything else
---@field keys operations.RedisKeys
---@field consumer string  who reads
---@field room fun(wake?: fun()): integer  how many more are taken; `wake` is called when there is room again
---@field take fun(operation: string, entry: table, deliveries: integer)  one that was read

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
function redis_reader.start(options)
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

return redis_reader
