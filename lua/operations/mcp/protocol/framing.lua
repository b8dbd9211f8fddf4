--- Messages of a byte stream, one on each line (stdio, every revision). Bytes in, messages out; an endless line costs
--- no memory.
local core = require("operations.core")
local repair = require("operations.mcp.protocol.repair")

local framing = {}

--- Makes a function that takes the bytes, cut anywhere, and nil at their end: a last line without an end is a line.
---@param max integer  bytes of one line
---@param take fun(subject: any, value: any, err?: operations.Error, line?: string, warning?: string)  gets what each
---  line says: a message, or a batch of them; or nil, why it says nothing, and the line
---@param dropped fun(subject: any, first: string, last: string, size: integer)  gets beginning and end of a line that
---  was too long
---@param subject any
---@return fun(bytes: string?)
function framing.reader(max, take, dropped, subject)
  local feed, next_value = core.json_lines(max)
  return function(bytes)
    feed(bytes)
    while true do
      local value, err, first, last, size = next_value()
      if value ~= nil then
        take(subject, value)
      elseif err then
        local warning
        value, err, warning = repair.decode(first, err)
        take(subject, value, err, first, warning)
      elseif first then
        dropped(subject, first, last, size)
      else
        return
      end
    end
  end
end

return framing
