--- Structured tasks: functions that run side by side and wait in direct style. A task ends only when the tasks it
--- spawned have ended; cancelling one cancels them too.
local argument = require("operations.base.argument")
local compat = require("operations.base.compat")
local core = require("operations.core")
local errors = require("operations.base.error")
local failures = require("operations.task.failures")
local hosts = require("operations.hosts")
local lifetime = require("operations.task.lifetime")
local log = require("operations.task.log")
local number_text = require("operations.base.number_text")
local scheduler = require("operations.task.scheduler")
local task_tree = require("operations.task.tree")
local task_wait = require("operations.task.wait")

local here = scheduler.here
local new, spawn, join, wait_for_end = lifetime.new, lifetime.spawn, lifetime.join, lifetime.wait_for_end

local task = {
  resume = scheduler.resume,
  interrupt = scheduler.interrupt,
  deadline = scheduler.deadline,
  cancelled = scheduler.cancelled,
  enter = lifetime.enter,
  leave = lifetime.leave,
  enclose = lifetime.enclose,
}

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
            failure = lifetime.failure_of(child)
            if failure then
              lifetime.cancel_children(self, "another task of all{} failed")
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
