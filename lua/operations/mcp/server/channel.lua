--- The event stream that answers one request, or that a session of the legacy era is told news by: what is to be sent,
--- and whoever reads it. Events of the legacy era have ids, and are kept for a while so that a client whose connection
--- broke goes on behind the last one it saw.
local task = require("operations.task")

local channel = {}

local MAX, MAX_BYTES = 1000, 4 * 1024 * 1024 -- of events that nobody has read, or that are kept
local RETRY = 2000 -- ms after which a client comes back

---@class operations.mcp.Channel
---@field over boolean  nothing more comes
---@field name? string  of the stream, where its events have ids
---@field first integer  number of the oldest event that is kept
---@field last integer  number of the newest one
---@field reader? table  who reads it now
local Channel = {}
Channel.__index = Channel

--- A stream without events.
---@param name? string  it can be resumed under this name
---@return operations.mcp.Channel
function channel.new(name)
  return setmetatable({ name = name, over = false, first = 1, last = 0, bytes = 0, _events = {}, _wakes = {} }, Channel)
end

local function wake_all(self)
  local wakes = self._wakes
  self._wakes = {}
  for wake in pairs(wakes) do
    wake()
  end
end

-- Forgets events that everybody has read, or that are too many.
local function trim(self)
  while self.first <= self.last and (self.last - self.first >= MAX or self.bytes > MAX_BYTES) do
    self.bytes = self.bytes - #self._events[self.first]
    self._events[self.first], self.first = nil, self.first + 1
  end
end

--- Adds a message. One that may be lost is, when nobody reads what was sent before.
---@param text string  JSON
---@param droppable? boolean
---@return boolean kept
function Channel:put(text, droppable)
  local unread = self.reader and self.last - self.reader.at or self.last - self.first
  if self.over or droppable and (unread >= MAX or self.bytes + #text > MAX_BYTES) then
    return false
  end
  self.last = self.last + 1
  local id = self.name and ("id: %s_%d\n"):format(self.name, self.last) or ""
  self._events[self.last] = id .. "data: " .. text .. "\n\n"
  self.bytes = self.bytes + #self._events[self.last]
  if droppable then
    trim(self)
  end
  wake_all(self)
  return true
end

--- Adds the event that tells a client from where to go on, before there is a message.
---@param retry? integer  ms
function Channel:prime(retry)
  self.last = self.last + 1
  self._events[self.last] = ("id: %s_%d\nretry: %d\ndata: \n\n"):format(self.name, self.last, retry or RETRY)
  self.bytes = self.bytes + #self._events[self.last]
  wake_all(self)
end

--- Nothing more comes.
function Channel:close()
  self.over = true
  wake_all(self)
end

--- Has the reader's connection end; the stream can be resumed.
function Channel:hang_up()
  if self.reader then
    self.reader.gone = true
    self.reader = nil
    wake_all(self)
  end
end

--- Waits until something was added, or the stream is over.
function Channel:wait()
  local wake_up
  local ok, raised = pcall(task.await, function(wake)
    wake_up = wake
    self._wakes[wake] = true
  end)
  self._wakes[wake_up] = nil
  if not ok then
    error(raised, 0)
  end
end

-- The next piece for a reader: all events that are there.
local function next_piece(self, reader)
  while true do
    if reader.gone then
      return nil
    elseif reader.at < self.last then
      local from = math.max(reader.at + 1, self.first)
      local piece = table.concat(self._events, "", from, self.last)
      reader.at = self.last
      if not self.name then -- nobody reads it again
        self._events, self.first, self.bytes = {}, self.last + 1, 0
      end
      return piece
    elseif self.over then
      return nil
    end
    self:wait()
  end
end

--- The body of an answer: the events behind number `at`. Whoever read the stream before reads it no more.
---@param at integer
---@return fun(): string?
---@return table reader
function Channel:body(at)
  self:hang_up()
  local reader = { at = at, gone = false }
  self.reader = reader
  return function()
    return next_piece(self, reader)
  end, reader
end

--- Can a reader go on behind this number?
---@param at integer
---@return boolean
function Channel:has(at)
  return at >= self.first - 1 and at <= self.last
end

return channel
