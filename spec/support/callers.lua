--- Callers that keep calling while the processes that answer them are replaced.
local eventually = require("spec.support.eventually")
local operations = require("operations")

local callers = {}

--- Starts 16 tasks that repeat `call` until it returns an error, or until `finish`.
---@param call fun(): any  returns the error, if any
---@return { more_answers: function, finish: function }
function callers.start(call)
  local answered, ending, lost = 0, false, nil
  local tasks = {}
  for i = 1, 16 do
    tasks[i] = operations.spawn(function()
      while not ending and not lost do
        lost = lost or call()
        answered = answered + 1
      end
    end)
  end
  return {
    -- Waits for 100 further answers, or for the first error.
    more_answers = function()
      local before = answered
      eventually(function()
        return lost or answered > before + 100
      end)
    end,
    -- Ends the tasks; returns the first error.
    finish = function()
      ending = true
      for _, task in ipairs(tasks) do
        task:wait()
      end
      return lost
    end,
  }
end

return callers
