--- Converts bytes of the editor to texts of messages, which are UTF-8; buffers and names need not be.
local json = require("operations.base.json")

local text = {}

local REPLACEMENT = "\239\191\189"

--- Is it UTF-8 without NUL? Otherwise it is binary.
---@param bytes string
---@return boolean
function text.is_text(bytes)
  return not bytes:find("\0", 1, true) and json.encode(bytes) ~= nil
end

--- Cuts bytes to a length between characters.
---@param bytes string
---@param max integer
---@return string
function text.cut(bytes, max)
  local last = max
  while #bytes > max and last > max - 4 and last > 0 and bytes:find("^[\128-\191]", last + 1) do
    last = last - 1
  end
  return bytes:sub(1, last)
end

--- A text for display: cut to a length, invalid UTF-8 replaced.
---@param bytes string
---@param max integer
---@return string
function text.shown(bytes, max)
  local cut = text.cut(bytes, max)
  return json.encode(cut) and cut or (cut:gsub("[\128-\255]", REPLACEMENT))
end

return text
