--- Reads JSON values from bytes and texts: the lines of a byte stream (stdio, every revision), and texts that are
--- almost JSON, where invalid UTF-8 and escapes of lone surrogates become U+FFFD, and numbers outside double become
--- text. Also finds the id in unreadable texts.
local core = require("operations.core")
local json = require("operations.base.json")

local reader = {}

local REPLACEMENT = "\239\191\189"

-- The event-stream parser replaces invalid UTF-8; line ends, which it would interpret, are kept from it.
local function to_utf8(text)
  local parser = require("operations.base.sse").parser(nil, { max_event = #text * 3 + 16 })
  parser:feed("data: " .. text:gsub("[\r\n]", " ") .. "\n\n")
  return (parser:next_values())
end

-- Replaces escapes of lone surrogates; a backslash after a backslash begins no escape.
local function without_halves(text)
  local pieces, from = {}, 1
  local at = text:find("\\", 1, true)
  while at do
    local pair = text:match("^u[dD][89abAB]%x%x\\u[dD][c-fC-F]%x%x()", at + 1)
    local half = not pair and text:match("^u[dD][89a-fA-F]%x%x()", at + 1)
    if half then
      pieces[#pieces + 1] = text:sub(from, at - 1) .. REPLACEMENT
      from = half
    end
    at = text:find("\\", pair or half or at + 2, true)
  end
  return table.concat(pieces) .. text:sub(from)
end

--- Repairs and reads a text that `json.decode` refused.
---@param text string
---@param err operations.Error  the error of `json.decode`
---@return any value
---@return operations.Error? err  the first error, if the text cannot be repaired
---@return string? warning  it has numbers that became text
function reader.decode(text, err)
  local mended = text
  if text:find("[\128-\255]") then
    mended = to_utf8(mended) or mended
  end
  if text:find("\\u[dD][89a-fA-F]") then
    mended = without_halves(mended)
  end
  local cause = err
  if mended ~= text then
    local value
    value, cause = json.decode(mended)
    if not cause then
      return value
    end
  end
  local value, other = json.decode(mended, { huge = "text" })
  if other then
    return nil, err
  end
  return value, nil, "a number is out of range and was read as text: " .. cause.message
end

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
        value, err, warning = reader.decode(first, err)
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
