--- Gives back what a call holds until it ends (a place, a flight, a count), also when the call never ends because its
--- coroutine was dropped or nginx killed its light thread.
local errors = require("operations.base.error")
local hosts = require("operations.hosts")
local scheduler = require("operations.task.scheduler")
local task = require("operations.task")

---@class operations.Hold
---@field over? fun(err: any, a: any, b: any, c: any)  nil once it was called
---@field sentinel? any  calls `over` when it is collected
local Hold = {}
Hold.__index = Hold

local hold = {}

--- Can the running coroutine be dropped? Only the main program and, elsewhere than in nginx, the tree of tasks keep one
--- alive until it has returned.
---@return boolean
function hold.is_needed()
  if (hosts.chosen or hosts.current()).park then
    return true
  end
  local co, is_main = coroutine.running()
  if co == nil or is_main then
    return false
  end
  local running = scheduler.here().root
  return not (running and running._co == co)
end

local function drop(self)
  self:release(errors.new("ABORTED", "the coroutine of the call was dropped"))
end

--- Calls `over(err, a, b, c)` once: by `release`, or with an ABORTED error when the running coroutine was dropped. Keep
--- the result in a local variable of the call, and use it after the last wait.
---@param over fun(err: any, a: any, b: any, c: any)
---@param a? any
---@param b? any
---@param c? any
---@return operations.Hold
function hold.new(over, a, b, c)
  local self = setmetatable({ a, b, c, over = over, sentinel = nil }, Hold)
  if hold.is_needed() then
    self.sentinel = scheduler.finalizer(function()
      if self.over then
        task.begin(drop, self) -- `over` may wait
      end
    end)
  end
  return self
end

--- The call has ended; does nothing the second time.
---@param err? any
function Hold:release(err)
  local over = self.over
  if over then
    local a, b, c = self[1], self[2], self[3]
    self.over = nil
    if self.sentinel then
      getmetatable(self.sentinel).__gc = nil
    end
    over(err, a, b, c)
  end
end

return hold
