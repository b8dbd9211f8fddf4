--- Readers of streams: pieces of a body in, envelopes out, each as soon as its bytes are there.
local core = require("operations.core")
local json = require("operations.json")
local limits = require("operations.limits")
local lines = require("operations.lines")
local response = require("operations.from_openapi.response")
local sse = require("operations.sse")

local reader = {}

---@class operations.openapi.Connection
---@field read fun(): string?, operations.Error?  the next piece of the body
---@field reply { status: integer, headers: table }
---@field plan operations.openapi.Plan
---@field emit fun(envelope: operations.Envelope)
---@field id? string  the last event id, committed
---@field wait? integer  ms until a reconnection, as the server wants it
---@field events integer  so far

-- Hands out the parser's events; true when one is what the stream ends with.
local function emit_events(connection, parser)
  local done, emit = connection.plan.done, connection.emit
  for envelope in parser.next_envelope, parser do
    if done ~= nil and envelope.data == done then
      return true
    end
    connection.events = connection.events + 1
    emit(envelope)
  end
  return false
end

--- Server-sent events. Data that should be JSON and is not (some APIs end with "[DONE]") stays a string, so that
--- nothing is lost; the pipeline warns that it does not fit the schema.
---@param connection operations.openapi.Connection
---@return boolean finished  the stream said that it is over
---@return operations.Error? err
function reader.events(connection)
  local plan = connection.plan
  local parser = sse.parser(nil, {
    json = plan.json, meta = response.meta(connection.reply), max_event = plan.max_event or limits.event,
    last_event_id = connection.id,
  })
  while true do
    local chunk, err = connection.read()
    if not chunk then
      parser:finish()
      return false, err
    end
    local ok, problem = parser:feed(chunk)
    connection.id, connection.wait = parser:last_event_id(), parser:retry() or connection.wait
    if emit_events(connection, parser) then
      return true
    elseif not ok then
      return false, problem
    end
  end
end

-- A text that is no JSON stays a string, as above.
local function emit_text(connection, text)
  if text:find("%S") then
    local value, err = json.decode(text)
    if err then
      value = text
    end
    connection.events = connection.events + 1
    connection.emit(core.http_envelope(value, response.meta(connection.reply)))
  end
end

-- Emits every whole item; true when one is what the stream ends with.
local function emit_items(connection, splitter)
  while true do
    local text, err = splitter:next()
    if not text then
      return false, err
    end
    text = text:gsub("\r$", "")
    if connection.plan.done ~= nil and text == connection.plan.done then
      return true
    end
    emit_text(connection, text)
  end
end

-- RFC 7464: a text ends with a line feed, also where the next record has not begun yet.
local function emit_waiting(connection, splitter)
  local text = splitter:rest()
  if text:sub(-1) == "\n" then
    local value, err = json.decode(text)
    if not err then
      splitter:drop()
      connection.events = connection.events + 1
      connection.emit(core.http_envelope(value, response.meta(connection.reply)))
    end
  end
end

local function read_items(connection, separator)
  local splitter = lines.splitter(connection.plan.max_event or limits.event, separator)
  while true do
    local chunk, err = connection.read()
    if not chunk then
      if not err and splitter:rest() ~= connection.plan.done then
        emit_text(connection, splitter:rest())
      end
      return false, err
    end
    splitter:feed(chunk)
    local finished, problem = emit_items(connection, splitter)
    if finished or problem then
      return finished, problem
    elseif separator == "\30" then
      emit_waiting(connection, splitter)
    end
  end
end

--- NDJSON, JSON lines: a line is a value.
---@param connection operations.openapi.Connection
---@return boolean finished
---@return operations.Error? err
function reader.lines(connection)
  return read_items(connection, "\n")
end

--- JSON text sequences (RFC 7464): a value stands behind a record separator, over as many lines as it likes.
---@param connection operations.openapi.Connection
---@return boolean finished
---@return operations.Error? err
function reader.sequence(connection)
  return read_items(connection, "\30")
end

return reader
