--- From bytes and texts to JSON values: the lines of a byte stream (stdio, every revision), and texts that are almost
--- JSON. There bytes that are no UTF-8 and escapes of half a character become U+FFFD, numbers that no double holds
--- become their text, nothing else is changed. Also what can still be said of a text that stays unreadable: whom it
--- answers.
local core = require("operations.core")
local json = require("operations.base.json")

local reader = {}

local REPLACEMENT = "\239\191\189"

-- The event-stream parser replaces invalid UTF-8; line ends, which it would take for its own, are kept from it.
local function to_utf8(text)
  local parser = require("operations.base.sse").parser(nil, { max_event = #text * 3 + 16 })
  parser:feed("data: " .. text:gsub("[\r\n]", " ") .. "\n\n")
  return (parser:next_values())
end

-- Replaces escapes of surrogates that stand alone; a backslash before a backslash begins no escape.
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

--- Reads a text that `json.decode` refused, mended.
---@param text string
---@param err operations.Error  what was wrong with it
---@return any value
---@return operations.Error? err  the first one when mending does not help
---@return string? warning  it holds numbers that are text now
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

-- How much of a text's beginning and end is searched for its id: the patterns' time grows with the square of it.
local ENDS = 512

local function to_id(text)
  return tonumber(text) or text:match('^"(.*)"$')
end

--- The id of a message that is no JSON, or of which only beginning and end are known: what stands outside of any value
--- that may have an "id" of its own. A text without `jsonrpc` is no message.
---@param first string  its beginning
---@param last? string  its end, when that is another part
---@return operations.mcp.Id?
function reader.id(first, last)
  if #first > 2 * ENDS then
    first, last = first:sub(1, ENDS), (last or first):sub(-ENDS)
  end
  if not (first:find('"jsonrpc"', 1, true) or last and last:find('"jsonrpc"', 1, true)) then
    return nil
  end
  local found = first:match('^%s*{[^{}%[%]]-"id"%s*:%s*(%-?%d+)%f[^%d]')
    or first:match('^%s*{[^{}%[%]]-"id"%s*:%s*("[^"\\]*")')
  if not found and not first:find('^%s*{[^{}%[%]]-"method"%s*:') then
    last = last or first
    found = last:match('[}%]"%w]%s*,%s*"id"%s*:%s*(%-?%d+)%s*[^{}%[%]]*}%s*$')
      or last:match('[}%]"%w]%s*,%s*"id"%s*:%s*("[^"\\]*")%s*[^{}%[%]]*}%s*$')
  end
  return found and to_id(found)
end

--- Makes a function that takes the bytes, cut anywhere, and nil at their end: a last line without an end is a line.
---@param max integer  bytes of one line
---@param take fun(subject: any, value: any, err?: operations.Error, line?: string, warning?: string)  gets what each
---  line says: a message, or a batch of them; or nil, why it says nothing, and the line
---@param dropped fun(subject: any, first: string, last: string, size: integer)  gets beginning and end of a line that
---  was too long
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
