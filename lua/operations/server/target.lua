--- The target of a request (RFC 9112, 3.2): its path as segments and its query as pairs, each decoded once.
local json = require("operations.base.json")
local url = require("operations.base.url")

local target = {}

--- Splits a raw target in origin or absolute form. Decodes nothing.
---@param raw string
---@return string path  "/" at least, or "*"
---@return string? query  without "?"
function target.split(raw)
  if raw:byte() ~= 47 and raw ~= "*" then -- "/"
    raw = raw:match("^%a[%w+.-]*://[^/?]*(.*)$") or "/" .. raw
    raw = raw:byte() == 47 and raw or "/" .. raw
  end
  local mark = raw:find("?", 1, true)
  if mark then
    return raw:sub(1, mark - 1), raw:sub(mark + 1)
  end
  return raw, nil
end

--- Decodes percent-encoded text strictly: every "%" begins an escape, and the result is UTF-8.
---@param text string
---@return string? decoded  nil: it is malformed
function target.decode(text)
  if text:find("%", 1, true) then
    if text:find("%%%X") or text:find("%%%x%X") or text:find("%%%x?$") then
      return nil
    end
    text = url.decode(text)
  end
  if text:find("[\128-\255]") and not json.encode(text) then
    return nil
  end
  return text
end

--- The segments of a path, decoded. Nothing is collapsed: "//" holds an empty segment, "%2F" is part of one.
---@param path string  begins with "/"
---@return string[]? segments  nil: an escape is malformed
function target.segments(path)
  local segments = {}
  for segment in path:gmatch("/([^/]*)") do
    local decoded = target.decode(segment)
    if not decoded then
      return nil
    end
    segments[#segments + 1] = decoded
  end
  return segments
end

local function decode_part(text)
  if text:find("[%%+\128-\255]") then
    return target.decode((text:gsub("%+", " ")))
  end
  return text
end

local function next_pair(state)
  local name, value, after = state.query:match("^&*([^&=]*)=?([^&]*)()", state.at)
  if after > #state.query and name == "" and value == "" then
    return nil
  end
  state.at = after
  local decoded, text = decode_part(name), decode_part(value)
  if not decoded or not text then
    return "", "", name .. "=" .. value
  end
  return decoded, text
end

--- Iterates over the pairs of a query as forms write them: "+" is a blank, empty pairs are passed over.
---@param query? string
---@return fun(state: table): string?, string?, string?  name and value; for a pair that cannot be decoded: third, it
---@return table state
function target.pairs(query)
  return next_pair, { query = query or "", at = 1 }
end

return target
