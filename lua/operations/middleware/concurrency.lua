--- A bulkhead: limits the calls that run at once; others wait in a queue, and further ones are refused.
local argument = require("operations.base.argument")
local hold = require("operations.task.hold")
local keys = require("operations.middleware.key")
local layer = require("operations.middleware.layer")
local limits = require("operations.base.limits")
local number_text = require("operations.base.number_text")
local scheduler = require("operations.task.scheduler")

local concurrency = {}

---@class operations.ConcurrencyOptions
---@field limit? integer  calls that run at once, default 16
---@field queue? integer  calls that wait beyond those, default 100; 0: none
---@field patience? number  the longest wait in ms, default: until the call's deadline
---@field by? operations.KeyOption  calls that share the limit, default "operation"

local kinds = { limit = "number", queue = "number", patience = "number", by = "string or table or function" }

---@class operations.Bulkhead  the calls of one key
---@field key string
---@field running integer
---@field first integer  of `waiting`
---@field last integer
---@field count integer  waiting calls
---@field waiting table<integer, fun(granted: boolean)|nil>

---@class operations.Bulkheads
---@field limit integer
---@field queue integer
---@field patience? number  ms
---@field in_use table<string, operations.Bulkhead>  by key
---@field spare? operations.Bulkhead  the one that its last call left

-- The bulkhead of a key; a new one is in use once a call is in it.
local function bulkhead_of(self, key)
  local bulkhead = self.in_use[key] or self.spare
    or { key = key, running = 0, first = 1, last = 0, count = 0, waiting = {} }
  if bulkhead == self.spare then
    self.spare, bulkhead.key = nil, key
  end
  return bulkhead
end

-- Gives the place to the call that waits longest; true when none waits.
local function hand_over(bulkhead)
  while bulkhead.first <= bulkhead.last do
    local at = bulkhead.first
    local wake = bulkhead.waiting[at]
    bulkhead.waiting[at], bulkhead.first = nil, at + 1
    if wake then
      bulkhead.count = bulkhead.count - 1
      wake(true)
      return false
    end
  end
  return true
end

local function leave(self, bulkhead)
  if hand_over(bulkhead) then
    bulkhead.running = bulkhead.running - 1
    if bulkhead.running == 0 then
      self.in_use[bulkhead.key], self.spare = nil, bulkhead
    end
  end
end

-- A waiting call ends: it has its place, its wait was interrupted, or its coroutine was dropped.
local function stop_waiting(err, self, bulkhead, ticket)
  if ticket.stop then
    ticket.stop()
  end
  if ticket.metrics then
    ticket.metrics:_waits(ticket.id, -1)
  end
  if bulkhead.waiting[ticket.at] then
    bulkhead.waiting[ticket.at], bulkhead.count = nil, bulkhead.count - 1
  elseif err and ticket.granted then
    leave(nil, self, bulkhead)
  end
end

-- Waits for a place; returns whether it got one, or the error that interrupted the wait.
local function queue_up(self, bulkhead, metrics, id)
  local ticket = { at = bulkhead.last + 1, metrics = metrics, id = id }
  if metrics then
    metrics:_waits(id, 1)
  end
  local held = hold.new(stop_waiting, self, bulkhead, ticket)
  local failure, granted = scheduler.try_await(function(wake)
    local at = ticket.at
    bulkhead.last, bulkhead.count = at, bulkhead.count + 1
    bulkhead.waiting[at] = function(given)
      ticket.granted = given
      wake(given)
    end
    ticket.stop = self.patience and scheduler.host().timer(self.patience, function()
      wake(false)
    end)
  end)
  held:release(failure)
  return granted, failure
end

local function busy(id, bulkhead, options)
  return layer.refusal("BUSY", ("%s: %d calls are running and %d are waiting"):format(id, bulkhead.running,
    bulkhead.count), { limit = options.limit, queue = options.queue }, 1000)
end

-- Takes a place, for which it may wait; returns the error of a call that got none.
local function enter(self, bulkhead, id, context)
  if bulkhead.running < self.limit then
    bulkhead.running = bulkhead.running + 1
    self.in_use[bulkhead.key] = bulkhead
    return nil
  end
  local granted, failure
  if bulkhead.count < self.queue then
    granted, failure = queue_up(self, bulkhead, layer.metrics(context), id)
  end
  if not granted then
    if not failure then
      layer.note(context, id, "refused concurrency")
    end
    return failure and layer.not_begun(failure) or busy(id, bulkhead, self)
  end
end

local function expect_count(value, name, least)
  if value % 1 ~= 0 or value < least then
    error(("bad option '%s' to 'concurrency' (integer from %d on expected, got %s)"):format(name, least,
      number_text.of(value)), 4)
  end
  return value
end

local function read(given)
  argument.optional(given, "table", 1, "concurrency", 4)
  given = given or {}
  argument.options(given, kinds, "concurrency", 4)
  return { limit = expect_count(given.limit or limits.concurrency, "limit", 1),
    queue = expect_count(given.queue or limits.middleware_queue, "queue", 0), patience = given.patience,
    in_use = {} }
end

--- At most `limit` calls run at once. Others wait in order, and fail with BUSY when the queue is full or after
--- `patience`. A subscription keeps its place until it ends. A call that is cancelled or whose deadline passes leaves
--- the queue; a call whose coroutine was dropped gives its place back when it is collected.
---@param options? operations.ConcurrencyOptions
---@return operations.Middleware
function concurrency.new(options)
  local self = read(options)
  local reader = keys.reader(options and options.by, { "operation" }, "concurrency")
  return layer.new(function(inner, spec)
    local key_of, id = reader(spec), layer.id(spec)
    local followed = layer.followed(inner, function(_, _, bulkhead)
      leave(self, bulkhead)
    end)
    return function(input, context)
      local bulkhead = bulkhead_of(self, key_of(context))
      local err = enter(self, bulkhead, id, context)
      if err then
        return nil, err
      end
      return followed(input, context, bulkhead)
    end
  end, type(options and options.by) == "function")
end

return concurrency
