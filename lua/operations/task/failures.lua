--- Failures of tasks for which no task waits: each is reported once, at the next tick, or when the task that spawned
--- the failed one ends. A task that waits before that gets the failure instead.
local scheduler = require("operations.task.scheduler")

local failures = {
  tell = nil, ---@type fun(raised: any, traceback: string)  set by `task`, as `detach` is
  detach = nil, ---@type fun(fn: function, ...: any): operations.Task
}

---@class operations.Untold
---@field task operations.Task
---@field parent? operations.Task
---@field raised any
---@field traceback string

local untold = {} ---@type operations.Untold[]  of this tick, in the order in which the tasks failed
local at_exit -- reports the rest when the program ends without another tick

local function tell(entry)
  if entry.task._untold == entry then
    entry.task._untold = nil
    failures.tell(entry.raised, entry.traceback)
  end
end

local function tell_all()
  local list = untold
  untold = {}
  for _, entry in ipairs(list) do
    if entry.parent then
      entry.parent._untold_children = nil
    end
    tell(entry)
  end
end

--- Records the failure of a task.
---@param task operations.Task
---@param parent? operations.Task
---@param raised any
---@param traceback string
function failures.note(task, parent, raised, traceback)
  local entry = { task = task, parent = parent, raised = raised, traceback = traceback }
  task._untold = entry
  untold[#untold + 1] = entry
  if parent then
    parent._untold_children = parent._untold_children or {}
    table.insert(parent._untold_children, entry)
  end
  at_exit = at_exit or scheduler.finalizer(tell_all)
  if #untold == 1 and not pcall(failures.detach, tell_all) then
    tell_all() -- the host starts nothing more
  end
end

--- A task waits for this one, so its failure need not be reported.
---@param task operations.Task
function failures.forget(task)
  task._untold = nil
end

--- Reports the failures of the children of a task that ends.
---@param task operations.Task
function failures.tell_children(task)
  local children = task._untold_children
  task._untold_children = nil
  for _, entry in ipairs(children or {}) do
    tell(entry)
  end
end

return failures
