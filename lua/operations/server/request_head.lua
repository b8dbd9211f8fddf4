--- Reads the head of a request. Its target (RFC 9112, 3.2): the path as segments and the query as pairs, each
--- decoded once. Its fields: token, id, trace and timeout of the call.
local codec = require("operations.http_server")
local core = require("operations.core")
local limits = require("operations.base.limits")

local random_id = core.random_id
local request_head = {}

--- Splits a raw target in origin or absolute form. Decodes nothing.
---@param raw string
---@return string path  "/" at least, or "*"
---@return string? query  without "?"
function request_head.split(raw)
  local path, query = codec.split(raw)
  if path then
    return path, query
  end
  raw = raw:match("^%a[%w+.-]*://[^/?]*(.*)$") or raw
  return codec.split(raw:byte() == 47 and raw or "/" .. raw) -- "/"
end

--- Decodes percent-encoded text strictly: every "%" begins an escape, and the result is UTF-8.
---@type fun(text: string): string?  nil: it is malformed
request_head.decode = codec.decode

--- The decoded segments of a path. Nothing is collapsed: "//" contains an empty segment, "%2F" is part of a segment.
---@param path string  begins with "/"
---@return string[]? segments  nil: an escape is malformed
function request_head.segments(path)
  local segments = {}
  for segment in path:gmatch("/([^/]*)") do
    local decoded = request_head.decode(segment)
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
function request_head.path_flaw(path)
  if not (path:find(".", 1, true) or path:find("%", 1, true)) then
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
function request_head.is_template(path)
  if type(path) ~= "string" or not path:find("^/[^%s%c?#]+$") then
    return false
  end
  local names = {}
  for segment in path:gmatch("/([^/]*)") do
    local name = segment:match("^{([^{}]+)}$")
    if segment == "" or not name and (segment:find("[{}]") or not request_head.decode(segment)) or names[name or 0] then
      return false
    elseif name then
      names[name] = true
    end
  end
  return true
end

--- Reads a query in the form encoding: "+" is a blank, empty pairs are skipped.
---@type fun(query: string): string[]?, string?  name, value, name, value, ...; or nil and the pair that is malformed
request_head.query = codec.query

--- The token of "Authorization: Bearer" (RFC 6750, 2.1).
---@param headers table<string, string>
---@return string?
function request_head.bearer(headers)
  local given = headers.authorization
  return given and given:match("^[Bb][Ee][Aa][Rr][Ee][Rr] +([^ ]+)$")
end

--- The request id that the caller gave, if it is safe for logs and headers, else a new one.
---@param headers table<string, string>
---@return string
function request_head.request_id(headers)
  local given = headers["x-request-id"]
  return given and #given <= 128 and given:find("^[%w._-]+$") and given or random_id()
end

--- The trace context (W3C Trace Context), when it is well-formed.
---@param headers table<string, string>
---@return string?
function request_head.traceparent(headers)
  local text = headers.traceparent
  if not text then
    return nil
  end
  local version, trace, span = text:match("^(%x%x)%-(%x+)%-(%x+)%-%x%x$")
  if version and version ~= "ff" and #trace == 32 and #span == 16 and trace:find("[^0]") and span:find("[^0]")
    and not text:find("%u") then
    return text
  end
end

--- The timeout of a call.
---@param headers table<string, string>
---@param options operations.HttpOptions
---@return integer ms
function request_head.timeout(headers, options)
  local asked = headers["request-timeout-ms"]
  local ms = asked and asked:find("^%d+$") and #asked <= 10 and tonumber(asked)
  if not ms then
    return options.timeout
  end
  return math.min(math.max(ms, 1), options.max_timeout or limits.server_max_timeout)
end

return request_head
