--- The state of an nginx worker. Tasks that belong to no request are light threads of a shared timer: nginx runs only
--- 256 timers at once by default, and drops further ones. When nginx reloads or quits, the worker's requests have as
--- long as nginx allows; connections without a waiting task do not delay it; tasks that belong to no request get a
--- short time.
local core = require("operations.core")
local limits = require("operations.base.limits")
local semaphores = require("ngx.semaphore")

local worker = {}

-- nginx frees its data about light threads when their timer ends: after this many, or this many seconds without any.
local MANY, IDLE = 10000, 0.25
local REAPED = 64 -- together
local FOREVER = 1000000 -- seconds

---@class operations.OpenrestyYard
---@field given any[]  functions to start, with arguments
---@field ended thread[]
---@field left integer  the number it may still start
local yard -- the timer that accepts more

local function wake(mine)
  if mine.waits then
    mine.waits = false
    mine.semaphore:post(1)
  end
end

local function run(mine, fn, argument)
  local ok, raised = pcall(fn, argument)
  mine.running = mine.running - 1
  mine.ended[#mine.ended + 1] = coroutine.running()
  if mine.running == 0 or #mine.ended >= REAPED then
    wake(mine)
  end
  if not ok then
    error(raised, 0)
  end
end

--- Waits for an ended light thread, which keeps its memory until then.
---@param ended thread[]
function worker.reap(ended)
  for i = #ended, 1, -1 do
    ngx.thread.wait(ended[i])
    ended[i] = nil
  end
end

local function start_given(mine)
  local given = mine.given
  mine.given = {}
  for i = 1, #given, 2 do
    mine.running = mine.running + 1
    ngx.thread.spawn(run, mine, given[i], given[i + 1])
  end
end

local function tend(mine)
  repeat
    start_given(mine)
    worker.reap(mine.ended)
    if #mine.given == 0 then
      mine.waits = true
      mine.semaphore:wait(mine.running > 0 and FOREVER or IDLE)
      mine.waits = false
    end
  until mine.running == 0 and #mine.given == 0
  if yard == mine then
    yard = nil
  end
end

--- Raises in the master process, which has no timers.
function worker.expect()
  if ngx.get_phase() == "init" then
    error("in init_by_lua nothing can wait or run in the background, for nginx makes its workers afterwards: "
      .. "use init_worker_by_lua", 0)
  end
end

--- Runs `fn(argument)`, soon.
---@param fn function
---@param argument any
function worker.spawn(fn, argument)
  local mine = yard
  if not mine or mine.left == 0 then
    worker.expect()
    mine = { given = {}, ended = {}, running = 0, left = MANY, semaphore = semaphores.new(0) }
    local ok, err = ngx.timer.at(0, function()
      tend(mine)
    end)
    if not ok then
      error(("cannot start a task: ngx.timer.at: %s"):format(err), 0)
    end
    yard = mine
  end
  mine.given[#mine.given + 1], mine.given[#mine.given + 2], mine.left = fn, argument, mine.left - 1
  wake(mine)
end

local hooks = {}
local begun, running = nil, 0 -- ms since the epoch; running hooks

local function run_hook(fn)
  local ok, raised = pcall(fn)
  running, begun = running - 1, core.now()
  if not ok then
    error(raised, 0)
  end
end

--- Calls a function when the worker begins to end, in a light thread of its own.
---@param fn fun()  may wait
---@return fun() forget
function worker.on_exit(fn)
  hooks[fn] = true
  return function()
    hooks[fn] = nil
  end
end

--- Has the worker begun to end? Must be called regularly: it also calls the exit functions.
---@return boolean
function worker.begun()
  if not begun and ngx.worker.exiting() then
    begun = core.now()
    for fn in pairs(hooks) do
      running = running + 1
      worker.spawn(run_hook, fn)
    end
  end
  return begun ~= nil
end

--- Must tasks that belong to no request stop waiting?
---@return boolean
function worker.is_over()
  return begun ~= nil and running == 0 and core.now() - begun >= limits.exit_grace
end

return worker
