--- One wait of a coroutine: what ends it, and how. Whoever is parked on it is made ready by `wait.ready`.
local compat = require("operations.base.compat")

local wait = {}

---@class operations.Wait
---@field done boolean
---@field n integer  how many values it was woken with; they are at [1] to [n]
---@field failure? any  what the waiting coroutine raises
---@field start? fun(self: operations.Wait, left?: number)  starts what is waited for, and sees to it that it ends
---  within `left` ms
---@field cancel? fun(self: operations.Wait)  undoes what was armed; called at most once, if nothing woke the wait
---@field timer? fun()  stops the deadline's timer
---@field task? operations.Task  parked until this is done
---@field unpark? fun(self: operations.Wait)  wakes the host's thread that is parked until this is done

--- Set by the scheduler: puts a task into the run queue.
---@type fun(task: operations.Task)
wait.ready = nil

--- Takes an error that cannot be raised anywhere; `task` sets its own.
---@type fun(raised: any, traceback: string)
function wait.on_error(_, traceback)
  io.stderr:write("operations: ", traceback, "\n")
end

---@return operations.Wait
function wait.new()
  return { nil, nil, nil, nil, done = false, n = 0, cancel = nil, task = nil } -- has room for what comes
end

--- Ends a wait; one that is done already stays as it is.
---@param self operations.Wait
function wait.settle(self)
  if self.done then
    return
  end
  self.done = true
  if self.timer then
    self.timer()
    self.timer = nil
  end
  if self.task then
    wait.ready(self.task)
  elseif self.unpark then
    self:unpark()
  end
end

--- Ends a wait with a failure and undoes what was armed.
---@param self operations.Wait
---@param failure any
function wait.fail(self, failure)
  if self.done then
    return
  end
  self.failure, self.n = failure, 0
  wait.settle(self)
  local cancel = self.cancel
  self.cancel = nil
  if cancel then
    local ok, raised = pcall(cancel, self)
    if not ok then
      wait.on_error(raised, tostring(raised))
    end
  end
end

--- The function that wakes a wait, with values.
---@param self operations.Wait
---@return fun(...)
function wait.waker(self)
  return function(...)
    if not self.done then
      local n = select("#", ...)
      if n > 0 then
        self.n = n
        self[1], self[2], self[3], self[4] = ...
        for i = 5, n do
          self[i] = (select(i, ...))
        end
      end
      wait.settle(self)
    end
  end
end

--- What it was woken with.
---@param self operations.Wait
---@return any ...
function wait.values(self)
  return compat.unpack(self, 1, self.n)
end

return wait
