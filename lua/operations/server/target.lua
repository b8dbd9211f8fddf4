--- The target of a request (RFC 9112, 3.2): its path as segments and its query as pairs, each decoded once.
local codec = require("operations.http_server")

local target = {}

--- Splits a raw target in origin or absolute form. Decodes nothing.
---@param raw string
---@return string path  "/" at least, or "*"
---@return string? query  without "?"
function target.split(raw)
  local path, query = codec.split(raw)
  if path then
    return path, query
  end
  raw = raw:match("^%a[%w+.-]*://[^/?]*(.*)$") or raw
  return codec.split(raw:byte() == 47 and raw or "/" .. raw) -- "/"
end

--- Decodes percent-encoded text strictly: every "%" begins an escape, and the result is UTF-8.
---@type fun(text: string): string?  nil: it is malformed
target.decode = codec.decode

--- The decoded segments of a path. Nothing is collapsed: "//" contains an empty segment, "%2F" is part of a segment.
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

--- The reason for refusing a path: a proxy or nginx may have decided about another one, by collapsing dot segments that
--- are written otherwise or by decoding "%2F" as well.
---@param path string  raw
---@return string? flaw
function target.flaw(path)
  if not path:find("[.%%]") then
    return nil
  end
  local dotted = path:gsub("%%2[Ee]", ".") .. "/"
  if dotted:find("/%.%.?/") or dotted:gsub("%%2[Ff]", "/"):find("/%.%./") then
    return "the path: a dot segment"
  end
end

--- Is it a valid path template, with parameters as whole segments: "/tasks/{id}"?
---@param path any
---@return boolean
function target.is_template(path)
  if type(path) ~= "string" or not path:find("^/[^%s%c?#]+$") then
    return false
  end
  local names = {}
  for segment in path:gmatch("/([^/]*)") do
    local name = segment:match("^{([^{}]+)}$")
    if segment == "" or not name and (segment:find("[{}]") or not target.decode(segment)) or names[name or 0] then
      return false
    elseif name then
      names[name] = true
    end
  end
  return true
end

--- Reads a query in the form encoding: "+" is a blank, empty pairs are skipped.
---@type fun(query: string): string[]?, string?  name, value, name, value, ...; or nil and the pair that is malformed
target.query = codec.query

return target
