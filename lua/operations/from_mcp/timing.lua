--- How long something may take, and that it may take longer while it makes progress.
local errors = require("operations.error")
local scheduler = require("operations.scheduler")

local timing = {}

-- What `within` does in which coroutine.
---@type table<operations.Strand, { ms: number, max: number, last: number, outer: number? }>
local frames = setmetatable({}, { __mode = "k" })

-- Sets a coroutine's deadline, never later than the one that it had, or than the last.
local function extend(strand, frame, now)
  local limit, outer = math.min(now + frame.ms, frame.last), frame.outer
  strand.deadline = outer and outer < limit and outer or limit
end

local function begin(strand, frame)
  local now = scheduler.host().now()
  frame.last = now + frame.max
  extend(strand, frame, now)
end

local function finish(strand, before, outer, ok, ...)
  frames[strand], strand.deadline = before, outer
  if ok then
    return ...
  elseif errors.is_error((...)) then
    return nil, (...)
  end
  error((...), 0)
end

--- Calls `fn(extend, ...)`, whose waits end with TIMEOUT when `ms` have passed since it began or since it called
--- `extend()`; in any case when `max` have.
---@param ms number
---@param max number
---@param fn fun(extend: fun(), ...): any
---@return any ...  what `fn` returned, or nil and the error object that it raised
function timing.within(ms, max, fn, ...)
  local strand = scheduler.here()
  local before, outer = frames[strand], strand.deadline
  local frame = { ms = ms, max = max, last = nil, outer = outer }
  frames[strand] = frame
  begin(strand, frame)
  return finish(strand, before, outer, pcall(fn, function()
    extend(strand, frame, scheduler.host().now())
  end, ...))
end

local function go_on(strand, frame, ...)
  begin(strand, frame)
  return ...
end

--- Calls `fn(...)` inside of `within`, apart from it: its time begins anew afterwards.
---@param fn function
---@return any ...  what `fn` returned
function timing.aside(fn, ...)
  local strand = scheduler.here()
  local frame = frames[strand]
  if not frame then
    return fn(...)
  end
  strand.deadline = frame.outer
  return go_on(strand, frame, fn(...))
end

return timing
