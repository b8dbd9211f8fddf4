--- Structured tasks: functions that run side by side and wait in direct style. A task ends only when the tasks it
--- spawned have ended; cancelling one cancels them too.
local argument = require("operations.base.argument")
local compat = require("operations.base.compat")
local errors = require("operations.base.error")
local failures = require("operations.task.failures")
local hosts = require("operations.hosts")
local log = require("operations.task.log")
local scheduler = require("operations.task.scheduler")
local task_tree = require("operations.task.tree")
local task_wait = require("operations.task.wait")

local task = {
  resume = scheduler.resume,
  interrupt = scheduler.interrupt,
  deadline = scheduler.deadline,
  cancelled = scheduler.cancelled,
}

local unset = nil -- keeps room in a constructor; LuaJIT keeps none where `nil` is written
---@class operations.Task
---@field _co? thread  until it returned; nil where tasks are the host's threads
---@field _strand operations.Strand
---@field _start table|false  arguments, until it started
---@field _parent? operations.Task
---@field _wait operations.Wait|false  what it waits for now
---@field _aborted operations.Error|false  cancelled: every further wait raises this
---@field _results? table
---@field _failure? any
---@field _traceback? string  of `_failure`
---@field _ended? boolean  and its children have
---@field _wakes? (fun()|false)[]  those who wait for its end
---@field _detached? boolean  what it returns is for nobody
---@field _untold? operations.Untold  its failure, until somebody is told
---@field _untold_children? operations.Untold[]
local Task = {}
Task.__index = Task
Task.__name = "operations.task"

-- Both tables have room for what comes.
local function new(deadline, ...)
  local self = setmetatable({
    _start = compat.pack(...), _wait = false, _aborted = false, _strand = unset, _co = unset, _results = unset,
    _fn = unset, _returned_already = unset, _ended = unset, _untold = unset,
  }, Task)
  self._strand = { task = self, root = self, deadline = deadline, managed = unset }
  return self
end

local function spawn(fn, ...)
  local strand = scheduler.here()
  local parent = strand.task
  if parent and parent._ended then
    parent = nil
  end
  local self = new(scheduler.deadline_of(strand), ...)
  task_tree.adopt(parent, self, scheduler.start(self, fn))
  return self
end

--- Starts `fn(...)` as a task of its own: a child of the running task when there is one. It begins to run when the
--- caller waits. Obeys the deadline that the caller obeys now. When it raises, or returns nil and an error object, and
--- nobody waits for it by then, `on_error` is told at the next tick.
---@param fn function
---@param ... any
---@return operations.Task
function task.spawn(fn, ...)
  argument.expect(fn, "function", 1, "spawn")
  return spawn(fn, ...)
end

--- Starts `fn(...)` as a task of nobody: no task waits for it or cancels it, it has no deadline. Where tasks belong to
--- a request of the host's, it does not. What it raises is told to `on_error`; what it returns, an error object too,
--- is for nobody unless somebody waits.
---@param fn function
---@param ... any
---@return operations.Task
function task.detach(fn, ...)
  argument.expect(fn, "function", 1, "detach")
  local self = new(nil, ...)
  self._detached = true
  task_tree.adopt(nil, self, scheduler.start(self, fn, true))
  return self
end

--- The running task; nil outside of any.
---@return operations.Task?
function task.current()
  return scheduler.here().task
end

-- What `task.on_error` raises itself must not keep others from running.
local function report(raised, traceback)
  local ok, why = pcall(task.on_error, raised, traceback)
  if not ok then
    log.write("error", ("on_error failed: %s\n%s"):format(errors.text(why), traceback))
  end
end

-- Did a task end as a failure: raised, or returned nil and an error object?
local function failure_of(self)
  if self._failure ~= nil then
    return (errors.from(self._failure, nil, self._traceback))
  end
  local results = self._results
  if results[1] == nil and errors.is_error(results[2]) then
    return results[2]
  end
end

-- Takes note of what a task failed with that nobody waits for; of what it was cancelled with, nobody asks.
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
    return finish(parent) -- a tail call: a chain of tasks may be long
  end
end

local function call_off(self, reason)
  task_tree.abort_tied(self)
  if self._wait then
    scheduler.fail(self._wait, reason)
  end
end

-- The first of a task and its younger siblings that is to be cancelled still, marked as such.
local function next_to_cancel(child, reason)
  while child and (child._ended or child._aborted) do
    child = child._younger
  end
  if child then
    child._aborted = reason
  end
  return child
end

-- All below, each before its parent. Not by recursion: a chain of tasks may be long.
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

--- The scheduler's word that the task's function returned or raised.
---@param ok boolean
function Task:_returned(ok, ...)
  self._co, self._start, self._fn, self._returned_already = nil, false, nil, true
  if ok then
    self._results = compat.pack(...)
  else
    self._failure = (...)
    if self._failure == nil then
      self._failure = errors.new("UNKNOWN_ERROR", "nil")
    end
    self._traceback = self._traceback or errors.text(self._failure)
    cancel_children(self, "the task that spawned this one failed")
  end
  if not self._eldest then
    finish(self)
  end
end

-- Waits until the task has ended.
local function wait_for_end(self, shielded)
  if not self._ended then
    scheduler.await(function(wake)
      self._wakes = self._wakes or {}
      return task_wait.add(self._wakes, wake)
    end, shielded)
  end
end

local function join(self, shielded)
  failures.forget(self)
  wait_for_end(self, shielded)
end

--- Waits until the task and its children have ended.
---@return any ...  what its function returned, or nil and an error object when it raised
function Task:wait()
  argument.self(self, Task, "task", "wait")
  if not self._ended and task_tree.encloses(self, task.current()) then
    error("a task cannot wait for itself or for the task that spawned it", 2)
  end
  join(self)
  if self._failure ~= nil then
    return nil, (errors.from(self._failure, nil, self._traceback))
  end
  return compat.unpack(self._results, 1, self._results.n)
end

--- Has `fn` called before the task first waits: what concerns waiting tasks only costs the others nothing.
---@param fn fun(subject: any, self: operations.Task)
---@param subject any
function Task:on_wait(fn, subject)
  self._on_wait, self._subject = fn, subject
end

--- Runs `fn(...)` as a task of nobody for a finalizer, wherever that was called, at once until it waits. Waits
--- for its end only where nothing else would, at the end of a plain program for one.
---@param fn function
---@param ... any
function task.begin(fn, ...)
  if hosts.current().spawn then
    fn(...) -- its finalizers run in a thread already
    return
  end
  local self = new(nil, ...)
  compat.after_finalizer(function()
    task_tree.adopt(nil, self)
    scheduler.begin(self, fn)
    if scheduler.is_idle() then
      pcall(wait_for_end, self, true)
      if self._failure ~= nil then
        report(self._failure, self._traceback) -- there may be no next tick
      end
    end
  end)
end

--- Cancels the task and its children: what each waits for is called off and raises an ABORTED error object there, as
--- every further wait does. Has no effect on a task that has ended.
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

local function run(fn, ...)
  local self = spawn(fn, ...)
  local ok, raised = pcall(join, self)
  if not ok then
    -- Ctrl-C, or the caller was cancelled: cleanup of what runs comes first.
    self:cancel(errors.is_error(raised) and raised or errors.text(raised))
    join(self, true)
    error(raised, 0)
  end
  if self._failure ~= nil then
    error(self._failure, 0)
  end
  return compat.unpack(self._results, 1, self._results.n)
end

--- Runs `fn(...)` as a task and waits for it and its children. Inside a task: as a child of it. At the top of a plain
--- program INT (Ctrl-C), TERM and HUP cancel it; when its cleanup has ended, the process ends as by the signal: exit
--- code 130, 143 or 129 of a shell. Where `pcall` is around `run`, this raises instead. A second signal, one second
--- later or more, does not wait for the cleanup; a program that computes without a wait for 5 s ends without it. The
--- handlers of before are restored when `run` returns.
---@param fn function
---@param ... any
---@return any ...  what `fn` returns; raises what it raises
function task.run(fn, ...)
  argument.expect(fn, "function", 1, "run")
  local interruptible = hosts.current().interruptible
  if interruptible and scheduler.is_idle() then
    return interruptible(run, fn, ...)
  end
  return run(fn, ...)
end

-- What `enclose` returns; most functions succeed and leave no children.
local function returned(self, outer, deadline, ok, value, err)
  local strand = self._strand
  strand.task, strand.deadline = outer, deadline
  if ok and not self._eldest and not self._wakes then
    self._ended = true
    task_tree.disown(self)
    return value, err
  end
  self:_returned(ok, value, err)
  failures.forget(self) -- whoever called `enclose` gets it
  wait_for_end(self, true)
  if self._failure ~= nil then
    return nil, (errors.from(self._failure, nil, self._traceback))
  end
  return value, err
end

--- Runs `fn` as a task of its own in the coroutine that calls this: what is cancelled then is the task, not what called
--- it. Returns when it and its children have ended. LuaJIT compiles no varargs: so many arguments and results are all.
---@param deadline number?  ms since the epoch: what it waits for ends by then; the caller's own may be earlier
---@param fn fun(task: operations.Task, a: any, b: any, c: any): any, any
---@param a? any
---@param b? any
---@param c? any
---@return any value  what `fn` returned, or nil and an error object when it raised
---@return any err
function task.enclose(deadline, fn, a, b, c)
  local strand = scheduler.here()
  local outer, outer_deadline = strand.task, strand.deadline or false
  local self = setmetatable({ _strand = strand, _parent = unset, _depth = 0, _aborted = false, _on_wait = false,
    _subject = unset, _ended = false }, Task)
  if outer then
    task_tree.join(outer, self)
  end
  strand.task = self
  if deadline and (not outer_deadline or deadline < outer_deadline) then
    strand.deadline = deadline
  end
  return returned(self, outer, outer_deadline, pcall(fn, self, a, b, c))
end

--- Waits for what this library knows nothing of: a callback of the editor, of an event loop or of another library.
--- Calls `arm(wake)` and suspends the running coroutine until `wake(...)` is called; the first call counts, also one
--- made inside `arm`. When the task is cancelled or its deadline passes first, what `arm` returned is called, and the
--- ABORTED or TIMEOUT error object raised.
---@param arm fun(wake: fun(...)): fun()?  begins what is waited for; may return the function that calls it off
---@return any ...  what `wake` was given
function task.await(arm)
  argument.expect(arm, "function", 1, "await")
  return scheduler.await(arm)
end

--- Waits.
---@param seconds number  fractions count; 0 or less lets other tasks run
function task.sleep(seconds)
  if type(seconds) ~= "number" or seconds ~= seconds then
    error(("bad argument #1 to 'sleep' (number of seconds expected, got %s)"):format(tostring(seconds)), 2)
  end
  scheduler.await(function(wake)
    return hosts.current().timer(seconds * 1000, wake)
  end)
end

--- Runs functions side by side. The first that raises, or returns nil and an error object, cancels the others.
---@param functions function[]
---@return any[]? results  the first result of each, in the order of `functions`
---@return operations.Error? err  of the one that failed first
function task.all(functions)
  argument.expect(functions, "table", 1, "all")
  for i = 1, #functions do
    if type(functions[i]) ~= "function" then
      error(("bad argument #1 to 'all' (function expected at [%d], got %s)"):format(i, type(functions[i])), 2)
    end
  end
  return task.run(task._all, functions)
end

function task._all(functions)
  local self, children, left, failure = task.current(), {}, #functions, nil
  scheduler.await(function(wake)
    for i = 1, #functions do
      local child = spawn(functions[i])
      children[i] = child
      child._wakes = {
        function()
          left = left - 1
          if not failure then
            failure = failure_of(child)
            if failure then
              cancel_children(self, "another task of all{} failed")
            end
          end
          if left == 0 then
            wake()
          end
        end,
      }
    end
    if left == 0 then
      wake()
    end
  end)
  if failure then
    return nil, failure
  end
  local results = {}
  for i = 1, #children do
    results[i] = children[i]._results[1]
  end
  return results
end

--- Chooses the host by name ("plain"), or gives one's own. Before anything waits.
---@param host string|operations.Host
function task.use_host(host)
  hosts.use(host)
end

--- Called at the next tick with the failure of a task that nobody waits for: what it raised, or the error object that
--- it returned after nil. Never twice for the same task. Settable; by default failure and traceback go to where
--- the host shows errors: `vim.notify` in Neovim, `ngx.log` at level ERR in nginx, else stderr. ABORTED is at level
--- info: what the task waited for was called off.
---@type fun(failure: any, traceback: string)
function task.on_error(failure, traceback)
  log.write(errors.is_error(failure) and failure.code == "ABORTED" and "info" or "error", traceback)
end

--- Has a function called in place of `on_error`.
---@param fn fun(failure: any, traceback: string)
---@return fun(failure: any, traceback: string) previous
function task.set_on_error(fn)
  argument.expect(fn, "function", 1, "on_error")
  local previous = task.on_error
  task.on_error = fn
  return previous
end

task_wait.on_error, failures.tell, failures.detach = report, report, task.detach

return task
