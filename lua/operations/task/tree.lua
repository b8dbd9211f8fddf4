--- The tree of tasks: each task knows its parent, the parent its children in the order of their creation.
local task_tree = {}

-- Running tasks without a parent: nothing else may refer to a waiting task.
local roots = {} -- luacheck: ignore 241 (held, never read)

--- Makes `self` the youngest child of `parent`.
---@param parent operations.Task
---@param self operations.Task
function task_tree.join(parent, self)
  local older = parent._youngest
  self._parent, self._aborted, self._depth = parent, self._aborted or parent._aborted, parent._depth + 1
  if older then
    self._older, older._younger = older, self
  else
    parent._eldest = self
  end
  parent._youngest = self
end

--- Makes `self` the youngest child of `parent`, or a task without a parent.
---@param parent operations.Task?
---@param self operations.Task
---@param held boolean  its host keeps it alive
function task_tree.adopt(parent, self, held)
  if parent then
    return task_tree.join(parent, self)
  end
  self._depth = 0
  roots[self] = not held or nil
end

--- Removes an ended task.
---@param self operations.Task
function task_tree.disown(self)
  local parent, older, younger = self._parent, self._older, self._younger
  if not parent then
    roots[self] = nil
    return
  end
  self._parent = nil
  if older then
    older._younger, self._older = younger, nil
  else
    parent._eldest = younger or false -- which costs less than nil when the next child comes
  end
  if younger then
    younger._older, self._younger = older, nil
  else
    parent._youngest = older or false
  end
end

--- Makes the children of a task that ends before them children of its parent, or tasks without a parent.
---@param self operations.Task
function task_tree.hand_over(self)
  local parent, child = self._parent, self._eldest
  while child do
    local younger = child._younger
    task_tree.disown(child)
    task_tree.adopt(parent, child, child._co == nil)
    child = younger
  end
end

--- Ties an object to a task: `thing:abort()` is called when the task is cancelled. Does not keep it alive.
---@param self operations.Task
---@param thing table
function task_tree.tie(self, thing)
  self._tied = self._tied or setmetatable({}, { __mode = "k" })
  self._tied[thing] = true
end

--- Aborts the objects tied to a cancelled task.
---@param self operations.Task
function task_tree.abort_tied(self)
  for thing in pairs(self._tied or {}) do
    thing:abort()
  end
end

--- Is `self` the task `inner`, or an ancestor inside which it runs?
---@param self operations.Task
---@param inner operations.Task?
---@return boolean
function task_tree.encloses(self, inner)
  while inner and inner._depth > self._depth do
    inner = inner._parent
  end
  return inner == self
end

return task_tree
