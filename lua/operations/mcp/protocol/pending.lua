--- Requests that were sent and wait for their answer, by id. No I/O: who waits is told through a function.
local core = require("operations.core")
local message = require("operations.mcp.protocol.message")

local pending = {}

---@class operations.mcp.Pending
---@field entries table<operations.mcp.Id, operations.mcp.Entry>  who waits, for reading
---@field unknown integer  answers to nothing that waits: late, repeated or foreign
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
function pending.new()
  return setmetatable({ entries = {}, _last = 0, _count = 0, unknown = 0 }, Pending)
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

--- Nobody waits any more: what comes for it is late.
---@param entry operations.mcp.Entry
function Pending:drop(entry)
  if self.entries[entry.id] == entry then
    self.entries[entry.id] = nil
    self._count = self._count - 1
  end
end

local function settle(self, entry)
  self.entries[entry.id] = nil
  self._count = self._count - 1
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

--- Takes an answer; false when nobody waits for it.
---@param answer operations.mcp.Message
---@return boolean
function Pending:answer(answer)
  local entry = self.entries[answer.id] or self:find(answer.id)
  if not entry then
    self.unknown = self.unknown + 1
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
    self.unknown = self.unknown + 1
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

--- How many wait.
---@return integer
function Pending:count()
  return self._count
end

return pending
