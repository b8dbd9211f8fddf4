--- Suspends the running coroutine until it is woken, passes waits inside generators to their resumer, and runs the
--- host's loop where nothing can be suspended. No I/O of its own.
local compat = require("operations.base.compat")
local errors = require("operations.base.error")
local hosts = require("operations.hosts")
local strands = require("operations.task.strand")
local task_loops = require("operations.task.loops")
local task_wait = require("operations.task.wait")

local fail, here = task_wait.fail, strands.here
local run_left, yield, yieldable = compat.run_left, coroutine.yield, compat.yieldable

local scheduler = {
  host = hosts.current, fail = fail, here = here, now = strands.now, deadline = strands.deadline,
  deadline_of = strands.deadline_of,
}

-- A coroutine yields this before its wait, to distinguish a wait from a value. Not a table: values that programs yield
-- and return may have an `__eq`, which would be called.
local function WAITING() end

local function timed_out()
  local err = errors.new("TIMEOUT", "the deadline passed")
  err.mayHaveRun = true
  return err
end

-- The reason why `strand` must not wait (any more); else nil, its deadline, and the ms until then.
local function interruption(strand)
  local task = strand.task
  if task and task._aborted then
    return task._aborted
  end
  local deadline = strand.deadline
  if strand.outer then
    deadline = strands.deadline_of(strand)
  end
  if not deadline then
    return nil
  end
  local left = deadline - strands.now()
  if left <= 0 then
    return timed_out()
  end
  return nil, deadline, left
end

--- Is only the caller running: no task exists and the loop is not running?
---@return boolean
function scheduler.is_idle()
  return here() == strands.main and not strands.main.inner and not hosts.runs_by_itself()
end

--- Was the running task cancelled, or has the running coroutine's deadline passed?
---@return boolean
function scheduler.cancelled()
  return interruption(here()) ~= nil
end

--- Puts a task at the end of the run queue.
---@param task operations.Task
local function ready(task)
  if strands.push(task) then
    (hosts.chosen or hosts.current()).schedule(scheduler.turn)
  end
end
scheduler.ready = ready
task_wait.ready = ready

-- Runs the host's loop until `wait` is done. If an error is raised in between, by the host or by Ctrl-C, returns true
-- and the error.
local function drive(wait, strand)
  local saved, outer = strands.current, strand.inner
  strand.inner = wait
  local ok, raised = pcall(hosts.current().block, function()
    local more = scheduler.turn()
    return wait.done, more
  end)
  strands.current, strand.inner = saved, outer
  if not ok then
    fail(wait, raised)
    return true, raised
  end
end

-- Makes the host suspend the running thread; returns true and the error when it cannot.
local function park(wait, strand)
  strand.inner = wait
  local ok, raised = pcall(hosts.current().park, wait)
  strand.inner = nil
  if not ok then
    fail(wait, raised)
    return true, raised
  end
end

-- Waits until `wait` is done: lets the resumer of this coroutine continue, or runs the loop where suspension is
-- impossible, also inside C functions (`table.sort`, `string.gsub`, `require`). Returns true and the error when the
-- host failed.
local function suspend(wait, strand)
  local task = strand.task
  if task and task._on_wait then
    task_wait.prepare(task)
    if wait.done then -- this cancelled the task
      return
    end
  end
  if (hosts.chosen or hosts.current()).park then
    return park(wait, strand)
  elseif strand == strands.current and strand.managed and yieldable() then
    wait.task = strand.root or nil
    return yield(WAITING, wait) -- a tail call, for a small stack: it is resumed with false or nothing
  else
    return drive(wait, strand)
  end
end

--- Can the running coroutine be suspended? If not, a wait runs the loop.
---@return boolean
function scheduler.suspends()
  local strand = here()
  return hosts.current().park ~= nil or strand == strands.current and strand.managed == true and yieldable()
end

local function check(broken, raised)
  if broken then
    error(raised, 0)
  end
end

local function nothing() end

local function set_deadline(wait, deadline)
  local host = hosts.current()
  wait.timer = host.timer(deadline - host.now(), function()
    wait.timer = nil
    fail(wait, timed_out())
  end)
end

-- Waits; cancellation of the task and the deadline end the wait.
local function wait_interruptibly(wait, strand, deadline)
  local task = strand.task
  if wait.done then
    return
  elseif deadline then
    set_deadline(wait, deadline)
  end
  if not task then
    return check(suspend(wait, strand))
  end
  local broken, raised
  local previous = task._wait
  task._wait = wait
  if task._aborted then
    fail(wait, task._aborted)
  else
    broken, raised = suspend(wait, strand)
  end
  task._wait = previous
  if broken then
    error(raised, 0)
  end
end

--- Waits for a wait that the caller made (by `task_wait.new`, or a table with its fields).
---@param wait operations.Wait
---@return any failure  nil when it was woken
function scheduler.wait(wait)
  local strand = here()
  local failure, deadline, left = interruption(strand)
  wait.failure = failure
  if failure then
    return failure
  elseif wait.start then
    wait:start(left)
    deadline = nil
  end
  wait_interruptibly(wait, strand, deadline)
  return wait.failure
end

-- Arms and waits.
local function wait_for(wait, arm, subject)
  local strand = here()
  local failure, deadline = interruption(strand)
  wait.failure = failure
  if not failure then
    wait.cancel = arm(task_wait.waker(wait), subject) or nothing
    return wait_interruptibly(wait, strand, deadline)
  end
end

-- As `wait_for`, but ignores cancellation and deadlines.
local function wait_shielded(wait, arm)
  wait.cancel = arm(task_wait.waker(wait)) or nothing
  if not wait.done then
    return check(suspend(wait, here()))
  end
end

--- Suspends the running coroutine until `wake(...)` is called, and returns the arguments of `wake`. Raises the ABORTED
--- or TIMEOUT error object when the task is cancelled or the deadline passes first.
---@param arm fun(wake: fun(...)): fun()?  starts the operation; may return a function that cancels it
---@param shielded? boolean  ignores cancellation and deadlines
---@return any ...
function scheduler.await(arm, shielded)
  local wait = task_wait.new();
  (shielded and wait_shielded or wait_for)(wait, arm)
  if wait.failure ~= nil then
    error(wait.failure, 0)
  end
  return task_wait.values(wait)
end

--- As `await`, but returns the error instead of raising it, before the other results.
---@param arm fun(wake: fun(...), subject: any): fun()?
---@param subject? any  passed to `arm`, which then need not be a closure
---@return any failure  nil when woken
---@return any ...  the arguments of `wake`
function scheduler.try_await(arm, subject)
  local wait = task_wait.new()
  wait_for(wait, arm, subject)
  return wait.failure, task_wait.values(wait)
end

--- Makes a value that calls `fn` once when it is collected. Keep it where the owner is kept; `fn` must not refer to it.
---@param fn fun()
---@return any sentinel
function scheduler.finalizer(fn)
  local finalize = hosts.current().finalize
  return compat.finalizer(finalize and function()
    finalize(fn)
  end or fn)
end

--- Takes what `coroutine.resume(co)` returned, as `resume` does: for a caller that has set `strands.current` itself.
---@param co thread
---@param strand operations.Strand  its own
---@param saved operations.Strand  the current one before
---@param ... any
---@return boolean? ok
---@return any ...
local function resumed(co, strand, saved, ...)
  strands.current = saved
  local ok, tag, wait = ...
  if tag ~= WAITING or not ok then
    return ...
  end
  strand.inner = wait
  local broken, raised = suspend(wait, strand.outer)
  strand.inner = nil
  if broken then
    return nil, raised
  end
  strands.current = strand
  return resumed(co, strand, saved, coroutine.resume(co))
end
scheduler.resumed = resumed

--- Resumes a generator coroutine as `coroutine.resume` does. Waits inside it suspend the surrounding task (or run the
--- loop without one); returns when `co` yields a value, ends or fails.
---@param co thread
---@return boolean? ok  nil: the host failed during a wait; `co` is unchanged
---@return any ...
function scheduler.resume(co, ...)
  local outer = here()
  local known, threads = strands.known()
  local strand = known[co] or strands.manage(co, {})
  strand.task, strand.outer = strand.inside or outer.task, outer
  if threads then
    return coroutine.resume(co, ...)
  end
  local saved = strands.current
  strands.current = strand
  return resumed(co, strand, saved, coroutine.resume(co, ...))
end

--- Ends the wait of a generator coroutine, if it waits: raises `failure` there.
---@param co thread  one that `resume` runs
---@param failure any
---@param strand? operations.Strand  its own, for a caller in another request of nginx
---@return boolean interrupted  false when it was not waiting
function scheduler.interrupt(co, failure, strand)
  strand = strand or strands.known()[co]
  local wait = strand and strand.inner
  if not wait or wait.done then
    return false
  end
  fail(wait, failure)
  return true
end

--- Ends the wait of the coroutine of a strand, if it waits: raises `failure` there.
---@param strand operations.Strand
---@param failure any
function scheduler.interrupt_strand(strand, failure)
  local task = strand.task
  local wait = task and task._wait or strand.inner
  if wait then
    fail(wait, failure)
  end
end

local function unwound(task, ...)
  if task._strand.loops then
    task_loops.close(task._strand)
  end
  return ...
end

local function on_raise(raised)
  local task = here().root
  if not rawequal(raised, task._aborted) then -- the traceback of a cancellation is not needed
    task._traceback = errors.traced(raised, 2)
  end
  return raised
end

-- The body of a task's coroutine. Its `xpcall` unwinds the coroutine before the task ends: to-be-closed variables are
-- closed as part of the task, and may wait.
local function perform(task)
  local start, fn = task._start, task._fn
  task._start, task._fn = false, nil
  return unwound(task, xpcall(fn, on_raise, compat.unpack(start, 1, start.n)))
end

-- The body of a task in a thread of the host.
local function run_in_thread(task)
  if task._aborted then
    return task:_returned(false, task._aborted)
  end
  strands.manage(coroutine.running(), task._strand)
  return task:_returned(perform(task))
end

--- Starts a task that runs `fn` soon.
---@param task operations.Task
---@param fn function
---@param detached? boolean  independent of the running task
---@return boolean held  the host keeps it alive while it runs
function scheduler.start(task, fn, detached)
  local host = hosts.current()
  task._fn = fn
  if host.spawn then
    host.spawn(run_in_thread, task, detached)
    return true
  end
  task._co = coroutine.create(perform)
  strands.manage(task._co, task._strand)
  ready(task)
  return false
end

local STRAY = "coroutine.yield in a task: only the handler of a subscription, or a coroutine that you resume yourself, "
  .. "can yield"

local ran

-- A value yielded by a task has no consumer, and the task would never be resumed: raises an error where it was yielded.
-- Without the library `debug`, closes the coroutine.
local function stray(task)
  local co = task._co
  local failure = errors.from(STRAY, nil, errors.traced(STRAY, 1, co))
  strands.current = task._strand
  if compat.can_raise_in(co) then
    return ran(task, compat.resume_raising(co, failure))
  end
  task._traceback = errors.traceback(failure)
  local ok, raised = unwound(task, compat.close(co))
  strands.current = strands.main
  return task:_returned(false, ok and failure or raised)
end

function ran(task, alive, tag, ...)
  strands.current = strands.main
  if not alive then -- `perform` itself failed: out of memory
    return task:_returned(false, tag)
  elseif tag == WAITING then
    return
  elseif coroutine.status(task._co) == "suspended" then
    return stray(task)
  end
  task:_returned(tag, ...)
end

local function run(task)
  if task._start and task._aborted then
    return task:_returned(false, task._aborted)
  end
  strands.current = task._strand
  return ran(task, coroutine.resume(task._co, task._start and task))
end

--- Starts a task independent of the running one, and runs it at once until it waits. Only where tasks are not threads
--- of the host.
---@param task operations.Task
---@param fn function
function scheduler.begin(task, fn)
  local saved = strands.current
  task._fn, task._co = fn, coroutine.create(perform)
  strands.manage(task._co, task._strand)
  run(task)
  strands.current = saved
end

--- Runs what finalizers left for later, then the tasks that are ready now, in the order they became so.
---@param expired? fun(): boolean  called between tasks: stop now?
---@return boolean more  other tasks are ready
---@return boolean ran  at least one task ran
function scheduler.turn(expired)
  local saved = strands.current
  run_left()
  local more, any = strands.turn(run, expired)
  strands.current = saved
  return more, any
end

return scheduler
