--- A pool of tasks that serve connections with something to do, so that a connection needs no task between two
--- requests. When one waits while it is served, it keeps its task, and another task of the pool continues with the
--- queue.
local core = require("operations.core")
local errors = require("operations.base.error")
local scheduler = require("operations.task.scheduler")
local task = require("operations.task")
local waiters = require("operations.task.wait")

local pool = {}

local SPARE = 64 -- idle tasks that are kept
local TURN = 2 -- ms; then other tasks of the program get their turn
local ROW = 4 -- the clock is read after so many connections

---@class operations.Work  an entry of the queue; served once for each time that it was added
---@field serve fun(self)  may wait
---@field fail fun(self, raised: string)  told what `serve` raised, with a traceback; must not raise

local ready, first, last = {}, 1, 0 ---@type operations.Work[], integer, integer
local spare = {} ---@type operations.Wait[]
local called = false -- a task was woken to look at the queue

local function await(wait)
  wait.done, wait.failure, wait.n, wait.task = false, nil, 0, nil
  spare[#spare + 1] = wait
  return scheduler.wait(wait)
end

local call

-- Serves the queue in its order. `served.last` is the current entry.
local function serve_all(served)
  local stop, count = core.now() + TURN, 0
  called = false
  while first <= last do
    local work = ready[first]
    ready[first], first = nil, first + 1
    served.last = work -- before `call`, which needs memory
    if first > last then
      first, last = 1, 0
    elseif not called then
      call() -- in case this one waits
    end
    work:serve()
    count = count + 1
    if called and count % ROW == 0 and core.now() >= stop then
      return
    end
  end
end

local function run()
  local wait, served = waiters.new(), { last = nil }
  repeat
    local ok, raised = xpcall(serve_all, errors.traced, served)
    local failed = not ok and served.last
    served.last = nil
    if failed then
      failed:fail(raised)
    end
  until not failed and (#spare >= SPARE or await(wait) ~= nil)
end

-- Wakes or starts a task that looks at the queue.
function call()
  local wait = spare[#spare]
  if wait then
    spare[#spare] = nil
    waiters.settle(wait)
  else
    task.detach(run)
  end
  called = true
end

--- Adds an entry to the queue.
---@param work operations.Work
function pool.add(work)
  last = last + 1
  ready[last] = work
  if not called then
    call()
  end
end

return pool
