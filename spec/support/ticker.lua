--- Has the loop of the program that we are in call a function every 5 ms: that of the host, not ours.
local hosts = require("operations.hosts")
local task = require("operations.task")

local ticker = {}

local starts = {
  -- The loop of a plain program is ours: a task is what ticks in it.
  plain = function(fn)
    local ticking = task.spawn(function()
      while true do
        task.sleep(0.005)
        fn()
      end
    end)
    return function()
      ticking:cancel()
    end
  end,
  nvim = function(fn)
    local timer = vim.loop.new_timer()
    timer:start(5, 5, fn)
    return function()
      timer:close()
    end
  end,
  openresty = function(fn)
    local thread = ngx.thread.spawn(function()
      while true do
        ngx.sleep(0.005)
        fn()
      end
    end)
    return function()
      ngx.thread.kill(thread)
    end
  end,
}

---@param fn fun()
---@return fun() stop
function ticker.start(fn)
  return starts[hosts.current().name](fn)
end

return ticker
