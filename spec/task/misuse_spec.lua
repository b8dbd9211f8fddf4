local map = require("operations.task.map").map
local raises = require("spec.support.raises")
local task = require("operations.task")

-- A call of a function in a line of this file.
local function call(fn, first, second, third)
  return function()
    local result = fn(first, second, third)
    return result
  end
end

describe("tasks with invalid arguments", function()
  it("name the argument or option, and the line of the program", function()
    local one
    task.run(function()
      one = task.spawn(function() end)
    end)
    raises({
      ["bad argument #1 to 'spawn' (function expected, got nil)"] = call(task.spawn),
      ["bad argument #1 to 'detach' (function expected, got nil)"] = call(task.detach),
      ["bad argument #1 to 'run' (function expected, got nil)"] = call(task.run),
      ["bad argument #1 to 'await' (function expected, got nil)"] = call(task.await),
      ["bad argument #1 to 'on_error' (function expected, got number)"] = call(task.set_on_error, 1),
      ["bad argument #1 to 'sleep' (number of seconds expected, got nil)"] = call(task.sleep),
      ["bad argument #1 to 'all' (table expected, got nil)"] = call(task.all),
      ["bad argument #1 to 'all' (function expected at [2], got number)"] = call(task.all, { function() end, 2 }),
      ["bad argument #1 to 'deadline' (number expected, got string)"] = call(task.deadline, "x"),
      ["bad argument #1 to 'deadline' (number expected, got NaN)"] = call(task.deadline, 0 / 0),
      ["calling 'wait' on bad self (task expected, got table)"] = call(one.wait, {}),
      ["calling 'cancel' on bad self (task expected, got table)"] = call(one.cancel, {}),
      ["bad argument #1 to 'map' (table or function expected, got number)"] = call(map, 1, print),
      ["bad argument #2 to 'map' (function expected, got nil)"] = call(map, {}),
      ["bad argument #3 to 'map' (table expected, got number)"] = call(map, {}, print, 1),
      ["bad option 'x' to 'map' (unknown)"] = call(map, {}, print, { x = 1 }),
      ["bad option 'limit' to 'map' (a number of at least 1 expected)"] = call(map, {}, print, { limit = 0 }),
    }, "task/misuse_spec.lua:")
  end)
end)
