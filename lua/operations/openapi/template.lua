--- Path templates: what a path of the document is made of, and the path of a request (RFC 3986, 3.3).
local url = require("operations.base.url")

local template = {}

-- What a literal part of a path template may hold as it is (RFC 3986, 3.3, and existing triplets).
local function literal(text)
  return (text:gsub("[^A-Za-z0-9%-._~!$&'()*+,;=:@%%]", url.encode))
end

--- Splits a path template into segments of literal texts and names: { { "/users/" }, ... } as { text } or { name = }.
---@param path string
---@return table[][] segments
---@return string[] names  in order; also a set
---@return string? query  behind "?", without templates: parameters are written by themselves; no fragment
function template.read(path)
  local route, query = path:gsub("#.*$", ""):match("^([^?]*)%??(.*)$")
  local segments, names = {}, {}
  for segment in (route:gsub("^/", "") .. "/"):gmatch("([^/]*)/") do
    local parts, position = {}, 1
    while true do
      local from, to, name = segment:find("{([^{}]*)}", position)
      parts[#parts + 1] = literal(segment:sub(position, (from or 0) - 1))
      if not from then
        break
      end
      parts[#parts + 1] = { name = name }
      if not names[name] then
        names[name], names[#names + 1] = true, name
      end
      position = to + 1
    end
    segments[#segments + 1] = parts
  end
  local pairs_of_query = {}
  for pair in query:gmatch("[^&]+") do
    pairs_of_query[#pairs_of_query + 1] = not pair:find("{[^{}]*}") and pair or nil
  end
  return segments, names, pairs_of_query[1] and table.concat(pairs_of_query, "&")
end

--- A segment that is empty, "." or ".." (encoded, or before a ";", too) would be another path.
local function is_escape(segment)
  segment = segment:gsub("%%2[eE]", ".")
  return segment == "" or segment:find("^%.%.?$") ~= nil or segment:find("^%.%.?;") ~= nil
end

local function has_slash(segment)
  return segment:find("%%2[fF]") ~= nil or segment:find("%%5[cC]") ~= nil
end

local function segment_text(plan, parts, texts, keys)
  local pieces, key = {}, nil
  for i, part in ipairs(parts) do
    if type(part) == "table" then
      pieces[i], key = texts[part.name], keys[part.name]
    else
      pieces[i] = part
    end
  end
  local text = table.concat(pieces)
  if key and is_escape(text) then
    return nil, key, "must not be empty, '.' or '..' in the path"
  elseif key and plan.encoded_slashes == false and has_slash(text) then
    return nil, key, "must not contain a slash or backslash"
  end
  return text
end

--- Fills a template in.
---@param plan operations.openapi.Plan
---@param texts table<string, string>  of the parameters, encoded, by name
---@param keys table<string, string>   what the input calls them
---@return string? path
---@return string? key      whose value would be another path
---@return string? message
function template.fill(plan, texts, keys)
  local list = {}
  for i, parts in ipairs(plan.segments) do
    local text, key, message = segment_text(plan, parts, texts, keys)
    if not text then
      return nil, key, message
    end
    list[i] = text
  end
  return "/" .. table.concat(list, "/")
end

return template
