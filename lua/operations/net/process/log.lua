--- The last lines that a process wrote to its stderr.
local process_log = {}

-- Longer lines are cut into pieces of this many bytes.
local PIECE = 8192

---@class operations.ProcessLog
---@field _lines string[]  a ring
---@field _count integer  of lines so far
---@field _rest string  the line that is not over
local Log = {}
Log.__index = Log

---@param limit integer  lines that are kept
---@param on_line? fun(line: string)  told of each
---@return operations.ProcessLog
function process_log.new(limit, on_line)
  return setmetatable({ _lines = {}, _count = 0, _rest = "", _limit = limit, _on_line = on_line }, Log)
end

local function add_line(self, line)
  if self._limit > 0 then
    self._lines[self._count % self._limit + 1] = line
  end
  self._count = self._count + 1
  if self._on_line then
    self._on_line(line)
  end
end

-- Adds the pieces of a text; returns what is left for the next one.
local function add_pieces(self, text)
  while #text > PIECE do
    add_line(self, text:sub(1, PIECE))
    text = text:sub(PIECE + 1)
  end
  return text
end

---@param bytes string
function Log:add(bytes)
  local text, from = self._rest .. bytes, 1
  self._rest = ""
  local stop = text:find("\n", 1, true)
  while stop do
    add_line(self, add_pieces(self, text:sub(from, stop - 1)))
    from = stop + 1
    stop = text:find("\n", from, true)
  end
  self._rest = add_pieces(self, text:sub(from))
end

--- The lines kept, oldest first, with "\n" between them.
---@return string
function Log:text()
  local list = {}
  for i = math.max(self._count - self._limit, 0), self._count - 1 do
    list[#list + 1] = self._lines[i % self._limit + 1]
  end
  if self._rest ~= "" then
    list[#list + 1] = self._rest
  end
  return table.concat(list, "\n")
end

return process_log
