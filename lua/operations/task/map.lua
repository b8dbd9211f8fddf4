--- Calls a function for every element of a list or an iterator, several calls at a time.
local argument = require("operations.base.argument")
local compat = require("operations.base.compat")
local errors = require("operations.base.error")
local limits = require("operations.base.limits")
local task = require("operations.task")
local task_wait = require("operations.task.wait")

local task_map = {}

---@class operations.MapOptions
---@field limit? integer  calls at a time, default 16
---@field stop_on_error? boolean  false: a failed call does not end the others
---@field state? any  the iterator's state, as for the generic `for`
---@field control? any  the iterator's first control value

local ANY = "boolean or number or string or table or function or thread or userdata or cdata"
local kinds = { limit = "number", stop_on_error = "boolean", state = ANY, control = ANY }

local function is_iterator(source)
  local metatable = type(source) == "table" and getmetatable(source)
  return type(source) == "function" or type(metatable) == "table" and metatable.__call ~= nil
end

-- A function that returns the next element and its place, or nothing.
local function elements_of(list)
  local last, count = 0, #list
  return function()
    if last < count then
      last = last + 1
      return last, compat.pack(list[last], last)
    end
  end
end

-- As `elements_of` for an iterator. It may wait, and is not called while it does.
local function steps_of(iterator, state, control)
  local last, busy, ended, waiting = 0, false, false, {}
  return function()
    while busy do
      task.await(function(wake)
        return task_wait.add(waiting, wake)
      end)
    end
    if ended then
      return
    end
    busy = true
    local values = compat.pack(iterator(state, control))
    local wakes = waiting
    control, busy, waiting = values[1], false, {}
    ended = control == nil
    task_wait.wake(wakes)
    if not ended then
      last = last + 1
      return last, values
    end
  end
end

-- The first result of a call; nil and an error object when it failed.
local function first_of(ok, result, err)
  if not ok then
    return nil, (errors.from(result))
  end
  return result, result == nil and errors.is_error(err) and err or nil
end

local function check(source, fn, options)
  if type(source) ~= "table" and type(source) ~= "function" then
    error(("bad argument #1 to 'map' (table or function expected, got %s)"):format(type(source)), 3)
  end
  if type(fn) ~= "function" then
    error(("bad argument #2 to 'map' (function expected, got %s)"):format(type(fn)), 3)
  end
  if type(options) ~= "table" then
    error(("bad argument #3 to 'map' (table expected, got %s)"):format(type(options)), 3)
  end
  argument.options(options, kinds, "map", 4)
  local limit = options.limit or limits.concurrency
  if limit ~= limit or limit < 1 then
    error("bad option 'limit' to 'map' (a number of at least 1 expected)", 3)
  end
  return limit
end

--- Calls `fn(element, index)` for every element of a list, or `fn(...)` with the values of an iterator until it returns
--- nil; at most `options.limit` (16) calls run at a time. An iterator, as for the generic `for`, is called only when a
--- call can begin; it may wait. The first call that raises, or returns nil and an error object, cancels the others, and
--- no further call begins. With `stop_on_error = false` all calls are made; the second result has their error objects
--- by place.
---@param source any[]|fun(state: any, control: any): ...  or a table with `__call`, such as a subscription
---@param fn fun(...: any): any, operations.Error?
---@param options? operations.MapOptions
---@return any[]? results  the first result of each call, in the order of the elements; nil for failed calls
---@return operations.Error|table<integer, operations.Error>|nil err  of the call that failed first; with
---  `stop_on_error = false` of each that failed, by its place, or nil when none did
function task_map.map(source, fn, options)
  options = options == nil and {} or options
  local limit = check(source, fn, options)
  local take = is_iterator(source) and steps_of(source, options.state, options.control) or elements_of(source)
  local results, failures, workers = {}, {}, {}
  local go_on = options.stop_on_error == false
  local function work()
    for index, element in take do
      if task.cancelled() then
        task.sleep(0) -- raises if cancelled, even when no function waits
      end
      local result, err
      if go_on then
        result, err = first_of(pcall(fn, compat.unpack(element, 1, element.n)))
      else
        result, err = first_of(true, fn(compat.unpack(element, 1, element.n)))
      end
      if err and not go_on then
        return nil, err
      end
      results[index], failures[index] = result, err
    end
    return true
  end
  for i = 1, is_iterator(source) and limit or math.min(limit, #source) do
    workers[i] = work
  end
  local ok, err = task.all(workers)
  if not ok then
    return nil, err
  end
  return results, next(failures) and failures or nil
end

return task_map
