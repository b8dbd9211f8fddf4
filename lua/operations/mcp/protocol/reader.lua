--- Reads JSON values from bytes and texts: the lines of a byte stream (stdio, every revision), and texts that are
--- almost JSON. Also finds the id in unreadable texts.
local almost_json = require("operations.base.almost_json")
local core = require("operations.core")

local reader = {}

-- Bytes at both ends that are searched for the id: the patterns take quadratic time.
local ENDS = 512

local function to_id(text)
  return tonumber(text) or text:match('^"(.*)"$')
end

--- The id of a message that is not JSON, or of which only both ends are known: found outside values that may have their
--- own "id". A text without `jsonrpc` is not a message.
---@param first string  its beginning
---@param last? string  its end, if it is a separate part
---@return operations.mcp.Id?
function reader.id(first, last)
  if #first > 2 * ENDS then
    first, last = first:sub(1, ENDS), (last or first):sub(-ENDS)
  end
  if not (first:find('"jsonrpc"', 1, true) or last and last:find('"jsonrpc"', 1, true)) then
    return nil
  end
  local found = first:match('^%s*{[^{}%[%]]-"id"%s*:%s*(%-?%d+)%s*[,}]')
    or first:match('^%s*{[^{}%[%]]-"id"%s*:%s*("[^"\\]*")')
  if not found and not first:find('^%s*{[^{}%[%]]-"method"%s*:') then
    last = last or first
    found = last:match('[}%]"%w]%s*,%s*"id"%s*:%s*(%-?%d+)%s*[^{}%[%]]*}%s*$')
      or last:match('[}%]"%w]%s*,%s*"id"%s*:%s*("[^"\\]*")%s*[^{}%[%]]*}%s*$')
  end
  return found and to_id(found)
end

--- Makes a function that takes bytes, cut anywhere, and nil at their end: a last line may lack its line end.
---@param max integer  bytes of one line
---@param take fun(subject: any, value: any, err?: operations.Error, line?: string, warning?: string)  called for each
---  line with its message, or batch; or with nil, the error and the line
---@param dropped fun(subject: any, first: string, last: string, size: integer)  called with the beginning and the end
---  of a line that is too long
---@param subject any
---@return fun(bytes: string?)
function reader.lines(max, take, dropped, subject)
  local feed, next_value = core.json_lines(max, true)
  return function(bytes)
    feed(bytes)
    while true do
      local value, err, first, last, size = next_value()
      if value ~= nil then
        take(subject, value)
      elseif err then
        local warning
        value, err, warning = almost_json.decode(first, err)
        take(subject, value, err, first, warning)
      elseif first then
        dropped(subject, first, last, size)
      else
        return
      end
    end
  end
end

return reader
