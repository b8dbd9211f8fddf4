--- Gathers what one turn of the program asks of the same queue: it goes to Redis as one script, which costs less than
--- one for each.
local task_pool = require("operations.task.pool")

local redis_batch = {}

-- More go in a script of their own: while one runs, nobody else is served.
local MOST = 16

---@class operations.RedisBatchOptions
---@field link operations.RedisLink
---@field script operations.RedisScript  of a queue and the records of the items
---@field shared (string|number)[]  its first arguments
---@field add fun(words: table, n: integer, item: any): integer  appends those of one item behind the n-th; the new n
---@field answered fun(item: any, reply: any, err: operations.Error?)

---@class operations.RedisBatch
local Batch = {}
Batch.__index = Batch

---@param options operations.RedisBatchOptions
---@return operations.RedisBatch
function redis_batch.new(options)
  return setmetatable({ _options = options, _by_queue = {} }, Batch)
end

local function send(self, queue, items)
  local options, words, n = self._options, { queue }, 1
  for i = 1, #items, 2 do
    n = n + 1
    words[n] = items[i]
  end
  local keys = n
  for _, word in ipairs(options.shared) do
    n = n + 1
    words[n] = word
  end
  for i = 2, #items, 2 do
    n = options.add(words, n, items[i])
  end
  options.script:send(options.link, function(replies, err)
    for i = 2, #items, 2 do
      options.answered(items[i], replies and replies[i / 2], err)
    end
  end, keys, words)
end

--- Sends what was gathered.
function Batch:flush()
  local by_queue = self._by_queue
  self._by_queue = {}
  for queue, items in pairs(by_queue) do
    send(self, queue, items)
  end
end

local function flush(_, self)
  self:flush()
end

--- Adds an item; it is sent when what runs now, and all that is ready to run, has had its turn.
---@param queue string  a key
---@param record string  a key
---@param item any
function Batch:add(queue, record, item)
  local by_queue = self._by_queue
  local items = by_queue[queue]
  if not items then
    if next(by_queue) == nil then
      task_pool.start(flush, self)
    end
    items = {}
    by_queue[queue] = items
  end
  local n = #items
  items[n + 1], items[n + 2] = record, item
  if n + 2 >= 2 * MOST then
    by_queue[queue] = nil
    send(self, queue, items)
  end
end

return redis_batch
