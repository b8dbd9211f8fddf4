--- The coroutines of OpenResty's running request (or timer): the state of their waits, which ends with the request, and
--- how they sleep. Light threads that nginx kills run no cleanup, and nginx reuses their coroutines for other requests.
local coroutines = {}

local function context()
  return ngx.ctx
end

local nowhere = {} -- in place of a context

--- A table by coroutine.
---@param key string
---@return table<thread, any>
function coroutines.own(key)
  local ok, own = pcall(context)
  if not ok then
    own = nowhere
  end
  local found = own[key]
  if not found then
    found = setmetatable({}, { __mode = "k" })
    own[key] = found
  end
  return found
end

--- The scheduler's state of the request's coroutines.
---@return table<thread, operations.Strand>
function coroutines.strands()
  return coroutines.own("operations.strands")
end

local FOREVER = 1000000 -- seconds

--- Makes the running light thread sleep until a semaphore is posted.
---@param semaphore table
function coroutines.sleep_on(semaphore)
  local ok, err
  repeat
    ok, err = semaphore:wait(FOREVER)
  until ok or err ~= "timeout"
  if not ok then
    error(("cannot wait here (%s): use ngx.timer.at or operations.spawn"):format(err), 0)
  end
end

-- When nginx kills a light thread it cancels the thread's own sleep, but not that of a coroutine inside it, and would
-- crash. So a coroutine that waits yields this and the semaphore to its resumer, which sleeps for it: the light thread
-- in the end. nginx does not say who resumed a coroutine that a program made, so the functions that resume one are
-- replaced.
local WAITING = {}
local create, resume = coroutine.create, coroutine.resume

local function pass_on(semaphore)
  local raised = coroutine.yield(WAITING, semaphore)
  if raised ~= nil then
    error(raised, 0)
  end
end

--- How the running coroutine sleeps on a semaphore.
---@return fun(semaphore: table)
function coroutines.sleeper()
  local strand = coroutines.strands()[coroutine.running()]
  return strand and strand.carried and pass_on or coroutines.sleep_on
end

-- The waits of a coroutine obey the task and the deadlines of the one that resumes it.
local function follow(co)
  local strands = coroutines.strands()
  local outer, strand = strands[coroutine.running()], strands[co] or {}
  strand.task, strand.outer, strand.carried = strand.inside or outer and outer.task, outer, true
  strands[co] = strand
end

-- Takes what `resume` returned. While the coroutine waits, sleeps for it and resumes it again, with the error of the
-- sleep. nginx crashes when a running coroutine is collected: `co` on this stack keeps it alive.
local function carry(co, ok, tag, ...)
  if not ok or tag ~= WAITING then
    return ok, tag, ...
  end
  local slept, raised = pcall(coroutines.sleeper(), (...))
  if slept then
    return carry(co, resume(co))
  end
  return carry(co, resume(co, raised))
end

-- luacheck: ignore 122
function coroutine.resume(co, ...)
  if type(co) == "thread" then
    follow(co)
  end
  return carry(co, resume(co, ...))
end

local function results(ok, ...)
  if not ok then
    error(..., 0)
  end
  return ...
end

function coroutine.wrap(fn)
  local co = create(fn)
  return function(...)
    follow(co)
    return results(carry(co, resume(co, ...)))
  end
end

return coroutines
