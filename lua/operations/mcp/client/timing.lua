--- How long something may take, and that it may take longer while it makes progress.
local errors = require("operations.base.error")
local scheduler = require("operations.task.scheduler")

local timing = {}

-- What `within` does in a coroutine is the field `frame` of its strand.
---@class operations.mcp.Frame
---@field timeout number  ms since it began, or since progress
---@field max number  ms, whatever the progress
---@field strand? operations.Strand  of the coroutine; set by `within`, as the rest is
---@field last? number  ms since the epoch: no later than this
---@field outer? number  the deadline of the coroutine before

-- Sets a coroutine's deadline, never later than the one that it had, or than the last.
local function set(strand, frame, now)
  local limit, last, outer = now + frame.timeout, frame.last, frame.outer
  if last < limit then
    limit = last
  end
  strand.deadline = outer and outer < limit and outer or limit
end

local function extend()
  local strand = scheduler.here()
  set(strand, strand.frame, scheduler.host().now())
end

local function finish(strand, before, outer, ok, ...)
  strand.frame, strand.deadline = before, outer
  if ok then
    return ...
  elseif errors.is_error((...)) then
    return nil, (...)
  end
  error((...), 0)
end

--- Calls `fn(extend, ...)`, whose waits end with TIMEOUT when `timeout` has passed since it began or since it called
--- `extend()`; in any case when `max` has.
---@param frame operations.mcp.Frame  of this call alone
---@param fn fun(extend: fun(), ...): any
---@return any ...  what `fn` returned, or nil and the error object that it raised
function timing.within(frame, fn, ...)
  local strand, now = scheduler.here(), scheduler.host().now()
  local before, outer = strand.frame, strand.deadline
  frame.strand, frame.last, frame.outer = strand, now + frame.max, outer
  strand.frame = frame
  set(strand, frame, now)
  return finish(strand, before, outer, pcall(fn, extend, ...))
end

local function go_on(strand, frame, ...)
  local now = scheduler.host().now()
  frame.last = now + frame.max
  set(strand, frame, now)
  return ...
end

--- Calls `fn(...)` inside of `within`, apart from it: its time begins anew afterwards.
---@param fn function
---@return any ...  what `fn` returned
function timing.aside(fn, ...)
  local strand = scheduler.here()
  local frame = strand.frame
  if not frame then
    return fn(...)
  end
  strand.deadline = frame.outer
  return go_on(strand, frame, fn(...))
end

return timing
