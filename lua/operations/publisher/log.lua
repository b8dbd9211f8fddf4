--- The events of one topic that a process keeps, oldest first. Their ids are increasing whole numbers.
local log = {}

--- An event for many readers.
---@class operations.PublishedEvent
---@field id integer
---@field before integer  the id of the topic's event before it; 0: it is the first, or nothing is known of the others
---@field text string  the value as JSON

---@class operations.EventLog
---@field last integer  the id of the newest event, or of the last that was dropped
---@field floor integer  the id of the newest event that is not kept
---@field bytes integer  of all events
---@field _first integer  the place of the oldest event
---@field _end integer  the place of the newest event
---@field [integer] operations.PublishedEvent  by place
local Log = {}
Log.__index = Log

---@param floor integer  events up to this id are not kept
---@param keep integer  events, at least 1
---@param keep_bytes integer
---@return operations.EventLog
function log.new(floor, keep, keep_bytes)
  return setmetatable({ last = floor, floor = floor, bytes = 0, _first = 1, _end = 0, _keep = keep,
    _keep_bytes = keep_bytes }, Log)
end

local function drop_oldest(self)
  local event = self[self._first]
  self[self._first] = nil
  self._first, self.floor, self.bytes = self._first + 1, event.id, self.bytes - #event.text
end

-- Events before this one were lost: readers that have not got them must be told.
local function start_again(self, event)
  while self._first <= self._end do
    drop_oldest(self)
  end
  self.floor = event.before > 0 and event.before or event.id - 1
end

--- Adds an event; the oldest ones beyond the limits are dropped, but not this one.
---@param event operations.PublishedEvent
function Log:add(event)
  if event.before ~= self.last then
    start_again(self, event)
  end
  self._end = self._end + 1
  self[self._end], self.last, self.bytes = event, event.id, self.bytes + #event.text
  while self._end - self._first >= self._keep or self.bytes > self._keep_bytes and self._first < self._end do
    drop_oldest(self)
  end
end

--- The number of events that are kept after an id.
---@param id integer
---@return integer
function Log:count_after(id)
  local low, high = self._first, self._end + 1 -- the place of the first event after it
  while low < high do
    local middle = math.floor((low + high) / 2)
    if self[middle].id > id then
      high = middle
    else
      low = middle + 1
    end
  end
  return self._end + 1 - low
end

--- The first event after an id.
---@param id integer  not below `floor`
---@return operations.PublishedEvent?
function Log:after(id)
  local newest = self[self._end]
  if not newest or newest.id <= id then
    return nil
  elseif newest.before <= id then
    return newest
  end
  return self[self._end + 1 - self:count_after(id)]
end

return log
