--- The deadlines of the calls that wait at one call map: one timer, for the earliest of them.
local scheduler = require("operations.scheduler")

local call_deadlines = {}

---@class operations.CallDeadlines
---@field _due? number  when the timer rings, ms since the epoch; the call that it was set for may have ended
---@field _stop? fun()
local Deadlines = {}
Deadlines.__index = Deadlines

---@param pending table<string, operations.Pending>  the map's own; nothing here keeps the map itself
---@return operations.CallDeadlines
function call_deadlines.new(pending)
  return setmetatable({ _pending = pending }, Deadlines)
end

local ring

local function set(self, due)
  local host = scheduler.host()
  self:stop()
  self._due = due
  self._stop = host.timer(due - host.now(), function()
    ring(self)
  end)
end

function ring(self)
  self._due, self._stop = nil, nil
  local now, earliest, expired = scheduler.host().now(), nil, {}
  for _, entry in pairs(self._pending) do
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
    entry:expire()
  end
end

--- Has `entry:expire()` called when its deadline passes and it is still pending.
---@param entry operations.Pending
function Deadlines:watch(entry)
  local limit = entry.deadline
  entry.limit = limit
  if not self._due or limit < self._due then
    set(self, limit)
  end
end

--- Rings no more, until the next `watch`.
function Deadlines:stop()
  if self._stop then
    self._stop()
    self._due, self._stop = nil, nil
  end
end

return call_deadlines
