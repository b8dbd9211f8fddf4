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
  local outer, strand = strands[coroutine.running()], strands[co]
  if outer or strand then
    strand = strand or {}
    strand.task, strand.outer = outer and outer.task, outer
    strands[co] = strand
  end
end

local function results(ok, ...)
  if not ok then
    error(..., 0)
  end
  return ...
end

-- nginx does not say who resumed a coroutine that a program made by itself, so whoever does is asked.
local create, resume = coroutine.create, coroutine.resume

-- While it waits, nginx does not keep a coroutine from being collected, but crashes: `co` stays on this stack.
local function beside(_, ...)
  return ...
end

-- luacheck: ignore 122
function coroutine.resume(co, ...)
  if type(co) == "thread" then
    follow(co)
  end
  return beside(co, resume(co, ...))
end

function coroutine.wrap(fn)
  local co = create(fn)
  return function(...)
    follow(co)
    return results(resume(co, ...))
  end
end

return request
