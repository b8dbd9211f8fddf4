--- How a worker of OpenResty ends when nginx is reloaded or quits. Its requests have all the time nginx gives them;
--- connections that nobody waits for do not hold it up; tasks that belong to no request have a moment.
local core = require("operations.core")
local detached_tasks = require("operations.hosts.openresty.detached")
local limits = require("operations.base.limits")

local openresty_exit = {}

local hooks = {}
local begun, running = nil, 0 -- ms since the epoch; hooks

local function run(fn)
  local ok, raised = pcall(fn)
  running, begun = running - 1, core.now()
  if not ok then
    error(raised, 0)
  end
end

--- Has a function called when the worker begins to end, in a light thread of its own.
---@param fn fun()  may wait
---@return fun() forget
function openresty_exit.on_exit(fn)
  hooks[fn] = true
  return function()
    hooks[fn] = nil
  end
end

--- Has the worker begun to end? To be asked again and again: calls what is to be called then.
---@return boolean
function openresty_exit.begun()
  if not begun and ngx.worker.exiting() then
    begun = core.now()
    for fn in pairs(hooks) do
      running = running + 1
      detached_tasks.spawn(run, fn)
    end
  end
  return begun ~= nil
end

--- May tasks that belong to no request wait no more?
---@return boolean
function openresty_exit.is_over()
  return begun ~= nil and running == 0 and core.now() - begun >= limits.exit_grace
end

return openresty_exit
