--- Strands: what is known about each coroutine, which one of ours runs, and the tasks that are ready to.
local argument = require("operations.base.argument")
local hosts = require("operations.hosts")

-- The state of a coroutine. Never refers to the coroutine: LuaJIT's weak keys are no ephemerons.
---@class operations.Strand
---@field task? operations.Task
---@field outer? operations.Strand  who runs it: its deadlines count here too
---@field deadline? number  ms since the epoch
---@field managed? boolean  run by the scheduler, which understands its yields
---@field root? operations.Task  whose own coroutine it is; `task` may be one that runs inside of it
---@field inner? operations.Wait  what a generator waits for
---@field loops? table<table, integer>  what its loops own, and the order in which they began
---@field begun? integer  loops so far
---@field raised? any  by the handler of a call, until the call is answered
---@field traceback? string  of `raised`
---@field carried? boolean  who resumes it sleeps for it (nginx)

---@type table<thread, operations.Strand>
local own_strands = setmetatable({}, { __mode = "k" })
local main = {} ---@type operations.Strand

local strands = {
  main = main, -- of the program itself, outside of any coroutine
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

--- The strand of the running coroutine. One that user code made counts as part of what runs it.
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
  if not strand.managed and not threads then -- with threads, the host knows what runs it
    local current = strands.current
    strand.task, strand.outer = current.task, current
  end
  return strand
end
strands.here = here

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
---@param deadline number?  ms since the epoch; nil: none of its own
---@return number? previous
function strands.deadline(deadline)
  argument.optional(deadline, "number", 1, "deadline")
  if deadline ~= deadline then
    error("bad argument #1 to 'deadline' (number expected, got NaN)", 2)
  end
  local strand = here()
  local previous = strand.deadline or nil
  strand.deadline = deadline
  return previous
end

--- Makes a coroutine known whose yields the scheduler receives.
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
  queue[at] = task -- may raise when out of memory: nothing has changed then
  last = at
  return first == at
end

--- Runs the tasks that are ready now; those that become so meanwhile come next time. May be called from inside a task
--- that cannot be suspended: then the rest of the tasks runs in there.
---@param run fun(task: operations.Task)
---@param expired? fun(): boolean  asked between tasks: is it time to stop?
---@return boolean more  others are ready
---@return boolean ran  at least one
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
