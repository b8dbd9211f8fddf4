--- One wait of a coroutine and how it ends; lists of waits for one event; deadlines of many waits.
local compat = require("operations.base.compat")
local hosts = require("operations.hosts")

local wait = {}

local unset = nil -- reserves a field in a constructor; LuaJIT reserves none for a literal `nil`
---@class operations.Wait
---@field done boolean
---@field n integer  the number of values that it was woken with, at [1] to [n]
---@field failure? any  the error that the waiting coroutine raises
---@field start? fun(self: operations.Wait, left?: number)  starts the operation, and makes it end within `left` ms
---@field cancel? fun(self: operations.Wait)  cancels the operation; called at most once, if the wait was not woken
---@field timer? fun()  stops the deadline's timer
---@field task? operations.Task  parked until this is done
---@field unpark? fun(self: operations.Wait)  wakes the host's thread that is parked until this is done

--- Calls the functions that a task has registered for its first wait.
---@param task operations.Task
function wait.prepare(task)
  local fn, subject = task._on_wait, task._subject
  task._on_wait, task._subject = nil, nil
  fn(subject, task)
end

--- Set by the scheduler: puts a task into the run queue.
---@type fun(task: operations.Task)
wait.ready = nil

--- Set by `task`: handles an error that cannot be raised anywhere.
---@type fun(raised: any, traceback: string)
wait.on_error = nil

---@return operations.Wait
function wait.new()
  return { nil, nil, nil, nil, done = false, n = 0, cancel = unset, task = unset } -- reserves the fields set later
end

--- Ends a wait; does nothing when it has ended.
---@param self operations.Wait
function wait.settle(self)
  if self.done then
    return
  end
  self.done = true
  if self.timer then
    self.timer()
    self.timer = nil
  end
  if self.task then
    wait.ready(self.task)
  elseif self.unpark then
    self:unpark()
  end
end

--- Ends a wait with a failure and cancels its operation.
---@param self operations.Wait
---@param failure any
function wait.fail(self, failure)
  if self.done then
    return
  end
  self.failure, self.n = failure, 0
  wait.settle(self)
  local cancel = self.cancel
  self.cancel = nil
  if cancel then
    local ok, raised = pcall(cancel, self)
    if not ok then
      wait.on_error(raised, tostring(raised))
    end
  end
end

--- A function that wakes a wait with values.
---@param self operations.Wait
---@return fun(...)
function wait.waker(self)
  return function(...)
    if not self.done then
      local n = select("#", ...)
      if n > 0 then
        self.n = n
        self[1], self[2], self[3], self[4] = ...
        for i = 5, n do
          self[i] = (select(i, ...))
        end
      end
      wait.settle(self)
    end
  end
end

--- The values that the wait was woken with.
---@param self operations.Wait
---@return any ...
function wait.values(self)
  return compat.unpack(self, 1, self.n)
end

--- Adds a function to a list; it is called when the list's event has happened.
---@param list (fun()|false)[]
---@param wake fun()
---@return fun() leave  removes the function; call it at most once, before the event
function wait.add(list, wake)
  local place = #list + 1
  list[place] = wake
  return function()
    list[place] = false
    local last = #list
    while list[last] == false do -- removed functions must not make the list grow
      list[last] = nil
      last = last - 1
    end
  end
end

--- Calls all functions of a list in order; nothing is added to it afterwards.
---@param list (fun()|false)[]
function wait.wake(list)
  for i = 1, #list do
    local wake = list[i]
    if wake then
      wake()
    end
  end
end

---@class operations.Deadlines
---@field _due? number  when the timer fires, ms since the epoch; its wait may have ended
---@field _stop? fun()
local Deadlines = {}
Deadlines.__index = Deadlines

--- Watches the deadlines of many waits with one timer, set for the earliest.
---@param waiting table<any, { limit: number? }>  the waits, each with its deadline `limit` (ms since the epoch), which
---  may be extended; the caller adds and removes them. This object keeps nothing else of the caller alive
---@param expire fun(entry: table)  called when a limit has passed; must remove the entry
---@return operations.Deadlines
function wait.deadlines(waiting, expire)
  return setmetatable({ _waiting = waiting, _expire = expire }, Deadlines)
end

local ring

local function set(self, due)
  local host = hosts.current()
  self:stop()
  self._due = due
  self._stop = host.timer(due - host.now(), function()
    ring(self)
  end)
end

function ring(self)
  self._due, self._stop = nil, nil
  local now, earliest, expired = hosts.current().now(), nil, {}
  for _, entry in pairs(self._waiting) do
    local limit = entry.limit
    if limit and limit <= now then
      expired[#expired + 1] = entry
    elseif limit and (not earliest or limit < earliest) then
      earliest = limit
    end
  end
  if earliest then
    set(self, earliest)
  end
  for _, entry in ipairs(expired) do
    self._expire(entry)
  end
end

--- Watches an entry from now on.
---@param entry { limit: number? }
---@param limit number  ms since the epoch
function Deadlines:watch(entry, limit)
  entry.limit = limit
  if not self._due or limit < self._due then
    set(self, limit)
  end
end

--- Stops the timer until the next `watch`.
function Deadlines:stop()
  if self._stop then
    self._stop()
    self._due, self._stop = nil, nil
  end
end

return wait
