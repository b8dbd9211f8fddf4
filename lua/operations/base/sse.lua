--- Server-sent events (WHATWG HTML, 9.2.5 and 9.2.6): bytes in, events out.
--
-- The C core reads a chunk into a queue; this file calls the handlers, never C. So a handler may wait (yield), raise,
-- and feed the parser again: no event is lost, and they keep their order.
local argument = require("operations.base.argument")
local core = require("operations.core")

local sse = {}

---@class operations.SseEvent
---@field event string  the event's name, "message" when the stream gives none
---@field data any      its data lines, joined by "\n", always valid UTF-8; with `json` the JSON value
---@field id string     the last event ID, "" when there is none
---@field retry integer?  reconnection time in ms, if one was read since the previous event
---@field error operations.Error?  with `json`: why data is text

---@class operations.SseOptions
---@field max_event integer?  maximum bytes of data, name and id of one event together; default 1 MiB
---@field last_event_id string?  the last event ID of the connection that this one continues
---@field json boolean?  reads data as JSON, straight from the stream; invalid JSON stays text

---@class operations.SseParser
local Parser = {}
Parser.__index = Parser

local DEFAULT_MAX_EVENT = 1048576

local option_kinds = { max_event = "number", last_event_id = "string", json = "boolean" }

local function check_options(options, max_event)
  argument.options(options, option_kinds, "sse_parser", 4)
  if max_event < 1 or max_event > 2147483647 or max_event % 1 ~= 0 then
    error("bad option 'max_event' to 'sse_parser' (an integer from 1 to 2147483647 expected)", 3)
  elseif options.last_event_id and #options.last_event_id > max_event then
    error("bad option 'last_event_id' to 'sse_parser' (longer than max_event)", 3)
  end
end

-- [1] of a queue is the place taken last. The queue itself is a mark in it: before a note, and after the last filled
-- place.
local function rewind(queue)
  queue[1], queue[2] = 1, queue
  return queue
end

--- Makes a parser of one event stream. With a handler, `feed` calls it for every event; without one, `next` takes the
--- waiting events.
--- Raises on an argument of a wrong type, or a `max_event` that is not an integer from 1 to 2147483647.
---@param on_event (fun(event: operations.SseEvent))?
---@param options operations.SseOptions?
---@return operations.SseParser
function sse.parser(on_event, options)
  argument.optional(on_event, "function", 1, "sse_parser")
  argument.optional(options, "table", 2, "sse_parser")
  options = options or {}
  local max_event = options.max_event or DEFAULT_MAX_EVENT
  check_options(options, max_event)
  return setmetatable({
    _core = core.sse_parser(max_event, options.last_event_id, options.json),
    _on_event = on_event or false,
    _queue = rewind({}),
    _tail = 1, -- the last filled place
    _turn = 0, -- counts the calls of feed
    _event = "message", -- of the last event taken
    _id = "",
  }, Parser)
end

-- Takes the first event of a queue that is not empty. Its data is in the queue, after a note if other fields changed.
local function take(self)
  local queue, retry, err = self._queue, nil, nil
  local head = queue[1] + 1
  local data = queue[head]
  if data == queue then
    self._event, self._id = queue[head + 1], queue[head + 2]
    retry, err = queue[head + 3] or nil, queue[head + 4] or nil
    head = head + 5
    data = queue[head]
  end
  queue[head] = false -- does not keep the text alive
  queue[1] = head
  return data, retry, err
end

local function is_empty(self)
  if self._queue[1] < self._tail then
    return false
  end
  self._tail = 1
  rewind(self._queue)
  return true
end

--- Takes the next waiting event as plain values, without making a table.
---@return any data  nil when no event is waiting
---@return string? event
---@return string? id
---@return integer? retry  ms
---@return operations.Error? err  with `json`: why data is text
function Parser:next_values()
  if not is_empty(self) then
    local data, retry, err = take(self)
    return data, self._event, self._id, retry, err
  end
end

--- Takes the next waiting event, in the order of the stream.
---@return operations.SseEvent?  nil when no event is waiting
function Parser:next()
  if not is_empty(self) then
    local data, retry, err = take(self)
    return { event = self._event, data = data, id = self._id, retry = retry, error = err }
  end
end

-- Calls the handler for each waiting event. It may raise, feed or take events itself, or wait while other code does:
-- the local variables are valid only until an event was taken (`queue[1]`) or `feed` was called (`_turn`).
local function deliver(self, on_event)
  local queue, turn = self._queue, self._turn
  local head, tail, event, id = queue[1], self._tail, self._event, self._id
  while head < tail do
    local data = queue[head + 1]
    if data == queue then
      on_event(self:next())
      turn = -1 -- name and id are outdated
    else
      head = head + 1
      queue[head] = false
      queue[1] = head
      on_event({ event = event, data = data, id = id })
    end
    if queue[1] ~= head or self._turn ~= turn then
      turn, head, tail, event, id = self._turn, queue[1], self._tail, self._event, self._id
    end
  end
  self._tail = 1
  rewind(queue)
end

--- Takes the next piece of the stream, cut anywhere; calls the handler for each
--- event that it completes.  An error raised by the handler passes through; the
--- events after the failed one come with the next call.
---
--- Returns nil and an error object (EXECUTION_ERROR, details `{ kind = "size", limit = max_event }`) when an event is
--- larger than `max_event`: the events before it have been delivered, and every later call fails alike. Raises when
--- `bytes` is not a string, and after `finish`.
---@param bytes string
---@return true?
---@return operations.Error? err
function Parser:feed(bytes)
  if type(bytes) ~= "string" then -- without argument.expect: chunks may be small and many
    argument.expect(bytes, "string", 1, "feed")
  end
  local err
  self._tail, err = self._core:feed(bytes, self._queue, self._tail)
  self._turn = self._turn + 1
  if self._on_event then
    deliver(self, self._on_event)
  end
  if err then
    return nil, err
  end
  return true
end

--- Ends the stream. Discards a block that no blank line has ended, and its id; waiting complete events can still be
--- taken.
function Parser:finish()
  self._core:finish()
end

--- The last event ID at the last blank line, for `Last-Event-ID`.
---@return string  "" when there is none
function Parser:last_event_id()
  return self._core:last_event_id()
end

--- The last reconnection time of the stream.
---@return integer?  ms; nil without one
function Parser:retry()
  return self._core:retry()
end

return sse
