--- A function called for every element of a list, some of the calls at the same time.
local argument = require("operations.base.argument")
local errors = require("operations.base.error")
local limits = require("operations.base.limits")
local task = require("operations.task")

local task_map = {}

--- Calls `fn(element, index)` for every element of a list, `options.limit` (16) of the calls at the same time. The
--- first that raises, or returns nil and an error object, cancels the others; no further one begins.
---@param list any[]
---@param fn fun(element: any, index: integer): any, operations.Error?
---@param options? { limit?: integer }
---@return any[]? results  the first result of each call, in the order of `list`
---@return operations.Error? err  of the one that failed first
function task_map.map(list, fn, options)
  argument.expect(list, "table", 1, "map")
  argument.expect(fn, "function", 2, "map")
  argument.optional(options, "table", 3, "map")
  local limit = options and options.limit or limits.concurrency
  if type(limit) ~= "number" or limit ~= limit or limit < 1 then
    error("bad option 'limit' to 'map' (a number of at least 1 expected)", 2)
  end
  local results, last, workers, count = {}, 0, {}, #list
  local function work()
    while last < count do
      if task.cancelled() then
        task.sleep(0) -- raises: a function that never waits would go on otherwise
      end
      local i = last + 1
      last = i
      local result, err = fn(list[i], i)
      if result == nil and errors.is_error(err) then
        return nil, err
      end
      results[i] = result
    end
    return true
  end
  for i = 1, math.min(limit, count) do
    workers[i] = work
  end
  local ok, err = task.all(workers)
  if not ok then
    return nil, err
  end
  return results
end

return task_map
