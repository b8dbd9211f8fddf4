--- Failures of tasks that nobody asks about: reported when the task that spawned them ends, or when they are forgotten.
local scheduler = require("operations.task.scheduler")

local task_failure = {}

--- Takes note of a task that ended with a failure.
---@param self operations.Task
---@param parent operations.Task?
---@param report fun(raised: any, traceback: string)
function task_failure.watch(self, parent, report)
  if self._observed or self._aborted and rawequal(self._failure, self._aborted) then
    return
  end
  local failure, traceback, done = self._failure, self._traceback, false
  local function unasked(seen)
    if not done then
      done = true
      if seen ~= true then
        report(failure, traceback)
      end
    end
  end
  self._unasked, self._sentinel = unasked, scheduler.finalizer(unasked)
  if parent then
    parent._unasked_children = parent._unasked_children or setmetatable({}, { __mode = "k" })
    parent._unasked_children[self] = true
  end
end

--- Somebody asks how the task ended.
---@param self operations.Task
function task_failure.observe(self)
  self._observed = true
  if self._unasked then
    self._unasked(true)
  end
end

--- Reports what is left among the children of a task that ends.
---@param self operations.Task
function task_failure.report_children(self)
  for child in pairs(self._unasked_children or {}) do
    child._unasked()
  end
end

return task_failure
