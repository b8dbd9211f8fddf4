--- Assembles a streamed answer of a model API: server-sent events in, the complete answer out.
local core = require("operations.core")
local errors = require("operations.base.error")
local json = require("operations.base.json")
local limits = require("operations.base.limits")
local sse = require("operations.base.sse")

local streaming = {}

local function lost(message)
  return nil, errors.new("TRANSPORT_LOST", message)
end

-- The pieces of a list, a function or an iterator with `next` (a subscription), one by one.
local function pieces_of(source)
  if type(source) == "function" then
    return source
  elseif type(source) == "table" and core.kind(source) ~= "array" and type(source.next) == "function" then
    return function()
      local envelope, err = source:next()
      return envelope and (envelope.data == nil and envelope or envelope.data), err
    end
  end
  local i = 0
  return function()
    i = i + 1
    return type(source) == "table" and source[i] or nil
  end
end

-- The data of an event as a value: JSON where it is JSON.
local function value_of(data)
  if type(data) ~= "string" then
    return data
  end
  local value = json.decode(data)
  return value == nil and data or value
end

-- Is it an event of the parser, rather than a value from a vendor?
local function is_event(piece)
  return piece.data ~= nil and type(piece.event) == "string" and piece.type == nil
end

-- Calls `take` with each value in a piece, until it returns something.
local function each(parser, piece, take)
  if type(piece) == "string" then
    local ok, err = parser:feed(piece)
    if not ok then
      return tostring(err)
    end
    for event in parser.next, parser do
      local failure = take(value_of(event.data))
      if failure then
        return failure
      end
    end
  elseif type(piece) == "table" then
    return take(is_event(piece) and value_of(piece.data) or piece)
  end
end

local function size_of(piece)
  return type(piece) == "string" and #piece or 64
end

local function assemble(format, source, on_event)
  local state, parser, next_piece, size = format.stream(), sse.parser(nil), pieces_of(source), 0
  local function take(value)
    if on_event then
      on_event(value)
    end
    return format.feed(state, value)
  end
  while true do
    local piece, err = next_piece()
    if piece == nil then
      if err then
        return nil, (errors.from(err))
      end
      break
    end
    size = size + size_of(piece)
    local failure = size > limits.body and "the answer is larger than " .. limits.body .. " bytes"
      or each(parser, piece, take)
    if failure then
      return lost("the model's stream failed: " .. failure)
    end
  end
  local response = format.finish(state)
  if not response then
    return lost("the model's stream ended before the answer was whole")
  end
  return response
end

--- Reads a stream to its end. Never raises.
---@param format table
---@param source any
---@param on_event? fun(value: any)
---@return table? response
---@return operations.Error? err  TRANSPORT_LOST, or the error of the source
function streaming.assemble(format, source, on_event)
  local ok, response, err = pcall(assemble, format, source, on_event)
  if not ok then
    return nil, (errors.from(response))
  end
  return response, err
end

return streaming
