--- What is known about the running request (or timer) of OpenResty and dies with it. Light threads that nginx kills run
--- no cleanup, and their coroutines are used again for other requests.
local request = {}

local function context()
  return ngx.ctx
end

local nowhere = {} -- what a context would have

--- A table by coroutine.
---@param key string
---@return table<thread, any>
function request.own(key)
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

--- What the scheduler knows of the request's coroutines.
---@return table<thread, operations.Strand>
function request.strands()
  return request.own("operations.strands")
end

-- A coroutine is part of what resumes it: that one's task and deadlines reach its waits.
local function follow(co)
  local strands = request.strands()
  local outer, strand = strands[coroutine.running()], strands[co] or {}
  strand.task, strand.outer, strand.carried = outer and outer.task, outer, true
  strands[co] = strand
end

local FOREVER = 1000000 -- seconds

--- Has the running light thread sleep until a semaphore is posted.
---@param semaphore table
function request.sleep_on(semaphore)
  local ok, err
  repeat
    ok, err = semaphore:wait(FOREVER)
  until ok or err ~= "timeout"
  if not ok then
    error(("cannot wait here (%s): use ngx.timer.at or operations.spawn"):format(err), 0)
  end
end

-- What a coroutine yields to have what resumes it sleep.
local WAITING = {}

local function pass_on(semaphore)
  local raised = coroutine.yield(WAITING, semaphore)
  if raised ~= nil then
    error(raised, 0)
  end
end

--- How the running coroutine sleeps on a semaphore. nginx calls off what a light thread sleeps on when it kills it, but
--- not what a coroutine does that runs in one, and crashes then: its light thread sleeps for it.
---@return fun(semaphore: table)
function request.sleeper()
  local strand = request.strands()[coroutine.running()]
  return strand and strand.carried and pass_on or request.sleep_on
end

local function results(ok, ...)
  if not ok then
    error(..., 0)
  end
  return ...
end

local function slept(ok, raised)
  if not ok then
    return raised
  end
end

-- nginx does not say who resumed a coroutine that a program made by itself, so whoever does is asked.
local create, resume = coroutine.create, coroutine.resume

-- While it runs, nginx does not keep a coroutine from being collected, but crashes: `co` stays on this stack.
local function carry(co, ...)
  local ok, tag, semaphore = ...
  if not ok or tag ~= WAITING then
    return ...
  end
  return carry(co, resume(co, slept(pcall(request.sleeper(), semaphore))))
end

-- luacheck: ignore 122
function coroutine.resume(co, ...)
  if type(co) == "thread" then
    follow(co)
  end
  return carry(co, resume(co, ...))
end

function coroutine.wrap(fn)
  local co = create(fn)
  return function(...)
    follow(co)
    return results(carry(co, resume(co, ...)))
  end
end

return request
