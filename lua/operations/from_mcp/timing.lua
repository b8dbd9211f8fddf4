--- How long something may take, and that it may take longer while it makes progress.
local errors = require("operations.error")
local scheduler = require("operations.scheduler")

local timing = {}

-- What `within` does in which coroutine.
---@type table<operations.Strand, { outer: number?, begin: fun() }>
local frames = setmetatable({}, { __mode = "k" })

-- Sets the running coroutine's deadline, never later than the one that it had.
local function set(limit, outer)
  scheduler.deadline(outer and outer < limit and outer or limit)
end

local function finish(strand, before, outer, ok, ...)
  frames[strand] = before
  scheduler.deadline(outer)
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
  local now, strand = scheduler.host().now, scheduler.here()
  local before, outer, last = frames[strand], scheduler.deadline(nil), nil
  local function extend()
    set(math.min(now() + ms, last), outer)
  end
  local function begin()
    last = now() + max
    extend()
  end
  frames[strand] = { outer = outer, begin = begin }
  begin()
  return finish(strand, before, outer, pcall(fn, extend, ...))
end

local function go_on(frame, ...)
  frame.begin()
  return ...
end

--- Calls `fn(...)` inside of `within`, apart from it: its time begins anew afterwards.
---@param fn function
---@return any ...  what `fn` returned
function timing.aside(fn, ...)
  local frame = frames[scheduler.here()]
  if not frame then
    return fn(...)
  end
  scheduler.deadline(frame.outer)
  return go_on(frame, fn(...))
end

return timing
