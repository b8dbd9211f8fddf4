--- Messages of a byte stream, one on each line (stdio). Bytes in, lines out; an endless line costs no memory.
local framing = {}

local byte, find, sub = string.byte, string.find, string.sub

-- What is kept of a line that is too long: enough to see whom it answers.
local ENDS = 256

---@class operations.mcp.Framing
---@field dropped integer  lines that were too long
local Framing = {}
Framing.__index = Framing

--- Makes a reader of lines.
---@param max integer  bytes of one line
---@param on_line fun(line: string)  without its end; never empty
---@param on_dropped? fun(first: string, last: string, size: integer)  beginning and end of a line that was too long
---@return operations.mcp.Framing
function framing.new(max, on_line, on_dropped)
  return setmetatable({
    _max = max, _on_line = on_line, _on_dropped = on_dropped or function() end, _pieces = {}, _size = 0, dropped = 0,
  }, Framing)
end

local function forget(self)
  self._pieces, self._size, self._first, self._last = {}, 0, nil, nil
end

-- Keeps a piece of a line that is not over, or only the line's two ends once it is too long.
local function keep(self, piece)
  self._size = self._size + #piece
  if self._size <= self._max then
    self._pieces[#self._pieces + 1] = piece
    return
  elseif not self._first then
    local all = table.concat(self._pieces) .. piece:sub(1, ENDS)
    self._first, self._last, self._pieces = all:sub(1, ENDS), all:sub(-ENDS), {}
  end
  self._last = (self._last .. piece:sub(-ENDS)):sub(-ENDS)
end

-- Hands over a whole line; blank ones are none.
local function deliver(self, line)
  local last = byte(line, -1)
  if last == 125 then -- "}": a message, most likely
    return self._on_line(line)
  elseif last == 13 then
    line = line:sub(1, -2)
  end
  if line:find("%S") then
    self._on_line(line)
  end
end

-- Ends the line that the pieces make.
local function finish(self)
  local first, last, size = self._first, self._last, self._size
  local line = not first and table.concat(self._pieces)
  forget(self)
  if first then
    self.dropped = self.dropped + 1
    return self._on_dropped(first, (last:gsub("\r$", "")), size)
  end
  return deliver(self, line)
end

--- Takes the next bytes, cut anywhere.
---@param bytes string
function Framing:feed(bytes)
  local from, at = 1, find(bytes, "\n", 1, true)
  if at and self._size > 0 then
    keep(self, bytes:sub(1, at - 1))
    finish(self)
    from, at = at + 1, bytes:find("\n", at + 1, true)
  end
  while at do
    if at - from > self._max then
      keep(self, bytes:sub(from, at - 1))
      finish(self)
    else
      deliver(self, sub(bytes, from, at - 1))
    end
    from, at = at + 1, find(bytes, "\n", at + 1, true)
  end
  if from <= #bytes then
    keep(self, bytes:sub(from))
  end
end

--- Ends the stream: a last line without an end is a line.
function Framing:finish()
  if self._size > 0 then
    finish(self)
  end
end

return framing
