--- The requests that wait for their answer, by id; and how long each may take, and
--- that it may take longer while it makes progress.
local core = require("operations.core")
local errors = require("operations.base.error")
local message = require("operations.mcp.protocol.message")
local scheduler = require("operations.task.scheduler")

local waits = {}

-- Requests

---@class operations.mcp.Pending
---@field entries table<operations.mcp.Id, operations.mcp.Entry>  who waits, for reading
local Pending = {}
Pending.__index = Pending

---@class operations.mcp.Entry
---@field id integer
---@field answered? boolean  it has its answer, or its failure
---@field answer? operations.mcp.Message
---@field err? operations.Error
---@field done boolean  nobody waits in it; as of `operations.Wait`
---@field wake? fun(entry: operations.mcp.Entry)  called when it is answered, and on progress
---@field timeout number  ms since it was sent, or since a report of progress
---@field max number  ms, whatever the progress
---@field limit? number  when its time is up, ms since the epoch
---@field last? number  how far progress can put that off, ms since the epoch
---@field progress? table  params of the report that nobody has read yet

---@return operations.mcp.Pending
function waits.new()
  return setmetatable({ entries = {}, _last = 0, _count = 0 }, Pending)
end

--- An id that was not used before.
---@return integer
function Pending:next_id()
  self._last = self._last + 1
  return self._last
end

--- Notes a request that is about to be sent.
---@param id integer
---@param timeout number  ms, begun anew by progress
---@param max number  ms, whatever the progress
---@return operations.mcp.Entry
function Pending:open(id, timeout, max)
  local entry = { -- with room for what comes, also when it is waited for
    id = id, answered = false, timeout = timeout, max = max, done = true, last = nil, answer = nil, err = nil,
    wake = nil, task = nil, limit = nil,
  }
  self.entries[id] = entry
  self._count = self._count + 1
  return entry
end

-- Messages for it are late from here on.
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

---@param id any  as the peer gave it
---@return operations.mcp.Entry?
function Pending:find(id)
  return self.entries[id] or self.entries[message.id_of(id)]
end

--- Takes an answer; false when nobody waits for it: it is late, repeated or foreign.
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

--- Fails the request that an unreadable answer belongs to: the one with its id, or, when the peer could not tell the
--- id (null), the only one that waits.
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

--- Fails all: the connection is gone.
---@param err operations.Error
function Pending:fail_all(err)
  for _, entry in pairs(self.entries) do
    entry.err = err
    settle(self, entry)
  end
end

--- The outcome of a request, which ends its wait.
---@param entry operations.mcp.Entry
---@param err? operations.Error  why nobody waits any more
---@return operations.mcp.Message? answer
---@return operations.Error? err
function Pending:close(entry, err)
  if entry.answered then
    return entry.answer, entry.err
  end
  drop(self, entry)
  return nil, err
end

--- How many wait.
---@return integer
function Pending:count()
  return self._count
end

-- Time

-- What `within` does in a coroutine is the field `frame` of its strand.
---@class operations.mcp.Frame
---@field timeout number  ms since it began, or since progress
---@field max number  ms, whatever the progress
---@field strand? operations.Strand  of the coroutine; set by `within`, as the rest is
---@field last? number  ms since the epoch: no later than this
---@field outer? number  the deadline of the coroutine before

-- Sets a coroutine's deadline, never later than the one that it had, or than the last.
local function set(strand, frame, now)
  local limit, last, outer = now + frame.timeout, frame.last, frame.outer
  if last < limit then
    limit = last
  end
  strand.deadline = outer and outer < limit and outer or limit
end

local function extend()
  local strand = scheduler.here()
  set(strand, strand.frame, scheduler.host().now())
end

local function finish(strand, before, outer, ok, ...)
  strand.frame, strand.deadline = before, outer
  if ok then
    return ...
  elseif errors.is_error((...)) then
    return nil, (...)
  end
  error((...), 0)
end

--- Calls `fn(extend, ...)`, whose waits end with TIMEOUT when `timeout` has passed since it began or since it called
--- `extend()`; in any case when `max` has.
---@param frame operations.mcp.Frame  of this call alone
---@param fn fun(extend: fun(), ...): any
---@return any ...  what `fn` returned, or nil and the error object that it raised
function waits.within(frame, fn, ...)
  local strand, now = scheduler.here(), scheduler.host().now()
  local before, outer = strand.frame, strand.deadline
  frame.strand, frame.last, frame.outer = strand, now + frame.max, outer
  strand.frame = frame
  set(strand, frame, now)
  return finish(strand, before, outer, pcall(fn, extend, ...))
end

local function call(_, fn, ...)
  return fn(...)
end

--- Calls `fn(...)`, whose waits end with TIMEOUT when the time has passed.
---@param timeout number  ms
---@param fn function
---@return any ...  as of `within`
function waits.at_most(timeout, fn, ...)
  return waits.within({ timeout = timeout, max = timeout }, call, fn, ...)
end

local function go_on(strand, frame, ...)
  local now = scheduler.host().now()
  frame.last = now + frame.max
  set(strand, frame, now)
  return ...
end

--- Calls `fn(...)` inside of `within`, apart from it: its time begins anew afterwards.
---@param fn function
---@return any ...  what `fn` returned
function waits.aside(fn, ...)
  local strand = scheduler.here()
  local frame = strand.frame
  if not frame then
    return fn(...)
  end
  strand.deadline = frame.outer
  return go_on(strand, frame, fn(...))
end

return waits
