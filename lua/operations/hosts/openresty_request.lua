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

-- What a coroutine yields, before its wait, to have that waited for by what resumes it.
local WAITING = {}

--- Sleeps until a wait is done or broken. nginx calls off what a light thread sleeps on when it kills it, but not what
--- a coroutine does that runs in one, and crashes then: so that one sleeps in the light thread.
---@param wait operations.Wait
---@param sleep fun(wait: operations.Wait)
function request.sleep(wait, sleep)
  local strand = request.strands()[coroutine.running()]
  if not (strand and strand.carried) then
    return sleep(wait)
  end
  local raised = coroutine.yield(WAITING, wait, sleep)
  if raised ~= nil then
    error(raised, 0)
  end
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
  local ok, tag, wait, sleep = ...
  if not ok or tag ~= WAITING then
    return ...
  end
  return carry(co, resume(co, slept(pcall(request.sleep, wait, sleep))))
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
