--- Structured tasks: functions that run side by side and wait in direct style. A task ends only when the tasks it
--- spawned have ended; cancelling one cancels them too.
local argument = require("operations.base.argument")
local compat = require("operations.base.compat")
local core = require("operations.core")
local errors = require("operations.base.error")
local failures = require("operations.task.failures")
local hosts = require("operations.hosts")
local log = require("operations.task.log")
local number_text = require("operations.base.number_text")
local scheduler = require("operations.task.scheduler")
local scope = require("operations.task.scope")
local task_tree = require("operations.task.tree")
local task_wait = require("operations.task.wait")

local here, join_tree = scheduler.here, task_tree.join

local task = {
  resume = scheduler.resume,
  interrupt = scheduler.interrupt,
  deadline = scheduler.deadline,
  cancelled = scheduler.cancelled,
}

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

-- Both tables have room for the fields set later.
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
  if scope.used then
    self._strand.scope = scope.current()
  end
  task_tree.adopt(parent, self, scheduler.start(self, fn))
  return self
end

--- Starts `fn(...)` as a task: a child of the running task if there is one. It begins to run when the caller waits, and
--- has the caller's current deadline. If it raises, or returns nil and an error object, and no task waits for it by
--- then, `on_error` is called at the next tick.
---@param fn function
---@param ... any
---@return operations.Task
function task.spawn(fn, ...)
  argument.expect(fn, "function", 1, "spawn")
  return spawn(fn, ...)
end

--- Starts `fn(...)` as a task without a parent: no task waits for it or cancels it, it has no deadline, and it belongs
--- to no request of the host. An error that it raises goes to `on_error`; its results, including an error object, are
--- ignored unless a task waits for it.
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

--- The running task; nil outside tasks.
---@return operations.Task?
function task.current()
  return scheduler.here().task
end

-- An error raised by `task.on_error` must not prevent other tasks from running.
local function report(raised, traceback)
  local ok, why = pcall(task.on_error, raised, traceback)
  if not ok then
    log.write("error", ("on_error failed: %s\n%s"):format(errors.text(why), traceback))
  end
end

-- Has a task failed: raised an error, or returned nil and an error object?
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

-- Cancels all descendants, each before its parent. Without recursion: chains of tasks may be long.
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

-- Waits for the end of the task.
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

--- Waits for the end of the task and its children.
---@return any ...  the results of its function, or nil and an error object when it raised
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

--- Calls `fn` before the task first waits: work that only matters for waiting tasks costs the others nothing.
---@param fn fun(subject: any, self: operations.Task)
---@param subject any
function Task:on_wait(fn, subject)
  self._on_wait, self._subject = fn, subject
end

local unended = {} ---@type table<operations.Task, any>  tasks of finalizers -> the finalizer that ends each at exit

local function end_now(self)
  pcall(wait_for_end, self, true)
  if self._failure ~= nil then
    report(self._failure, self._traceback) -- there may be no further tick
  end
end

local function end_at_exit(self)
  for other in pairs(unended) do
    unended[other] = not other._ended and unended[other] or nil
  end
  unended[self] = scheduler.finalizer(function()
    if not self._ended then
      end_now(self)
    end
  end)
end

--- Runs `fn(...)` as a task without a parent for a finalizer, which may run anywhere: at once until it waits. Waits for
--- its end only if nothing else would, as at the end of a plain program.
---@param fn function
---@param ... any
function task.begin(fn, ...)
  if hosts.current().spawn then
    fn(...) -- finalizers run in a thread there
    return
  end
  local self = new(nil, ...)
  compat.after_finalizer(function()
    task_tree.adopt(nil, self)
    scheduler.begin(self, fn)
    if not scheduler.is_idle() then
      return
    elseif self._ended or not compat.has_interrupted_library() then
      end_now(self)
    else
      end_at_exit(self) -- or when the program waits
    end
  end)
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

local function run(fn, ...)
  local self = spawn(fn, ...)
  local ok, raised = pcall(join, self)
  if not ok then
    -- Ctrl-C, or the caller was cancelled: the running task is cleaned up first.
    self:cancel(errors.is_error(raised) and raised or errors.text(raised))
    join(self, true)
    error(raised, 0)
  end
  if self._failure ~= nil then
    error(self._failure, 0)
  end
  return compat.unpack(self._results, 1, self._results.n)
end

--- Runs `fn(...)` as a task and waits for it and its children. Inside a task it is a child. At the top of a plain
--- program, INT (Ctrl-C), TERM and HUP cancel it; after its cleanup the process ends as by the signal: a shell sees
--- exit code 130, 143 or 129. Inside `pcall`, this raises ABORTED instead, with `details.signal` ("SIGTERM"), `number`
--- and `exitCode`. A second signal at least one second later does not
--- wait for the cleanup; a program that computes for 5 s without waiting ends without it. The previous handlers are
--- restored when `run` returns.
---@param fn function
---@param ... any
---@return any ...  the results of `fn`; raises its error
function task.run(fn, ...)
  argument.expect(fn, "function", 1, "run")
  local interruptible = hosts.current().interruptible
  if interruptible and scheduler.is_idle() then
    return interruptible(run, fn, ...)
  end
  return run(fn, ...)
end

--- Begins a task inside the running coroutine: `cancel` ends every wait until `leave`.
---@return operations.Task
function task.enter()
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
function task.leave(self)
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
    task_tree.disown(self)
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
function task.enclose(deadline, fn, a, b, c)
  local self = task.enter()
  local strand = self._strand
  local outer_deadline = strand.deadline
  if deadline and (not outer_deadline or deadline < outer_deadline) then
    strand.deadline = deadline
  end
  return returned(self, outer_deadline, pcall(fn, self, a, b, c))
end

--- Waits for an event outside this library: a callback of the editor, of an event loop or of another library. Calls
--- `arm(wake)` and suspends the running coroutine until `wake(...)` is called; only the first call counts, even one
--- made inside `arm`. When the task is cancelled or its deadline passes first, the function that `arm` returned is
--- called, and the ABORTED or TIMEOUT error object raised.
---@param arm fun(wake: fun(...)): fun()?  starts the operation; may return a function that cancels it
---@return any ...  the arguments of `wake`
function task.await(arm)
  argument.expect(arm, "function", 1, "await")
  return scheduler.await(arm)
end

--- Suspends the running coroutine for a time.
---@param seconds number  may have a fraction; 0 or less lets other tasks run
function task.sleep(seconds)
  if type(seconds) ~= "number" or seconds ~= seconds then
    error(("bad argument #1 to 'sleep' (number of seconds expected, got %s)"):format(number_text.of(seconds)), 2)
  end
  scheduler.await(function(wake)
    return hosts.current().timer(seconds * 1000, wake)
  end)
end

local function left_within(outer, deadline, ok, ...)
  local strand, is_late = here(), hosts.current().now() >= deadline
  local first = ...
  strand.deadline = outer
  if ok and not is_late then
    return ...
  elseif is_late and (ok or errors.is_error(first) and first.code == "TIMEOUT") then
    local err = errors.new("TIMEOUT", "the time of the block is over", { deadline = deadline })
    err.mayHaveRun = true
    return nil, err
  end
  error(first, 0)
end

--- Calls `fn(...)` with a deadline: its waits, the calls that it makes and the tasks that it starts raise TIMEOUT after
--- `ms`. An earlier deadline around it still counts.
---@param ms number
---@param fn function
---@param ... any
---@return any ...  the results of `fn`, which raises its own errors; nil and TIMEOUT when the time is over, also where
---  `fn` returned later
function task.within(ms, fn, ...)
  argument.expect(ms, "number", 1, "within")
  argument.expect(fn, "function", 2, "within")
  local strand, deadline = here(), hosts.current().now() + ms
  local outer = strand.deadline
  strand.deadline = outer and outer < deadline and outer or deadline
  return left_within(outer, deadline, pcall(fn, ...))
end

--- Calls `fn(...)` where neither the cancellation of the running task nor its deadline end waits: for a cleanup that
--- must wait. It has `ms` of its own; then its waits raise TIMEOUT.
---@param ms number
---@param fn function
---@param ... any
---@return any ...  the results of `fn`; raises its error
function task.shield(ms, fn, ...)
  argument.expect(ms, "number", 1, "shield")
  argument.expect(fn, "function", 2, "shield")
  local self = new(hosts.current().now() + ms, ...)
  self._detached = true
  task_tree.adopt(nil, self, scheduler.start(self, fn, true))
  join(self, true)
  if self._failure ~= nil then
    error(self._failure, 0)
  end
  return compat.unpack(self._results, 1, self._results.n)
end

--- The time of the host's clock, which deadlines use.
---@return integer  ms since the Unix epoch
function task.now()
  return hosts.current().now()
end

--- A clock that never goes back, to measure how long something took.
---@return number  ms since some time in the past, with a fraction
function task.monotonic()
  local host = hosts.current()
  return (host.monotonic or core.monotonic)()
end

--- Runs functions at the same time. The first that raises, or returns nil and an error object, cancels the others.
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

--- Chooses the host by name ("plain"), or gives a table that implements one. Call it before anything waits.
---@param host string|operations.Host
function task.use_host(host)
  hosts.use(host)
end

--- Says whether `run` catches INT, TERM and HUP, on the host "plain". By default it does in a script, which an
--- interpreter of Lua runs, and does not in a program that embeds Lua.
---@param on boolean
function task.catch_signals(on)
  argument.expect(on, "boolean", 1, "catch_signals")
  hosts.catches_signals = on
end

--- Called at the next tick with the failure of a task for which no task waits: the error that it raised, or the error
--- object that it returned after nil. Called once for each task. Settable; by default failure and traceback go to where
--- the host shows errors: `vim.notify` in Neovim, `ngx.log` at level ERR in nginx, else stderr. ABORTED has level info:
--- the wait of the task was cancelled.
---@type fun(failure: any, traceback: string)
function task.on_error(failure, traceback)
  log.write(errors.is_error(failure) and failure.code == "ABORTED" and "info" or "error", traceback)
end

--- Sets the function that is called in place of `on_error`.
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
