--- Reads texts that are almost JSON, as programs write them whose libraries are not strict: invalid UTF-8 and escapes
--- of half a character become U+FFFD, numbers outside double become text, and NaN and infinities null where asked for.
local core = require("operations.core")
local json = require("operations.base.json")

local almost_json = {}

local REPLACEMENT = "\239\191\189"

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

-- The next NaN or infinity outside the strings of a text, as Python and JavaScript write it: its place, and that of the
-- first byte after it.
local function not_finite(text, from)
  local at = from
  while true do
    at = text:find('["NI]', at)
    if not at then
      return nil
    elseif text:byte(at) == 34 then
      at = text:find('["\\]', at + 1)
      while at and text:byte(at) == 92 do
        at = text:find('["\\]', at + 2)
      end
      if not at then
        return nil
      end
    else
      local after = text:match("^NaN()", at) or text:match("^Infinity()", at)
      if after then
        return text:byte(at - 1) == 45 and at - 1 or at, after
      end
    end
    at = at + 1
  end
end

local function with_nulls(text)
  local pieces, from = {}, 1
  local at, after = not_finite(text, 1)
  while at do
    pieces[#pieces + 1] = text:sub(from, at - 1) .. "null"
    from = after
    at, after = not_finite(text, after)
  end
  return table.concat(pieces) .. text:sub(from)
end

--- Repairs and reads a text that `json.decode` refused.
---@param text string
---@param err operations.Error  the error of `json.decode`
---@param nulls? boolean  NaN and infinities are null
---@return any value
---@return operations.Error? err  the first error, if the text cannot be repaired
---@return string? warning  it has numbers that became text
function almost_json.decode(text, err, nulls)
  local mended = text
  if text:find("[\128-\255]") then
    mended = core.repair_utf8(mended)
  end
  if text:find("\\u[dD][89a-fA-F]") then
    mended = without_halves(mended)
  end
  if nulls then
    mended = with_nulls(mended)
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

return almost_json
