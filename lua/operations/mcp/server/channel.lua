--- The event stream that answers one request, or that sends a legacy session its notifications: queued events and their
--- reader. Events of the legacy era have ids and are kept for a while, so that a client can resume after a lost
--- connection.
local task = require("operations.task")

local channel = {}

local MAX, MAX_BYTES = 1000, 4 * 1024 * 1024 -- of events that are unread or kept
local RETRY = 2000 -- ms before a client reconnects

---@class operations.mcp.Channel
---@field over boolean  no more events are added
---@field name? string  of the stream, where its events have ids
---@field first integer  number of the oldest event that is kept
---@field last integer  number of the newest one
---@field reader? table  the current reader
---@field _wake? fun()  ends its wait, also one that is over
local Channel = {}
Channel.__index = Channel

--- Makes an empty stream.
---@param name? string  it can be resumed under this name
---@return operations.mcp.Channel
function channel.new(name)
  return setmetatable({ name = name, over = false, first = 1, last = 0, bytes = 0, _events = {} }, Channel)
end

local function wake_reader(self)
  if self._wake then
    self._wake()
  end
end

local function drop_first(self)
  self.bytes = self.bytes - #self._events[self.first]
  self._events[self.first], self.first = nil, self.first + 1
end

-- Drops events that were read, the oldest first, for a new one.
local function make_room(self, size)
  while self.reader and self.first <= self.reader.at and self.bytes + size > MAX_BYTES do
    drop_first(self)
  end
end

-- Drops events that are too many.
local function trim(self)
  while self.last - self.first >= MAX or self.bytes > MAX_BYTES do
    drop_first(self)
  end
end

-- Adds an event, given by what follows its id.
local function append(self, fields)
  self.last = self.last + 1
  local event = (self.name and ("id: %s_%d\n"):format(self.name, self.last) or "") .. fields
  self._events[self.last], self.bytes = event, self.bytes + #event
end

--- Adds a message. A droppable one is dropped while earlier ones are unread.
---@param text string  JSON
---@param droppable? boolean
---@return boolean kept
function Channel:put(text, droppable)
  if droppable then
    make_room(self, #text)
  end
  local unread = self.reader and self.last - self.reader.at or self.last - self.first
  if self.over or droppable and (unread >= MAX or self.bytes + #text > MAX_BYTES) then
    return false
  end
  append(self, "data: " .. text .. "\n\n")
  if droppable then
    trim(self)
  end
  wake_reader(self)
  return true
end

--- Adds the event from which a client can resume, before the first message.
---@param retry? integer  ms
function Channel:prime(retry)
  append(self, ("retry: %d\ndata: \n\n"):format(retry or RETRY))
  wake_reader(self)
end

--- Ends the stream.
function Channel:close()
  self.over = true
  wake_reader(self)
end

--- Ends the reader's connection; the stream can be resumed.
function Channel:hang_up()
  if self.reader then
    self.reader.gone = true
    self.reader = nil
    wake_reader(self)
  end
end

-- Waits until something was added, or the stream has ended. Only the current reader waits.
local function wait(self)
  task.await(function(wake)
    self._wake = wake
  end)
end

-- The next piece for a reader: all queued events.
local function next_piece(self, reader)
  while true do
    if reader.gone then
      return nil
    elseif reader.at < self.last then
      local from = math.max(reader.at + 1, self.first)
      local piece = table.concat(self._events, "", from, self.last)
      reader.at = self.last
      if not self.name then -- it cannot be resumed
        self._events, self.first, self.bytes = {}, self.last + 1, 0
      end
      return piece
    elseif self.over then
      return nil
    end
    wait(self)
  end
end

--- The body of an answer: the events after number `at`. Replaces the previous reader.
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

--- Can a reader resume after this number?
---@param at integer
---@return boolean
function Channel:has(at)
  return at >= self.first - 1 and at <= self.last
end

return channel
