--- Reads the events of a stream to its end, over as many connections as it takes.
local limits = require("operations.base.limits")
local sse = require("operations.base.sse")

local event_reader = {}

-- The shortest time until a stream is opened again, whatever the server says, ms.
local SHORTEST = 50

---@class operations.mcp.EventReader
---@field last_id string  of the last event, "" when there was none with an id
---@field retry? integer  ms, as the server asked
---@field events integer  so far
---@field _parser? operations.SseParser  of the connection that it had enough of: there may be more of it
---@field _stream? operations.HttpStream  the connection
local EventReader = {}
EventReader.__index = EventReader

--- One for a stream that has not been read yet.
---@param max integer  bytes of one event
---@return operations.mcp.EventReader
function event_reader.new(max)
  return setmetatable({ _max = max, last_id = "", events = 0 }, EventReader)
end

-- Hands over what the parser has; false when `on_event` has had enough.
local function hand_over(self, parser, on_event)
  local data, event, id, retry = parser:next_values()
  while data do
    self.last_id, self.retry, self.events = id or self.last_id, retry or self.retry, self.events + 1
    if on_event(event, data) == false then
      return false
    end
    data, event, id, retry = parser:next_values()
  end
end

--- Reads one connection, or goes on with it behind the event that was enough.
---@param stream operations.HttpStream
---@param on_event fun(event: string, data: string): boolean?  false: enough
---@return boolean ended  false: it had enough
---@return operations.Error? err  what ended the connection, when it was no proper end
function EventReader:run(stream, on_event)
  local parser = self._stream == stream and self._parser
  if not parser then
    parser = sse.parser(nil, { max_event = self._max, last_event_id = self.last_id })
  elseif hand_over(self, parser, on_event) == false then
    return false
  end
  while true do
    local chunk, err = stream:read()
    local fed, too_large = parser:feed(chunk or "\n\n") -- a last event without its blank line is one too
    if hand_over(self, parser, on_event) == false then
      self._parser, self._stream = parser, stream
      return false
    elseif not chunk then
      self.retry, self.last_id = parser:retry() or self.retry, parser:last_event_id() or self.last_id
      return true, err
    elseif not fed then
      stream:close()
      return true, too_large
    end
  end
end

--- How long to wait before the stream is opened again: as long as the server asks for, up to five minutes.
---@param failures integer  in a row
---@return number ms
function EventReader:delay(failures)
  local asked = math.min(self.retry or 1000, limits.reconnect_wait)
  return math.max(SHORTEST, asked, math.min(asked * 2 ^ (failures - 1), limits.first_byte_timeout))
end

return event_reader
