--- The requests that wait for an answer, by id, and their timeouts, which progress extends.
local core = require("operations.core")
local errors = require("operations.base.error")
local message = require("operations.mcp.protocol.message")
local scheduler = require("operations.task.scheduler")
local task_wait = require("operations.task.wait")

local waits = {}

-- Requests.

---@class operations.mcp.Pending
---@field entries table<operations.mcp.Id, operations.mcp.Entry>  the waiting requests, read-only
local Pending = {}
Pending.__index = Pending

---@class operations.mcp.Entry
---@field id integer
---@field answered? boolean  it has an answer or a failure
---@field answer? operations.mcp.Message
---@field err? operations.Error
---@field done boolean  no task waits in it; as in `operations.Wait`
---@field wake? fun(entry: operations.mcp.Entry)  called at its answer, and on progress
---@field timeout number  ms since it was sent, or since the last progress
---@field max number  ms, regardless of progress
---@field limit? number  its deadline, ms since the epoch
---@field last? number  the latest deadline, ms since the epoch
---@field progress? table  params of the unread report

---@return operations.mcp.Pending
function waits.new()
  return setmetatable({ entries = {}, _last = 0, _count = 0 }, Pending)
end

--- A new id.
---@return integer
function Pending:next_id()
  self._last = self._last + 1
  return self._last
end

--- Records a request about to be sent.
---@param id integer
---@param timeout number  ms, restarted by progress
---@param max number  ms, regardless of progress
---@return operations.mcp.Entry
function Pending:open(id, timeout, max)
  local entry = { -- reserves the fields set later
    id = id, answered = false, timeout = timeout, max = max, done = true, last = nil, answer = nil, err = nil,
    wake = nil, task = nil, limit = nil,
  }
  self.entries[id] = entry
  self._count = self._count + 1
  return entry
end

-- Removes it: further messages for it are late.
local function drop(self, entry)
  if self.entries[entry.id] == entry then
    self.entries[entry.id] = nil
    self._count = self._count - 1
  end
end

local function settle(self, entry)
  drop(self, entry)
  entry.answered = true
  if entry.wake then
    entry:wake()
  end
end

---@param id any  from the peer
---@return operations.mcp.Entry?
function Pending:find(id)
  return self.entries[id] or self.entries[message.id_of(id)]
end

--- Handles an answer; false when no request waits for it: it is late, repeated or foreign.
---@param answer operations.mcp.Message
---@return boolean
function Pending:answer(answer)
  local entry = self.entries[answer.id] or self:find(answer.id)
  if not entry then
    return false
  end
  entry.answer = answer
  settle(self, entry)
  return true
end

--- Fails the request of an unreadable answer: the one with its id, or, if the peer did not know the id (null), the only
--- waiting one.
---@param id any
---@param err operations.Error
---@return boolean
function Pending:fail(id, err)
  local entry = self:find(id)
  if not entry and (id == nil or id == core.null) and self._count == 1 then
    entry = self.entries[next(self.entries)]
  end
  if not entry then
    return false
  end
  entry.err = err
  settle(self, entry)
  return true
end

--- Fails all requests: the connection is lost.
---@param err operations.Error
function Pending:fail_all(err)
  for _, entry in pairs(self.entries) do
    entry.err = err
    settle(self, entry)
  end
end

--- The outcome of a request; ends its wait.
---@param entry operations.mcp.Entry
---@param err? operations.Error  why the caller has given up
---@return operations.mcp.Message? answer
---@return operations.Error? err
function Pending:close(entry, err)
  if entry.answered then
    return entry.answer, entry.err
  end
  drop(self, entry)
  return nil, err
end

--- The number of waiting requests.
---@return integer
function Pending:count()
  return self._count
end

-- Time.

-- The state of `within` in a coroutine, the field `frame` of its strand.
---@class operations.mcp.Frame
---@field timeout number  ms since its start, or the last progress
---@field max number  ms, regardless of progress
---@field strand? operations.Strand  of the coroutine; this and the rest are set by `within`
---@field last? number  the latest deadline, ms since the epoch
---@field outer? number  the coroutine's previous deadline
---@field around? operations.mcp.Frame  the frame inside which this one was begun

-- Sets a coroutine's deadline, never later than the previous one, or than the latest.
local function set(strand, frame, now)
  local limit, last, outer = now + frame.timeout, frame.last, frame.outer
  if last < limit then
    limit = last
  end
  strand.deadline = outer and outer < limit and outer or limit
end

local function extend()
  local strand = scheduler.here()
  set(strand, strand.frame, scheduler.now())
end

local function finish(strand, frame, ok, ...)
  strand.frame, strand.deadline = frame.around, frame.outer
  if ok then
    return ...
  elseif errors.is_error((...)) then
    return nil, (...)
  end
  error((...), 0)
end

--- Calls `fn(extend, ...)`, whose waits end with TIMEOUT when `timeout` has passed since the start or the last
--- `extend()`; in any case after `max`.
---@param frame operations.mcp.Frame  for this call only
---@param fn fun(extend: fun(), ...): any
---@return any ...  the results of `fn`, or nil and the error object that it raised
function waits.within(frame, fn, ...)
  local strand, now = scheduler.here(), scheduler.now()
  frame.strand, frame.last, frame.outer, frame.around = strand, now + frame.max, strand.deadline, strand.frame
  strand.frame = frame
  set(strand, frame, now)
  return finish(strand, frame, pcall(fn, extend, ...))
end

local function call(_, fn, ...)
  return fn(...)
end

--- Calls `fn(...)`, whose waits end with TIMEOUT after the given time.
---@param timeout number  ms
---@param fn function
---@return any ...  as from `within`
function waits.at_most(timeout, fn, ...)
  return waits.within({ timeout = timeout, max = timeout }, call, fn, ...)
end

-- Restarts the time of a frame, and of those around it.
local function restart(strand, frame, now)
  if frame.around then
    restart(strand, frame.around, now)
    frame.outer = strand.deadline
  end
  frame.last = now + frame.max
  set(strand, frame, now)
end

local function go_on(strand, frame, ...)
  restart(strand, frame, scheduler.now())
  return ...
end

--- Calls `fn(...)` inside `within` without its limit, or that of a `within` around it: the times restart afterwards.
---@param fn function
---@return any ...  the results of `fn`
function waits.aside(fn, ...)
  local strand = scheduler.here()
  local frame = strand.frame
  if not frame then
    return fn(...)
  end
  local outermost = frame
  while outermost.around do
    outermost = outermost.around
  end
  strand.deadline = outermost.outer
  return go_on(strand, frame, fn(...))
end

--- Waits for the event of a list of functions, see `task.wait`.
---@param list (fun()|false)[]
---@param timeout? number  ms
---@return any interruption  the error that ended the wait, if any; a timeout is none
function waits.woken(list, timeout)
  local stop
  local interruption = scheduler.try_await(function(wake)
    local leave = task_wait.add(list, wake)
    stop = timeout and scheduler.host().timer(timeout, function()
      leave()
      wake()
    end)
    return leave
  end)
  if stop then
    stop()
  end
  return interruption
end

return waits
