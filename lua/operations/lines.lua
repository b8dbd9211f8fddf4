--- Splits a stream of bytes at a separator: lines of NDJSON and JSON lines, records of JSON text sequences. No I/O.
local errors = require("operations.error")

local lines = {}

---@class operations.LineSplitter
local Splitter = {}
Splitter.__index = Splitter

--- Makes a splitter.
---@param max integer  bytes of one line
---@param separator? string  one byte, default "\n"
---@return operations.LineSplitter
function lines.splitter(max, separator)
  return setmetatable({ _max = max, _separator = separator or "\n", _pieces = {}, _size = 0, _position = 1 }, Splitter)
end

local function too_large(self)
  self._failure = errors.new("EXECUTION_ERROR", ("an item of the stream is larger than %d bytes"):format(self._max),
    { kind = "size", limit = self._max })
  return nil, self._failure
end

-- What is left of the bytes waits for the next ones; pieces are joined once, so that time stays linear.
local function keep(self, bytes, position)
  if position <= #bytes then
    self._pieces[#self._pieces + 1] = position > 1 and bytes:sub(position) or bytes
    self._size = self._size + #bytes - position + 1
  end
  self._bytes, self._position = nil, 1
end

--- Takes the next bytes, cut anywhere; what was fed before must have been taken with `next`.
---@param bytes string
function Splitter:feed(bytes)
  self._bytes = bytes
end

--- The next whole line, without its separator.
---@return string?  nil when more bytes are needed
---@return operations.Error? err  kind "size": a line is too long; the splitter is of no more use
function Splitter:next()
  local bytes, position = self._bytes, self._position
  if self._failure then
    return nil, self._failure
  elseif not bytes then
    return nil
  end
  local at = bytes:find(self._separator, position, true)
  local length = (at or #bytes + 1) - position
  if self._size + length > self._max then
    return too_large(self)
  elseif not at then
    return keep(self, bytes, position)
  end
  self._position = at + 1
  local line = bytes:sub(position, at - 1)
  if self._size > 0 then
    self._pieces[#self._pieces + 1] = line
    line = table.concat(self._pieces)
    self._pieces, self._size = {}, 0
  end
  return line
end

--- The bytes behind the last separator: at the end of the stream, the last line. They are not taken.
---@return string
function Splitter:rest()
  return table.concat(self._pieces)
end

--- Forgets the bytes behind the last separator.
function Splitter:drop()
  self._pieces, self._size = {}, 0
end

return lines
