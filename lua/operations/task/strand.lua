--- Strands: the state of each coroutine, which managed one is running, and the tasks that are ready.
local argument = require("operations.base.argument")
local hosts = require("operations.hosts")

-- The state of a coroutine. It never refers to the coroutine: LuaJIT's weak keys are not ephemerons.
---@class operations.Strand
---@field task? operations.Task
---@field outer? operations.Strand  that of the resumer, whose deadlines also apply
---@field deadline? number  ms since the epoch
---@field managed? boolean  resumed by the scheduler, which understands its yields
---@field root? operations.Task  the task of this coroutine; `task` may be one that runs inside it
---@field inside? operations.Task  the innermost task that began and has not ended inside this coroutine
---@field inner? operations.Wait  the wait of a generator
---@field loops? table<table, integer>  values owned by its loops, and the order of their beginning
---@field begun? integer  the number of loops so far
---@field raised? any  the error raised by a call's handler, until the call is answered
---@field traceback? string  of `raised`
---@field scope? table  what ends with the call that runs in it
---@field carried? boolean  its resumer sleeps for it (nginx)

---@type table<thread, operations.Strand>
local own_strands = setmetatable({}, { __mode = "k" })
local main = {} ---@type operations.Strand

local strands = {
  main = main, -- the main program, outside any coroutine
  current = main, -- always `main` or a managed strand
}

--- The states of coroutines.
---@return table<thread, operations.Strand>
---@return boolean threads  tasks are threads of the host
local function known()
  local host = hosts.chosen or hosts.current()
  if host.strands then
    return host.strands(), true
  end
  return own_strands, false
end
strands.known = known

--- The strand of the running coroutine. A coroutine made by the program belongs to its resumer.
---@return operations.Strand
local function here()
  local co, is_main = coroutine.running()
  if co == nil or is_main then
    return main
  end
  local running = strands.current
  local root = running.root
  if root and root._co == co then
    return running
  end
  local all, threads = known()
  local strand = all[co]
  if not strand then
    strand = {}
    all[co] = strand
  end
  if not strand.managed and not threads then -- with threads, the host knows its resumer
    local current = strands.current
    strand.task, strand.outer = strand.inside or current.task, current
  end
  return strand
end
strands.here = here

--- The time by the clock of deadlines, the host's.
---@return number  ms since the epoch
function strands.now()
  return (hosts.chosen or hosts.current()).now()
end

--- The earliest deadline that the waits of a strand obey.
---@param strand operations.Strand
---@return number?
function strands.deadline_of(strand)
  local earliest
  while strand do
    local own = strand.deadline
    if own and (not earliest or own < earliest) then
      earliest = own
    end
    strand = strand.outer
  end
  return earliest
end

--- Sets the deadline that every wait of the running coroutine obeys.
---@param deadline number?  ms since the epoch; nil: removes it
---@return number? previous
function strands.deadline(deadline)
  argument.optional(deadline, "number", 1, "deadline")
  if deadline ~= deadline then
    error("bad argument #1 to 'deadline' (number expected, got NaN)", 2)
  end
  local strand = here()
  local previous = strand.deadline
  strand.deadline = deadline
  return previous
end

--- Registers a coroutine whose yields the scheduler receives.
---@param co thread
---@param strand operations.Strand
---@return operations.Strand
function strands.manage(co, strand)
  strand.managed = true
  known()[co] = strand
  return strand
end

local queue, first, last, depth = {}, 1, 0, 0

--- Adds a task at the end.
---@param task operations.Task
---@return boolean only  nothing else was waiting to run
function strands.push(task)
  local at = last + 1
  queue[at] = task -- when this raises (out of memory), nothing has changed
  last = at
  return first == at
end

--- Runs the tasks that are ready now; tasks that become ready meanwhile run next time. May be called inside a task that
--- cannot be suspended: the rest of the tasks then runs there.
---@param run fun(task: operations.Task)
---@param expired? fun(): boolean  called between tasks: stop now?
---@return boolean more  other tasks are ready
---@return boolean ran  at least one task ran
function strands.turn(run, expired)
  local stop, ran = last, first <= last
  depth = depth + 1
  while first <= stop do
    local at = first
    local task = queue[at]
    queue[at], first = nil, at + 1
    run(task)
    if expired and expired() then
      break
    end
  end
  depth = depth - 1
  if first <= last then
    return true, ran
  elseif depth == 0 then
    first, last = 1, 0
  end
  return false, ran
end

return strands
