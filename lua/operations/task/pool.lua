--- Tasks that are used again: where many short functions run, each in a task of nobody, making the tasks costs more
--- than they do. Which task runs a function is nobody's business but its own.
local scheduler = require("operations.task.scheduler")
local task = require("operations.task")

local task_pool = {}

local MOST = 64 -- that wait for something to do

local idle = {} ---@type operations.Task[]

local function work()
  local own = task.current()
  repeat
    local fn, a, b, c = own._pooled, own[1], own[2], own[3]
    own._pooled, own[1], own[2], own[3] = nil, nil, nil, nil
    fn(own, a, b, c)
    if not own:is_clean() or #idle >= MOST then
      return
    end
    idle[#idle + 1] = own
    scheduler.idle()
  until false
end

local function begin(fn, a, b, c)
  return fn(task.current(), a, b, c)
end

--- Starts `fn(task, a, b, c)` as a task of nobody, soon; what it may do to that task, it does while it runs.
---@param fn fun(task: operations.Task, a: any, b: any, c: any)
---@param a? any
---@param b? any
---@param c? any
function task_pool.start(fn, a, b, c)
  local own = idle[#idle]
  if own then
    idle[#idle] = nil
    scheduler.ready(own)
  elseif scheduler.host().spawn then -- its threads belong to what it runs now
    task.detach(begin, fn, a, b, c)
    return
  else
    own = task.detach(work)
  end
  own._pooled, own[1], own[2], own[3] = fn, a, b, c
end

return task_pool
