--- Who waits for the same thing to happen: functions that are called once it has, in the order they came.
local task_waiters = {}

--- Adds one.
---@param list (fun()|false)[]
---@param wake fun()
---@return fun() leave  waits no longer; for who was not called yet, once
function task_waiters.add(list, wake)
  local place = #list + 1
  list[place] = wake
  return function()
    list[place] = false
    local last = #list
    while list[last] == false do -- those who come and go leave nothing behind
      list[last] = nil
      last = last - 1
    end
  end
end

--- Calls all of a list that nobody is added to any more.
---@param list (fun()|false)[]
function task_waiters.wake(list)
  for i = 1, #list do
    local wake = list[i]
    if wake then
      wake()
    end
  end
end

return task_waiters
