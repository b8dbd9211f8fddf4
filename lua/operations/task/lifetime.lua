--- One task from its start to its end: what it returned or raised, its cancellation, and who waits for it.
local argument = require("operations.base.argument")
local compat = require("operations.base.compat")
local errors = require("operations.base.error")
local failures = require("operations.task.failures")
local scheduler = require("operations.task.scheduler")
local scope = require("operations.task.scope")
local task_tree = require("operations.task.tree")
local task_wait = require("operations.task.wait")

local here, join_tree = scheduler.here, task_tree.join

local lifetime = {}

local unset = nil -- reserves a field in a constructor; LuaJIT reserves none for a literal `nil`
---@class operations.Task
---@field _co? thread  until it has returned; nil where tasks are threads of the host
---@field _strand operations.Strand
---@field _start table|false  arguments, until it has started
---@field _parent? operations.Task
---@field _wait operations.Wait|false  its current wait
---@field _aborted operations.Error|false  cancelled: every further wait raises this
---@field _results? table
---@field _failure? any
---@field _traceback? string  of `_failure`
---@field _ended? boolean  it and its children have ended
---@field _wakes? (fun()|false)[]  called at its end
---@field _detached? boolean  its result is ignored
---@field _untold? operations.Untold  its failure, until it is reported
---@field _untold_children? operations.Untold[]
local Task = {}
Task.__index = Task
Task.__name = "operations.task"

--- Makes a task that has not started. Both tables have room for the fields set later.
---@param deadline? number  ms since the epoch
---@param ... any  the arguments of its function
---@return operations.Task
local function new(deadline, ...)
  local self = setmetatable({
    _start = compat.pack(...), _wait = false, _aborted = false, _strand = unset, _co = unset, _results = unset,
    _fn = unset, _returned_already = unset, _ended = unset, _untold = unset,
  }, Task)
  self._strand = { task = self, root = self, deadline = deadline, managed = unset }
  return self
end

--- Starts a child of the running task.
---@param fn function
---@param ... any
---@return operations.Task
function lifetime.spawn(fn, ...)
  local strand = here()
  local parent = strand.task
  if parent and parent._ended then
    parent = nil
  end
  local self = new(scheduler.deadline_of(strand), ...)
  if scope.used then
    self._strand.scope = scope.current()
  end
  task_tree.adopt(parent, self, scheduler.start(self, fn))
  return self
end

--- Has a task failed: raised an error, or returned nil and an error object?
---@param self operations.Task  one that has ended
---@return operations.Error?
local function failure_of(self)
  if self._failure ~= nil then
    return (errors.from(self._failure, nil, self._traceback))
  end
  local results = self._results
  if results[1] == nil and errors.is_error(results[2]) then
    return results[2]
  end
end

-- Records the failure of a task for which no task waits, unless it was cancelled with that error.
local function note_failure(self, parent)
  local raised, traceback = self._failure, self._traceback
  if raised == nil and not self._detached then
    raised = failure_of(self)
  end
  local cancelled = self._aborted
  if raised ~= nil and not (cancelled and errors.is_error(raised) and raised.code == cancelled.code) then
    failures.note(self, parent, raised, errors.traceback(raised) or traceback or errors.text(raised))
  end
end

local function finish(self)
  local parent, wakes = self._parent, self._wakes
  self._ended = true
  task_tree.disown(self)
  failures.tell_children(self)
  if wakes and wakes[1] ~= nil then
    self._wakes = nil
    task_wait.wake(wakes)
  else
    note_failure(self, parent)
  end
  if parent and parent._returned_already and not parent._eldest then
    return finish(parent) -- a tail call: chains of tasks may be long
  end
end

local function call_off(self, reason)
  task_tree.abort_tied(self)
  if self._wait then
    scheduler.fail(self._wait, reason)
  end
end

-- The first of a task and its younger siblings that was not cancelled yet; marks it.
local function next_to_cancel(child, reason)
  while child and (child._ended or child._aborted) do
    child = child._younger
  end
  if child then
    child._aborted = reason
  end
  return child
end

--- Cancels all descendants, each before its parent. Without recursion: chains of tasks may be long.
---@param self operations.Task
---@param reason string|operations.Error
local function cancel_children(self, reason)
  reason = errors.is_error(reason) and reason or errors.new("ABORTED", reason)
  local child = next_to_cancel(self._eldest, reason)
  while child do
    local below = next_to_cancel(child._eldest, reason)
    while child and not below do
      local parent, younger = child._parent, child._younger
      call_off(child, reason)
      below = next_to_cancel(younger, reason)
      child = parent ~= self and parent or nil
    end
    child = below
  end
end

--- Called by the scheduler when the task's function has returned or raised.
---@param ok boolean
function Task:_returned(ok, ...)
  self._co, self._start, self._fn, self._returned_already = nil, false, nil, true
  if ok then
    self._results = compat.pack(...)
  else
    self._failure = (...)
    if self._failure == nil or self._failure == compat.raised_nil then
      self._failure = errors.new("UNKNOWN_ERROR", "nil")
    end
    self._traceback = self._traceback or errors.text(self._failure)
    cancel_children(self, "the task that spawned this one failed")
  end
  if not self._eldest then
    finish(self)
  end
end

--- Waits for the end of the task.
---@param self operations.Task
---@param shielded? boolean  ignores cancellation and deadlines
local function wait_for_end(self, shielded)
  if not self._ended then
    scheduler.await(function(wake)
      self._wakes = self._wakes or {}
      return task_wait.add(self._wakes, wake)
    end, shielded)
  end
end

--- As `wait_for_end`; the failure of the task is the caller's to report.
---@param self operations.Task
---@param shielded? boolean
local function join(self, shielded)
  failures.forget(self)
  wait_for_end(self, shielded)
end

--- Waits for the end of the task and its children.
---@return any ...  the results of its function, or nil and an error object when it raised
function Task:wait()
  argument.self(self, Task, "task", "wait")
  if not self._ended and task_tree.encloses(self, here().task) then
    error("a task cannot wait for itself or for the task that spawned it", 2)
  end
  join(self)
  if self._failure ~= nil then
    return nil, (errors.from(self._failure, nil, self._traceback))
  end
  return compat.unpack(self._results, 1, self._results.n)
end

--- Calls `fn` before the task first waits: work that only matters for waiting tasks costs the others nothing.
---@param fn fun(subject: any, self: operations.Task)
---@param subject any
function Task:on_wait(fn, subject)
  self._on_wait, self._subject = fn, subject
end

--- Cancels the task and its children: the current wait of each is ended and raises an ABORTED error object, as does
--- every further wait. Has no effect on a task that has ended.
---@param reason? string|operations.Error
function Task:cancel(reason)
  argument.self(self, Task, "task", "cancel")
  if self._ended or self._aborted then
    return
  end
  if not errors.is_error(reason) then
    reason = errors.new("ABORTED", reason or "the task was cancelled")
  end
  self._aborted = reason
  cancel_children(self, reason)
  call_off(self, reason)
end

--- Begins a task inside the running coroutine: `cancel` ends every wait until `leave`.
---@return operations.Task
function lifetime.enter()
  local strand = here()
  local outer = strand.task
  local self = setmetatable({ _strand = strand, _parent = unset, _depth = 0, _aborted = false, _on_wait = false,
    _subject = unset, _ended = false }, Task)
  if outer then
    join_tree(outer, self)
  end
  strand.task, strand.inside = self, self
  return self
end

--- Ends a task that `enter` began. Tasks that still run in it belong to the one around it from now on.
---@param self operations.Task
---@return operations.Error|false aborted  by which it was cancelled
function lifetime.leave(self)
  local strand, outer = self._strand, self._parent
  strand.task, strand.inside = outer, outer and outer._strand == strand and outer or nil
  self._ended = true
  if self._eldest then
    task_tree.hand_over(self)
  end
  if outer then
    task_tree.disown(self)
  end
  return self._aborted
end

-- The results of `enclose`; most functions succeed and leave no children.
local function returned(self, deadline, ok, value, err)
  local strand, outer = self._strand, self._parent
  strand.deadline, strand.task, strand.inside = deadline, outer, outer and outer._strand == strand and outer or nil
  if ok and not self._eldest and not self._wakes then
    self._ended = true
    if outer then
      task_tree.disown(self)
    end
    return value, err
  end
  self:_returned(ok, value, err)
  failures.forget(self) -- the caller of `enclose` gets it
  wait_for_end(self, true)
  if self._failure ~= nil then
    return nil, (errors.from(self._failure, nil, self._traceback))
  end
  return value, err
end

--- Runs `fn` as a task of its own in the coroutine that calls this: a cancellation ends that task, not its caller.
--- Returns when it and its children have ended. A fixed number of arguments and results: LuaJIT does not compile
--- varargs.
---@param deadline number?  ms since the epoch: its waits end by then; an earlier deadline of the caller still counts
---@param fn fun(task: operations.Task, a: any, b: any, c: any): any, any
---@param a? any
---@param b? any
---@param c? any
---@return any value  the result of `fn`, or nil and an error object when it raised
---@return any err
function lifetime.enclose(deadline, fn, a, b, c)
  local self = lifetime.enter()
  local strand = self._strand
  local outer_deadline = strand.deadline
  if deadline and (not outer_deadline or deadline < outer_deadline) then
    strand.deadline = deadline
  end
  return returned(self, outer_deadline, pcall(fn, self, a, b, c))
end

lifetime.new, lifetime.failure_of, lifetime.cancel_children = new, failure_of, cancel_children
lifetime.wait_for_end, lifetime.join = wait_for_end, join

return lifetime
