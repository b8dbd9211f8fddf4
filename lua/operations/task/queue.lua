--- The run queue: tasks that are ready, in the order they became so.
local run_queue = {}

local queue, first, last, depth = {}, 1, 0, 0

--- Adds a task at the end.
---@param task operations.Task
---@return boolean only  nothing else was waiting to run
function run_queue.push(task)
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
function run_queue.turn(run, expired)
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

return run_queue
