--- The deadlines of many waits: one timer, for the earliest of them.
local scheduler = require("operations.task.scheduler")

local task_deadlines = {}

---@class operations.Deadlines
---@field _due? number  when the timer rings, ms since the epoch; what it was set for may have ended
---@field _stop? fun()
local Deadlines = {}
Deadlines.__index = Deadlines

---@param waiting table<any, { limit: number? }>  who waits, no longer than until its `limit`, ms since the epoch, which
---  may be put off; the caller adds and removes them. Nothing here keeps more of the caller than this
---@param expire fun(entry: table)  called when a limit has passed; removes the entry
---@return operations.Deadlines
function task_deadlines.new(waiting, expire)
  return setmetatable({ _waiting = waiting, _expire = expire }, Deadlines)
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

--- Watches over an entry from here on.
---@param entry { limit: number? }
---@param limit number  ms since the epoch
function Deadlines:watch(entry, limit)
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

return task_deadlines
