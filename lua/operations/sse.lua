--- Server-sent events (WHATWG HTML, 9.2.5 and 9.2.6): bytes in, events out.
--
-- The C core reads a chunk into a queue; handlers are called from here, never
-- from C.  So a handler may wait (yield), may raise, and may feed the parser
-- again: no event is lost, and they keep the order of the stream.
local core = require("operations.core")

local sse = {}

---@class operations.SseEvent
---@field event string  the event's name, "message" when the stream gives none
---@field data string   its data lines, joined by "\n"; always valid UTF-8
---@field id string     the last event ID, "" when there is none
---@field retry integer?  reconnection time in ms, if one was read since the event before

---@class operations.SseOptions
---@field max_event integer?  ceiling in bytes for data, name and id of one event together; default 1 MiB
---@field last_event_id string?  the last event ID of the connection that this one continues

---@class operations.SseParser
local Parser = {}
Parser.__index = Parser

-- Places of one event in the queue: data, name, id, retry (false when none).
local FIELDS = 4

local function check_type(value, expected, name)
  if type(value) ~= expected then
    error(("bad argument '%s' (%s expected, got %s)"):format(name, expected, type(value)), 3)
  end
end

--- Makes a parser of one event stream.  With a handler, `feed` calls it for
--- every event; without one, events wait until `next` takes them.
---
--- Raises on an argument of a wrong type, or a `max_event` that is no integer
--- from 1 to 2147483647.
---@param on_event (fun(event: operations.SseEvent))?
---@param options operations.SseOptions?
---@return operations.SseParser
function sse.parser(on_event, options)
  if on_event ~= nil then
    check_type(on_event, "function", "on_event")
  end
  if options ~= nil then
    check_type(options, "table", "options")
  end
  local max_event = options and options.max_event
  local last_event_id = options and options.last_event_id
  if max_event ~= nil then
    check_type(max_event, "number", "options.max_event")
    if max_event < 1 or max_event > 2147483647 or max_event % 1 ~= 0 then
      error("bad argument 'options.max_event' (an integer from 1 to 2147483647 expected)", 2)
    end
  end
  if last_event_id ~= nil then
    check_type(last_event_id, "string", "options.last_event_id")
  end
  return setmetatable({
    _core = core.sse_parser(max_event, last_event_id),
    _on_event = on_event or false,
    _queue = {},
    _head = 0, -- places already taken
    _tail = 0, -- places filled
  }, Parser)
end

--- Takes the next waiting event as plain values, which spares the table.
---@return string? data  nil when no event is waiting
---@return string? event
---@return string? id
---@return integer? retry  ms
function Parser:next_values()
  local queue, head = self._queue, self._head
  if head == self._tail then
    self._head, self._tail = 0, 0
    return nil
  end
  self._head = head + FIELDS
  local data = queue[head + 1]
  queue[head + 1] = false -- the queue keeps no text alive
  return data, queue[head + 2], queue[head + 3], queue[head + 4] or nil
end

--- Takes the next waiting event, in the order of the stream.
---@return operations.SseEvent?  nil when no event is waiting
function Parser:next()
  local data, event, id, retry = self:next_values()
  if data ~= nil then
    return { event = event, data = data, id = id, retry = retry }
  end
end

--- Takes the next piece of the stream, cut anywhere; calls the handler for each
--- event that it completes.  An error raised by the handler passes through; the
--- events after the failed one come with the next call.
---
--- Returns nil and an error object (EXECUTION_ERROR, details `{ kind = "size",
--- limit = max_event }`) when an event is larger than `max_event`: the events
--- before it have been delivered, and every later call fails alike.  Raises
--- when `bytes` is no string and after `finish`.
---@param bytes string
---@return true?
---@return operations.Error? err
function Parser:feed(bytes)
  check_type(bytes, "string", "bytes")
  local err
  self._tail, err = self._core:feed(bytes, self._queue, self._tail)
  if self._on_event then
    for event in self.next, self do
      self._on_event(event)
    end
  end
  if err then
    return nil, err
  end
  return true
end

--- Ends the stream.  A block that no blank line has closed is discarded, and
--- its id with it; complete events that wait can still be taken.
function Parser:finish()
  self._core:finish()
end

--- The last event ID as of the last blank line, for `Last-Event-ID`.
---@return string  "" when there is none
function Parser:last_event_id()
  return self._core:last_event_id()
end

--- The reconnection time that the stream asked for last.
---@return integer?  ms; nil when it named none
function Parser:retry()
  return self._core:retry()
end

return sse
